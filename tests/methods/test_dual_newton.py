"""Semismooth Newton on multipliers: the nearest correlation matrix and its kin."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import (
    Ability,
    AugmentedLagrangian,
    Constrained,
    DualNewton,
    FlatQuotient,
    PSDCone,
    QuadraticSDP,
    Status,
    constraints,
    solve,
)
from psdopt.errors import IncompatibleError, InvalidInputError


def correlation(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.uniform(-1.0, 1.0, (n, n))
    G = 0.5 * (G + G.T)
    np.fill_diagonal(G, 1.0)
    return G


def nearest(G: np.ndarray, *groups) -> Constrained:
    """|M − G|² − |G|²."""
    return Constrained(QuadraticSDP(B=1.0, C=-G), list(groups) or constraints.diagonal(len(G), 1.0))


def test_the_nearest_correlation_matrix_is_that_of_a_conic_solver() -> None:
    cp = pytest.importorskip("cvxpy")
    G = correlation(10)
    result = solve(nearest(G), PSDCone(10), DualNewton())
    X = cp.Variable((10, 10), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(X - G)), [cp.diag(X) == 1]).solve(solver="CLARABEL")
    assert result.status is Status.OPTIMAL
    assert np.linalg.norm(result.matrix.to_dense() - X.value) <= 1e-4


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


def test_both_sides_of_the_spectrum_give_the_same_product() -> None:
    """Few positive eigenvalues and few others take different formulas."""
    rng = np.random.default_rng(5)
    n = 9
    method = DualNewton(inner=200)
    for shift in (-1.5, 0.0, 1.5):
        problem = nearest(correlation(n, 7) + shift * np.eye(n))
        state = method.init(problem, PSDCone(n), None)
        scale, h = np.ones(n), 1e-6
        r = rng.standard_normal(n)
        d = method._direction(state, scale, r)
        moved = [problem.measured(method._at(problem, PSDCone(n), state.y + s * h * d, 0.0, None).evaluation.factor)
                 for s in (1.0, -1.0)]  # fmt: skip
        H_d = -(moved[0] - moved[1]) / (2.0 * h)
        assert np.linalg.norm(H_d - r) <= 0.5 * np.linalg.norm(r)


def test_contradictory_equations_are_not_optimal() -> None:
    problem = nearest(correlation(4), constraints.entries([0], [0], 4, -1.0))
    assert solve(problem).status is Status.INFEASIBLE


def test_what_it_is_not_made_for() -> None:
    with pytest.raises(IncompatibleError, match="nearest"):
        solve(Constrained(QuadraticSDP(C=np.eye(3)), constraints.trace(3, 1.0)), PSDCone(3), DualNewton())
    with pytest.raises(InvalidInputError, match="inner"):
        DualNewton(inner=0)


def test_a_problem_of_another_form_is_refused_by_name():
    class Promises(QuadraticSDP):
        """Declares the ability and has none of its parts."""

        def __init__(self):
            super().__init__(B=1.0, C=-np.eye(3))
            self.abilities |= {Ability.NEAREST}

    problem = Promises()
    with pytest.raises(IncompatibleError, match=r"DualNewton needs Constrained.* found Promises"):
        DualNewton().init(problem, PSDCone(3), np.eye(3))
