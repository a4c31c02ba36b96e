"""The few functions that large arrays go through, and patterns of symmetric sums."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.linalg import arrays
from psdopt.linalg.tolerances import EPS, tie


def test_incidence_and_patterns():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 6, 15), rng.integers(0, 6, 15)
    Z, w = rng.standard_normal((6, 3)), rng.standard_normal(15)
    np.testing.assert_array_equal(arrays.incidence(i, j, 6) @ Z, Z[i] - Z[j])
    dense = np.zeros((6, 6))
    for t in range(15):
        dense[i[t], j[t]] += w[t]
        dense[j[t], i[t]] += w[t]
    pattern = arrays.SymmetricPattern(i, j, 6)
    first = pattern(w)
    np.testing.assert_allclose(first.toarray(), dense, atol=64 * EPS)
    # repeated and unsorted pairs: SciPy must find nothing to change in the indices that the arrays share
    first.sum_duplicates()
    first.sort_indices()
    np.testing.assert_allclose(pattern(2.0 * w).toarray(), 2.0 * dense, atol=128 * EPS)
    sparse = np.where(np.arange(15) < 3, w, 0.0)
    np.testing.assert_allclose(pattern(sparse).sum(), 2.0 * sparse.sum(), atol=64 * EPS)
    np.testing.assert_allclose(arrays.row_dots(Z, 2 * Z), 2 * np.diag(Z @ Z.T), rtol=64 * EPS)


def test_entries_are_kept_in_their_places():
    A = sp.random_array((9, 7), density=0.4, rng=np.random.default_rng(0), format="csr")
    kept = A.data > 0.5
    found = arrays.entries_kept(A, kept)
    np.testing.assert_array_equal(found.toarray(), np.where(A.toarray() > 0.5, A.toarray(), 0.0))
    assert found.nnz == np.count_nonzero(kept)


def test_zeros_of_many_pairs_are_left_out():
    """Of few pairs they stay: a new sparse array costs more than products with them."""
    rng = np.random.default_rng(1)
    for n, shorter in ((20, False), (80, True)):
        i, j = np.triu_indices(n, 1)
        pattern, w = arrays.SymmetricPattern(i, j, n), np.where(np.arange(len(i)) % 7 == 0, 1.5, 0.0)
        found = pattern(w)
        assert (2 * len(i) > arrays.FEW) is shorter
        assert found.nnz == (2 * np.count_nonzero(w) if shorter else 2 * len(i))
        Z = rng.standard_normal((n, 3))
        np.testing.assert_allclose(found @ Z, pattern.filled(w) @ Z, rtol=64 * EPS)


def test_orthonormal_columns_are_orthonormal_and_spread():
    rng = np.random.default_rng(0)
    Q = arrays.orthonormal_columns(rng, 9, 4)
    assert np.linalg.norm(Q.T @ Q - np.eye(4)) <= 64 * EPS
    signs = [np.sign(arrays.orthonormal_columns(rng, 3, 1)[0, 0]) for _ in range(60)]
    assert {-1.0, 1.0} == set(signs)  # LAPACK's sign convention alone would fix it


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, lambda A: sp.csr_array(A).astype(np.float32)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("k", [1, 3])
def test_sparse_product_is_the_product_for_every_storage(kind, order, k):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((6, 4)) < 0.5, rng.integers(-8, 9, (6, 4)), 0).astype(float)
    X, start = (
        np.asarray(rng.standard_normal((4, k)), order=order),
        np.asarray(rng.standard_normal((6, k)), order=order),
    )
    before = start.copy()
    A = kind(dense)
    np.testing.assert_allclose(arrays.sparse_product(A, X), dense @ X, atol=1e-14 * np.abs(dense).max() * 4)
    np.testing.assert_allclose(
        arrays.sparse_product(A, X, start), start + dense @ X, atol=1e-14 * np.abs(dense).max() * 4
    )
    assert np.array_equal(start, before)
    with pytest.raises(ValueError, match="mismatch"):
        arrays.sparse_product(A, rng.standard_normal((5, k)))


@pytest.mark.parametrize("gathered", [1, 65536])
def test_mixed_row_dots_gather_in_blocks(gathered, monkeypatch):
    monkeypatch.setattr(arrays, "CACHED", gathered)
    rng = np.random.default_rng(0)
    Y, Z = rng.standard_normal((2, 7, 3))
    i, j = rng.integers(0, 7, (2, 20))
    mixed, own = arrays.mixed_row_dots(np.stack([i, j]), Y, Z)
    np.testing.assert_allclose(mixed, (Y @ Z.T + Z @ Y.T)[i, j], atol=1e-14)
    np.testing.assert_allclose(own, (Z @ Z.T)[i, j], atol=1e-14)
    np.testing.assert_allclose(arrays.gathered_row_dots(i, j, Y, Z), (Y @ Z.T)[i, j], atol=1e-14)
    for other in (i, j):
        np.testing.assert_allclose(arrays.gathered_row_dots(i, other, Y, Y), (Y @ Y.T)[i, other], atol=1e-14)


def test_a_full_pattern_keeps_the_entries_that_are_zero():
    pattern = arrays.SymmetricPattern(np.array([0, 1, 2]), np.array([0, 2, 3]), 4)
    filled = pattern.filled(np.array([0.0, 0.0, 3.0]))
    assert filled.nnz == 5
    np.testing.assert_array_equal(filled.toarray(), pattern(np.array([0.0, 0.0, 3.0])).toarray())


@pytest.mark.parametrize(
    ("value", "other", "scale"), [(1.0, 1.0, 1.0), (0.0, 3.0, 3.0), (-2.0, 1.0, 3.0), (5.0, 4.0, 5.0)]
)
def test_a_tie_is_a_few_roundings_of_the_larger_scale(value, other, scale):
    assert tie(value, other) == 4.0 * EPS * scale
    assert tie(2.0**40 * value, 2.0**40 * other) == 2.0**40 * tie(value, other)
    assert value + tie(value, other) != value


@pytest.mark.parametrize("most", [0, 2**15])
def test_products_are_those_of_the_sparse_array(most, monkeypatch) -> None:
    monkeypatch.setattr(arrays, "CACHED", most)
    A = sp.random_array((7, 5), density=0.4, random_state=np.random.default_rng(0), format="csr")
    forth, back = arrays.both_ways(A)
    assert isinstance(forth, np.ndarray) is isinstance(back, np.ndarray) is (most > 0)
    x, y = np.arange(5.0), np.arange(7.0)
    assert np.allclose(forth @ x, A.toarray() @ x, rtol=1e-14, atol=0)
    assert np.allclose(back @ y, A.toarray().T @ y, rtol=1e-14, atol=0)


def test_rows_and_columns_are_scaled() -> None:
    A = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]]))
    r, c = np.array([2.0, 3.0]), np.array([1.0, 10.0, 100.0])
    for rows, columns in ((r, c), (r, None), (None, c), (None, None)):
        expected = A.toarray() * (1.0 if rows is None else rows[:, None]) * (1.0 if columns is None else columns)
        assert np.array_equal(arrays.scaled(A, rows, columns).toarray(), expected)
    assert A.data.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_diagonal_matrix_is_applied_as_its_diagonal() -> None:
    d, v = np.array([2.0, 0.5, -3.0]), np.array([1.0, 4.0, 5.0])
    D = sp.csr_array(sp.diags_array(d))
    found = arrays.only_diagonal(D)
    assert found is not None
    assert found.tolist() == d.tolist()
    for A in (found, D, D.toarray()):
        assert arrays.applied(A, v).tolist() == (d * v).tolist()
    others = [D[[1, 0, 2]], D[:2], sp.csr_array(np.diag([1.0, 0.0, 2.0])), sp.csr_array(np.triu(np.ones((3, 3))))]
    wide = sp.csr_array(([1.0, 2.0, 3.0], [0, 1, 2], [0, 2, 2, 3]), shape=(3, 3))
    assert all(arrays.only_diagonal(A) is None for A in (*others, wide))
