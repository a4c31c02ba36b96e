"""Coordinates in which a neighbour graph is well conditioned: M = B N Bᵀ with BᵀLB = I, L a Laplacian of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, splu

from psdopt.linalg import Array, incidence
from psdopt_plugins.manifold_learning.graph import Edges

#: SuperLU keeps a symmetric matrix symmetric: pivots on the diagonal.
SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class LaplacianCoordinates:
    """Z (n − 1, r) ↦ B Z (n, r), centred, |W^½ E B Z| = |Z| for edge differences E and weights W of edges.

    L = EᵀWE is the Laplacian of the (connected) graph, one vertex grounded: P L₀ Pᵀ = C Δ Cᵀ by one sparse
    factorisation, B = Pᵀ C⁻ᵀ Δ^-½ followed by centring. BᵀLB = I exactly, so that tr N is the weighted sum of
    all squared edge lengths of M = B N Bᵀ, and the largest eigenvalues of BᵀB are the reciprocals of the smallest
    non-zero ones of L. Unfolding is ill-conditioned because of the spectrum of L, which these coordinates remove.

    Parameters: `weights` (edges,), positive; default 1. The tensions of a nearby solution are best: with weights
    proportional to them, no eigenvalue of Bᵀ(4 Lap(e))B exceeds four times their mean in size.

    A product with B or Bᵀ is one sparse triangular solve, O(fill · r).
    """

    def __init__(self, edges: Edges, weights: Array | None = None) -> None:
        n = self.n = edges.n
        E = incidence(edges.i, edges.j, n)
        weighted = E if weights is None else sp.diags_array(weights) @ E
        grounded = sp.csc_array((E.T @ weighted).tocsc()[: n - 1, : n - 1])
        factors = splu(grounded, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC)
        self._order = factors.perm_c
        self._root = np.sqrt(factors.U.diagonal())[:, None]
        self._C = sp.csc_array(factors.L)
        self._solver = splu(self._C, permc_spec="NATURAL", **SYMMETRIC)  # triangular: no fill, and compiled solves

    @property
    def operator(self) -> LinearOperator:
        """B as an operator (n, n − 1) on blocks."""
        n = self.n
        return LinearOperator(
            (n, n - 1),
            matvec=lambda v: self.apply(v.reshape(-1, 1))[:, 0],
            rmatvec=lambda v: self.adjoint(v.reshape(-1, 1))[:, 0],
            matmat=self.apply,
            rmatmat=self.adjoint,
            dtype=np.float64,
        )

    def apply(self, Z: Array) -> Array:
        """B Z (n, r)."""
        solver: Any = self._solver
        solved = solver.solve(np.asfortranarray(Z / self._root), "T")
        Y = np.zeros((self.n, Z.shape[1]))
        Y[: self.n - 1] = solved[self._order]
        return np.asarray(Y - Y.mean(axis=0))

    def adjoint(self, W: Array) -> Array:
        """Bᵀ W (n − 1, r)."""
        W = W - W.mean(axis=0)
        permuted = np.empty((self.n - 1, W.shape[1]))
        permuted[self._order] = W[: self.n - 1]
        return np.asarray(self._solver.solve(np.asfortranarray(permuted)) / self._root)

    def inverse(self, Y: Array) -> Array:
        """Z (n − 1, r) with B Z = Y up to translation."""
        grounded = Y[: self.n - 1] - Y[self.n - 1]
        permuted = np.empty_like(grounded)
        permuted[self._order] = grounded
        return np.asarray((self._C.T @ permuted) * self._root)

    def solve(self, R: Array) -> Array:
        """L⁺ R for blocks R (n, r): B Bᵀ R."""
        return self.apply(self.adjoint(R))
