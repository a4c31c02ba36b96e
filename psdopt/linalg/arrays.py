"""The few named functions that arrays with n or m rows go through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


def inner(Y: Array, Z: Array) -> float:
    """Frobenius inner product tr(YᵀZ); cost O(size), no temporary of that size."""
    return float(np.vdot(Y, Z))


def norm(Y: Array) -> float:
    """Frobenius norm; cost O(size)."""
    flat = Y.ravel(order="K")
    return math.sqrt(flat.dot(flat))


def row_dots(Y: Array, Z: Array) -> Array:
    """Inner products of matching rows, shape (m,): the diagonal of Y Zᵀ without Y Zᵀ."""
    return np.asarray(np.einsum("ij,ij->i", Y, Z), dtype=np.float64)


#: Entries of a block of gathered rows: small enough to stay in the processor's cache.
GATHERED = 65536


def pair_dots(i: NDArray[np.intp], j: NDArray[np.intp], Y: Array, Z: Array) -> Array:
    """⟨Y_i − Y_j, Z_i − Z_j⟩ for index pairs, shape (m,), block by block: no array with m rows of Y."""
    result = np.empty(len(i))
    size = max(1, GATHERED // max(Y.shape[1], 1))
    for s in range(0, len(i), size):
        a, b = i[s : s + size], j[s : s + size]
        left = np.take(Y, a, axis=0)
        left -= np.take(Y, b, axis=0)
        right = left
        if Z is not Y:
            right = np.take(Z, a, axis=0)
            right -= np.take(Z, b, axis=0)
        np.einsum("ij,ij->i", left, right, out=result[s : s + size])
    return result


def scale_rows(w: Array, Y: Array) -> Array:
    """Diag(w) Y."""
    return w[:, None] * Y


def append_columns(Y: Array, Z: Array) -> Array:
    """[Y, Z]."""
    return np.concatenate([Y, Z], axis=1)


def join_columns(blocks: Sequence[Array]) -> Array:
    """[Y₁, Y₂, ...]."""
    return np.concatenate(blocks, axis=1)


def orthonormal_columns(rng: np.random.Generator, n: int, r: int) -> Array:
    """A uniformly random (n, r) matrix with orthonormal columns, r <= n."""
    Q, R = np.linalg.qr(rng.standard_normal((n, r)))
    return Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)


def incidence(i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> sp.csr_array:
    """Sparse (p, n) matrix with rows e_i − e_j, so that (E Z)_t = Z_i − Z_j."""
    p = len(i)
    indices = np.empty(2 * p, dtype=np.int64)
    indices[0::2], indices[1::2] = i, j
    data = np.tile([1.0, -1.0], p)
    return sp.csr_array((data, indices, np.arange(0, 2 * p + 1, 2)), shape=(p, n))


def with_data(pattern: sp.csr_array, data: Array) -> sp.csr_array:
    """A sparse array with the indices of `pattern` and other numbers: it shares the former, without a check.

    To check them again would cost more than a product, and so would ``copy``, which goes by way of pickling.
    """
    filled: sp.csr_array = object.__new__(type(pattern))
    vars(filled).update(vars(pattern), data=data)
    return filled


class SymmetricPattern:
    """w (p,) ↦ Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) as a sparse (n, n) array; the sorting is done once, here.

    Indices are sorted and repeated pairs are one entry, so that SciPy finds nothing to put in order in what the arrays
    share. Zero weights are left out where they are most: hinges that are met cost nothing. Can be pickled.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> None:
        p = len(i)
        codes = np.concatenate([i * n + j, j * n + i])
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])) if p > 0 else order
        self._source, self._first = order % max(p, 1), None if len(first) == 2 * p else first
        rows, self._indices = np.divmod(codes[first], n)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        self._pattern = sp.csr_array((np.zeros(len(first)), self._indices, self._starts), shape=(n, n))
        self._pattern.has_canonical_format = True

    def __call__(self, w: Array) -> sp.csr_array:
        data = w[self._source]
        if self._first is not None:
            data = np.add.reduceat(data, self._first)
        used = data != 0.0
        if 2 * np.count_nonzero(used) > len(data):
            return with_data(self._pattern, data)
        counts = np.concatenate([[0], np.cumsum(used)])
        return sp.csr_array((data[used], self._indices[used], counts[self._starts]), shape=self._pattern.shape)


def is_finite(value: Any) -> bool:
    """True when every entry is finite; sparse arrays are looked at through their data."""
    entries = cast(Any, value).data if sp.issparse(value) else value
    return bool(np.all(np.isfinite(entries)))
