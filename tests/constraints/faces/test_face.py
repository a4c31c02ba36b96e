"""Faces that single equations ⟨A_t, M⟩ = 0 or combinations of some define, what nearly does, M = 0, partitions."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.constraints.faces import combined_rows
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint
from psdopt.running.choose import choose
from tests.graphs import random_laplacian

ORDER = 5


def face_of(*groups) -> object:
    return Constrained(QuadraticSDP(C=np.eye(ORDER)), list(groups)).face


def partition(n: int, seed: int = 0) -> Constrained:
    balanced = constraints.sparse_forms([np.ones((n, n))], 0.0)
    return Constrained(QuadraticSDP(C=random_laplacian(n, seed) / 8), [constraints.diagonal(n, 1.0), balanced])


def test_what_is_a_face_and_what_is_none() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((ORDER, 2))
    low = G @ G.T
    found = face_of(constraints.sparse_forms([low], 0.0))
    assert found.basis.shape == (ORDER, 2)
    assert np.allclose(found.basis.T @ found.basis, np.eye(2))
    assert np.allclose(found.onto(G), 0.0, atol=1e-12)
    # other signs and sides of the same thing
    assert face_of(constraints.sparse_forms([-low], 0.0)).basis.shape == (ORDER, 2)
    assert face_of(constraints.sparse_forms([low], upper=0.0)).basis.shape == (ORDER, 2)
    assert face_of(constraints.sparse_forms([-low], lower=0.0)).basis.shape == (ORDER, 2)
    assert face_of(constraints.entries([0, 3], [0, 3], ORDER, 0.0)).basis.shape == (ORDER, 2)
    assert face_of(constraints.trace(ORDER, 0.0)).basis.shape == (ORDER, ORDER)
    overlapping = [constraints.sparse_forms([low], 0.0), constraints.sparse_forms([G[:, :1] @ G[:, :1].T], 0.0)]
    assert face_of(*overlapping).basis.shape == (ORDER, 2)
    none = [
        constraints.sparse_forms([low], lower=0.0), constraints.sparse_forms([-low], upper=0.0),
        constraints.sparse_forms([low], 1e-9), constraints.sparse_forms([low - 0.1 * np.eye(ORDER)], 0.0),
        constraints.entries([0, 1], [1, 2], ORDER, 0.0), constraints.sparse_forms([np.diag([1.0, -1.0, 0, 0, 0])], 0.0),
    ]  # fmt: skip
    for group in none:
        assert face_of(group) is None


@pytest.mark.parametrize("method", [None, AugmentedLagrangian()])
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
    first, second = np.zeros((ORDER, ORDER)), np.zeros((ORDER, ORDER))
    first[0, 1] = first[1, 0] = second[1, 2] = second[2, 1] = 0.5
    first[2, 2] = second[3, 3] = 1.0
    groups = [constraints.entries([0], [0], ORDER, 0.0), constraints.sparse_forms([first, second], 0.0)]
    face = face_of(*groups)
    assert face.rows.tolist() == [0, 1, 2]
    assert face.order == 2
    assert np.allclose(face.within.toarray(), np.eye(ORDER)[:, [1, 4]])
    F = QuadraticSDP(A=np.eye(ORDER), C=-np.ones((ORDER, ORDER)))
    result = solve(Constrained(F, [*groups, constraints.trace(ORDER, upper=4.0)]))
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
    for method in (InteriorPoint(), AugmentedLagrangian()):
        result = solve(problem, method=method, tol=1e-7)
        assert result.status is Status.OPTIMAL
        S = problem.conic.slack(result.certificate.constraints.multipliers).toarray()
        assert np.linalg.eigvalsh(S)[0] >= -1e-7 * (1.0 + np.abs(problem.conic.C.data).max())
        assert result.certificate.constraints.on_face == 1
        assert np.linalg.norm(result.matrix.factor.sum(axis=0)) <= 1e-6 * np.linalg.norm(result.matrix.factor)
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=2e-7)


def test_large_partitions_are_left_to_an_augmented_lagrangian() -> None:
    assert isinstance(choose(partition(40), None, None)[1], InteriorPoint)
    assert choose(partition(1200), None, None)[1] == AugmentedLagrangian()


def test_rows_that_are_zero_leave_the_other_ones() -> None:
    problem = Constrained(
        QuadraticSDP(C=np.diag([1.0, -2.0, 3.0])),
        [constraints.entries([0], [0], 3, 0.0), constraints.entries([1, 2], [1, 2], 3, 1.0)],
    )
    for method in (None, AugmentedLagrangian(), InteriorPoint(), BoundaryPoint()):
        result = solve(problem, method=method)
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(2.0, rel=2e-6)


N = 4
METHODS = [None, InteriorPoint(), AugmentedLagrangian(), BoundaryPoint()]


def E(i: int, j: int, weight: float = 1.0, n: int = N) -> np.ndarray:
    A = np.zeros((n, n))
    A[i, j] = A[j, i] = weight
    return A


def hidden(C: np.ndarray, *, least: float = 1.0) -> Constrained:
    """M_11 + M_33 = 1 and M_33 = `least`, so that M_11 = 0 at 1; M_00 + 2 M_12 = 1, so that then M_00 = 1."""
    rows = constraints.sparse_forms([E(1, 1) + E(3, 3), E(3, 3), E(0, 0) + E(1, 2)], [1.0, least, 1.0])
    return Constrained(QuadraticSDP(C=0.5 * C), [rows, constraints.trace(N, 1e6)])


def centred(n: int, scales: np.ndarray, shift: float = 0.0) -> Constrained:
    """G 1 = 0 given by rows, each times its own number, and tr G = 1."""
    one = np.ones(n)
    A = [s * 0.5 * (np.outer(e, one) + np.outer(one, e)) for s, e in zip(scales, np.eye(n), strict=True)]
    b = np.zeros(n)
    b[0] = shift
    C = np.random.default_rng(0).standard_normal((n, n))
    return Constrained(QuadraticSDP(C=C + C.T), [constraints.sparse_forms(A, b), constraints.trace(n, 1.0)])


@pytest.mark.parametrize("method", METHODS)
def test_a_face_that_two_rows_show_together_is_not_jumped_over(method) -> None:
    """M_11 = 3e-7 would free M_00, and the value would be 1: feasible to tolerance, and near no feasible matrix."""
    problem = hidden(E(0, 0, 100.0) + E(3, 3))
    assert problem.face.order == N - 1
    result = solve(problem, method=method, max_time=20.0)
    assert not result.optimal or result.value == pytest.approx(101.0, rel=1e-6)
    assert result.optimal or isinstance(method, BoundaryPoint)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("trace", [1e4, 1e6])
def test_the_face_does_not_depend_on_how_rows_are_added_to_each_other(method, trace) -> None:
    """M_11 − M_33 + M_00 + 2 M_12 = 0 beside M_33 = 1 and M_00 + 2 M_12 = 1: M_11 = 0 by three rows together."""
    A = [E(1, 1) - E(3, 3) + E(0, 0) + E(1, 2), E(3, 3), E(0, 0) + E(1, 2)]
    C = E(0, 0, 100.0) + E(3, 3)
    rows = [constraints.sparse_forms(A, [0.0, 1.0, 1.0]), constraints.trace(N, trace)]
    problem = Constrained(QuadraticSDP(C=0.5 * C), rows)
    assert problem.face.order == N - 1
    result = solve(problem, method=method, max_iterations=300, max_time=20.0)
    assert result.certificate.constraints.on_face == 3
    assert not result.optimal or result.value == pytest.approx(101.0, rel=1e-6)
    assert isinstance(method, BoundaryPoint) or result.value == pytest.approx(101.0, rel=1e-4)
    # an error of 1e-14 in λ_min(S) counts times the trace, and multipliers of first-order methods have more
    first_order = isinstance(method, BoundaryPoint) or (isinstance(method, AugmentedLagrangian) and trace > 1e4)
    assert result.optimal or first_order
    assert result.status is not Status.STATIONARY or result.certificate.constraints.primal_infeasibility <= 1e-6


def test_rows_in_any_combination_show_the_face() -> None:
    base = [E(1, 1), E(3, 3), E(0, 0) + E(1, 2)]
    b = np.array([0.0, 1.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        lower, upper = (np.eye(3) + np.tril(rng.integers(-3, 4, (3, 3)), -1) for _ in range(2))
        U = lower @ upper.T  # integers, and so is its inverse
        rows = constraints.sparse_forms([np.tensordot(u, base, 1) for u in U], U @ b)
        assert Constrained(QuadraticSDP(C=np.eye(N)), [rows, constraints.trace(N, 1e6)]).face.order == N - 1


def test_equations_that_differ_by_few_entries_show_the_face_and_what_it_excludes() -> None:
    """M_33 = 0 of M_00 + ... + M_33 = 1 and M_00 + M_11 + M_22 = 1, in each of many groups: no search is needed."""
    n = 480  # 840 entries: above the limit of a search
    groups = [np.arange(k, k + 4) for k in range(0, n, 4)]
    places = np.concatenate([np.concatenate([rows, rows[:3]]) for rows in groups])
    t = np.repeat(np.arange(2 * len(groups)), np.tile([4, 3], len(groups)))
    B = sp.csr_array((np.ones(len(t)), (t, np.arange(len(t)))))
    sums = constraints.sparse_forms(constraints.SparseForms(places, places, B, n), 1.0)
    known = Constrained(QuadraticSDP(C=sp.eye_array(n, format="csr")), sums).shown.face
    assert known.order == n - len(groups)
    # M_23 is zero beside M_33 = 0, although matrices near the face come as near to a half as one likes
    weakly = Constrained(QuadraticSDP(C=np.eye(n)), [sums, constraints.entries([2], [3], n, 0.5)])
    assert solve(weakly).status is Status.INFEASIBLE


@pytest.mark.parametrize("least", [1.0 - 1e-15, 1.0 + 1e-15])
def test_what_is_off_by_a_rounding_is_shown_by_no_row(least) -> None:
    problem = hidden(E(0, 0), least=least)
    assert problem.shown.face is None
    assert problem.face.searched


@pytest.mark.parametrize("least", [1.0 - 1e-7, 1.0 + 1e-7, 1.0 - 1e-11])
def test_what_is_off_by_more_than_a_rounding_is_no_face(least) -> None:
    assert hidden(E(0, 0), least=least).face is None


def test_exact_numbers_are_left_alone_where_a_prime_shows_no_combination(monkeypatch) -> None:
    """One reduction modulo a prime, no other one, and one look at the rows for a whole run."""
    seen = []
    real = combined_rows._reduced
    monkeypatch.setattr(combined_rows, "_reduced", lambda *given: seen.append(given[3:]) or real(*given))
    rng = np.random.default_rng(4)
    forms = [np.diag(rng.random(ORDER)) for _ in range(3)]
    problem = Constrained(QuadraticSDP(C=np.eye(ORDER)), constraints.sparse_forms(forms, 1.0 + rng.random(3)))
    assert solve(problem, rng=0).optimal
    assert problem.face is None
    assert seen == [(combined_rows.PRIME,)]
    seen.clear()
    twice = constraints.sparse_forms([np.diag([1.0, 0.3, 0.0, 0.0, 0.0]), np.diag([1.0, 0.0, 0.0, 0.0, 0.0])], 0.7)
    assert face_of(twice).basis.shape == (ORDER, 1)
    assert () in seen
    # the only combination with wᵀb = 0, M_13 = 0, has no diagonal entry, so that it cannot be semidefinite
    seen.clear()
    apart = constraints.sparse_forms([E(0, 0) + E(1, 2), E(0, 0) + E(1, 2) + E(1, 3)], np.array([0.3, 0.3]))
    assert Constrained(QuadraticSDP(C=np.eye(N)), apart).shown.face is None
    assert seen == [(combined_rows.PRIME,)]


@pytest.mark.parametrize("scales", [np.ones(6), 10.0 ** np.arange(-6, 6, 2)])
def test_rows_of_zeros_define_a_face_together(scales) -> None:
    problem = centred(6, scales)
    assert problem.face.order == 5
    assert problem.face.rows.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(problem.face.basis[:, 0] ** 2, 1.0 / 6.0, rtol=1e-12)
    result = solve(problem)
    assert result.optimal
    C, P = problem.conic.C.toarray(), np.eye(6) - 1.0 / 6.0
    assert result.value == pytest.approx(np.sort(np.linalg.eigvalsh(P @ C @ P))[0], rel=1e-6)
    assert centred(6, scales, shift=1e-12).face is None


def test_many_rows_that_one_row_contains_leave_its_last_entry() -> None:
    """tr M = n − 1 with M_ii = 1 for all but the last."""
    n = 7
    rows = [constraints.entries(range(n - 1), range(n - 1), n, 1.0), constraints.trace(n, n - 1.0)]
    problem = Constrained(QuadraticSDP(C=np.ones((n, n))), rows)
    assert problem.face.order == n - 1
    assert np.argmax(np.abs(problem.face.basis[:, 0])) == n - 1
    loose = Constrained(problem.problem, [rows[0], constraints.trace(n, n - 0.5)])
    assert loose.face is None


def test_rounding_of_a_face_that_was_searched_for_defines_no_smaller_one() -> None:
    """On the face of M = x xᵀ, the only feasible matrix, a row with b = 0 that vanishes there is 1e-7, not 0."""
    x = np.array([2.0, -4.0, 2.0])
    rows = [np.eye(3), np.diag([4.0, 0.0, -4.0]), E(0, 1, 2.0, 3) + E(0, 2, 3.0, 3) + E(1, 1, 2.0, 3)]
    rows += [E(0, 2, 1.0, 3) + E(2, 2, 2.0, 3), E(0, 0, 2.0, 3) + E(0, 1, -1.0, 3) + E(1, 1, 2.0, 3)]
    values = [float(x @ A @ x) for A in rows]
    problem = Constrained(QuadraticSDP(C=np.diag([0.5, 1.0, 1.5])), constraints.sparse_forms(rows, values))
    assert not problem.only_zero
    result = solve(problem)
    assert result.value == pytest.approx(48.0, rel=1e-5)
    bound = certify(problem, x[:, None], dual=np.array([-5.0, 0.0, 0.0, 0.0, 0.0])).dual_value
    assert bound is None or bound <= 48.0 * (1.0 + 1e-6)  # the basis of the face is exact to some 1e-7
