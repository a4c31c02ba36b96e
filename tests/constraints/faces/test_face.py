"""Constraints <A_t, M> = 0 with A_t ⪰ 0: which are found, the bound on the face, M = 0, partitions."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint, LagrangeNewton
from psdopt.running.choose import choose
from tests.graphs import random_laplacian

N = 5


def face_of(*groups) -> object:
    return Constrained(QuadraticSDP(C=np.eye(N)), list(groups)).face


def partition(n: int, seed: int = 0) -> Constrained:
    balanced = constraints.sparse_forms([np.ones((n, n))], 0.0)
    return Constrained(QuadraticSDP(C=random_laplacian(n, seed) / 8), [constraints.diagonal(n, 1.0), balanced])


def test_what_is_a_face_and_what_is_none() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((N, 2))
    low = G @ G.T
    found = face_of(constraints.sparse_forms([low], 0.0))
    assert found.basis.shape == (N, 2)
    assert np.allclose(found.basis.T @ found.basis, np.eye(2))
    assert np.allclose(found.onto(G), 0.0, atol=1e-12)
    # other signs and sides of the same thing
    assert face_of(constraints.sparse_forms([-low], 0.0)).basis.shape == (N, 2)
    assert face_of(constraints.sparse_forms([low], upper=0.0)).basis.shape == (N, 2)
    assert face_of(constraints.sparse_forms([-low], lower=0.0)).basis.shape == (N, 2)
    assert face_of(constraints.entries([0, 3], [0, 3], N, 0.0)).basis.shape == (N, 2)
    assert face_of(constraints.trace(N, 0.0)).basis.shape == (N, N)
    overlapping = [constraints.sparse_forms([low], 0.0), constraints.sparse_forms([G[:, :1] @ G[:, :1].T], 0.0)]
    assert face_of(*overlapping).basis.shape == (N, 2)
    none = [
        constraints.sparse_forms([low], lower=0.0), constraints.sparse_forms([-low], upper=0.0),
        constraints.sparse_forms([low], 1e-9), constraints.sparse_forms([low - 0.1 * np.eye(N)], 0.0),
        constraints.entries([0, 1], [1, 2], N, 0.0), constraints.sparse_forms([np.diag([1.0, -1.0, 0, 0, 0])], 0.0),
    ]  # fmt: skip
    for group in none:
        assert face_of(group) is None


@pytest.mark.parametrize("method", [None, AugmentedLagrangian(), LagrangeNewton(), LagrangeNewton(steps=0)])
@pytest.mark.parametrize("curved", [False, True])
def test_zero_is_optimal_where_nothing_else_is_feasible(method, curved) -> None:
    F = QuadraticSDP(A=np.eye(3), C=np.diag([1.0, -2.0, 3.0])) if curved else QuadraticSDP(C=np.diag([1.0, -2.0, 3.0]))
    for group in (constraints.trace(3, 0.0), constraints.diagonal(3, 0.0), constraints.trace(3, upper=0.0)):
        result = solve(Constrained(F, group), method=method)
        assert result.status is Status.OPTIMAL
        assert np.all(result.matrix.to_dense() == 0.0)
        against = solve(Constrained(F, [group, constraints.entries([0], [1], 3, 1.0)]), method=method)
        assert against.status is Status.INFEASIBLE


def test_the_bound_on_the_face_holds_for_feasible_matrices_and_needs_no_large_multiplier() -> None:
    rng = np.random.default_rng(1)
    problem = partition(12)
    onto = np.eye(12) - np.ones((12, 12)) / 12
    Y = onto @ rng.standard_normal((12, 11))
    for _ in range(20):  # towards unit rows that add up to zero
        Y = onto @ (Y / np.linalg.norm(Y, axis=1)[:, None])
    for _ in range(10):
        y = rng.standard_normal(13)
        bound = certify(problem, Y, dual=y).dual_value
        C = problem.conic.C.toarray()
        M = Y @ Y.T
        assert bound <= np.sum(C * M) + y[:12] @ (np.diag(M) - 1.0) + 1e-9
        W = problem.face.within.toarray()
        assert np.allclose(W @ W.T, onto)
        low = np.linalg.eigvalsh(W.T @ (C + np.diag(y[:12])) @ W)[0]
        assert bound == pytest.approx(-y[:12].sum() + 12.0 * low, rel=1e-5)  # tr M = 12: a positive one counts as well


def test_faces_of_a_face_are_found() -> None:
    # M_00 = 0 leaves M_01 + M_22 = M_22 = 0, and that M_12 + M_33 = M_33 = 0
    first, second = np.zeros((N, N)), np.zeros((N, N))
    first[0, 1] = first[1, 0] = second[1, 2] = second[2, 1] = 0.5
    first[2, 2] = second[3, 3] = 1.0
    groups = [constraints.entries([0], [0], N, 0.0), constraints.sparse_forms([first, second], 0.0)]
    face = face_of(*groups)
    assert face.rows.tolist() == [0, 1, 2]
    assert face.order == 2
    assert np.allclose(face.within.toarray(), np.eye(N)[:, [1, 4]])
    F = QuadraticSDP(A=np.eye(N), C=-np.ones((N, N)))
    result = solve(Constrained(F, [*groups, constraints.trace(N, upper=4.0)]))
    assert result.status is Status.OPTIMAL
    assert np.linalg.norm(result.matrix.to_dense()[[0, 2, 3]]) <= 1e-12


def test_linear_programs_on_a_face_need_no_bound_on_the_trace() -> None:
    problem = Constrained(
        QuadraticSDP(C=np.diag([1.0, 2.0, 3.0])),
        [constraints.entries([0], [0], 3, 0.0), constraints.entries([1], [2], 3, 1.0)],
    )
    assert problem.trace_limit is None
    result = solve(problem)  # M_11 M_22 >= 1: 2 M_11 + 3 M_22 >= 2 √6, as F has 2 tr(C M) it is twice that
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(4.0 * np.sqrt(6.0), rel=1e-5)


def test_partitions_are_solved_to_the_last_digits() -> None:
    problem, values = partition(40), []
    for method in (InteriorPoint(), LagrangeNewton(steps=0)):
        result = solve(problem, method=method, tol=1e-7)
        assert result.status is Status.OPTIMAL
        S = problem.conic.slack(result.certificate.constraints.multipliers).toarray()
        assert np.linalg.eigvalsh(S)[0] >= -1e-7 * (1.0 + np.abs(problem.conic.C.data).max())
        assert result.certificate.constraints.on_face == 1
        assert np.linalg.norm(result.matrix.factor.sum(axis=0)) <= 1e-6 * np.linalg.norm(result.matrix.factor)
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=2e-7)


def test_large_partitions_are_left_to_newton_on_factor_and_multipliers() -> None:
    assert isinstance(choose(partition(40), None, None)[1], InteriorPoint)
    assert choose(partition(1200), None, None)[1] == LagrangeNewton(steps=0)


def test_rows_that_are_zero_leave_the_other_ones() -> None:
    problem = Constrained(
        QuadraticSDP(C=np.diag([1.0, -2.0, 3.0])),
        [constraints.entries([0], [0], 3, 0.0), constraints.entries([1, 2], [1, 2], 3, 1.0)],
    )
    for method in (None, AugmentedLagrangian(), InteriorPoint(), BoundaryPoint(), LagrangeNewton(steps=0)):
        result = solve(problem, method=method)
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(2.0, rel=2e-6)
