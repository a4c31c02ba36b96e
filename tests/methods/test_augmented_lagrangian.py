"""Augmented Lagrangian: cost of a step as counts, penalty, trace bounds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import (
    Ability,
    AugmentedLagrangian,
    Constrained,
    FlatQuotient,
    InteriorPoint,
    LagrangeNewton,
    QuadraticSDP,
    Status,
    TermSum,
    TruncatedNewton,
    certify,
    constraints,
    solve,
)
from psdopt.constraints import curvature
from psdopt.constraints.certificate import Multipliers
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods import ClosedForm
from psdopt.terms import Entries, LeastSquares, MeasuredTerm
from tests.graphs import random_laplacian


def cut(n: int, seed: int = 0) -> Constrained:
    return Constrained(QuadraticSDP(C=-random_laplacian(n, seed) / 8), constraints.diagonal(n, 1.0))


def test_work_does_not_grow_with_the_order() -> None:
    """Products with C, each O(entries · r), until the certificate holds: no more than twice at eight times n."""
    counts = []
    for n in (100, 800):
        result = solve(cut(n), FlatQuotient(n, 16), AugmentedLagrangian())
        assert result.status is Status.OPTIMAL
        counts.append(result.counts["operator_columns"])
    assert counts[1] <= 2.0 * counts[0] + 2000


def touched(problem: Constrained, rank: int) -> float:
    """Entries of the A_t times columns that a step touches, counted where constraints are measured and pulled back."""
    measurement, counts = problem.measurement, [0.0]
    pair, along, adjoint = measurement.pair, measurement.along, measurement.adjoint

    def counted(function):
        def call(first, second, *rest):
            columns = second.factor.shape[1]
            assert columns <= rank
            counts[0] += columns * measurement.B.nnz
            return function(first, second, *rest)

        return call

    measurement.pair, measurement.along, measurement.adjoint = counted(pair), counted(along), counted(adjoint)
    n = problem.n
    geometry, method = FlatQuotient(n, rank), AugmentedLagrangian(TruncatedNewton(inner=5), inside_steps=2, grow=False)
    state = method.init(problem, geometry, np.random.default_rng(0).standard_normal((n, rank)))
    counts[0] = 0.0
    before = problem.counts()["operator_columns"]
    for _ in range(3):
        state = method.step(state)
    assert problem.counts()["operator_columns"] - before <= 3 * 2 * (5 + 8) * 3 * rank  # blocks of Y, none of n columns
    return counts[0] / 3.0


def test_a_step_is_linear_in_the_entries_of_the_constraints_at_a_fixed_rank() -> None:
    """At twice the entries a step touches twice as many, at any n; and nothing of it has n columns."""
    per_entry = []
    for n in (60, 240, 960):
        rng = np.random.default_rng(n)
        i, j = rng.integers(0, n, (2, 3 * n))
        B = sp.random_array((2 * n, 3 * n), density=2.0 / (3 * n), rng=rng, format="csr") + sp.eye_array(2 * n, 3 * n)
        problem = Constrained(
            QuadraticSDP(C=sp.eye_array(n)),
            constraints.sparse_forms(constraints.SparseForms(i, j, B, n), lower=-1.0, upper=1.0),
        )
        per_entry.append(touched(problem, 4) / problem.measurement.B.nnz)
    assert max(per_entry) <= 4 * 2 * (5 + 3) * 2  # columns · steps inside · products and gradients · passes of each


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


CONTRADICTIONS = {
    "bounds": lambda n: [constraints.entries([1], [1], n, lower=1.0), constraints.entries([1], [1], n, upper=0.5)],
    "equations": lambda n: [
        constraints.entries([0, 1], [0, 1], n, [1.0, 2.0]),
        constraints.sparse_forms([np.diag([1.0, 1.0] + [0.0] * (n - 2))], 4.0),
    ],
    "minor": lambda n: [
        constraints.entries([0, 0], [0, 1], n, [1.0, 3.0]),
        constraints.entries([1], [1], n, upper=2.0),
    ],
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("method", [AugmentedLagrangian(), InteriorPoint()])
def test_contradictions_without_a_bound_on_the_trace_are_proven(kind, sign, method) -> None:
    """Also where F falls along a direction in which the constraints have no end: nothing feasible is unbounded."""
    n = 4
    problem = Constrained(QuadraticSDP(C=sign * np.eye(n)), CONTRADICTIONS[kind](n))
    assert problem.trace_limit is None
    result = solve(problem, method=method, max_iterations=100)
    assert result.status is Status.INFEASIBLE
    y = result.certificate.infeasibility_proof
    assert problem.support(y) < 0.0
    assert np.linalg.eigvalsh(problem.forms.matrix(y).toarray())[0] >= -1e-14


@pytest.mark.parametrize("method", [AugmentedLagrangian(), InteriorPoint(), LagrangeNewton()])
def test_unbounded_is_said_at_a_feasible_point(method) -> None:
    n = 4
    problem = Constrained(
        QuadraticSDP(C=np.diag([1.0, 1.0, 1.0, -1.0])), constraints.entries([0, 1], [0, 1], n, [1.0, 2.0])
    )
    result = solve(problem, method=method, max_iterations=200)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.primal_infeasibility <= 1e-6
    D = result.certificate.unboundedness_proof
    assert np.sum(problem.conic.C.toarray() * (D @ D.T)) < 0.0
    elsewhere = certify(problem, 2.0 * result.matrix.factor, dual=Multipliers(np.zeros(2), direction=D))
    assert elsewhere.unboundedness_proof is not None
    assert not elsewhere.unbounded  # that matrix is not feasible


@pytest.mark.parametrize("seed", range(3))
def test_a_tolerance_below_rounding_ends_in_few_rounds(seed) -> None:
    """The status says that no digit is left, and the certificate how many there are."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((20, 20))
    problem = Constrained(QuadraticSDP(C=G + G.T), constraints.diagonal(20, 1.0))
    result = solve(problem, method=AugmentedLagrangian(), tol=1e-16)
    assert result.status is Status.NO_PROGRESS
    assert result.iterations <= 120
    assert result.certificate.relative <= 1e-11


