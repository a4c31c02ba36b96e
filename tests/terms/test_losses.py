# ruff: noqa: E501 (tables of exact texts)
"""Derivatives of the shipped losses, and losses of one's own: any attributes at any number of measurements, and losses that are no sum over measurements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import Ability, ConjugateGradient, FlatQuotient, TermSum, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.tolerances import EPS
from psdopt.terms import Entries, HalfSquaredOneSided, LeastSquares, Linear, MeasuredTerm, QuadraticForms, SquaredHinge
from psdopt.terms.losses import Loss
from psdopt.terms.measured import MeasuredCurve


class Table(Loss):
    """Σ_t max(0, low_t − a_t, a_t − high_t)², its bounds in a table (m, 2) and read in an order of its own."""

    def __init__(self, bounds, order):
        self.bounds, self.order, self.size = bounds, order, len(order)

    def _outside(self, a):
        low, high = self.bounds[self.order].T
        return np.minimum(a - low, 0.0) + np.maximum(a - high, 0.0)

    def value(self, a):
        return float(np.sum(self._outside(a) ** 2))

    def derivative(self, a):
        return 2.0 * self._outside(a)

    def second(self, a):
        return 2.0 * (self._outside(a) != 0.0)


class Spread(Loss):
    """log Σ_t exp(a_t): its Hessian is full."""

    separable = False

    def value(self, a):
        top = a.max()
        return float(top + np.log(np.sum(np.exp(a - top))))

    def derivative(self, a):
        p = np.exp(a - a.max())
        return p / p.sum()

    def curvature(self, a, direction):
        p = self.derivative(a)
        return p * direction - p * (p @ direction)


class WithTable(LeastSquares):
    """A subclass of a shipped loss, with data of its own that are no numbers per measurement."""

    def __init__(self, target, table):
        super().__init__(target)
        self.table = table

    def value(self, a):
        return super().value(a) + float(np.sum(self.table @ np.ones(2) * a))

    def derivative(self, a):
        return super().derivative(a) + self.table @ np.ones(2)


def table_loss(rng, m):
    return Table(np.sort(rng.standard_normal((m, 2)), axis=1), rng.permutation(m))


OWN = {
    "table": table_loss,
    "spread": lambda rng, m: Spread(),
    "subclass": lambda rng, m: WithTable(rng.standard_normal(m), rng.standard_normal((m, 2))),
}
SHIPPED = {
    "squares": lambda rng, m: LeastSquares(rng.standard_normal(m), rng.uniform(0, 2, m)),
    "hinge": lambda rng, m: SquaredHinge(rng.uniform(0, 2, m), rng.choice([-1.0, 1.0], m), rng.uniform(0, 2, m)),
    "one-sided": lambda rng, m: HalfSquaredOneSided(rng.standard_normal(m), rng.choice([-1.0, 0.0, 1.0], m)),
    "linear": lambda rng, m: Linear(rng.standard_normal(m)),
}


@pytest.mark.parametrize("m", [100, 100_000])
@pytest.mark.parametrize("name", sorted(OWN | SHIPPED))
def test_a_line_is_the_loss_whatever_the_number_of_measurements(name, m):
    """Values and both derivatives along a line are those of the loss as a whole."""
    rng = np.random.default_rng(0)
    loss = (OWN | SHIPPED)[name](rng, m)
    a0, a1, a2 = rng.standard_normal((3, m))
    curve = MeasuredCurve(loss, 0.7, a0, a1, a2)
    for mu in (0.0, 0.4):
        a, velocity = a0 + mu * a1 + mu**2 * a2, a1 + 2.0 * mu * a2
        g, h = loss.derivative(a), loss.curvature(a, velocity)
        sizes = np.abs(g) @ np.abs(velocity) + np.abs(h) @ np.abs(velocity) + 2.0 * np.abs(g) @ np.abs(a2) + 1.0
        found = curve.derivatives(mu)
        assert abs(found[0] - 0.7 * g @ velocity) <= 64 * EPS * sizes
        assert abs(found[1] - 0.7 * (h @ velocity + 2.0 * g @ a2)) <= 64 * EPS * sizes
        assert abs(curve.value(mu) - 0.7 * loss.value(a)) <= 64 * EPS * (abs(loss.value(a)) + m)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_shipped_losses_declare_every_number_per_measurement(name):
    loss = SHIPPED[name](np.random.default_rng(1), 9)
    per_measurement = {key for key, value in vars(loss).items() if isinstance(value, np.ndarray)}
    assert per_measurement == set(type(loss).per_measurement)  # a forgotten array would not be taken to a device


def test_a_loss_that_is_not_separable_is_minimised_with_exact_models():
    """log Σ exp of quadratic forms plus a trace: line, plane and Hessian against differences, and the optimum."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 4))
    term = MeasuredTerm(QuadraticForms(X), Spread())
    problem = TermSum([term, MeasuredTerm(QuadraticForms(np.eye(4)), LeastSquares(1.0))])
    assert Ability.QUADRATIC_FIT not in problem.abilities
    Y, D, h = rng.standard_normal((4, 2)), rng.standard_normal((4, 2)), 1e-5
    here = problem.at(Y)
    line = here.along(D)
    assert line.value(0.3) == pytest.approx(problem.at(Y + 0.3 * D).value, rel=1e-13)
    first, second = line.derivatives(0.3)
    assert first == pytest.approx(np.vdot(problem.at(Y + 0.3 * D).factor_gradient(), D), rel=1e-12)
    around = [np.vdot(problem.at(Y + (0.3 + s * h) * D).factor_gradient(), D) for s in (1, -1)]
    assert second == pytest.approx((around[0] - around[1]) / (2 * h), rel=1e-7)
    change = problem.at(Y + h * D).factor_gradient() - problem.at(Y - h * D).factor_gradient()
    np.testing.assert_allclose(here.hessian_vector(D), change / (2 * h), rtol=1e-6, atol=1e-6)
    plane = here.along_atom(D[:, 0])
    gradient, hessian = plane.derivatives(0.6, 0.8)
    for k, (alpha, beta) in enumerate([(h, 0.0), (0.0, h)]):
        ahead, behind = plane.derivatives(0.6 + alpha, 0.8 + beta), plane.derivatives(0.6 - alpha, 0.8 - beta)
        np.testing.assert_allclose(hessian[:, k], (ahead[0] - behind[0]) / (2 * h), rtol=1e-6, atol=1e-8)
        slope = (plane.value(0.6 + alpha, 0.8 + beta) - plane.value(0.6 - alpha, 0.8 - beta)) / (2 * h)
        assert gradient[k] == pytest.approx(slope, rel=1e-7)
    result = solve(problem, FlatQuotient(4, 4), ConjugateGradient(), tol=1e-8)
    assert result.optimal
    w = term.loss.derivative(term.features(problem.at(result.matrix.factor).images))
    S = (X.T * w) @ X + 2.0 * np.diag(np.diag(result.matrix.to_dense()) - 1.0)
    assert np.linalg.norm(S @ result.matrix.to_dense()) <= 1e-5
    assert np.linalg.eigvalsh(S)[0] >= -1e-5


