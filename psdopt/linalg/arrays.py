"""The few named functions that arrays with n or m rows go through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.devices import Deferred, Device, DeviceArray, once, pairs, placed
from psdopt.devices.groups import PairSums
from psdopt.linalg import deadline
from psdopt.linalg.limits import CACHED

Array = NDArray[np.float64]
Piece = TypeVar("Piece")


def as_array(values: Any) -> Array:
    """`values` as a float64 array, without a copy if possible; an array on a device is returned as it is."""
    if isinstance(values, DeviceArray):
        return cast(Array, values)
    return np.asarray(values, dtype=np.float64)


def as_dense(values: Any) -> Array:
    """`values`, sparse or dense, as a dense float64 array; an array on a device is returned as it is."""
    if isinstance(values, np.ndarray) or not sp.issparse(values):
        return as_array(values)
    return as_array(cast(Any, values).toarray())


def beside(values: Array, a: Array) -> Array:
    """`values` where a is: on the device of a, to which a NumPy array is sent."""
    return cast(Array, placed(values, a.device)) if isinstance(a, DeviceArray) else values


def filled_like(a: Array, value: Any) -> Array:
    """One number as an array of the shape of a, on its device; read-only."""
    return np.full_like(a, value) if isinstance(a, DeviceArray) else np.broadcast_to(value, a.shape)


def product(A: Array, B: Array) -> Array:
    """A B for matrices; of small NumPy arrays in two thirds of the time of ``A @ B``."""
    found: Array = A.dot(B) if type(A) is np.ndarray and type(B) is np.ndarray else A @ B
    return found


def inner(Y: Array, Z: Array) -> float:
    """Frobenius inner product tr(YᵀZ); cost O(size), no temporary of that size."""
    found = np.vdot(Y, Z)
    return cast(float, found) if isinstance(found, Deferred) else float(found)


def norm(Y: Array) -> float:
    """Frobenius norm; cost O(size)."""
    if isinstance(Y, DeviceArray):
        return cast(float, np.sqrt(Y.dot(Y)))
    flat = Y.ravel(order="K")
    return math.sqrt(flat.dot(flat))


def length_of(parts: Iterable[Array]) -> float:
    """The Frobenius norm of all parts together."""
    return math.hypot(*map(norm, parts))


def row_dots(Y: Array, Z: Array) -> Array:
    """Inner products of matching rows, shape (m,): the diagonal of Y Zᵀ without Y Zᵀ."""
    dots: Array = np.einsum("ij,ij->i", Y, Z)
    return dots


def pair_dots(i: NDArray[np.intp], j: NDArray[np.intp], Y: Array, Z: Array) -> Array:
    """⟨Y_i − Y_j, Z_i − Z_j⟩ for index pairs, shape (m,), block by block: no array with m rows of Y."""
    if isinstance(Y, DeviceArray):
        return cast(Array, pairs.pair_dots(i, j, Y, Z))
    result = np.empty(len(i))
    for rows, (left, *right) in _differences(i, j, *((Y,) if Z is Y else (Y, Z))):
        np.einsum("ij,ij->i", left, right[0] if right else left, out=result[rows])
    return result


def line_dots(i: NDArray[np.intp], j: NDArray[np.intp], Y: Array, D: Array) -> tuple[Array, Array]:
    """(2 ⟨Y_i − Y_j, D_i − D_j⟩, |D_i − D_j|²) for index pairs, (m,) each, block by block, D gathered once."""
    if isinstance(Y, DeviceArray):
        return cast(tuple[Array, Array], pairs.line_dots(i, j, Y, D))
    first, second = np.empty(len(i)), np.empty(len(i))
    for rows, (at, along) in _differences(i, j, Y, D):
        np.einsum("ij,ij->i", at, along, out=first[rows])
        np.einsum("ij,ij->i", along, along, out=second[rows])
    first *= 2.0
    return first, second


def _differences(i: NDArray[np.intp], j: NDArray[np.intp], *arrays: Array) -> Iterator[tuple[slice, list[Array]]]:
    """Blocks of pairs, and for each array its rows i minus its rows j, in buffers that the next block overwrites."""
    width = max(arrays[0].shape[1], 1)
    size = min(len(i), max(1, CACHED // width))
    *found, other = (np.empty((size, width)) for _ in range(len(arrays) + 1))
    for start in range(0, len(i), max(size, 1)):
        rows = slice(start, min(start + size, len(i)))
        count = rows.stop - start
        for Y, left in zip(arrays, found, strict=True):
            # indices are known to be valid; clipping is the only mode that fills a buffer directly
            np.take(Y, i[rows], axis=0, out=left[:count], mode="clip")
            np.take(Y, j[rows], axis=0, out=other[:count], mode="clip")
            left[:count] -= other[:count]
        yield rows, [left[:count] for left in found]


def gathered_row_dots(i: NDArray[np.intp], j: NDArray[np.intp], Y: Array, Z: Array) -> Array:
    """⟨Y_i, Z_j⟩ (m,) for index pairs (i, j), gathered block by block."""
    if isinstance(Y, DeviceArray):
        return row_dots(Y.take(i, axis=0), Z.take(j, axis=0))
    dots = np.empty(len(i))
    size = max(1, CACHED // max(2 * Y.shape[1], 1))
    for s in range(0, len(i), size):
        part = slice(s, s + size)
        left = Y.take(i[part], axis=0)
        right = left if Z is Y and j is i else Z.take(j[part], axis=0)
        np.einsum("ij,ij->i", left, right, out=dots[part])
    return dots


def mixed_row_dots(ends: NDArray[np.intp], Y: Array, Z: Array) -> tuple[Array, Array]:
    """⟨Y_i, Z_j⟩ + ⟨Z_i, Y_j⟩ and ⟨Z_i, Z_j⟩, (m,) each, for the index pairs (i, j) in the columns of `ends` (2, m).

    Block by block, and each row is gathered once.
    """
    if isinstance(Y, DeviceArray):
        return cast(tuple[Array, Array], pairs.mixed_row_dots(*ends, Y, Z))
    m = ends.shape[1]
    mixed, own = np.empty(m), np.empty(m)
    size = max(1, CACHED // max(4 * Y.shape[1], 1))
    for s in range(0, m, size):
        part = slice(s, s + size)
        here = ends[:, part]
        left, right = Y.take(here, axis=0), Z.take(here, axis=0)
        np.einsum("kij,kij->i", left, right[::-1], out=mixed[part])
        np.einsum("ij,ij->i", right[0], right[1], out=own[part])
    return mixed, own


def without_radial(G: Array, Y: Array) -> Array:
    """G without its component along Y, G − Y ⟨Y, G⟩ / |Y|² (n, r); G itself for Y = 0.

    This part of the factor gradient 2 S Y does not change if c (tr M − t) is added to F.
    """
    square = norm(Y) ** 2
    return G - Y * (inner(Y, G) / square) if square > 0.0 else G


def append_columns(*blocks: Array) -> Array:
    """[Y₁, Y₂, ...]."""
    return np.concatenate(blocks, axis=1)


def orthonormal_columns(rng: np.random.Generator, n: int, r: int) -> Array:
    """A uniformly random (n, r) matrix with orthonormal columns, r <= n."""
    deadline.ask()
    Q, R = np.linalg.qr(rng.standard_normal((n, r)))
    return Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)


def code_dtype(n: int) -> type[np.signedinteger[Any]]:
    """The smallest integer type that holds i n + j for i, j < n: a smaller type sorts in half the memory."""
    return np.int32 if n <= 46340 else np.int64


def incidence(i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> sp.csr_array:
    """Sparse (p, n) matrix with rows e_i − e_j, so that (E Z)_t = Z_i − Z_j."""
    p = len(i)
    indices = np.empty(2 * p, dtype=np.int64)
    indices[0::2], indices[1::2] = i, j
    data = np.tile([1.0, -1.0], p)
    return sp.csr_array((data, indices, np.arange(0, 2 * p + 1, 2)), shape=(p, n))


def twin(piece: Piece) -> Piece:
    """A shallow copy of an object without slots, ten times as fast as copy.copy."""
    made: Piece = object.__new__(type(piece))
    made.__dict__.update(piece.__dict__)
    return made


def with_data(pattern: sp.csr_array, data: Array) -> sp.csr_array:
    """A sparse array with the indices of `pattern`, which it shares, and other numbers.

    Valid indices are not checked again, which would cost more than a small product.
    """
    filled = twin(pattern)
    filled.data = data
    return filled


def entries_kept(A: sp.csr_array, kept: NDArray[np.bool_]) -> sp.csr_array:
    """A with only those of its stored entries, in their order."""
    counts = np.concatenate([[0], np.cumsum(kept)])
    return sp.csr_array((A.data[kept], A.indices[kept], counts[A.indptr]), shape=A.shape)


def scaled(A: sp.csr_array, rows: Array | None = None, columns: Array | None = None) -> sp.csr_array:
    """diag(rows) A diag(columns), with the indices of A, which it shares: an absent factor is I."""
    data = A.data if rows is None else A.data * rows.repeat(A.indptr[1:] - A.indptr[:-1])
    return with_data(A, data if columns is None else data * columns[A.indices])


def sparse_product(A: sp.csr_array, X: Array, start: Array | None = None) -> Array:
    """`start` + A X for X (n, k), as a new array."""
    product: Array = A @ X
    if start is not None:
        product += start
    return product


#: Size of an array in which a sparse one takes as much memory, over the number of its entries.
FILLED = 1.5


def for_products(A: Any) -> Any:
    """A sparse A as it multiplies vectors fastest: dense where calls or indices of a sparse one cost more.

    An array takes 8 bytes an entry, a sparse one 12 for those that are not zero.
    """
    return A.toarray() if A.shape[0] * A.shape[1] <= max(CACHED, FILLED * A.nnz) else A


def only_diagonal(A: sp.csr_array) -> Array | None:
    """d (m,) of A = diag(d), stored without other entries; None for another A."""
    rows, columns = A.shape
    one = rows == columns == A.nnz and np.array_equal(A.indptr[1:] - 1, A.indices)
    return A.data if one and np.array_equal(A.indices, np.arange(rows)) else None


def applied(A: Any, v: Array) -> Array:
    """A v (m,), where an array A (m,) stands for diag(A)."""
    product: Array = A * v if A.ndim == 1 else A @ v
    return product


def both_ways(A: sp.csr_array) -> tuple[Array, Array]:
    """A and Aᵀ as :func:`for_products`, to multiply arrays; a sparse Aᵀ by rows as well."""
    forth = for_products(A)
    back: Any = sp.csr_array(A.T) if forth is A else forth.T
    return forth, back


#: A new sparse array costs more than products of a few columns with so many entries, zeros or not.
FEW = 4000


class SymmetricPattern:
    """w (p,) ↦ Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) as a sparse (n, n) array; the sorting is done once, here.

    Indices are sorted and repeated pairs are one entry, so that SciPy need not sort the shared indices again. If most
    weights are zero, like those of inactive hinges, the zeros are left out. Can be pickled. Weights on a device give a
    :class:`~psdopt.devices.groups.PairSum` there.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> None:
        self._ends, self._n = (i, j), n
        self._there: dict[Device, PairSums] = {}
        self._places: NDArray[np.intp] | None = None  # of the weights in the sum as an array, both orders of a pair
        p, kind = len(i), code_dtype(n)
        codes = np.empty(2 * p, dtype=kind)
        for half, left, right in ((codes[:p], i, j), (codes[p:], j, i)):
            np.multiply(left, n, out=half, casting="unsafe")
            half += right
        order = np.argsort(codes)
        codes = codes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        codes = codes[starts]
        # one row per entry of the sum, listing the weights that add up to it (on the diagonal a pair counts in both
        # orders)
        self._sums = sp.csr_array((np.ones(2 * p), order % max(p, 1), np.append(starts, 2 * p)), (len(codes), p))
        often = np.flatnonzero(np.diff(self._sums.indptr) > np.where(codes % (n + 1) == 0, 2, 1))
        #: The first pair that occurs more than once, in either order, or None.
        self.repeated = divmod(int(codes[often[0]]), n) if often.size else None
        rows = np.searchsorted(codes, np.arange(n + 1, dtype=np.int64) * n)
        self._pattern = sp.csr_array((np.zeros(len(codes)), codes % n, rows), shape=(n, n))
        self._pattern.has_canonical_format = True

    def dense(self, w: Array) -> Array:
        """The sum as an array (n, n), for weights of the host: an O(n²) pass in the place of two sparse products."""
        i, j = self._ends
        if self._places is None:
            self._places = np.concatenate([i * self._n + j, j * self._n + i])
        sums: Array = np.bincount(self._places, np.concatenate([w, w]), self._n * self._n).astype(float, copy=False)
        return sums.reshape(self._n, self._n)

    def filled(self, w: Array) -> sp.csr_array:
        """The sum with zero entries stored as well, so that its pattern is the same for every w."""
        return with_data(self._pattern, self._sums @ w)

    def __call__(self, w: Array) -> sp.csr_array:
        if isinstance(w, DeviceArray):
            sums = once(self._there, w.device, lambda: PairSums(*self._ends, self._n, w.device))
            return cast(sp.csr_array, sums(w))
        filled = self.filled(w)
        data = filled.data
        if len(data) <= FEW or 2 * np.count_nonzero(data) > len(data):
            return filled
        return entries_kept(filled, data != 0.0)


