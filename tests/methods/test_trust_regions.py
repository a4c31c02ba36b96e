"""Trust regions: radii in the metric's own lengths, refused moves, and the minimiser of a quadratic in a radius."""

import dataclasses

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Outcome, Polar, PositiveDefinite, QuadraticSDP, Status, TrustRegions, solve
from psdopt.linalg.tolerances import tie
from psdopt.methods.trust_regions import truncated_cg

N = 6


def problem(s=1.0):
    """F(M / s) of |M|² / 2 + ⟨C, M⟩ with its minimum inside the cone."""
    C = np.random.default_rng(0).standard_normal((N, N))
    return QuadraticSDP(None, 0.5 / s**2, -(C @ C.T + np.eye(N)) / (2.0 * s))


@pytest.mark.parametrize("geometry", [Polar(N, 2), PositiveDefinite(N), PositiveDefinite(N, "log-euclidean")], ids=repr)
def test_where_metrics_measure_relative_changes_a_radius_has_no_unit(geometry):
    point = geometry.random_point(np.random.default_rng(1))
    Y = geometry.factor(point)
    radii = [
        TrustRegions().init(problem(s), geometry, geometry.from_factor(np.sqrt(s) * Y)).radius
        for s in (1.0, 2.0**40, 2.0**-40)
    ]
    np.testing.assert_allclose(radii, radii[0], rtol=1e-8)
    assert 0.01 < radii[0] < 100.0


@pytest.mark.parametrize("geometry", [FlatQuotient(N, 3), FixedTrace(N, 3, 2.0)], ids=repr)
def test_where_vectors_are_moves_of_the_factor_it_is_half_the_factor(geometry):
    point = geometry.random_point(np.random.default_rng(1))
    state = TrustRegions().init(problem(), geometry, point)
    assert state.radius == pytest.approx(0.5 * np.linalg.norm(geometry.factor(point)))


def test_a_move_that_overflows_is_refused():
    geometry = PositiveDefinite(N)
    method = TrustRegions()
    state = method.init(problem(), geometry, geometry.random_point(np.random.default_rng(1)))
    # F falls for ever along I: the radius alone limits the move
    falling = dataclasses.replace(state, problem=QuadraticSDP(C=-np.eye(N)), radius=1e5)
    there = falling.problem.at(falling.evaluation.factor)
    falling = dataclasses.replace(falling, evaluation=there, gradient=geometry.gradient(falling.point, there.gradient))
    with np.errstate(over="ignore", invalid="ignore"):
        after = method.step(falling)
    assert after.outcome is Outcome.RUNNING
    assert after.point is falling.point
    assert after.radius == pytest.approx(0.25 * falling.radius, rel=1e-12)
    assert after.refused == 1
    assert solve(problem(), geometry, method, rng=0).status is Status.OPTIMAL


@dataclasses.dataclass(frozen=True)
class Scripted(TrustRegions):
    """The move is given, and the Hessian's image of it such that the model predicts what is asked."""

    move: object = None
    predicts: float = 0.0
    cut: bool = False

    def _truncated_cg(self, state, slope):
        missing = -np.sum(state.gradient * self.move) - self.predicts
        return self.move, 2.0 * missing / np.sum(self.move**2) * self.move, self.cut


def scripted(ratio, cut=False, radius=10.0, **fields):
    """(state, after) of a descent step whose decrease is `ratio` times the predicted one."""
    f, geometry = problem(), FlatQuotient(N, 2)
    Y = geometry.random_point(np.random.default_rng(1))
    state = dataclasses.replace(TrustRegions().init(f, geometry, Y), radius=radius, **fields)
    move = -1e-3 * state.gradient if ratio > 0.0 else 1e-3 * state.gradient
    decrease = state.evaluation.value - f.at(Y + move).value
    method = Scripted(move=move, predicts=decrease / ratio, cut=cut)
    return state, method.step(state), np.linalg.norm(move)


@pytest.mark.parametrize(
    ("ratio", "cut", "taken", "radius"),
    [
        (0.09, True, False, "quarter"), (0.11, True, True, "quarter"), (0.24, False, True, "quarter"),
        (0.26, True, True, "same"), (0.74, True, True, "same"), (0.76, True, True, "double"),
        (0.76, False, True, "same"), (2.0, False, True, "same"), (-1.0, True, False, "quarter"),
    ],
)  # fmt: skip
def test_the_radius_follows_the_ratio_of_actual_to_predicted_decrease(ratio, cut, taken, radius):
    """Steps are taken above 0.1, the radius shrinks to a quarter below 1/4 and doubles above 3/4 where it cut short."""
    state, after, length = scripted(ratio, cut)
    assert (after.point is not state.point) == taken
    expected = {"quarter": 0.25 * length, "same": 10.0, "double": 20.0}[radius]
    assert after.radius == after.extras["radius"] == pytest.approx(expected, rel=1e-12)
    assert after.step == (pytest.approx(length, rel=1e-12) if taken else 0.0)
    assert after.refused == (0 if taken else 1)
    small = scripted(ratio, cut, radius=1e-3 * length)[1]
    assert small.radius == pytest.approx({"quarter": 2.5e-4, "same": 1e-3, "double": 2e-3}[radius] * length, rel=1e-12)


