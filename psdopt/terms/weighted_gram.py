"""The symmetric form XᵀTX for a symmetric weight matrix T, never formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.images import Images
from psdopt.linalg.arrays import Array, as_array, inner
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.terms.base import Forces
from psdopt.terms.forms import Form, times


class WeightedGramForm(Form):
    """scale · XᵀTX for X (m, n) and a symmetric T (m, m) of any sign, sparse or dense.

    With T the Laplacian of signed pairs this is Σ_t s_t (x_i − x_j)(x_i − x_j)ᵀ. Shares the products
    with X of every other form that uses the same :class:`LinearMap`; T costs O(nnz(T) r) per product.

    Raises InvalidInputError if T is not symmetric of order m.
    """

    def __init__(self, X: Any, T: Any, scale: float = 1.0) -> None:
        X = X if isinstance(X, LinearMap) else LinearMap(X, "X")
        weights = symmetric_map(T, "T")
        if weights.shape[0] != X.shape[0]:
            raise InvalidInputError(f"T must be of order {X.shape[0]} like the rows of {X.name}; found {weights.shape}")
        self.X, self.T, self.n, self.maps = X, weights.data, X.shape[1], (X,)
        self.scale, self.psd, self.dense_is_cheap = float(scale), None, X.is_matrix

    def gram(self, U: Images, V: Images) -> Array:
        product: Array = U.of(self.X).T @ (self.T @ V.of(self.X))
        return self.scale * product

    def trace(self, U: Images, V: Images) -> float:
        return self.scale * inner(U.of(self.X), self.T @ V.of(self.X))

    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        return [(self.X, self.T @ times(V.of(self.X), T * self.scale))]

    def to_dense(self) -> Array:
        X = self.X.to_dense()
        return self.scale * np.asarray(X.T @ (self.T @ X))

    def known_diagonal(self) -> Array | None:
        if not self.X.is_matrix:
            return None
        X, TX = self.X.data, self.T @ self.X.data
        sums = X.multiply(TX).sum(axis=0) if self.X.is_sparse else np.einsum("ij,ij->j", X, TX)
        return self.scale * as_array(sums).ravel()