def test_second_derivatives_of_a_loss_that_is_not_separable_are_refused_by_name():
    with pytest.raises(InvalidTypeError, match="Spread offers no second derivatives per measurement: use curvature"):
        Spread().second(np.zeros(3))


def test_a_quadratic_loss_that_is_not_separable_is_no_fit_with_a_multiplier_per_measurement():
    class Mean(Loss):
        """(mean of a − 1)²."""

        degree, separable = 2, False

        def value(self, a):
            return float(a.mean() - 1.0) ** 2

        def derivative(self, a):
            return np.full(a.shape, 2.0 * (a.mean() - 1.0) / len(a))

        def curvature(self, a, direction):
            return np.full(a.shape, 2.0 * direction.mean() / len(a))

    problem = TermSum([MeasuredTerm(QuadraticForms(np.random.default_rng(0).standard_normal((6, 3))), Mean())])
    assert Ability.QUADRATIC_FIT not in problem.abilities
    result = solve(problem, FlatQuotient(3, 3), ConjugateGradient(), tol=1e-10)
    assert result.value <= 1e-12


LOSSES = {
    "squares": lambda rng, m: LeastSquares(rng.standard_normal(m), rng.uniform(0, 2, m)),
    "squares-scalar": lambda rng, m: LeastSquares(0.5),
    "hinge": lambda rng, m: SquaredHinge(rng.uniform(0, 2, m), rng.choice([-1.0, 1.0], m), rng.uniform(0, 2, m)),
    "hinge-scalar": lambda rng, m: SquaredHinge(1.0, -1.0),
    "one-sided": lambda rng, m: HalfSquaredOneSided(rng.standard_normal(m), rng.choice([-1.0, 0.0, 1.0], m), rng.uniform(0, 2, m)),
    "equalities": lambda rng, m: HalfSquaredOneSided(rng.standard_normal(m)),
    "linear": lambda rng, m: Linear(rng.standard_normal(m)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOSSES))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_derivatives_of_losses(name, seed):
    """Central differences are exact for piecewise quadratics whose kink is not within the step."""
    rng, m, h = np.random.default_rng(seed), 6, 1e-4
    loss = LOSSES[name](rng, m)
    a = 2.0 * rng.standard_normal(m)
    assert loss.derivative(a).shape == loss.second(a).shape == a.shape
    for both, one in zip(loss.derivatives(a), (loss.derivative(a), loss.second(a)), strict=True):
        np.testing.assert_array_equal(both, one)
    size = abs(loss.value(a)) + 10.0
    for t in range(m):
        e = np.zeros(m)
        e[t] = h
        if np.any(loss.second(a + e) != loss.second(a - e)):
            continue
        slope = (loss.value(a + e) - loss.value(a - e)) / (2 * h)
        assert abs(loss.derivative(a)[t] - slope) <= 64 * EPS * size / h
        curvature = (loss.derivative(a + e)[t] - loss.derivative(a - e)[t]) / (2 * h)
        assert abs(loss.second(a)[t] - curvature) <= 64 * EPS * size / h
    middle = loss.value(0.5 * (a + e))
    assert middle <= 0.5 * (loss.value(a) + loss.value(e)) + 64 * EPS * size  # convex
    if loss.degree == 2:
        b = rng.standard_normal(m)
        exact = loss.value(a) + loss.derivative(a) @ b + 0.5 * loss.second(a) @ b**2
        assert abs(loss.value(a + b) - exact) <= 64 * EPS * (size + abs(exact))