@pytest.mark.parametrize(("refused", "stalled"), [(0, False), (2, False), (3, True)])
def test_the_run_ends_at_rounding_after_three_refusals(refused, stalled):
    f, geometry = problem(), FlatQuotient(N, 2)
    state = TrustRegions().init(f, geometry, geometry.random_point(np.random.default_rng(1)))
    state = dataclasses.replace(state, refused=refused)
    level = tie(state.evaluation.value, f.value_at_zero())
    uphill = 3.0 * level / np.sum(state.gradient**2) * state.gradient
    after = Scripted(move=uphill).step(state)
    assert after.outcome is (Outcome.STALLED if stalled else Outcome.RUNNING)
    assert (after.point is state.point, after.refused) == (True, refused + 1)
    # a prediction above rounding that fails is a matter of the radius
    after = Scripted(move=1e-3 * state.gradient, predicts=1.0).step(state)
    assert after.outcome is Outcome.RUNNING
    for radius, ended in ((2.0, True), (8.0, False)):
        at = radius * np.finfo(float).eps * state.evaluation.size
        after = Scripted(move=1e-3 * state.gradient, predicts=1.0).step(dataclasses.replace(state, radius=at))
        assert after.radius == pytest.approx(0.25 * at)
        assert after.outcome is (Outcome.STALLED if ended else Outcome.RUNNING)


def test_no_step_from_rest_or_from_a_gradient_that_is_not_finite():
    geometry, method = FlatQuotient(N, 2), TrustRegions()
    state = method.init(problem(), geometry, geometry.random_point(np.random.default_rng(1)))
    assert state.refused == 0
    for gradient in (np.zeros((N, 2)), np.full((N, 2), np.nan)):
        after = method.step(dataclasses.replace(state, gradient=gradient))
        assert (after.outcome, after.step, after.refused, after.radius) == (Outcome.STALLED, 0.0, 0, state.radius)
    slow = dataclasses.replace(state, gradient=state.gradient / np.linalg.norm(state.gradient))
    assert method.step(slow).outcome is Outcome.RUNNING  # a slope of one is one as any other
    assert method.init(problem(), geometry, np.zeros((N, 2))).radius == 1.0


def test_defaults_are_those_of_the_literature():
    method = TrustRegions()
    assert (method.kappa, method.theta, method.accept, method.inner) == (0.1, 1.0, 0.1, None)


#: Of rank 1 every vector is horizontal, and the metric is that of R^5.
LINE, ONES = FlatQuotient(5, 1), np.ones((5, 1))


def model(values, radius, kappa=1e-10, most=50, seed=0):
    """(H, g, d, H d, cut) for a random H of the given eigenvalues."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    H, g = Q @ np.diag(values) @ Q.T, rng.standard_normal((5, 1))
    d, image, cut = truncated_cg(LINE, ONES, g, lambda v: H @ v, radius, kappa, 1.0, most)
    np.testing.assert_allclose(image, H @ d, atol=1e-12 * np.abs(values).max())
    return H, g, d, cut


def value(H, g, d):
    return float(np.sum(g * d) + 0.5 * np.sum(d * (H @ d)))


def test_within_the_radius_it_is_newtons_step():
    H, g, d, cut = model([1.0, 2.0, 3.0, 5.0, 8.0], 100.0)
    np.testing.assert_allclose(d, -np.linalg.solve(H, g), rtol=1e-8)
    assert not cut


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 5.0, 8.0], [-1.0, 2.0, 3.0, 5.0, 8.0], [-1.0] * 5, [0.0] * 5])
def test_a_step_that_is_cut_short_ends_on_the_boundary_below_the_cauchy_point(values):
    for seed in range(5):
        H, g, d, cut = model(values, 0.1, seed=seed)
        assert cut
        assert np.linalg.norm(d) == pytest.approx(0.1, rel=1e-12)
        slope = np.linalg.norm(g)
        curvature = float(np.sum(g * (H @ g))) / slope**2
        length = 0.1 if curvature <= 0.0 else min(0.1, slope / curvature)
        assert value(H, g, d) <= value(H, g, -length * g / slope) * (1.0 - 1e-12)


def test_residual_products_and_a_rising_model_end_the_solve():
    values = np.logspace(0, 3, 5)
    H, g, d, _ = model(values, 1e6, kappa=0.5)
    assert 1e-6 < np.linalg.norm(H @ d + g) / np.linalg.norm(g) <= 0.5
    asked = []
    for most in (1, 3):
        asked.clear()
        truncated_cg(LINE, ONES, g, lambda v: asked.append(v) or H @ v, 1e6, 1e-10, 1.0, most)
        assert len(asked) == most
    # products that are no linear map: the model would rise, and the last point before that is returned
    d, _, cut = truncated_cg(LINE, ONES, g, lambda v: H @ v + 50.0 * np.sign(v), 1e6, 1e-10, 1.0, 50)
    assert not cut
    assert np.sum(g * d) <= 0.0


def test_products_that_are_not_finite_end_on_the_boundary():
    d, _, cut = truncated_cg(LINE, ONES, ONES, lambda v: np.nan * v, 2.0, 0.1, 1.0, 9)
    np.testing.assert_allclose(d, -2.0 * ONES / np.sqrt(5))
    assert cut


def test_an_exact_first_step_ends_the_solve():
    """H = 2 I: the residual is zero, and so is the next direction."""
    g = np.array([[1.0], [-2.0], [0.5], [0.0], [4.0]])
    d, image, cut = truncated_cg(LINE, ONES, g, lambda v: 2.0 * v, 100.0, 0.1, 1.0, 50)
    assert not cut
    np.testing.assert_array_equal(d, -0.5 * g)
    np.testing.assert_array_equal(image, -g)
