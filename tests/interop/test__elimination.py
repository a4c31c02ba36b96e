"""Unknowns of linear rows as affine functions of slacks: the rows that define them hold for every slack."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._elimination import consistent, eliminate, merged, pruned


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
    AK, AZ, right = found.rest(A, b)
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


def test_a_chain_of_rows_is_solved_one_by_one():
    A = np.eye(4) - np.eye(4, k=-1)
    b = np.array([1.0, 2.0, 3.0, 4.0])
    _, found = eliminated(A, b)
    assert found.used.all()
    assert np.allclose(found.offset, np.cumsum(b))
    assert np.allclose(found.K.toarray(), -np.tril(np.ones((4, 4))))


def test_entries_that_are_rounding_of_the_terms_of_their_row_are_dropped():
    product = sp.csr_array([[1.0, 1e-15], [1e-15, 0.0], [0.0, 2e-15]])
    sizes = sp.csr_array([[1.0, 1.0], [1e-15, 0.0], [0.0, 30.0]])
    assert np.array_equal(pruned(product, sizes).toarray(), [[1.0, 0.0], [1e-15, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_follow_from_others_leave_nothing_whatever_the_condition_of_those(seed):
    """Combinations of nearly dependent rows in units far apart: what is left of them is rounding, and is left out."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 6))
    A[3] = A[2] + 1e-6 * A[3]
    A = 10.0 ** rng.uniform(-3, 3, (4, 1)) * A
    A = np.concatenate([A, rng.standard_normal((3, 4)) @ A])
    x = rng.standard_normal(6)
    program, found = eliminated(A, A @ x, [0, 0, 0, 0, -1, -1, -1])
    AK, AZ, right = found.rest(program, A @ x)
    assert AZ[4:].nnz == 0
    assert AK[4:, 4:].nnz == 0
    assert consistent(AZ[4:], right[4:], found.allowed(program, A @ x)[4:])


def test_rows_without_unknowns_must_ask_for_zero():
    rows = sp.csr_array([[0.0, 0.0], [1.0, 0.0]])
    assert consistent(rows, np.array([1e-12, 5.0]), np.full(2, 1e-9))
    assert not consistent(rows, np.array([1e-3, 5.0]), np.full(2, 1e-9))


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_equations_contradict_each_other_in_every_unit(unit):
    A = np.array([[1.0], [1.0]])
    for far, word in ((1.0 + 1e-14, True), (1.0 + 1e-6, False), (2.0, False)):
        b = unit * np.array([1.0, far])
        program, found = eliminated(A, b)
        _, AZ, right = found.rest(program, b)
        left = ~found.used
        assert consistent(AZ[left], right[left], found.allowed(program, b)[left]) is word


def test_a_right_side_of_nothing_but_rounding_contradicts_no_other():
    """b = A x for an x of size one, where the terms of a row cancel."""
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    b = np.array([1.0, 1e-16, 3e-16])
    program, found = eliminated(A, b)
    _, AZ, right = found.rest(program, b)
    assert np.any(right[~found.used] != 0.0)
    assert consistent(AZ[~found.used], right[~found.used], found.allowed(program, b)[~found.used])


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
