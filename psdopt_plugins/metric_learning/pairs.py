"""Pairs of samples marked similar or dissimilar: reading them, choosing them, their Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from psdopt.errors import InvalidInputError

Pairs = NDArray[np.intp]


def signed_pairs(pairs: Any, m: int) -> Pairs:
    """`pairs` in normal form: rows (i, j, s), i < j, s = +1 similar or −1 dissimilar, each pair once.

    Parameters
    ----------
    pairs : (similar, dissimilar), two integer arrays (p, 2) and (q, 2) of which one may be empty; or one
        integer array (p, 3) with rows (i, j, s). The order within a pair and repetitions do not matter.
    m : number of samples; indices run from 0 to m − 1.

    Raises
    ------
    InvalidInputError for no pair at all, wrong shapes, indices that are no integers or out of range, a
    pair of a sample with itself, a sign other than ±1, and a pair that is both similar and dissimilar.

    Cost O(p log p).
    """
    rows = _rows(pairs)
    if len(rows) == 0:
        raise InvalidInputError("pairs must hold at least one pair; found none")
    ends, signs = rows[:, :2], rows[:, 2]
    wrong = (ends < 0) | (ends >= m)
    if np.any(wrong):
        raise InvalidInputError(f"pairs must hold indices between 0 and {m - 1}; found {int(ends[wrong][0])}")
    if np.any(np.abs(signs) != 1):
        found = int(signs[np.abs(signs) != 1][0])
        raise InvalidInputError(f"the third column of pairs must be +1 (similar) or -1 (dissimilar); found {found}")
    loops = ends[:, 0] == ends[:, 1]
    if np.any(loops):
        i = ends[loops][0, 0]
        raise InvalidInputError(f"pairs must join two different samples; found ({i}, {i})")
    unique = np.unique(np.column_stack([ends.min(axis=1), ends.max(axis=1), signs]), axis=0)
    clash = np.flatnonzero(np.all(unique[1:, :2] == unique[:-1, :2], axis=1))
    if len(clash):
        i, j = unique[clash[0], :2]
        raise InvalidInputError(f"pairs must not be both similar and dissimilar; found ({i}, {j}) in both")
    return unique


def signed_laplacian(pairs: Pairs, m: int) -> sp.csr_array:
    """T = diag(S e) − S (m, m), sparse, for pairs in normal form: Σ_t s_t (e_i − e_j)(e_i − e_j)ᵀ.

    tr(XᵀTX M) = Σ_t s_t d_M(i, j) over unordered pairs (Yuan et al., section 2.2, corrected). O(p).
    """
    i, j, s = pairs.T
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    entries = np.concatenate([s, s, -s, -s]).astype(np.float64)
    return sp.csr_array(sp.coo_array((entries, (rows, columns)), shape=(m, m)))


def nearest_pairs(X: Any, y: NDArray[Any], n_neighbors: int) -> tuple[Pairs, Pairs]:
    """Each sample with its `n_neighbors` nearest of the same class, and of the other classes.

    Returns (similar, dissimilar), (p, 2) and (q, 2). Fewer where a class is too small; y (m,) with at
    least two classes. Exact Euclidean neighbours of X (m, d), dense or sparse; up to O(m² d) time,
    O(m) memory beyond X.

    Raises InvalidInputError unless n_neighbors >= 1.
    """
    if not isinstance(n_neighbors, (int, np.integer)) or isinstance(n_neighbors, bool) or n_neighbors < 1:
        raise InvalidInputError(f"n_neighbors must be an integer of at least 1; found {n_neighbors!r}")
    similar: list[Pairs] = []
    dissimilar: list[Pairs] = []
    for label in np.unique(y):
        own, others = np.flatnonzero(y == label), np.flatnonzero(y != label)
        if len(own) > 1:
            found = NearestNeighbors(n_neighbors=min(n_neighbors, len(own) - 1)).fit(X[own])
            similar.append(_joined(own, own[found.kneighbors(return_distance=False)]))
        if len(others):
            found = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
            dissimilar.append(_joined(own, others[found.kneighbors(X[own], return_distance=False)]))
    return _stacked(similar), _stacked(dissimilar)


def _joined(samples: Pairs, neighbours: Pairs) -> Pairs:
    return np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])


def _stacked(parts: list[Pairs]) -> Pairs:
    return np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.intp)


def _rows(pairs: Any) -> Pairs:
    """Rows (i, j, s) from either way of writing pairs."""
    if isinstance(pairs, (tuple, list)) and len(pairs) == 2 and not _is_triple(pairs[0]):
        parts = [_indices(part, name) for part, name in zip(pairs, ("similar", "dissimilar"), strict=True)]
        signs = [np.full((len(part), 1), sign, dtype=np.intp) for part, sign in zip(parts, (1, -1), strict=True)]
        return np.concatenate([np.hstack(both) for both in zip(parts, signs, strict=True)])
    rows = np.asarray(pairs)
    if rows.size == 0:
        return np.empty((0, 3), dtype=np.intp)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise InvalidInputError(
            "pairs must be (similar, dissimilar) with shapes (p, 2) and (q, 2), or one array (p, 3) of rows "
            f"(i, j, sign); found shape {rows.shape}"
        )
    return _integers(rows, "pairs")


def _is_triple(row: Any) -> bool:
    array = np.asarray(row)
    return array.ndim == 1 and array.size == 3


def _indices(part: Any, name: str) -> Pairs:
    array = np.asarray(part)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"{name} pairs must have shape (p, 2); found {array.shape}")
    return _integers(array, f"{name} pairs")


def _integers(array: NDArray[Any], name: str) -> Pairs:
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not np.all(array == np.floor(array))):
        raise InvalidInputError(f"{name} must hold integers; found dtype {array.dtype}")
    return array.astype(np.intp)