def test_losses_by_hand():
    hinge = SquaredHinge(1.0)
    np.testing.assert_array_equal(hinge.derivative(np.array([2.0, 1.0, -1.0])), [0.0, 0.0, -4.0])
    assert hinge.value(np.array([2.0, 1.0, -1.0])) == 4.0
    assert SquaredHinge(1.0, -1.0).value(np.array([-2.0, 0.5])) == 2.25
    upper = HalfSquaredOneSided(1.0, 1.0)  # a <= 1 wanted
    assert upper.value(np.array([0.0])) == 0.0
    assert upper.value(np.array([3.0])) == 2.0
    assert HalfSquaredOneSided(1.0, -1.0).value(np.array([0.0])) == 0.5
    assert [loss.degree for loss in (LeastSquares(0), hinge, upper, HalfSquaredOneSided(0.0), Linear())] == [
        2,
        None,
        None,
        2,
        1,
    ]
    assert not MeasuredTerm(Entries([0], [1], 2), LeastSquares(0.0), -1.0).convex
    assert MeasuredTerm(Entries([0], [1], 2), Linear(-1.0), -1.0).convex


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: LeastSquares([np.nan]), InvalidInputError, "target must be finite; found 1 NaN"),
        (lambda: LeastSquares("a"), InvalidTypeError, "target must hold real numbers; found dtype <U1"),
        (lambda: LeastSquares([[1.0]]), InvalidInputError, r"target must be a number or a 1-D array; found shape \(1, 1\)"),
        (lambda: LeastSquares(1.0, [1.0, -2.0]), InvalidInputError, "weights must be non-negative; found -2"),
        (lambda: LeastSquares([1.0, 2.0], [1.0]), InvalidInputError, "share one length; found target: 2, weights: 1"),
        (lambda: SquaredHinge(1.0, 2.0), InvalidInputError, r"sign must be \+1 or -1; found 2"),
        (lambda: HalfSquaredOneSided(1.0, [0.0, 0.5]), InvalidInputError, r"direction must be -1, 0 or \+1; found 0.5"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize("direction", [-1.0, 0.0, 1.0])
def test_one_sided_squares_are_flat_at_their_target(direction):
    loss = HalfSquaredOneSided(np.full(3, 2.0), np.full(3, direction))
    a = np.array([1.0, 2.0, 3.0])
    active = np.ones(3, dtype=bool) if direction == 0.0 else direction * (a - 2.0) > 0.0
    assert np.array_equal(loss.second(a) > 0.0, active)
    assert np.array_equal(loss.derivative(a), np.where(active, a - 2.0, 0.0))
