"""Cone programs: blocks by their lower triangles, quadratic objectives as terms, unknowns that rows define."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError
from psdopt.interop import _cone_objective
from psdopt.interop._cone_objective import objective, square_root
from psdopt.interop._cone_program import ConeProgram, lower_triangles
from psdopt.interop._elimination import eliminate, merged, pruned, violated
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from tests.interop.cone_programs import slack_matrix


def test_all_entries_become_lower_triangles_of_the_symmetric_part():
    rng = np.random.default_rng(0)
    S, T = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    full = np.concatenate([[7.0, 8.0], S.ravel(order="F"), T.ravel(order="F")])
    H, orders = lower_triangles(2, [], [(3, 3), (2, 2)])
    S, T = 0.5 * (S + S.T), 0.5 * (T + T.T)
    expected = [7.0, 8.0, *(S[i, j] for j in range(3) for i in range(j, 3)), T[0, 0], T[1, 0], T[1, 1]]
    assert np.allclose(H @ full, expected)
    assert orders == (3, 2)


@pytest.mark.parametrize("batch", [(1,), (4,), (2, 3), (3, 1, 2)])
def test_stacks_of_matrices_are_taken_apart(batch):
    rng = np.random.default_rng(1)
    S = rng.standard_normal((*batch, 3, 3))
    H, orders = lower_triangles(0, [], [S.shape])
    S = 0.5 * (S + np.swapaxes(S, -1, -2))
    expected = [S[(*b, i, j)] for b in np.ndindex(*batch) for j in range(3) for i in range(j, 3)]
    assert np.allclose(H @ S.ravel(order="F"), expected)
    assert orders == (3,) * np.prod(batch)


def test_second_order_cones_become_arrow_matrices_with_the_same_cone():
    s = np.array([5.0, 3.0, 4.0, 2.0])
    H, orders = lower_triangles(0, [3, 1], [])
    assert (H @ s).tolist() == [5.0, 3.0, 4.0, 5.0, 0.0, 5.0, 2.0]  # |(3, 4)| = 5: on the boundary
    assert orders == (3, 1)
    program = ConeProgram(np.zeros(1), None, sp.csr_array((7, 1)), np.zeros(7), 0, 0, orders)
    assert abs(np.linalg.eigvalsh(slack_matrix(program, H @ s)[:3, :3])[0]) < 1e-14
    rng = np.random.default_rng(2)
    for _ in range(20):  # multipliers that are PSD give multipliers (t, u) with t >= |u|
        G = rng.standard_normal((3, 1))
        i, j = program.places()
        y = np.where(i == j, 1.0, 2.0)[:6] * (G @ G.T)[i[:6], j[:6]]
        t, *u = (H.T @ np.concatenate([y, [1.0]]))[:3]
        assert t >= np.linalg.norm(u) - 1e-12


N = 4
COLUMN, ROW = np.triu_indices(N)


def entries(Y):
    return (Y @ Y.T)[ROW, COLUMN]


def kinds(problem):
    return [type(term) for term in problem.terms]


def check(linear, squares, target, constant=1.5):
    problem = objective(linear, sp.csr_array(squares), target, constant, ROW, COLUMN, N)
    rng = np.random.default_rng(9)
    for _ in range(5):
        Y = rng.standard_normal((N, 2))
        sigma = entries(Y)
        expected = constant + linear @ sigma + 0.5 * np.sum((squares @ sigma - target) ** 2)
        assert np.isclose(problem.at(Y).value, expected, rtol=1e-10)
    return problem


NORM = np.where(ROW == COLUMN, 1.0, np.sqrt(2.0))
SOME = np.random.default_rng(1).uniform(0.5, 2.0, 10) * (np.arange(10) % 3 > 0)


@pytest.mark.parametrize(("linear", "squares", "target", "expected"), [
    (0.0, np.diag(NORM), np.arange(-4.0, 6.0), [ProductTerm, LinearTerm]),  # the squared norm of a matrix
    (0.0, np.diag(NORM * ((ROW < 2) & (COLUMN < 2))), np.zeros(10), [ProductTerm]),  # of a block
    (1.0, np.diag(SOME), np.arange(10.0), [MeasuredTerm, LinearTerm]),  # other weights of single entries
    (1.0, np.zeros((0, 10)), np.zeros(0), [LinearTerm]),
    (0.0, np.zeros((0, 10)), np.zeros(0), [LinearTerm]),
])  # fmt: skip
def test_squares_become_terms_of_their_kind(linear, squares, target, expected):
    assert kinds(check(linear * np.arange(10.0), squares, target)) == expected


def test_sums_of_entries_and_entries_that_occur_twice():
    rng = np.random.default_rng(2)
    squares = np.vstack([rng.standard_normal((3, 10)), np.eye(10)[[2, 2, 5]], np.zeros((1, 10))])
    check(rng.standard_normal(10), squares, rng.standard_normal(7))


def test_square_roots_part_by_part(monkeypatch):
    rng = np.random.default_rng(4)
    G = rng.standard_normal((3, 2))
    P = np.zeros((6, 6))
    P[np.ix_([0, 2, 5], [0, 2, 5])] = G @ G.T  # of rank two
    P[1, 1] = 4.0
    V = square_root(sp.csr_array(P))
    assert np.allclose((V.T @ V).toarray(), P)
    assert V.shape == (3, 6)
    assert np.array_equal(square_root(sp.csr_array(np.diag([4.0, 0.0, 9.0]))).toarray(), [[2.0, 0, 0], [0, 0, 3.0]])
    monkeypatch.setattr(_cone_objective, "FACTOR_ORDER", 2)
    with pytest.raises(InvalidInputError, match="must not connect more than 2 unknowns; found 3"):
        square_root(sp.csr_array(P))


def test_a_square_root_keeps_the_curvature_of_unknowns_in_small_units():
    """Beside 1e9, a curvature of 1e-8 is rounding in the eigenvalues of P, and decides where this unknown is."""
    G, units = np.random.default_rng(5).integers(-2, 3, (4, 4)) + 5.0 * np.eye(4), np.array([1e5, 1.0, 1e-4, 1e-8])
    P = units[:, None] * (G @ G.T) * units
    V = square_root(sp.csr_array(P)).toarray()
    assert np.allclose(V.T @ V, P, rtol=1e-12, atol=0.0)


def eliminated(A, b, order=None):
    A = sp.csr_array(A)
    return A, eliminate(A, b, np.zeros(len(b), dtype=np.intp) if order is None else np.asarray(order))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_were_used_hold_for_every_slack_and_free_unknown(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 8, size=2)
    A = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.5)
    b = rng.standard_normal(rows)
    A, found = eliminated(A, b)
    s, u = rng.standard_normal(rows), rng.standard_normal(len(found.free))
    x = found.offset + found.K @ s + found.Z @ u
    assert np.allclose((A @ x + s)[found.used], b[found.used], atol=1e-9)
    assert np.allclose(x[found.free], u)
    assert found.used.sum() + len(found.free) == columns
    AK, AZ, right = found.rest()
    assert np.allclose((AK @ s + AZ @ u)[found.used] + s[found.used], right[found.used], atol=1e-9)


def test_as_many_unknowns_are_defined_as_the_rows_determine():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((5, 4)) @ rng.standard_normal((4, 6))
    _, found = eliminated(dense, rng.standard_normal(5))
    assert found.used.sum() == np.linalg.matrix_rank(dense) == 4
    assert len(found.free) == 2


def test_rows_are_taken_by_their_order_and_never_below_zero():
    A = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    _, found = eliminated(A, np.zeros(3), [1, 0, -1])
    assert found.used.tolist() == [False, True, False]
    assert found.free.tolist() == [1]


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray])
def test_entries_that_are_rounding_of_their_own_terms_are_dropped(kind):
    product = kind([[1.0, 1e-15], [1e-15, 0.0], [0.0, 2e-15], [1.0, 1e-18]])
    sizes = kind([[1.0, 1.0], [1e-15, 0.0], [0.0, 30.0], [1.0, 1e-18]])
    kept = sp.csr_array(pruned(product, sizes)).toarray()
    assert np.array_equal(kept, [[1.0, 0.0], [1e-15, 0.0], [0.0, 0.0], [1.0, 1e-18]])


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_follow_from_others_leave_nothing_whatever_the_condition_of_those(seed):
    """Combinations of nearly dependent rows in units far apart: what is left of them is rounding, and is left out."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 6))
    A[3] = A[2] + 1e-6 * A[3]
    A = 10.0 ** rng.uniform(-3, 3, (4, 1)) * A
    A = np.concatenate([A, rng.standard_normal((3, 4)) @ A])
    x = rng.standard_normal(6)
    _, found = eliminated(A, A @ x, [0, 0, 0, 0, -1, -1, -1])
    AK, AZ, right = found.rest()
    assert AZ[4:].nnz == 0
    assert AK[4:, 4:].nnz == 0
    assert violated(AZ[4:], right[4:], found.allowed[4:]) is None


