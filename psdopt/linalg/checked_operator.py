"""A symmetric operator as eigensolvers see it: products counted and guarded against NaN, the norm estimated."""

from __future__ import annotations

import math
import sys
from typing import Any, cast

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator

from psdopt.devices import Device, DeviceArray, DeviceMatrix, held, on_host, placed
from psdopt.errors import InvalidInputError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array, norm
from psdopt.linalg.tolerances import EPS, SLIGHT


class CheckedOperator:
    """S that counts the columns it is applied to, refuses NaN, and keeps the largest |S x| / |x| seen as its norm.

    `device` is the device of an S that works there. A block given as a NumPy array has a NumPy array as its product.
    """

    def __init__(self, S: Any, name: str = "S") -> None:
        S = held(S, name, DeviceMatrix)
        shape = tuple(S.shape)
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 1:
            raise InvalidInputError(f"{name} must be square with at least one row; found shape {shape}")
        self.S, self.n, self.products, self.norm = S, int(shape[0]), 0, 0.0
        device = getattr(S, "device", None)  # NumPy arrays have an unrelated attribute of this name
        self.device = device if isinstance(device, Device) else None

    @property
    def rounding(self) -> float:
        return float(4.0 * self.n**0.5 * EPS * self.norm)

    def placed(self, X: Array) -> Array:
        """X (n, k) on the device of S."""
        return X if self.device is None else cast(Array, placed(X, self.device, "start"))

    def __call__(self, X: Array) -> Array:
        image = as_array(self._product(X))
        if image.shape != X.shape:
            raise InvalidInputError(f"S @ X must have the shape {X.shape} of X; found {image.shape}")
        sizes = self._checked(image)
        self.products += X.shape[1]
        self.norm = max(self.norm, float(np.max(sizes / np.maximum(column_norms(X), 1e-300))))
        return image

    def _product(self, X: Array) -> Any:
        deadline.ask()
        product = self.S @ X
        return on_host(product) if self.device is not None and not isinstance(X, DeviceArray) else product

    def entries(self) -> Array | None:
        """S (n, n), not to be changed: S itself if it is an array, what its member `entries` returns if it has one."""
        own = getattr(self.S, "entries", None)
        return self.S if isinstance(self.S, np.ndarray) else None if own is None else own()

    def to_dense(self, width: int) -> Array:
        """S (n, n): its :meth:`entries` if they are at hand, else products with `width` columns of I at a time."""
        S = self.entries()
        if S is None:
            eye = np.eye(self.n)
            blocks = [self(eye[:, j : j + width]) for j in range(0, self.n, width)]
            return np.hstack(blocks) if len(blocks) > 1 else blocks[0]
        self.norm = max(self.norm, float(np.max(self._checked(S))))
        self.products += self.n
        return np.asarray(S)

    def _checked(self, image: Array) -> Array:
        """Norms of the columns of a product with S. Raises FloatingPointError if they are not finite."""
        sizes = column_norms(image)
        # finite norms prove it without another pass over the image
        if not np.isfinite(sizes).all() and not np.isfinite(image).all():
            raise FloatingPointError(f"S @ X is not finite (product of columns {self.products} and following)")
        return sizes

    def of_unit(self, x: Array) -> Array:
        """S x for |x| = 1, without the checks for blocks, which would cost as much as a small product."""
        deadline.ask()
        image = np.asarray(self.S @ x.reshape(-1, 1), dtype=float)
        size = length(image[:, 0]) if image.shape == (self.n, 1) else math.nan
        if not 0.0 < size < math.inf:
            return self(x.reshape(-1, 1))[:, 0]
        self.products += 1
        self.norm = max(self.norm, size)
        return np.asarray(image[:, 0])

    def operator(self) -> LinearOperator:
        """S as SciPy's solvers take it, for vectors of length one."""
        return LinearOperator((self.n, self.n), matvec=self.of_unit, matmat=self, dtype=float)


class Negative:
    """−S with the members that an eigensolver uses; `products` counts the columns that S was applied to."""

    def __init__(self, S: Any) -> None:
        self.S, self.shape, self.products = S, tuple(S.shape), 0

    def __matmul__(self, V: Array) -> Array:
        self.products += V.shape[1]
        return -np.asarray(self.S @ V, dtype=float)


def orthonormal(
    X: Array, basis: Array | None = None, floor: float = 0.0, most: int | None = None
) -> tuple[Array, Array]:
    """P (at most `most` orthonormal columns, orthogonal to `basis`) and B: `X = P B` up to columns of size `floor`."""
    if X.shape[1] == 0:
        return X, np.zeros((0, 0))
    P, R, order = _pivoted_qr(X)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > max(floor, 4 * EPS * diagonal[0])))
    rank = rank if most is None else min(rank, most)
    P, B = P[:, :rank], np.empty((rank, X.shape[1]))
    B[:, order] = R[:rank]
    if basis is not None and rank:
        for _ in range(2):  # small columns have picked up components along the basis
            along = basis.T @ P
            P, R = np.linalg.qr(P - basis @ along)
            B = R @ B
            if norm(along) <= SLIGHT:  # the columns kept their length, and with it their digits
                break
    return as_array(P), np.asarray(B, dtype=float)


def _pivoted_qr(X: Array) -> tuple[Any, Any, Any]:
    """P, R and the order of the columns with X[:, order] = P R; on a device from the R of a QR without pivots."""
    if not isinstance(X, DeviceArray):
        return scipy.linalg.qr(X, mode="economic", pivoting=True)
    Q, R = np.linalg.qr(X)
    P, R, order = scipy.linalg.qr(R, mode="economic", pivoting=True)
    return Q @ P, R, order


def column_norms(X: Array) -> Array:
    """Euclidean norms of the columns, without overflow or underflow of the squares."""
    squares = np.einsum("ij,ij->j", X, X)
    if np.all(_safe(squares)):
        return np.asarray(np.sqrt(squares), dtype=float)
    top = np.max(np.abs(X), axis=0, initial=0.0)
    safe = np.where(top > 0.0, top, 1.0)
    return np.asarray(top * np.sqrt(np.sum((X / safe) ** 2, axis=0)), dtype=float)


def length(x: Array) -> float:
    """|x| of a vector (n,), as :func:`column_norms`, in one pass where squares are safe."""
    square = float(x.dot(x))
    return math.sqrt(square) if _safe(square) else float(column_norms(x[:, None])[0])


def _safe(squares: Any) -> Any:
    """Whether sums of squares are free of overflow, and too large for squares that underflowed to count."""
    return (squares > sys.float_info.min / EPS) & (squares < math.inf)
