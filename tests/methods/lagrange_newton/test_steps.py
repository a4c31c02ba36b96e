"""One Newton step on factor and multipliers: its linear system, the last digits, rest, rays, the arc's polynomial."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import EntryFit, FlatQuotient, LagrangeNewton, Outcome, solve
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt.linalg import solver_of
from psdopt.linalg.tolerances import EPS
from psdopt.methods.lagrange_newton import steps as lagrange_steps
from psdopt.methods.lagrange_newton.steps import DAMPING, LagrangeSteps
from psdopt.methods.lagrange_newton.system import LagrangeSystem
from tests.methods.lagrange_newton.test_method import PROBLEMS
from tests.problems.test_term_fit import FITS, N, symmetric


@pytest.mark.parametrize("name", PROBLEMS)
def test_where_the_value_shows_no_fall_a_step_has_its_full_length(name):
    """The last digits: a search would follow rounding there; the full step reaches the rounding of the gradient."""
    problem = PROBLEMS[name]
    geometry = FlatQuotient(problem.n, problem.n)
    Y = solve(problem, geometry, LagrangeNewton(), tol=1e-13, rng=0, max_iterations=60).state.evaluation.factor
    D = np.random.default_rng(5).standard_normal(Y.shape)
    near = LagrangeSteps().init(problem, geometry, Y + 1e-9 * np.linalg.norm(Y) / np.linalg.norm(D) * D)
    after = LagrangeSteps().step(near)
    assert after.step == 1.0
    unit = np.linalg.norm(problem.quadratic_fit().gradient(np.ones(problem.quadratic_fit().size)), 2)
    rounding = 256 * problem.n * EPS * unit * near.evaluation.size
    assert after.gradient_norm <= rounding < 0.01 * near.gradient_norm


def test_newton_steps_stall_at_rest_and_at_zero_only():
    problem = EntryFit(None, [0, 1], [0, 1], [1.0, 4.0], n=2)
    method, geometry = LagrangeSteps(), FlatQuotient(2, 2)
    for Y in (np.diag([1.0, 2.0]), np.zeros((2, 2))):
        assert method.step(method.init(problem, geometry, Y)).outcome is Outcome.STALLED
    one = method.init(problem, geometry, np.diag([0.6, 0.8]))  # of length one
    assert method.step(one).outcome is Outcome.RUNNING
    assert method.step(replace(one, gradient_norm=1.0)).outcome is Outcome.RUNNING


def test_a_ray_of_newton_steps_is_the_move_where_the_arc_is_straight():
    """Y = e2 and one measurement M₁₁: nothing bends the arc, and F falls along e2."""
    problem = EntryFit(-np.diag([0.0, 1.0]), [0], [0], 1.0)
    method = LagrangeSteps()
    after = method.step(method.init(problem, FlatQuotient(2, 1), np.array([[0.0], [1.0]])))
    assert after.outcome is Outcome.UNBOUNDED
    assert abs(after.ray[1, 0]) > 0.0
    assert after.ray[0, 0] == 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_polynomial_of_an_arc_is_f_along_it_and_the_multipliers_are_those_it_predicts(name):
    problem = PROBLEMS[name]
    n = problem.n
    Y = np.random.default_rng(1).standard_normal((n, 3))
    state = LagrangeSteps().init(problem, FlatQuotient(n, 3), Y)
    fit = quadratic_fit_of(problem)
    block, measured = fit.at(state.evaluation)
    own = fit.multipliers(measured)
    arc = lagrange_steps._arc(fit, state, block, own)
    assert arc.damping >= 0.5 * DAMPING * state.gradient_norm / state.evaluation.size * (1.0 - 1e-12)
    slope = float(np.sum(state.evaluation.factor_gradient() * arc.X))
    p = lagrange_steps._polynomial(fit, block, own, arc, slope)
    for mu in (0.01, 0.3, 1.0):
        there = problem.at(Y + mu * (arc.X + mu * arc.Z))
        terms = [abs(c * mu**k) for k, c in enumerate(p)]
        found = sum(c * mu**k for k, c in enumerate(p))
        assert found == pytest.approx(there.value - state.evaluation.value, abs=1e-9 * max(terms))
    np.testing.assert_allclose(arc.multipliers, own + fit.curvatures * (arc.first + arc.second), rtol=1e-9, atol=1e-9)
    # `first` and `second` are the rates of the measurements, as far as the linearised equations go
    moved = fit.pair(block, fit.block(arc.X))
    np.testing.assert_allclose(2.0 * moved, arc.first, atol=1e-7 * (1.0 + np.abs(moved).max()))


def dense(fit, w):
    """Σ w_t A_t."""
    return fit.gradient(w) - fit.gradient(np.zeros(fit.size))


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("damping", [1e-3, 10.0])
def test_the_system_solves_the_linearised_conditions(kind, damping):
    rng = np.random.default_rng(3)
    problem = kind(rng)
    fit = problem.quadratic_fit()
    here, w = problem.at(rng.standard_normal((N, 3))), rng.standard_normal(fit.size)
    (Y, measured), pair = fit.at(here), fit.pair
    own = fit.multipliers(measured)
    system = LagrangeSystem(fit, Y, Y.factor, w, damping, np.empty((fit.size, fit.size)))
    S = fit.gradient(w)
    lowest = np.linalg.eigvalsh(S)[0]
    assert system.delta >= damping
    assert system.delta >= -lowest
    assert (system.delta == damping) == (lowest + damping > 0.0)  # raised where it has to be, and only there
    shifted = S + system.delta * np.eye(N)
    condition = np.linalg.cond(shifted)
    X, predicted = system.newton(w, own)
    v = predicted - w
    size = np.linalg.norm(S) * np.linalg.norm(Y.factor) + np.abs(v).sum() * np.linalg.norm(Y.factor)
    pulled = shifted @ X + dense(fit, v) @ Y.factor
    np.testing.assert_allclose(pulled, -S @ Y.factor, rtol=0, atol=64 * N * EPS * condition * size)
    rates = 2.0 * pair(Y, fit.block(X))
    np.testing.assert_allclose(
        v, own - w + fit.curvatures * rates, rtol=0, atol=64 * N * EPS * condition * max(1.0, np.abs(v).max())
    )
    stretch = pair(fit.block(X), fit.block(X))
    Z, bent = system.bend(stretch)
    np.testing.assert_allclose(
        shifted @ Z, -dense(fit, bent) @ Y.factor, rtol=0,
        atol=64 * N * EPS * condition * np.abs(bent).sum() * np.linalg.norm(Y.factor),
    )  # fmt: skip
    np.testing.assert_allclose(
        bent / fit.curvatures, stretch + 2.0 * pair(Y, fit.block(Z)), rtol=0,
        atol=64 * N * EPS * condition * max(1.0, np.abs(stretch).max(), np.abs(bent).max()),
    )  # fmt: skip


@pytest.mark.parametrize("n", [9, 80])
def test_an_indefinite_gradient_is_shifted_by_a_little_more_than_it_lacks(n):
    """At either side of the order from which the smallest eigenvalue is estimated first."""
    rng = np.random.default_rng(n)
    fit = EntryFit(symmetric(rng, n), [0, 1], [2, 1], 1.0).quadratic_fit()
    w, Y = np.zeros(2), rng.standard_normal((n, 2))
    lowest = np.linalg.eigvalsh(fit.gradient(w))[0]
    assert lowest < -1.0
    for damping in (1e-6, 1e-3):
        system = LagrangeSystem(fit, fit.block(Y), Y, w, damping, np.empty((2, 2)))
        assert damping - lowest < system.delta <= damping - 1.2 * lowest


def test_the_solver_reads_the_upper_triangle_and_refuses_what_is_not_definite():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    K, q = A @ A.T + np.eye(5), rng.standard_normal(5)
    upper = np.triu(K) + np.tril(np.full((5, 5), np.nan), -1)
    solve = solver_of(upper)
    for _ in range(2):
        np.testing.assert_allclose(K @ solve(q), q, rtol=0, atol=1e3 * EPS)
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite \(row 3\)"):
        solver_of(np.diag([1.0, 2.0, -1.0]))
