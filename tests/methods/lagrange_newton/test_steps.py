"""One Newton step on factor and multipliers: the last digits, rest, rays, and the polynomial of the arc."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import EntryFit, FlatQuotient, LagrangeNewton, Outcome, solve
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt.linalg.tolerances import EPS
from psdopt.methods.lagrange_newton import steps as lagrange_steps
from psdopt.methods.lagrange_newton.steps import DAMPING, LagrangeSteps
from tests.methods.lagrange_newton.test_method import PROBLEMS


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
