"""LagrangeNewton under constraints: agreement, tight tolerances, rank growth, proofs, resumption, what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers.sdp_families import control
from psdopt import Constrained, FlatQuotient, QuadraticSDP, Status, compatible, constraints, solve
from psdopt.methods import AugmentedLagrangian, InteriorPoint, LagrangeNewton
from psdopt.methods.lagrange_newton import constrained
from psdopt.methods.lagrange_newton.constrained import ConstrainedNewton
from tests.methods.constrained import curved, cut, intervals, theta


def test_it_needs_few_steps_from_a_start_that_is_far_from_feasible() -> None:
    problem = cut(60)
    for scale in (1e-2, 1.0, 30.0):
        Y = scale * np.random.default_rng(0).standard_normal((60, 12))
        result = solve(problem, FlatQuotient(60, 12), LagrangeNewton(steps=0), start=Y, tol=1e-9)
        assert result.status is Status.OPTIMAL
        assert result.iterations <= 60
        assert result.history["phase"].max() == 1.0


def test_constraints_that_are_not_tight_have_no_multipliers_at_all() -> None:
    problem = intervals()
    result = solve(problem, method=LagrangeNewton(), tol=1e-8)
    assert result.status is Status.OPTIMAL
    y, a = result.certificate.constraints.multipliers, problem.measured(result.matrix.factor)
    assert np.all(np.abs(y[np.minimum(a - problem.lower, problem.upper - a) > 1e-5]) == 0.0)


def test_a_rank_that_is_too_low_grows_or_is_called_stationary() -> None:
    problem = theta(14, 0.3, 0)
    grown = solve(problem, FlatQuotient(14, 1), LagrangeNewton(), escape=True)
    assert grown.status is Status.OPTIMAL
    assert grown.matrix.factor.shape[1] > 1
    kept = solve(problem, FlatQuotient(14, 1), LagrangeNewton(), max_iterations=300)
    assert kept.status is not Status.OPTIMAL
    assert kept.matrix.factor.shape[1] == 1


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_saddles_of_a_curved_f_are_left(seed) -> None:
    """Newton's system is definite there by the curvature of F, and S is indefinite where Y has no column."""
    assert solve(curved(12, seed), FlatQuotient(12, 1), LagrangeNewton(), escape=True).status is Status.OPTIMAL


def test_where_no_gap_can_be_proven_a_run_ends_at_a_negligible_residual() -> None:
    result = solve(without_a_strictly_feasible_dual(5, 6, 0), method=LagrangeNewton(steps=0), max_iterations=400)
    assert result.status is Status.NO_PROGRESS


def test_nothing_feasible_is_proven() -> None:
    n = 5
    empty = Constrained(
        QuadraticSDP(C=np.eye(n)), [constraints.diagonal(n, 1.0), constraints.entries([0], [1], n, 2.0)]
    )
    result = solve(empty, method=LagrangeNewton(), max_iterations=500)
    assert result.status is Status.INFEASIBLE
    against = Constrained(QuadraticSDP(C=np.eye(n)), constraints.trace(n, -1.0))
    assert solve(against, method=LagrangeNewton()).status is Status.INFEASIBLE


@pytest.mark.parametrize(("method", "tol"), [(LagrangeNewton(), 1e-9), (AugmentedLagrangian(), 1e-6)])
def test_units_change_nothing(method, tol) -> None:
    values = []
    for c, s, t in ((1.0, 1.0, 1.0), (1e6, 1.0, 1.0), (1.0, 1e-4, 1.0), (1.0, 1.0, 1e5)):
        base = cut(30)
        diagonal = constraints.sparse_forms([t * sp.csr_array(([1.0], ([k], [k])), shape=(30, 30)) for k in range(30)],
                                            t * s)  # fmt: skip
        problem = Constrained(QuadraticSDP(C=0.5 * c * base.conic.C), diagonal)
        result = solve(problem, FlatQuotient(30, 9), method, tol=tol)
        assert result.status is Status.OPTIMAL
        values.append(result.value / (c * s))
    assert np.ptp(values) <= 5.0 * tol * abs(values[0])


def test_the_augmented_lagrangian_may_begin() -> None:
    problem = cut(30)
    result = solve(problem, FlatQuotient(30, 9), LagrangeNewton(AugmentedLagrangian(), steps=3), tol=1e-9)
    assert result.status is Status.OPTIMAL
    assert list(result.history["phase"][:3]) == [0.0, 0.0, 0.0]
    assert {"damping", "infeasibility", "penalty", "phase"} <= set(result.history.records[-1])
    assert result.history["phase"].max() == 1.0


def test_what_it_is() -> None:
    problem = cut(10)
    assert compatible(problem, FlatQuotient(10, 4), LagrangeNewton())
    assert LagrangeNewton(steps=0).on(problem) == ConstrainedNewton()
    assert LagrangeNewton().on(problem).name == "LagrangeNewton"
    assert LagrangeNewton().on(QuadraticSDP(C=np.eye(3))) == LagrangeNewton()
    assert not LagrangeNewton().on(problem).descends


def without_a_strictly_feasible_dual(n: int, m: int, seed: int) -> Constrained:
    """Like hinf of SDPLIB: no A_t and not C has an entry (n, n), so that S is never definite, and M_nn is not bounded.

    S ⪰ 0 holds at one y at least, and a definite M is feasible: the infimum is finite, but need not be attained.
    """
    rng = np.random.default_rng(seed)
    A = [G + G.T for G in rng.standard_normal((m, n, n))]
    for each in A:
        each[-1, -1] = 0.0
    G, H = rng.standard_normal((n - 1, n - 3)), rng.standard_normal((n, n))
    S = np.zeros((n, n))
    S[:-1, :-1] = G @ G.T
    C = S - sum(t * each for t, each in zip(rng.standard_normal(m), A, strict=True))
    return Constrained(QuadraticSDP(C=C), constraints.sparse_forms(A, [np.sum(each * (H @ H.T)) for each in A]))


def test_solutions_at_infinity_end_the_run_after_the_last_turn_at_the_nearest_point(monkeypatch) -> None:
    monkeypatch.setattr(constrained, "MOST_TURNS", 2)
    problem, residuals = without_a_strictly_feasible_dual(5, 6, 2), []

    def note(snapshot) -> None:
        if snapshot.state.turns % 2:
            residuals.append(snapshot.state.inner.residual)

    result = solve(problem, method=LagrangeNewton(steps=0), callback=note, max_iterations=500)
    assert result.status is Status.NO_PROGRESS  # without a bound on the trace no gap is proven
    assert result.iterations <= 200
    assert result.certificate.gap_relative is None
    assert result.certificate.constraints.primal_infeasibility <= 1e-6
    assert result.state.inner.residual == min(residuals)
    assert result.value == pytest.approx(solve(problem, method=InteriorPoint()).value, rel=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_random_control_programs_are_solved(seed) -> None:
    """Of their bounds all but one are zero, so that the penalty has to rise by many orders of magnitude."""
    result = solve(control(4, seed), method=LagrangeNewton(), rng=0, max_iterations=200)
    assert result.status is Status.OPTIMAL


def test_the_patience_of_newton_steps_under_constraints_is_the_one_given():
    on = [LagrangeNewton(patience=given).on(cut(9)) for given in (None, 5)]
    assert all(isinstance(method, ConstrainedNewton) for method in on)
    assert [method.patience for method in on] == [ConstrainedNewton.patience, 5]