def vector_of(T: Array) -> Array:
    """The symmetric T (k, k) as a vector (k(k+1)/2,) of the same norm: its upper triangle, row by row."""
    k = np.arange(len(T))
    doubled = math.sqrt(2.0) * T
    doubled[k, k] = T[k, k]
    return np.asarray(doubled[k[:, None] <= k])


def matrix_of(q: Array, k: int) -> Array:
    """The inverse of :func:`vector_of`."""
    i, j = np.triu_indices(k)
    T = np.zeros((k, k))
    T[i, j] = T[j, i] = q * np.where(i == j, 1.0, np.sqrt(0.5))
    return T


def is_finite(value: Any) -> bool:
    """True if every entry is finite; for a sparse array, every stored entry."""
    entries = cast(Any, value).data if sp.issparse(value) else value
    return bool(np.all(np.isfinite(entries)))


def finite_value(value: Callable[[], float]) -> float:
    """The value, or inf if F is not defined where it is asked for."""
    try:
        with np.errstate(all="ignore"):
            found = value()
    except (FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError):
        return math.inf
    return found if math.isfinite(found) else math.inf


def sum_of(parts: Iterable[float]) -> float:
    """Σ parts without loss of digits; inf or nan, not an error, if a part has overflowed."""
    numbers = [float(part) for part in parts]
    try:
        return math.fsum(numbers)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.sum(numbers))