def test_rows_without_unknowns_must_ask_for_zero():
    rows = sp.csr_array([[0.0, 0.0], [1.0, 0.0]])
    assert violated(rows, np.array([1e-12, 5.0]), np.full(2, 1e-9)) is None
    assert violated(rows, np.array([1e-3, 5.0]), np.full(2, 1e-9)) == 0


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_equations_contradict_each_other_in_every_unit(unit):
    A = np.array([[1.0], [1.0]])
    for far, word in ((1.0 + 1e-14, True), (1.0 + 1e-6, False), (2.0, False)):
        b = unit * np.array([1.0, far])
        _, found = eliminated(A, b)
        _, AZ, right = found.rest()
        left = ~found.used
        assert (violated(AZ[left], right[left], found.allowed[left]) is None) is word


def test_a_right_side_of_nothing_but_rounding_contradicts_no_other():
    """b = A x for an x of size one, where the terms of a row cancel."""
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    b = np.array([1.0, 1e-16, 3e-16])
    _, found = eliminated(A, b)
    _, AZ, right = found.rest()
    assert np.any(right[~found.used] != 0.0)
    assert violated(AZ[~found.used], right[~found.used], found.allowed[~found.used]) is None


def test_repeated_rows_are_kept_once_and_share_their_multiplier():
    row, other = [1.0, 2.0], [0.0, 1.0]
    rows = sp.csr_array([row, other, row, row, row])
    upper = np.array([3.0, 1.0, 2.0, 2.0, 2.0])
    kept, shares = merged(rows, upper, np.array([True, True, True, True, False]))
    assert kept.tolist() == [1, 2, 4]  # the tightest of the inequalities; the equation is another row
    y = shares @ np.array([1.0, 6.0, 5.0])
    assert y.tolist() == [0.0, 1.0, 3.0, 3.0, 5.0]
    assert np.allclose(rows.T @ y, rows[kept].T @ np.array([1.0, 6.0, 5.0]))


def test_equations_with_other_right_sides_are_other_equations():
    kept, _ = merged(sp.csr_array([[1.0], [1.0]]), np.array([1.0, 2.0]), np.array([False, False]))
    assert kept.tolist() == [0, 1]
    assert merged(sp.csr_array((0, 3)), np.zeros(0), np.zeros(0, dtype=bool))[0].size == 0