def test_a_problem_without_constraints_is_refused_by_name():
    class Promises(QuadraticSDP):
        """Declares the ability and has no constraints."""

        def __init__(self):
            super().__init__(B=1.0, C=-np.eye(3))
            self.abilities |= {Ability.CONSTRAINTS}

    with pytest.raises(IncompatibleError, match=r"AugmentedLagrangian needs a Constrained problem; found Promises"):
        AugmentedLagrangian().init(Promises(), FlatQuotient(3, 2), np.ones((3, 2)))


def torus(rows: int, columns: int, seed: int) -> Constrained:
    """A cut of a grid on a torus with weights ±1: solutions of small rank, and many eigenvalues of S near zero."""
    n, rng = rows * columns, np.random.default_rng(seed)
    i = np.arange(n).reshape(rows, columns)
    b = np.concatenate([np.roll(i, 1, axis=0).ravel(), np.roll(i, 1, axis=1).ravel()])
    W = sp.coo_array((rng.choice([-1.0, 1.0], 2 * n), (np.tile(i.ravel(), 2), b)), shape=(n, n)).tocsr()
    W = W + W.T
    return Constrained(QuadraticSDP(C=sp.csr_array(0.125 * W)), constraints.diagonal(n, 1.0))


def test_toruses_take_few_products_and_end_with_few_columns(monkeypatch) -> None:
    """Arcs, steps as long as the model holds, and short columns dropped: 78,000 columns times S, 206,000 without."""
    columns, product = 0, curvature.sparse_product

    def counted(S, D, start):
        nonlocal columns
        columns += D.shape[1]
        return product(S, D, start=start)

    monkeypatch.setattr(curvature, "sparse_product", counted)
    for seed in range(3):
        result = solve(torus(40, 10, seed), FlatQuotient(400, 15), AugmentedLagrangian(), escape=True)
        assert result.status is Status.OPTIMAL
        assert result.state.evaluation.factor.shape[1] <= 8
    assert columns <= 110_000


def test_where_the_rank_is_given_columns_are_kept() -> None:
    result = solve(torus(40, 10, 0), FlatQuotient(400, 15), AugmentedLagrangian(grow=False), max_iterations=40)
    assert result.state.evaluation.factor.shape == (400, 15)
