"""Lower bounds without a bound on the trace: below every feasible value, near the optimum, none where none is."""

import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, QuadraticSDP, Status, TermSum, certify, constraints, solve
from psdopt.certificates.constrained.cone_bound import _plus_linear, cone_bound
from psdopt.problems.composite import Composite
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms

N = 6


def free(face: bool, kind: str = "quadratic", weight: float = 1.0) -> Constrained:
    """Constraints that leave tr M free beside a curved F."""
    rng = np.random.default_rng(0)
    G, X = rng.standard_normal((N, N)), rng.standard_normal((30, N))
    if kind == "quadratic":
        F = QuadraticSDP(A=G @ G.T + np.eye(N), B=np.diag([1.0, 2.0, 1.0, 3.0, 1.0, 1.0]), C=-weight * (G + G.T))
    elif kind == "fit":
        F = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(rng.standard_normal(30)))])
    else:
        F = AutogradProblem(lambda M: ((M - G - G.T) ** 4).sum(), N, convex=True)
    groups = [constraints.entries([0, 1], [1, 2], N, [0.0, 0.5])]
    return Constrained(F, [*groups, constraints.distances([3], [4], 0.0, n=N)] if face else groups)


@pytest.mark.parametrize("kind", ["quadratic", "fit", "autograd"])
@pytest.mark.parametrize("face", [False, True])
def test_curved_objectives_are_proven_optimal_without_a_bound_on_the_trace(kind, face) -> None:
    problem = free(face, kind)
    assert problem.trace_limit is None
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.certificate.gap_relative <= 1e-6
    assert result.certificate.constraints.trace_bound is None
    bounded = solve(Constrained(problem.problem, problem.constraints, trace_bound=10.0 * result.matrix.trace()))
    assert bounded.value == pytest.approx(
        result.value, abs=2e-6 * max(abs(result.value), abs(result.value - problem.value_at_zero()))
    )


@pytest.mark.parametrize("face", [False, True])
def test_the_bound_is_below_feasible_values_whatever_the_multipliers(face) -> None:
    problem, rng = free(face), np.random.default_rng(1)
    best = solve(problem, tol=1e-8)
    found = 0
    for scale in (0.0, 1e-3, 1.0, 100.0):
        y = best.certificate.constraints.multipliers + scale * rng.standard_normal(problem.m)
        bound = cone_bound(problem, best.matrix.factor, y, 1e-3 * abs(best.value))
        found += bound is not None
        assert bound is None or bound <= best.value + 1e-8 * abs(best.value)
    assert found >= 2


def test_none_where_none_is() -> None:
    linear = Constrained(QuadraticSDP(C=np.eye(N)), constraints.entries([0], [1], N, 1.0))
    Y, y = np.eye(N), np.zeros(1)
    assert cone_bound(linear, Y, y, 1.0) is None
    F = AutogradProblem(lambda M: ((M - 1.0) ** 4).sum(), N)  # not said to be convex
    assert cone_bound(Constrained(F, linear.constraints), Y, y, 1.0) is None
    flat = Constrained(QuadraticSDP(A=np.diag([1.0] * 5 + [0.0]), C=-np.eye(N)), linear.constraints)
    assert cone_bound(flat, Y, y, 1.0) is None  # F falls without end along the last coordinate
    assert certify(flat, Y, dual=y).gap is None


def test_a_linear_part_is_a_term_of_a_sum_and_an_own_problem_elsewhere() -> None:
    """A sum whose evaluations are its own keeps them."""

    class Own(TermSum):
        def at(self, Y):
            return super().at(Y)

    rng = np.random.default_rng(0)
    A, Y = np.diag([1.0, -2.0, 3.0]), rng.standard_normal((3, 2))
    terms = [MeasuredTerm(QuadraticForms(rng.standard_normal((5, 3))), LeastSquares(np.ones(5)))]
    for F, kind in (
        (TermSum(terms, 2.0), TermSum),
        (Own(terms, 2.0), Composite),
        (QuadraticSDP(None, 1.0, np.eye(3)), None),
    ):
        L = _plus_linear(F, A)
        assert kind is None or type(L) is kind
        assert L.at(Y).value == pytest.approx(F.at(Y).value + np.sum(A * (Y @ Y.T)), rel=1e-12)
