"""Gradient steps to the nearest feasible matrix: minima of a dense solver, dual bounds, steps, endings."""

import numpy as np
import pytest

from psdopt import (
    Ability,
    Constrained,
    EntryFit,
    FlatQuotient,
    PSDCone,
    QuadraticSDP,
    Status,
    compatible,
    constraints,
    solve,
)
from psdopt.contracts.gradient import dense_gradient
from psdopt.linalg.arrays import norm
from psdopt.methods import AugmentedLagrangian, DualNewton
from psdopt.methods.constrained_gradient import ConstrainedGradient, ConstrainedGradientState
from psdopt.testing.constrained import conic_optimum


def target(n: int, seed: int = 0) -> np.ndarray:
    G = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, n))
    G = 0.5 * (G + G.T)
    np.fill_diagonal(G, 1.0)
    return G


def partly(n: int, share: float, seed: int = 0, weights: float = 0.0) -> Constrained:
    """Σ w_ij (M_ij − G_ij)² over some entries, M_ii = 1."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    known = rng.random(len(i)) < share
    i, j = i[known], j[known]
    spread = 10.0 ** (-weights * rng.random(len(i)))
    return Constrained(EntryFit(None, i, j, target(n, seed)[i, j], spread, n=n), constraints.diagonal(n, 1.0))


@pytest.mark.parametrize(("share", "weights"), [(0.8, 0.0), (0.4, 0.0), (0.8, 1.0)])
def test_minima_are_proven_and_those_of_another_method(share, weights):
    problem = partly(20, share, 1, weights)
    assert Ability.EQUATIONS in problem.abilities
    assert Ability.NEAREST not in problem.abilities
    found = solve(problem, PSDCone(20), DualNewton(), tol=1e-8)
    other = solve(problem, FlatQuotient(20, 10), AugmentedLagrangian(), tol=1e-8, escape=True)
    assert found.optimal
    assert other.optimal
    assert found.value == pytest.approx(other.value, rel=1e-6, abs=1e-9)
    assert np.allclose(np.diag(found.matrix.to_dense()), 1.0, atol=1e-7)
    assert found.iterations < 250 or share < 0.5  # F is then flatter


def test_other_equations_and_a_factor_of_all_columns():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((8, 8))
    problem = Constrained(QuadraticSDP(A @ A.T + np.eye(8), 0.0, target(8)),
                          [constraints.trace(8, 3.0), constraints.entries([0, 1], [1, 4], 8, [0.2, -0.1])])  # fmt: skip
    found = solve(problem, FlatQuotient(8, 8), DualNewton(), tol=1e-7)
    assert found.optimal
    assert found.value == pytest.approx(conic_optimum(problem).value, rel=1e-5)


def test_one_step_solves_what_one_run_of_newton_solves():
    problem = Constrained(QuadraticSDP(B=1.0, C=-target(15)), constraints.diagonal(15, 1.0))
    state = ConstrainedGradient().init(problem, PSDCone(15), np.zeros((15, 1)))
    after = ConstrainedGradient().step(state)
    assert abs(after.curvature - 2.0) <= 1e-6
    assert after.evaluation.value == pytest.approx(solve(problem, PSDCone(15), DualNewton(), tol=1e-9).value, rel=1e-3)


def test_a_step_is_the_minimum_of_its_model_and_raises_the_curvature():
    problem = partly(12, 0.7, 2, 1.0)
    method = DualNewton()
    state = method.init(problem, PSDCone(12), np.zeros((12, 1)))
    curvatures = [state.curvature]
    for _ in range(4):
        before, state = state, method.step(state)
        curvatures.append(state.curvature)
        M, G = state.now
        assert np.allclose(G, dense_gradient(state.evaluation))
        beta = (before.t - 1.0) / (0.5 * (1.0 + np.sqrt(1.0 + 4.0 * before.t**2)))
        N, at_N = (now + beta * (now - last) for now, last in zip(before.now, before.before, strict=True))
        S = at_N + state.curvature * (M - N) + np.diag(state.y)  # the model's own gradient with multipliers
        assert np.linalg.eigvalsh(S)[0] >= -1e-10
        assert abs(np.sum(S * M)) <= 1e-10
        assert norm(np.diag(M) - 1.0) <= 2e-3 * norm(M - before.now[0])
        D = M - N
        assert np.sum(D * (G - at_N)) <= (1.0 + 2e-3) * state.curvature * np.sum(D * D)
    assert curvatures == sorted(curvatures)
    assert curvatures[-1] <= 2.0 * 1.001  # of w (M_ij − G_ij)², each entry twice in M


def test_steps_for_equally_measured_entries_do_not_grow_with_the_order():
    steps = [solve(partly(n, 0.8), PSDCone(n), DualNewton()).iterations for n in (20, 60)]
    assert steps[1] <= steps[0] + 5


def test_a_run_continues_from_a_matrix_and_multipliers():
    problem = partly(15, 0.8)
    first = solve(problem, PSDCone(15), DualNewton(), tol=1e-9)
    begun = {"start": first.matrix, "dual": first.state.y}
    again = solve(problem, PSDCone(15), DualNewton(), **begun)
    assert again.optimal
    assert again.iterations <= 3
    assert solve(problem, PSDCone(15), DualNewton()).iterations > 10


def test_endings():
    wrong = Constrained(EntryFit(None, [0], [1], [0.5], n=3), constraints.entries([0], [0], 3, -1.0))
    assert solve(wrong, PSDCone(3), DualNewton(), max_iterations=200).status is Status.INFEASIBLE
    beyond = Constrained(
        EntryFit(None, [0], [1], [0.5], n=3),
        [constraints.diagonal(3, 1.0), constraints.entries([0], [2], 3, 1.5)],
    )
    assert solve(beyond, PSDCone(3), DualNewton(), max_iterations=200).status is Status.INFEASIBLE
    zero = Constrained(EntryFit(None, [0], [1], [0.5], n=3), constraints.trace(3, 0.0))
    assert solve(zero, PSDCone(3), DualNewton()).matrix.to_dense() == pytest.approx(0.0)
    linear = Constrained(QuadraticSDP(C=np.eye(3)), constraints.diagonal(3, 1.0))
    loose = Constrained(EntryFit(None, [0], [1], [0.5], n=3), constraints.trace(3, upper=1.0))
    for problem in (linear, loose):
        assert not compatible(problem, PSDCone(3), DualNewton())
    assert type(DualNewton().init(wrong, PSDCone(3), np.zeros((3, 1)))) is ConstrainedGradientState
