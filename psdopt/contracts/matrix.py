"""A positive semidefinite matrix kept as a factor."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from psdopt.checks import finite, integer_or_none
from psdopt.devices import held, is_device_array, released
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, as_array, norm, row_dots
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS


class LowRankPSD:
    """M = Y Yᵀ, always kept as its factor Y (n, r): PSD by construction, O(n r) memory.

    Parameters
    ----------
    factor : array (n, r), finite, of NumPy or on a device; vectors are then on the same device. The array is not copied
        and must not be changed afterwards.

    Raises
    ------
    InvalidInputError if the factor is not a finite 2-D array.
    """

    __slots__ = ("factor",)
    __array_ufunc__ = None  # so that ndarray @ LowRankPSD calls __rmatmul__

    def __init__(self, factor: Any) -> None:
        Y = held(factor, "factor") if is_device_array(factor) else finite(factor, "factor")
        if Y.ndim != 2 or Y.shape[0] == 0:
            raise InvalidInputError(f"factor must be an (n, r) array with n >= 1; found shape {Y.shape}")
        self.factor: Array = released(Y)

    @classmethod
    def from_dense(cls, M: Any, rank: int | None = None) -> LowRankPSD:
        """Closest PSD matrix (of rank at most `rank`) to a symmetric M (n, n). One O(n³) eigensolve."""
        dense = finite(M, "M")
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
            raise InvalidInputError(f"M must be square; found shape {dense.shape}")
        rank = integer_or_none(rank, "rank", 0)
        values, vectors = spectrum(0.5 * (dense + dense.T))
        keep = values > dense.shape[0] * EPS * max(abs(values[0]), abs(values[-1]))
        if rank is not None:
            keep[: max(len(values) - rank, 0)] = False
        order = np.flatnonzero(keep)[::-1]
        return cls(vectors[:, order] * np.sqrt(values[order]))

    @property
    def n(self) -> int:
        """Order of M."""
        return int(self.factor.shape[0])

    @property
    def rank(self) -> int:
        """Numerical rank: eigenvalues above eps · max(n, r) times the largest. O(n r²)."""
        return int(np.count_nonzero(self._kept(self.eigenvalues(), None)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    def trace(self) -> float:
        """tr M = |Y|². O(n r)."""
        return float(norm(self._held)) ** 2

    def norm(self) -> float:
        """Frobenius norm |M| = |YᵀY|. O(n r²)."""
        Y = self._held
        return norm(np.asarray(Y.T @ Y))

    def eigenvalues(self) -> Array:
        """The min(n, r) leading eigenvalues, descending; the other n − r are zero. O(n r²)."""
        singular: Array = np.asarray(np.linalg.svd(self._held, compute_uv=False), dtype=np.float64)
        return singular**2

    def eigh(self) -> tuple[Array, Array]:
        """Thin eigendecomposition: values (k,) descending, orthonormal vectors (n, k), k = rank. O(n r²)."""
        U, s = self._axes(None)
        return s**2, released(U)

    def quadratic_form(self, X: Any) -> Array:
        """xᵀMx for each row x of X (m, n), dense or sparse; shape (m,). O(m n r) or O(nnz r)."""
        Z = as_array(held(X, "X") @ self._held)
        return cast(Array, released(row_dots(Z, Z)))

    def to_dense(self) -> Array:
        """The (n, n) array: the only place where one is formed."""
        return self.factor @ self.factor.T

    def hermitian(self) -> Any:
        """Z (n/2, r) complex with H = Z Z* the Hermitian matrix that M keeps: Z = A + iB for the factor [A; B].

        For problems that are written by :func:`psdopt.terms.embedded`. H has the trace of M and at most its rank, and
        is M's blocks M_11 + M_22 + i (M_21 − M_12). Raises InvalidInputError if the order of M is odd. O(n r).
        """
        half, odd = divmod(self.n, 2)
        if odd:
            raise InvalidInputError(f"M must have an even order, twice that of a Hermitian matrix; found {self.n}")
        return self.factor[:half] + 1j * self.factor[half:]

    def compress(self, tol: float | None = None) -> LowRankPSD:
        """Drop eigenvalues below `tol` times the largest (default: rounding level). O(n r²)."""
        U, s = self._axes(tol)
        return LowRankPSD(U * s)

    @property
    def _held(self) -> Array:
        """The factor, wrapped if it is on a device."""
        return cast(Array, held(self.factor, "factor"))

    def _axes(self, tol: float | None) -> tuple[Array, Array]:
        """Singular vectors U (n, k) and values s (k,) of Y above rounding; more accurate than from YᵀY."""
        U, s, _ = np.linalg.svd(self._held, full_matrices=False)
        keep = self._kept(s**2, tol)
        return U[:, keep], s[keep]

    def _kept(self, values: Array, tol: float | None) -> Any:
        if len(values) == 0 or values[0] <= 0.0:
            return np.zeros(len(values), dtype=bool)
        return values > (EPS * max(self.factor.shape) if tol is None else tol) * values[0]

    def __matmul__(self, V: Any) -> Any:
        return self.factor @ (self.factor.T @ V)

    def __rmatmul__(self, V: Any) -> Any:
        return (V @ self.factor) @ self.factor.T

    def __repr__(self) -> str:
        return f"LowRankPSD(n={self.n}, columns={self.factor.shape[1]}, trace={self.trace():.6g})"
