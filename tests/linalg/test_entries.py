"""Sparse arrays from lists of entries, rows of one, and components of a graph, beside those of scipy.sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.linalg import entries
from psdopt.linalg.entries import add_block, add_sparse, by_entries, chosen_rows, components, entries_of, multiplied


def places(rng: np.random.Generator, shape: tuple[int, int], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.divmod(rng.choice(shape[0] * shape[1], count, replace=False), shape[1])
    return rng.standard_normal(count), i, j


@pytest.mark.parametrize("count", [0, 1, 17, 60])
def test_entries_in_any_order_make_the_array_that_scipy_makes(count) -> None:
    numbers, i, j = places(np.random.default_rng(count), (6, 10), count)
    expected = sp.csr_array((numbers, (i, j)), shape=(6, 10))
    found = by_entries(numbers, i, j, (6, 10))
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert found.has_canonical_format


@pytest.mark.parametrize("cached", [0, 60])
def test_small_arrays_are_multiplied_dense(monkeypatch, cached) -> None:
    monkeypatch.setattr(entries, "CACHED", cached)
    numbers, i, j = places(np.random.default_rng(0), (6, 10), 17)
    A = multiplied(numbers, i, j, (6, 10))
    assert isinstance(A, np.ndarray) == (cached == 60)
    assert np.array_equal(A @ np.eye(10), sp.csr_array((numbers, (i, j)), shape=(6, 10)).toarray())


def test_rows_that_are_chosen() -> None:
    numbers, i, j = places(np.random.default_rng(0), (6, 10), 30)
    A = by_entries(numbers, i, j, (6, 10))
    assert chosen_rows(A, np.arange(6)) is A
    for rows in (np.array([0, 2, 5]), np.zeros(0, dtype=np.intp)):
        assert np.array_equal(chosen_rows(A, rows).toarray(), A.toarray()[rows])


def test_entries_of_rows_come_row_by_row() -> None:
    A = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 4.0]]))
    numbers, counts = entries_of(np.array([2, 1, 0, 2]), A.indptr)
    assert counts.tolist() == [2, 0, 2, 2]
    assert A.data[numbers].tolist() == [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]
    assert len(entries_of(np.zeros(0, dtype=np.intp), A.indptr)[0]) == 0


@pytest.mark.parametrize("order", [0, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_components_are_those_of_scipy(monkeypatch, order, seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    i, j = rng.integers(0, n, (2, int(rng.integers(0, n + 1))))
    links = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    expected = sp.csgraph.connected_components(links, directed=False)[1]
    monkeypatch.setattr(entries, "SMALL_ORDER", order)
    assert np.array_equal(components(i, j, n), expected)


def test_a_path_is_one_component() -> None:
    n = 64
    at = np.random.default_rng(0).permutation(n)
    assert not np.any(components(at[1:], at[:-1], n))


@pytest.mark.parametrize("rows", [[], [3], [2, 3, 4], [0, 2, 5]], ids=str)
def test_blocks_are_added_where_they_belong(rows) -> None:
    rng, rows = np.random.default_rng(0), np.array(rows, dtype=np.intp)
    M, K = rng.standard_normal((6, 6)), rng.standard_normal((len(rows), len(rows)))
    expected = M.copy()
    expected[np.ix_(rows, rows)] += K
    add_block(M, rows, K)
    assert np.array_equal(M, expected)


def test_sparse_arrays_are_added_entry_by_entry() -> None:
    rng = np.random.default_rng(1)
    M, A = rng.standard_normal((6, 10)), by_entries(*places(rng, (6, 10), 17), (6, 10))
    expected = M + A.toarray()
    add_sparse(M, A)
    assert np.array_equal(M, expected)
