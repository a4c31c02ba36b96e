"""Newton on factor and multipliers of constraints: its moves, local convergence, first multipliers, residuals."""

from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import Constrained, FlatQuotient, Outcome, QuadraticSDP, certify, constraints, stationarity_scale
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.methods import EigenSplitting
from psdopt.methods.lagrange_newton import constrained_steps
from psdopt.methods.lagrange_newton.constrained_moves import Active, newton_move
from psdopt.methods.lagrange_newton.constrained_steps import ConstrainedSteps
from tests.methods.constrained import curved, cut


@pytest.mark.parametrize("seed", range(3))
def test_local_convergence_is_quadratic_and_the_end_is_certified(seed) -> None:
    problem, method = cut(40, seed), ConstrainedSteps()
    state = method.init(problem, FlatQuotient(40, 10), np.random.default_rng(seed).standard_normal((40, 10)))
    residuals = [state.residual]
    while state.outcome is Outcome.RUNNING:
        state = method.step(state)
        residuals.append(state.residual)
    assert len(residuals) <= 25
    near = [k for k, e in enumerate(residuals) if e <= 1e-3]
    assert near
    assert len(residuals) - near[0] <= 6  # 1e-3, 1e-6, 1e-12, rounding
    certificate = certify(problem, state.evaluation, tol=1e-9, dual=state.dual)
    assert certificate.proves(1e-9)


def test_columns_to_spare_and_repeated_constraints_do_no_harm() -> None:
    problem, method = cut(12), ConstrainedSteps()
    twice = Constrained(problem.problem, 2 * list(problem.constraints))
    values = []
    for each, columns in ((problem, 6), (problem, 12), (twice, 6)):
        state = method.init(each, FlatQuotient(12, columns), np.random.default_rng(1).standard_normal((12, columns)))
        for _ in range(40):
            state = method.step(state)
            if state.outcome is not Outcome.RUNNING:
                break
        assert state.residual <= 1e-8
        values.append(state.evaluation.value)
    assert np.ptp(values) <= 1e-8 * abs(values[0])


def test_zero_and_what_has_no_constraints() -> None:
    problem, method = cut(5), ConstrainedSteps()
    zero = method.init(problem, FlatQuotient(5, 2), np.zeros((5, 2)))
    assert method.step(zero).outcome is Outcome.STALLED
    assert EigenSplitting().on(problem) == EigenSplitting()


def loose() -> Constrained:
    """⟨C, M⟩, C with a negative eigenvalue, tr M = 2 and 3 M_01 between −0.3 and 0.6, of norms √5 and 3/√2."""
    form = np.zeros((5, 5))
    form[0, 1] = form[1, 0] = 1.5
    return Constrained(
        QuadraticSDP(C=0.5 * np.diag([1.0, 2.0, -1.0, 3.0, 0.5])),
        [constraints.trace(5, 2.0), constraints.sparse_forms([form], lower=-0.3, upper=0.6)],
    )


