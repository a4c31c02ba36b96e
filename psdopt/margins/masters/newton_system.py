"""The linear system of the interior-point master: (G + E) x = r, G the Gram matrix of the scaled margins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, matrix_of, vector_of
from psdopt.linalg.limits import BLOCK
from psdopt.linalg.tolerances import EPS, ROOT_EPS
from psdopt.margins.structure import SignedSquares

#: Most rows whose Gram matrix is factorised: for more it would take over half a gigabyte.
MOST_ROWS = 8000


class NewtonSystem:
    """Solves (G + Diag(E)) x = r with G_rs = ⟨A_r, A_s⟩ for scaled margins A_r (k, k), E > 0 (m,).

    Factorised in whichever of two spaces is smaller: rows (m³/3 flops) or matrices (k(k+1)/2 unknowns, by the Woodbury
    identity). One step of iterative refinement, O(p k²), restores the digits that either route loses.

    Raises LinAlgError if the factorisation does not exist at working precision.
    """

    def __init__(self, scaled: SignedSquares, E: Array) -> None:
        self.scaled, self.E = scaled, E
        m, k = scaled.size, scaled.order
        p = k * (k + 1) // 2
        fewer_flops = p * p * (m + p / 3.0) < m * m * (m / 3.0 + 8.0 * k)
        # beyond this spread the k-by-k route loses more than half of the digits
        exact_enough = float((scaled.sizes() ** 2 / E).max()) * ROOT_EPS < 1.0
        over_matrices = m > MOST_ROWS or (fewer_flops and exact_enough)
        self._factorised = self._by_matrices(p) if over_matrices else self._by_rows()

    def _by_matrices(self, p: int) -> Callable[[Array], Array]:
        """(E + A Aᵀ)⁻¹ = E⁻¹ − E⁻¹A (I + AᵀE⁻¹A)⁻¹ AᵀE⁻¹ with the A_r as rows of A, made a few at a time."""
        scaled, E = self.scaled, self.E
        K = np.eye(p)
        count = max(BLOCK // p, 1)
        for start in range(0, scaled.size, count):
            block = np.arange(start, min(start + count, scaled.size))
            weighted = scaled.rows(block).vectors() / np.sqrt(E[block])[:, None]
            K += weighted.T @ weighted
        deadline.ask()
        factor = scipy.linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)

        def solve(r: Array) -> Array:
            q = scipy.linalg.cho_solve(factor, vector_of(scaled.combination(r / E)), check_finite=False)
            return np.asarray((r - scaled.forms(matrix_of(q, scaled.order))) / E)

        return solve

    def _by_rows(self) -> Callable[[Array], Array]:
        G = self.scaled.gram()
        diagonal = np.diag_indices_from(G)
        # duplicated triplets make G singular where E vanishes: a shift at rounding level, undone by the refinement
        G[diagonal] += self.E + EPS * len(G) * float(np.max(G[diagonal]))
        deadline.ask()
        factor = scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
        return lambda r: np.asarray(scipy.linalg.cho_solve(factor, r, check_finite=False))

    def __matmul__(self, x: Array) -> Array:
        """(G + E) x, without G."""
        return self.scaled.forms(self.scaled.combination(x)) + self.E * x

    def solve(self, r: Array) -> Array:
        """x (m,)."""
        x = self._factorised(r)
        return x + self._factorised(r - self @ x)
