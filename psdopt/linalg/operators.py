"""Linear maps given as ndarray, sparse array, array on a device or ``LinearOperator``, which count their products.

Their adjoints also take Σ_j diag(w_j) Z_j, formed in blocks of rows where memory should not hold it twice.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import LinearOperator

from psdopt.checks import finite, unmasked
from psdopt.devices import Device, DeviceMatrix, device_of, held, is_device_array, on_host
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_dense, product, row_dots, sparse_product, with_data
from psdopt.linalg.limits import BLOCK, CACHED, SMALL_ORDER
from psdopt.linalg.row_sources import row_source
from psdopt.linalg.tolerances import asymmetry_allowed

STRIP = 64  # rows that are compared with as many columns at a time: their difference stays in the cache


class WeightedRows:
    """G = Σ_j diag(w_j) Z_j (m, k), of weights w_j (m,) and blocks Z_j (m, k): ``G[rows]`` forms some of its rows.

    Sums of two such matrices, and multiples, are again of this form; a sum with an array is an array.
    """

    __array_ufunc__ = None  # an array leaves its sums with these to them

    def __init__(self, *parts: tuple[Array, Array]) -> None:
        self.parts = parts
        self.shape: tuple[int, ...] = parts[0][1].shape

    def __getitem__(self, rows: Any) -> Array:
        (w, Z), *others = self.parts
        found: Array = w[rows, None] * Z[rows]
        for w, Z in others:
            found += w[rows, None] * Z[rows]
        return found

    def __add__(self, other: Any) -> Any:
        return WeightedRows(*self.parts, *other.parts) if isinstance(other, WeightedRows) else self[:] + other

    __radd__ = __add__

    def __mul__(self, number: float) -> WeightedRows:
        return WeightedRows(*((number * w, Z) for w, Z in self.parts))

    __rmul__ = __mul__

    def __neg__(self) -> WeightedRows:
        return -1.0 * self


class LinearMap:
    """A (p, n) linear map that counts how often it is applied.

    One code path serves dense, sparse and matrix-free data: :meth:`apply` and :meth:`adjoint`
    take blocks of columns. `applications` counts calls (blocks) in either direction,
    `columns` the columns in them; these are the only source of the counts in a ``Result``.
    `most_columns` limits the columns of an image computed at a time beyond those of the factor; None is no limit.
    `by_columns` : whether images of a dense A are stored by columns: faster for operations on all rows, not on some.
    `device` is the device of the data and of all images; None for NumPy arrays. `mirrored` : a sparse A is known to
    equal Aᵀ to the last digit, with its entries in order.

    NumPy and SciPy arrays are copied, so that changes to them do not reach a problem. `owned` : nobody else changes
    `data`, so they are not copied, like operators and arrays on a device. `checked` : in addition, `data` are known to
    be finite real numbers and are not checked again.
    """

    most_columns: int | None = None
    device: Device | None = None
    symmetric: bool = False
    mirrored: bool = False
    by_columns: bool = False

    def __init__(self, data: Any, name: str = "A", *, owned: bool = False, checked: bool = False) -> None:
        self.data = _validated(data, name, owned, checked)
        self.name = name
        self.device = device_of(self.data)
        self.shape: tuple[int, int] = (int(self.data.shape[0]), int(self.data.shape[1]))
        self.applications = 0
        self.columns = 0

    def apply(self, V: Array) -> Array:
        """A V for a block V (n, k)."""
        self._count(V)
        A = self.data
        if not isinstance(A, np.ndarray):
            return sparse_product(A, V) if self.is_sparse and isinstance(V, np.ndarray) else as_dense(A @ V)
        if self.by_columns:
            return (V.T @ A.T).T
        if self.symmetric and A.flags.forc:
            stored = A if A.flags.f_contiguous else A.T  # by columns, so that none is copied
            if V.shape[1] == 1:
                return np.asarray(dsymv(1.0, stored, V[:, 0], lower=1)[:, None])  # reads half of A
            return product(V.T, stored.T).T  # two thirds of the time of stored V
        return product(A, V)

    def adjoint(self, W: Array | WeightedRows) -> Array:
        """Aᵀ W for a block W (p, k); of few columns and an array A in blocks of rows that stay in the cache."""
        self._count(W)
        A, step = self.data, max(SMALL_ORDER, CACHED // (self.shape[1] + W.shape[1]))
        if isinstance(A, np.ndarray) and len(A) > step and W.shape[1] <= SMALL_ORDER:
            blocks = (slice(start, start + step) for start in range(0, len(A), step))
            return np.asarray(sum(product(A[rows].T, W[rows]) for rows in blocks))
        whole = W[:] if isinstance(W, WeightedRows) else W
        if isinstance(A, LinearOperator):
            return as_dense(A.rmatmat(whole))
        return product(A.T, whole) if isinstance(A, np.ndarray) else as_dense(A.T @ whole)

    def __matmul__(self, V: Array) -> Array:
        """A V, like :meth:`apply`."""
        return self.apply(V)

    def _count(self, V: Array | WeightedRows) -> None:
        deadline.ask()
        self.applications += 1
        self.columns += V.shape[1]

    @property
    def is_matrix(self) -> bool:
        """True if the entries are stored (an array, sparse or not), False for a ``LinearOperator``."""
        return not isinstance(self.data, LinearOperator)

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.data, sp.csr_array)

    def largest_row_sum(self) -> float:
        """max_i Σ_j |A_ij|, a bound on every |eigenvalue| of a square A. Needs stored entries; no product."""
        if self.is_sparse:
            ones = np.ones((self.shape[1], 1))
            return float(sparse_product(with_data(self.data, np.abs(self.data.data)), ones).max())
        return float(np.abs(self.data).sum(axis=1).max())

    def weighted_gram(self, w: Array) -> Array:
        """Aᵀ diag(w) A (n, n) for w (p,), with blocks of rows as the only copies. Needs stored entries; no product."""
        A = self.data
        if self.is_sparse:
            return as_dense(A.T @ (sp.diags_array(w) @ A))
        total, step = np.zeros((self.shape[1], self.shape[1])), max(SMALL_ORDER, CACHED // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = A[start : start + step]
            total += rows.T @ (w[start : start + step, None] * rows)
        return total

    def row_squares(self, V: Array) -> Array:
        """|Vᵀa_t|² for the rows a_t of A, shape (p,), without the image A V. Needs stored entries of NumPy or SciPy."""
        self._count(V)
        A, k = self.data, V.shape[1]
        times, step = (sparse_product, BLOCK // k) if self.is_sparse else (product, CACHED // (self.shape[1] + k))
        found, step = np.empty(self.shape[0]), max(SMALL_ORDER, step)
        for start in range(0, self.shape[0], step):
            image = times(A[start : start + step], V)
            found[start : start + step] = row_dots(image, image)
        return found

    def entries(self) -> Array | None:
        """The data themselves, not to be changed, if they are an ndarray; else None."""
        return self.data if isinstance(self.data, np.ndarray) else None

    def to_dense(self) -> Array:
        """The (p, n) array; a ``LinearOperator`` is applied to the identity (n columns)."""
        if isinstance(self.data, LinearOperator):
            return self.apply(np.eye(self.shape[1]))
        return np.array(on_host(as_dense(self.data)))

    def __repr__(self) -> str:
        return f"LinearMap({self.name}: {self.shape[0]}x{self.shape[1]}, {type(self.data).__name__})"


def block_operator(shape: tuple[int, int], forth: Any, back: Any, dtype: Any = np.float64) -> LinearOperator:
    """The operator (p, n) with the products `forth`, V (n, k) ↦ A V, and `back`, W (p, k) ↦ A* W."""

    def single(times: Any) -> Any:
        return lambda v: times(np.reshape(v, (-1, 1)))

    return LinearOperator(shape, matvec=single(forth), rmatvec=single(back), matmat=forth, rmatmat=back, dtype=dtype)


def symmetric_map(data: Any, name: str, n: int | None = None, *, checked: bool = False) -> LinearMap:
    """A square symmetric :class:`LinearMap`; asymmetry beyond rounding is an error. `checked` : as for LinearMap.

    A ``LinearOperator`` is probed with two fixed vectors, which a nonsymmetric one fails except
    on a set of measure zero.
    """
    A = LinearMap(data, name, checked=checked)
    if A.shape[0] != A.shape[1]:
        raise InvalidInputError(f"{name} must be square and symmetric; found shape {A.shape}")
    if n is not None and A.shape[0] != n:
        raise InvalidInputError(f"{name} must be of order {n} like the other arguments; found shape {A.shape}")
    defect, scale = _asymmetry(A)
    if defect > asymmetry_allowed(scale, A.shape[0]):
        raise InvalidInputError(
            f"{name} must be symmetric; found max |{name} - {name}ᵀ| = {defect:.3g} "
            f"against max |{name}| = {scale:.3g}. "
            f"Pass ({name} + {name}.T) / 2 if the difference is noise"
        )
    A.symmetric, A.mirrored = True, A.is_sparse and defect == 0.0 and A.data.has_canonical_format
    return A


def _asymmetry(A: LinearMap) -> tuple[float, float]:
    if A.is_sparse:
        T = sp.csr_array(A.data.T)
        same = np.array_equal(A.data.indices, T.indices) and np.array_equal(A.data.data, T.data)
        return 0.0 if same else _largest((A.data - T).data), _largest(A.data.data)
    if A.is_matrix:
        if A.device is not None:
            return _largest(A.data - A.data.T), _largest(A.data)
        return _dense_asymmetry(A.data)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((A.shape[0], 2))
    AU = A.apply(U)
    defect = abs(float(U[:, 0] @ AU[:, 1]) - float(U[:, 1] @ AU[:, 0]))
    return defect, float(np.linalg.norm(U) * np.linalg.norm(AU))


def _dense_asymmetry(A: Array) -> tuple[float, float]:
    """max |A - Aᵀ|, in strips of rows, each pair of entries once, and unless that is 0, max |A| of a dense A (n, n)."""
    least = most = 0.0
    for i in range(0, len(A), STRIP):
        rows = slice(i, i + STRIP)
        difference = A[rows, i:] - A[i:, rows].T
        least, most = min(least, float(difference.min())), max(most, float(difference.max()))
    defect = max(-least, most)
    return defect, max(float(A.max()), -float(A.min())) if defect else 0.0


def _largest(numbers: Array) -> float:
    return float(np.max(np.abs(numbers), initial=0.0))


def _validated(data: Any, name: str, owned: bool, checked: bool) -> Any:
    if isinstance(data, LinearOperator):
        if np.issubdtype(data.dtype, np.complexfloating):
            raise InvalidTypeError(f"{name} must be real; found dtype {data.dtype}")
        return data
    if row_source(data, name) is not None:
        raise InvalidTypeError(f"{name} is read in blocks of rows; use psdopt.linalg.linear_map, or pass an array")
    if is_device_array(data):
        return _on_device(data, name)
    sparse = isinstance(data, (sp.sparray, sp.spmatrix))
    if sparse:
        data = sp.csr_array(data)
    else:
        try:
            data = np.asarray(unmasked(data, name))
        except (InvalidInputError, MemoryError):
            raise
        except Exception as error:  # NumPy raises many kinds of errors: ragged lists, foreign objects
            raise InvalidTypeError(f"{name} must be a matrix; found {type(data).__name__}: {error}") from error
    if data.ndim != 2:
        raise InvalidInputError(f"{name} must be a 2-D array; found {data.ndim} dimension(s), shape {data.shape}")
    if 0 in data.shape:
        raise InvalidInputError(f"{name} must not be empty; found shape {data.shape}")
    if not (np.issubdtype(data.dtype, np.number) or data.dtype == bool) or np.iscomplexobj(data):
        raise InvalidTypeError(f"{name} must hold real numbers; found dtype {data.dtype}")
    data = data.astype(np.float64, copy=not (owned or checked))
    if not checked:
        finite(cast(Any, data).data if sp.issparse(data) else data, name)
    return data


def _on_device(data: Any, name: str) -> DeviceMatrix:
    matrix = held(data, name, DeviceMatrix)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInputError(f"{name} must be a 2-D array, not empty; found shape {matrix.shape}")
    return matrix if isinstance(matrix, DeviceMatrix) else DeviceMatrix(matrix.raw, matrix.device)