@pytest.mark.parametrize("y", [(0.7, 0.0), (0.7, 5.0), (0.7, -5.0)])
@pytest.mark.parametrize("moved", [False, True])
def test_the_residual_is_the_largest_relative_error_of_lagranges_conditions(y, moved) -> None:
    """|S Y| in its unit, infeasibility, and how far tied measurements are from their bounds; λ_min(S) τ beside them."""
    problem, sigma = loose(), 2.0
    Y, y = np.random.default_rng(1).standard_normal((5, 3)), np.array(y)
    here = problem.at(Y)
    move = SimpleNamespace(shift=0.3, delta=0.7) if moved else None
    state = constrained_steps._at(problem, FlatQuotient(5, 3), here, y, sigma, 1.5, 0.25, move)
    M = Y @ Y.T
    a, norms = np.array([np.trace(M), 3.0 * M[0, 1]]), np.array([np.sqrt(5.0), 1.5 * np.sqrt(2.0)])
    w = sigma / norms**2
    lower, upper = np.array([2.0, -0.3]), np.array([2.0, 0.6])
    z = a + y / w
    tied = (z < lower) | (z > upper) | (lower == upper)
    kept = np.where(tied, y, 0.0)
    z = a + kept / w
    tied = (z < lower) | (z > upper) | (lower == upper)
    np.testing.assert_array_equal(state.y, kept)
    S = np.asarray(slack_operator(problem, here, kept) @ np.eye(5))
    pull = np.linalg.norm(S @ Y)
    scale = stationarity_scale(problem, here.value, here.size)
    nearest = np.clip(a, lower, upper)
    off = np.linalg.norm(((a - np.clip(z, lower, upper)) / norms)[tied]) / np.linalg.norm(nearest / norms)
    residual = max(pull / scale, off, relative_violation(problem, a, Y))
    assert state.pull == pytest.approx(pull, rel=1e-10)
    assert state.residual == pytest.approx(residual, rel=1e-10)
    unit = problem.duality.value_unit(here.value, 2.0)
    indefinite = 0.3 * 2.0 / unit if moved else 0.0
    assert state.indefinite == pytest.approx(indefinite, rel=1e-10)
    assert state.gradient_norm == pytest.approx(2.0 * max(residual, indefinite) * scale, rel=1e-10)
    assert (state.sigma, state.base, state.step, state.slow, state.saddle) == (2.0, 1.5, 0.25, 0, False)
    assert (state.extras["sigma"], state.extras["penalty"]) == (1.5, 2.0)


def test_where_all_bounds_are_zero_errors_are_relative_to_m() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.sparse_forms([np.diag([1.0, -1.0, 0.0])], 0.0))
    Y = np.diag([2.0, 1.0, 1.0])
    state = constrained_steps._at(problem, FlatQuotient(3, 3), problem.at(1e-3 * Y), np.zeros(1), 1.0, 1.0)
    tied = (4.0 - 1.0) / np.sqrt(2.0) / np.sqrt(16.0 + 1.0 + 1.0)
    assert state.residual >= tied * (1.0 - 1e-12)
    zero = constrained_steps._at(problem, FlatQuotient(3, 3), problem.at(0.0 * Y), np.zeros(1), 1.0, 1.0)
    assert zero.residual == 0.0


def first_move(problem: Constrained, seed: int = 0, damping: float = 0.3):
    rng = np.random.default_rng(seed)
    Y, y = rng.standard_normal((problem.n, 4)), rng.standard_normal(problem.m)
    here, fit = problem.at(Y), problem.constrained_fit()
    active = Active.of(fit, fit.measured(here), y, 1.0)
    return here, fit, active, newton_move(fit, here, active, damping, 1e-12)


@pytest.mark.parametrize("problem", [cut(9), curved()], ids=["linear", "curved"])
def test_a_move_solves_the_linearised_conditions(problem) -> None:
    damping = 0.3 if problem.conic is not None else 60.0  # with curvature the system is solved where S + delta I ⪰ 0
    here, fit, active, move = first_move(problem, damping=damping)
    Y, X, delta = here.factor, move.X, damping + move.shift
    force = np.zeros(problem.m)
    force[active.rows] = move.v
    S = slack_operator(problem, here, active.y)
    left = np.asarray(S @ X) + delta * X + np.asarray(problem.forms.matrix(force) @ Y)
    bend = fit.bend(here, X)
    left = left if bend is None else left + bend
    assert np.linalg.norm(left + np.asarray(S @ Y)) <= 1e-8 * np.linalg.norm(np.asarray(S @ Y))
    stretched = problem.measured(Y + X) - problem.measured(Y) - problem.measured(X)
    assert np.allclose(stretched[active.rows], -active.off, atol=1e-9)
    # to second order the arc meets the bounds
    bent = problem.measured(Y + 1e-3 * move.X + 1e-6 * move.Z) - problem.measured(Y)
    assert np.allclose(bent[active.rows], -1e-3 * active.off, atol=2e-8 * (1.0 + np.abs(move.Z).max() ** 2))


