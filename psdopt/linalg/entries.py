"""Sparse matrices and their graphs from lists of entries, in few calls: small ones cost their calls, not their entries.

scipy.sparse checks and sorts what it is given anew in each conversion. What is known to be sorted, or small enough to
be dense, need not be converted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import CACHED, SMALL_ORDER


def entries_of(rows: NDArray[np.intp], ends: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(the numbers of the entries of these rows, how many each row has) where row t has ends_t to ends_{t+1}."""
    counts = ends[rows + 1] - ends[rows]
    return (ends[rows] - counts.cumsum() + counts).repeat(counts) + np.arange(counts.sum()), counts


def chosen_rows(A: sp.csr_array, rows: NDArray[np.intp]) -> sp.csr_array:
    """A[rows] for ascending `rows`, each once: A itself if they are all."""
    if len(rows) == A.shape[0]:
        return A
    at, counts = entries_of(rows, A.indptr)
    ends = np.concatenate([[0], counts.cumsum()])
    return sp.csr_array((A.data[at], A.indices[at], ends), shape=(len(rows), A.shape[1]))


def by_entries(numbers: NDArray[Any], i: NDArray[Any], j: NDArray[Any], shape: tuple[int, int]) -> sp.csr_array:
    """The sparse array with these `numbers` at the places (i, j), each given once; rows and columns are sorted."""
    order = (np.asarray(i, dtype=np.int64) * shape[1] + j).argsort()
    ends = np.concatenate([[0], np.bincount(i, minlength=shape[0]).cumsum()])
    return sp.csr_array((numbers[order], j[order], ends), shape=shape)


def multiplied(numbers: Array, i: NDArray[Any], j: NDArray[Any], shape: tuple[int, int]) -> Any:
    """:func:`by_entries` for a few products: as a dense array where that is small."""
    if shape[0] * shape[1] > CACHED:
        return by_entries(numbers, i, j, shape)
    A = np.zeros(shape)
    A[i, j] = numbers
    return A


def add_block(M: Array, rows: NDArray[np.intp], K: Array) -> None:
    """M[rows, rows] += K, for ascending `rows`."""
    k = len(rows)
    if k and rows[-1] - rows[0] == k - 1:
        M[rows[0] : rows[0] + k, rows[0] : rows[0] + k] += K
    else:
        M[rows[:, None], rows] += K


def add_sparse(M: Array, A: sp.csr_array) -> None:
    """M += A, in time of the entries of A, whose places are all different."""
    M[np.arange(A.shape[0]).repeat(np.diff(A.indptr)), A.indices] += A.data


def components(i: NDArray[Any], j: NDArray[Any], n: int) -> NDArray[np.intp]:
    """The number of the connected component of each of n nodes, (n,), in the order of their first nodes; edges (i, j).

    For a small graph, powers of its matrix of links, each the square of the last, until they do not change.
    """
    if n > SMALL_ORDER:
        links = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
        return np.asarray(sp.csgraph.connected_components(links, directed=False)[1], dtype=np.intp)
    near, reached = np.eye(n), 0
    near[i, j] = near[j, i] = 1.0
    while (count := int(np.count_nonzero(near))) > reached:
        reached, near = count, np.minimum(near @ near, 1.0)
    return np.asarray(np.unique(near.argmax(axis=1), return_inverse=True)[1], dtype=np.intp)
