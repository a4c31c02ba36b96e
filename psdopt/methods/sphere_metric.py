"""Metrics of conjugate gradient on a product of spheres: the curvatures of rows, then an inverse of the dual slack."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import spotrf, spotri

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, row_dots
from psdopt.linalg.tolerances import SLIGHT

#: An inverse is tried once |G| is below this share of |F|.
NEAR = 1e-2
#: A dense product in single precision takes this share of the time that a sparse one takes for each entry.
DENSE = 1.0 / 16.0
#: An iteration without an inverse takes as long as a product of so many more entries in each row of C.
PASSES = 24


@dataclass(frozen=True)
class SphereMetric:
    """G ↦ Z, tangent at V, with ⟨G, Z⟩ > 0: an approximate inverse of half the Hessian of ⟨C, V Vᵀ⟩, rows |V_i| = 1.

    With S = C − Diag(y), y_i = ⟨V_i, (C V)_i⟩ and C_ii = 0 that half is D ↦ P(S D), P the projection on the tangents D,
    ⟨D_i, V_i⟩ = 0. Far from a solution Z_i = G_i / −y_i, of the diagonal of S. Near one S is almost semidefinite, and
    Z = P((S + σ I)⁻¹ G), σ a tenth of the mean |y_i|: conjugate gradient then takes two fifths of the iterations, on
    graphs of any degree. The inverse is kept until an y_i has moved by σ.

    `inverse` : (S + σ I)⁻¹ (n, n) in single precision, None before. `y`, `shift` : the y (n,) and σ it was made of.
    `below` : the |G| below which the next is made; 0 where Z would take longer than an iteration, as for sparse C of
    large order.

    Cost of the inverse n³ flops in single precision, of Z 2 n² r.
    """

    inverse: NDArray[np.float32] | None = None
    y: Array | None = None
    shift: float = 0.0
    below: float = math.inf

    @staticmethod
    def of(C: sp.csr_array) -> SphereMetric:
        """The first metric for C (n, n)."""
        n = C.shape[0]
        return SphereMetric(below=math.inf if DENSE * n * n <= C.nnz + PASSES * n else 0.0)

    def __call__(self, V: Array, G: Array, y: Array) -> Array:
        if self.inverse is None:
            return np.asarray(G / np.maximum(-y, SLIGHT * float(np.abs(y).max()) or 1.0)[:, None])
        Z = (self.inverse @ G.astype(np.float32)).astype(np.float64)
        Z -= row_dots(Z, V)[:, None] * V
        return Z

    def renewed(self, C: sp.csr_array, y: Array, size: float) -> SphereMetric:
        """The metric for C and y where |G| is `size`; this one if it still serves."""
        if size > min(self.below, NEAR * abs(float(y.sum()))):
            return self
        if self.y is not None and float(np.abs(y - self.y).max()) <= self.shift:
            return self
        deadline.ask()
        shift = SLIGHT * float(np.abs(y).mean())
        S = C.astype(np.float32).toarray(order="F")
        S.reshape(-1, order="F")[:: len(y) + 1] = shift - y
        R, info = spotrf(S, lower=1, clean=1, overwrite_a=1)
        if info != 0 or not np.isfinite(R[-1, -1]):
            return replace(self, below=0.5 * size)
        L, _ = spotri(R, lower=1, overwrite_c=1)
        L += np.tril(L, -1).T
        return SphereMetric(L, y, shift)
