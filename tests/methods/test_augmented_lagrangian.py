"""Augmented Lagrangian: cost of a step as counts, penalty, trace bounds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import (
    AugmentedLagrangian,
    Constrained,
    FlatQuotient,
    QuadraticSDP,
    Status,
    TermSum,
    TruncatedNewton,
    constraints,
    solve,
)
from psdopt.constraints.penalty import Penalty
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods import ClosedForm
from psdopt.terms import Entries, LeastSquares, MeasuredTerm


def cut(n: int, seed: int = 0) -> Constrained:
    rng = np.random.default_rng(seed)
    A = sp.triu(sp.random(n, n, density=min(1.0, 6 / n), random_state=rng), 1, format="csr")
    A.data[:] = 1.0
    A = A + A.T
    L = sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=0)).ravel()) - A)
    return Constrained(QuadraticSDP(C=-L / 8), constraints.diagonal(n, 1.0))


def test_work_does_not_grow_with_the_order() -> None:
    """Products with C, each O(entries · r), until the certificate holds: no more than twice at eight times n."""
    counts = []
    for n in (100, 800):
        result = solve(cut(n), FlatQuotient(n, 16), AugmentedLagrangian())
        assert result.status is Status.OPTIMAL
        counts.append(result.counts["operator_columns"])
    assert counts[1] <= 2.0 * counts[0] + 2000


def test_the_penalty_has_the_next_multiplier_as_its_derivative() -> None:
    rng = np.random.default_rng(0)
    lower = np.array([-1.0, 0.0, -np.inf, 2.0])
    upper = np.array([1.0, 0.0, 0.5, np.inf])
    penalty = Penalty(rng.standard_normal(4), np.array([1.0, 2.0, 0.5, 3.0]), lower, upper)
    for _ in range(20):
        a, h = 3.0 * rng.standard_normal(4), 1e-6
        slope = [(penalty.value(a + h * e) - penalty.value(a - h * e)) / (2.0 * h) for e in np.eye(4)]
        assert np.allclose(slope, penalty.derivative(a), atol=1e-5)
        assert np.all(penalty.derivative(a)[2:] * np.array([1.0, -1.0]) >= 0.0)
    assert penalty.degree is None
    assert Penalty(np.zeros(2), np.ones(2), np.ones(2), np.ones(2)).degree == 2


def test_units_of_the_problem_change_nothing() -> None:
    values = []
    for c, s in ((1.0, 1.0), (1e6, 1.0), (1.0, 1e-4)):
        base = cut(40)
        problem = Constrained(QuadraticSDP(C=0.5 * c * base.conic.C), constraints.diagonal(40, s))
        result = solve(problem, FlatQuotient(40, 10), AugmentedLagrangian())
        assert result.status is Status.OPTIMAL
        values.append(result.value / (c * s))
    assert np.ptp(values) <= 5e-6 * abs(values[0])


def test_what_it_refuses() -> None:
    with pytest.raises(InvalidInputError, match="inside_steps"):
        AugmentedLagrangian(inside_steps=0)
    with pytest.raises(InvalidInputError, match="max_rank"):
        AugmentedLagrangian(max_rank=0)
    with pytest.raises(IncompatibleError, match="inside="):
        solve(cut(10), FlatQuotient(10, 4), AugmentedLagrangian(inside=ClosedForm()))
    with pytest.raises(IncompatibleError, match="constraints"):
        solve(QuadraticSDP(C=np.eye(3)), FlatQuotient(3, 2), AugmentedLagrangian())


def test_newton_inside_takes_few_steps_where_it_stands_alone() -> None:
    rng = np.random.default_rng(2)
    G = rng.standard_normal((12, 12))
    problem = QuadraticSDP(A=G @ G.T / 12, B=0.3, C=G + G.T)
    result = solve(problem, FlatQuotient(12, 12), TruncatedNewton())
    assert result.status is Status.OPTIMAL
    assert result.iterations <= 40


@pytest.mark.parametrize("seed", range(4))
def test_a_curved_f_under_contradictory_limits_is_proven_infeasible_in_a_few_rounds(seed):
    """Multipliers of ten times their first size are tried as a proof: beyond that the penalty only spoils the steps."""
    n, rng = 4, np.random.default_rng(seed)
    i, j = np.triu_indices(n)
    fit = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(10.0 * rng.standard_normal(len(i))), 1.0)])
    limits = [constraints.trace(n, lower=4.02), constraints.diagonal(n, upper=1.0)]
    result = solve(Constrained(fit, limits), method=AugmentedLagrangian(), rng=0, max_iterations=100)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.infeasibility_proof is not None
