"""The symmetric form XᵀTX for a symmetric weight matrix T, never formed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, as_array, inner
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS, ROUNDINGS
from psdopt.terms.base import Forces
from psdopt.terms.forms import Form, times


class WeightedGramForm(Form):
    """scale · XᵀTX for X (m, n) and a symmetric T (m, m) of any sign, sparse or dense.

    With T the Laplacian of signed pairs this is Σ_t s_t (x_i − x_j)(x_i − x_j)ᵀ. Shares the products
    with X of every other form that uses the same :class:`LinearMap`; T costs O(nnz(T) r) per product.

    If T annihilates constants, like a Laplacian, the mean row of every image X U is subtracted before T is applied, so
    that an offset shared by all rows of X costs no accuracy.

    Raises InvalidInputError if T is not symmetric of order m.
    """

    def __init__(self, X: Any, T: Any, scale: float = 1.0) -> None:
        X = X if isinstance(X, LinearMap) else LinearMap(X, "X")
        weights = symmetric_map(T, "T")
        if weights.shape[0] != X.shape[0]:
            raise InvalidInputError(f"T must be of order {X.shape[0]} like the rows of {X.name}; found {weights.shape}")
        self.X, self.T, self.n, self.maps = X, weights.data, X.shape[1], (X,)
        self.scale, self.psd, self.dense_is_cheap = float(scale), None, X.is_matrix
        self.about_the_mean = _annihilates_constants(self.T)

    def _image(self, U: Images) -> Array:
        return U.derived(self, self.X, self._centred)

    def _centred(self, Z: Array) -> Array:
        return Z - Z.mean(axis=0) if self.about_the_mean else Z

    def gram(self, U: Images, V: Images) -> Array:
        product: Array = self._image(U).T @ (self.T @ self._image(V))
        return self.scale * product

    def trace(self, U: Images, V: Images) -> float:
        return self.scale * inner(self._image(U), self.T @ self._image(V))

    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        return [(self.X, self.T @ times(self._image(V), T * self.scale))]

    def to_dense(self) -> Array:
        X = self._centred(self.X.to_dense())
        return self.scale * np.asarray(X.T @ (self.T @ X))

    def known_diagonal(self) -> Array | None:
        if not self.X.is_matrix:
            return None
        X: Any = self.X.data if self.X.is_sparse else self._centred(self.X.data)
        TX = self.T @ X
        sums = X.multiply(TX).sum(axis=0) if self.X.is_sparse else np.einsum("ij,ij->j", X, TX)
        return self.scale * as_array(sums).ravel()


def _annihilates_constants(T: Any) -> bool:
    """Whether the rows of T, a NumPy or SciPy array, add up to 0 up to rounding; False for others."""
    if not (isinstance(T, np.ndarray) or sp.issparse(T)):
        return False
    rows: Any = T
    sums, sizes = as_array(rows.sum(axis=1)).ravel(), as_array(abs(rows).sum(axis=1)).ravel()
    return bool(np.all(np.abs(sums) <= ROUNDINGS * EPS * sizes))
