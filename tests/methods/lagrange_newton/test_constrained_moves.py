"""The Newton step under constraints: its linear system, its arc, the slope of its merit function."""

from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import Constrained
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.methods.lagrange_newton.constrained_moves import Active, newton_move
from tests.methods.constrained import curved, cut


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


def test_the_residual_is_that_of_lagranges_conditions() -> None:
    """Its square falls along a Newton step as that of an exact linearisation: slope −2 at the start."""
    problem = cut(10)
    here, fit, active, move = first_move(problem, seed=5, damping=1e-9)

    def squares(mu: float) -> float:
        y = active.y.copy()
        y[active.rows] += mu * move.v
        there = problem.at(here.factor + mu * move.X)
        S = np.asarray(slack_operator(problem, there, y) @ there.factor) + mu * move.delta * move.X
        return float(np.sum(S**2) + np.sum(problem.violation(fit.measured(there)) ** 2))

    h = 1e-6
    assert (squares(h) - squares(-h)) / (2.0 * h) == pytest.approx(-2.0 * squares(0.0), rel=1e-5)


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
