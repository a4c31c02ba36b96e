"""Semismooth Newton on multipliers: the nearest correlation matrix and its kin."""

import numpy as np
import pytest

from psdopt import Constrained, FlatQuotient, Outcome, PSDCone, QuadraticSDP, Status, constraints, solve
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.scales import stationarity_scale
from psdopt.methods import AugmentedLagrangian, DualNewton


def correlation(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.uniform(-1.0, 1.0, (n, n))
    G = 0.5 * (G + G.T)
    np.fill_diagonal(G, 1.0)
    return G


def nearest(G: np.ndarray, *groups) -> Constrained:
    """|M − G|² − |G|²."""
    return Constrained(QuadraticSDP(B=1.0, C=-G), list(groups) or constraints.diagonal(len(G), 1.0))


def test_convergence_is_quadratic_at_the_end() -> None:
    result = solve(nearest(correlation(40)), PSDCone(40), DualNewton(), tol=1e-12, max_iterations=30)
    errors = result.history["infeasibility"]
    last = errors[errors < 1e-2]
    assert result.iterations <= 12
    assert last[1] <= 0.05 * last[0]
    assert last[2] <= 0.05 * last[1]


def test_fixed_entries_without_a_trace_bound_are_certified_by_curvature() -> None:
    G = correlation(8, 3)
    problem = nearest(G, constraints.entries([0, 1, 2], [0, 1, 5], 8, [1.0, 2.0, 0.3]))
    result = solve(problem)
    assert problem.trace_limit is None
    assert result.method == "DualNewton"
    assert result.status is Status.OPTIMAL
    other = solve(problem, FlatQuotient(8, 8), AugmentedLagrangian(), tol=1e-5)
    assert other.value == pytest.approx(result.value, rel=1e-4)


def test_contradictory_equations_are_not_optimal() -> None:
    problem = nearest(correlation(4), constraints.entries([0], [0], 4, -1.0))
    assert solve(problem).status is Status.INFEASIBLE


def weighted(n: int = 5) -> tuple[Constrained, np.ndarray, list[np.ndarray], np.ndarray]:
    """(3.4/2) |M|² + ⟨C, M⟩ with ⟨A_t, M⟩ = b_t, the A_t of different norms: problem, C, A and b."""
    rng = np.random.default_rng(11)
    C = rng.standard_normal((n, n))
    C = C + C.T
    A = [np.zeros((n, n)) for _ in range(4)]
    A[0][0, 0], A[1][2, 2] = 5.0, 0.1
    A[2][0, 1] = A[2][1, 0] = 2.0
    A[3][1, 3] = A[3][3, 1] = A[3][3, 3] = -1.0
    b = np.array([5.0, 0.2, 0.7, -1.5])
    problem = Constrained(QuadraticSDP(B=1.7, C=0.5 * C), constraints.sparse_forms(A, b))
    return problem, C, A, b


def primal(C, A, y):
    """Π(−C − A*(y))/rho, its eigenvalues and |Π|²/(2 rho)."""
    values, V = np.linalg.eigh(-C - sum(w * each for w, each in zip(y, A, strict=True)))
    up = np.maximum(values, 0.0)
    return (V * up) @ V.T / 3.4, values, float(up @ up) / 6.8


def test_what_is_known_at_multipliers() -> None:
    problem, C, A, b = weighted()
    y = np.array([0.3, -0.4, 0.2, 0.5])
    state = DualNewton()._at(problem, PSDCone(5), y, 0.25, None)
    M, values, half = primal(C, A, y)
    np.testing.assert_allclose(state.evaluation.matrix.to_dense(), M, atol=1e-12)
    np.testing.assert_allclose(state.values, values, atol=1e-12)
    assert state.theta == pytest.approx(half + y @ b, rel=1e-12)
    assert state.extras["dual_bound"] == pytest.approx(-state.theta, rel=1e-12)
    off = relative_violation(problem, problem.measured(state.evaluation.factor), state.evaluation.factor)
    assert state.extras["infeasibility"] == off
    value = 1.7 * np.sum(M * M) + np.sum(C * M)
    unit = problem.duality.value_unit(value, float(np.trace(M)))
    relative = max(off, abs(value + state.theta) / unit)
    scale = stationarity_scale(problem, state.evaluation.value, state.evaluation.size)
    assert state.gradient_norm == pytest.approx(2.0 * relative * scale, rel=1e-9)
    assert (state.step, state.outcome, state.dual.ray) == (0.25, Outcome.RUNNING, None)


@pytest.mark.parametrize("share", [1e-7, 1e-2])
def test_directions_solve_the_damped_newton_system_in_units_of_the_constraints(share) -> None:
    """(H + delta I) d = r, H the derivative of A(M(y)) by y; as accurate as the residual is small."""
    _, C, A, b = weighted()
    y, h = np.array([0.3, -0.4, 0.2, 0.5]), 1e-6
    for shift in (-3.0, 0.0, 3.0):  # few positive eigenvalues, and few others
        moved = Constrained(QuadraticSDP(B=1.7, C=0.5 * (C + shift * np.eye(5))), constraints.sparse_forms(A, b))
        method = DualNewton()
        state = method._at(moved, PSDCone(5), y, 0.0, None)
        scale = 1.0 / moved.norms

        def at(z, shift=shift):
            M = primal(C + shift * np.eye(5), A, z)[0]
            return np.array([np.sum(each * M) for each in A])

        H = -np.array([(at(y + h * e) - at(y - h * e)) / (2.0 * h) for e in np.eye(4)]).T
        H = scale[:, None] * H * scale
        r = np.array([1.0, -2.0, 0.5, 1.5])
        r *= share * np.linalg.norm(scale * b) / np.linalg.norm(r)
        damping = 1e-3 * share / 3.4
        d = method._direction(state, scale, r)
        left = np.linalg.norm(H @ d + damping * d - r)
        assert left <= (min(0.1, share) + 1e-5) * np.linalg.norm(r)
        if share < 1e-3:
            np.testing.assert_allclose(d, np.linalg.solve(H + damping * np.eye(4), r), rtol=1e-3)


def test_a_step_descends_by_armijo_along_the_direction() -> None:
    problem, C, A, b = weighted()
    method = DualNewton()
    state = method.init(problem, PSDCone(5), None)
    np.testing.assert_array_equal(state.y, np.zeros(4))
    for _ in range(30):
        after = method.step(state)
        if after.outcome is not Outcome.RUNNING:
            break
        scale = 1.0 / problem.norms
        residual = scale * (problem.measured(state.evaluation.factor) - b)
        d = scale * method._direction(state, scale, residual)
        np.testing.assert_allclose(after.y, state.y + after.step * d, atol=1e-10)
        gradient = b - problem.measured(state.evaluation.factor)
        rounding = 8.0 * np.finfo(float).eps * abs(state.theta)
        assert after.theta <= state.theta + 1e-4 * after.step * (gradient @ d) + rounding
        assert np.log2(after.step) == round(np.log2(after.step)) <= 0.0
        state = after
    M = primal(C, A, state.y)[0]
    np.testing.assert_allclose([np.sum(each * M) for each in A], b, atol=1e-8)


def test_multipliers_much_larger_than_the_objective_are_tried_as_a_proof() -> None:
    problem = nearest(correlation(3), constraints.entries([0, 1], [0, 1], 3, [-1.0, 1.0]))
    size = np.linalg.norm(problem.nearest.C)
    for share, tried in ((2.0, False), (100.0, True)):
        state = DualNewton()._at(problem, PSDCone(3), np.array([share * size, 0.0]), 0.0, None)
        assert (state.dual.ray is not None) == tried
        assert state.outcome is (Outcome.FINISHED if tried else Outcome.RUNNING)
    assert np.linalg.norm(problem.norms * state.dual.ray) == pytest.approx(1.0)