@pytest.mark.parametrize("problem", [cut(9), curved()], ids=["linear", "curved"])
def test_the_slope_of_the_merit_function_is_its_derivative(problem) -> None:
    here, fit, active, move = first_move(problem, seed=3)
    sigma, h = 1.0, 1e-6

    def merit(mu: float) -> float:
        there = problem.at(here.factor + mu * move.X)
        y = active.y.copy()
        y[active.rows] += mu * move.v
        return there.value + Active.of(fit, fit.measured(there), y, sigma, keep=True).merit

    assert (merit(h) - merit(-h)) / (2.0 * h) == pytest.approx(move.slope(active), rel=1e-5)
    needed = move.needed(fit, active, 0.0)
    assert np.isfinite(needed)
    steep = Active.of(fit, fit.measured(here), active.y, max(2.0 * needed, sigma), keep=True)
    assert move.slope(steep) < 0.0


@pytest.mark.parametrize("problem", [cut(9), curved()], ids=["linear", "curved"])
def test_the_penalty_that_is_needed_makes_the_step_one_of_descent(problem) -> None:
    """From it on, and not below it, the slope is at most −⟨X, H X⟩ = ⟨pull, X⟩ + ½ ⟨v, 2 ⟨A Y, X⟩⟩, H of the system."""
    damping = 0.3 if problem.conic is not None else 60.0
    for seed in range(4):
        _, fit, active, move = first_move(problem, seed, damping)
        energy = -float(np.sum(move.pull * move.X)) - 0.5 * float(move.v @ move.rates)
        found = move.needed(fit, active, 0.0)
        linear = 2.0 * float(np.sum(move.pull * move.X)) + float(active.off @ move.v)
        falls = -float((active.off / fit.norms[active.rows] ** 2) @ move.rates)
        if linear + energy <= 0.0:
            assert found == 0.0
        elif falls <= 0.0:
            assert found == np.inf
        else:
            assert linear - found * falls == pytest.approx(-energy, rel=1e-9)
        assert move.needed(fit, active, abs(linear + energy) * 1.01) == 0.0


@pytest.mark.parametrize("keep", [False, True])
def test_what_is_tied_and_what_the_merit_function_has_of_it(keep) -> None:
    """w = sigma/|A_t|²; tied are equations and where a + y/w lies beyond a bound, y is zero elsewhere, or kept."""
    fit = SimpleNamespace(
        norms=np.array([1.0, 2.0, 0.5, 4.0, 1.0, 1.0]),
        lower=np.array([1.0, 0.0, -1.0, -1.0, 0.0, 1.0]),
        upper=np.array([1.0, 0.5, 1.0, 12.0, 2.0, 1.0]),
        held=np.array([5]),
    )
    a, given = np.array([1.2, 0.4, 0.3, 0.5, -0.25, 3.0]), np.array([2.0, 0.3, -0.1, 4.0, 0.0, 9.0])
    active = Active.of(fit, a, given, 2.0, keep)
    w = np.array([2.0, 0.5, 8.0, 0.125, 2.0, 2.0])
    # a + y/w: 2.2 (equation), 1.0 (above 0.5), 0.29 (within), 32.5 (above 12), −0.25 (below 0), held
    np.testing.assert_array_equal(active.rows, [0, 1, 3, 4])
    np.testing.assert_allclose(active.off, [0.2, -0.1, -11.5, -0.25])
    np.testing.assert_allclose(active.w, w[[0, 1, 3, 4]])
    y = np.array(given) if keep else np.where([True, True, False, True, True, False], given, 0.0)
    np.testing.assert_array_equal(active.y, y)
    tied = y[active.rows] @ active.off + 0.5 * active.w @ active.off**2
    free = sum(y[t] ** 2 / w[t] for t in (2, 5))
    assert active.merit == pytest.approx(tied - 0.5 * free, rel=1e-12)


def test_systems_with_curvature_end_after_as_many_products_as_they_have_unknowns(monkeypatch) -> None:
    problem = curved()
    fit, calls = problem.constrained_fit(), []
    bend = type(fit).bend
    monkeypatch.setattr(type(fit), "bend", lambda self, here, D: calls.append(1) or bend(self, here, D))
    first_move(problem, damping=60.0)
    assert 3 <= len(calls) <= 8 * 4 + 3
