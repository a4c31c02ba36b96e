"""The linear system of the interior-point master: (G + E) x = r, G the Gram matrix of the scaled margins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.margins.structure import CHUNK, SignedSquares, matrix_of, vector_of

#: Rows whose influence adds up to at most this much are left to the conjugate gradients.
IGNORED = 0.1
#: Squared relative error, in the preconditioned norm, at which these stop; directions need no more.
ACCURACY = 1e-12
CG_STEPS = 30
#: More rows than this are never factorised as such: their Gram matrix would take more than half a gigabyte.
MOST_ROWS = 8000
#: Beyond this spread the k-by-k route loses the digits it needs, and the route over rows takes over.
SPREAD = 1e9


class NewtonSystem:
    """Solves (G + Diag(E)) x = r with G_rs = ⟨A_r, A_s⟩ for scaled margins A_r (k, k), E > 0 (m,).

    Rows with E_r ≫ ⟨A_r, A_r⟩ hardly couple (their w_r is at a bound); only the others are factorised, in
    whichever of two spaces is smaller: rows (a³/3 flops for a active rows) or matrices (k(k+1)/2 unknowns,
    by the Woodbury identity). Conjugate gradients with this preconditioner remove what was ignored, in a few
    products of O(p k²).

    Raises LinAlgError if neither factorisation exists at working precision.
    """

    def __init__(self, scaled: SignedSquares, E: Array) -> None:
        self.scaled, self.E = scaled, E
        influence = scaled.sizes() ** 2 / E
        order = np.argsort(influence)
        self.active = np.sort(order[np.cumsum(influence[order]) > IGNORED])
        a, k = len(self.active), scaled.order
        p = k * (k + 1) // 2
        over_matrices = a * p * p + p**3 / 3 < a**3 / 3 + 8.0 * a * a * k
        rows = scaled.rows(self.active) if a < scaled.size else scaled
        if a == 0:
            self._precondition: Callable[[Array], Array] = lambda r: r / E
        elif a > MOST_ROWS or (over_matrices and float(influence.max()) < SPREAD):
            self._precondition = self._by_matrices(rows)
        else:
            self._precondition = self._by_rows(rows)

    def _by_matrices(self, rows: SignedSquares) -> Callable[[Array], Array]:
        """(E + A Aᵀ)⁻¹ = E⁻¹ − E⁻¹A (I + AᵀE⁻¹A)⁻¹ AᵀE⁻¹ with the A_r as rows of A, made a few at a time."""
        E, active = self.E, self.active
        k = rows.order
        K = np.eye(k * (k + 1) // 2)
        for start in range(0, rows.size, CHUNK):
            block = np.arange(start, min(start + CHUNK, rows.size))
            weighted = rows.rows(block).vectors() / np.sqrt(E[active[block]])[:, None]
            K += weighted.T @ weighted
        factor = scipy.linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)

        def precondition(r: Array) -> Array:
            y = r / E
            q = scipy.linalg.cho_solve(factor, vector_of(rows.combination(y[active])), check_finite=False)
            y[active] -= rows.forms(matrix_of(q, k)) / E[active]
            return np.asarray(y)

        return precondition

    def _by_rows(self, rows: SignedSquares) -> Callable[[Array], Array]:
        E, active = self.E, self.active
        G = rows.gram()
        diagonal = np.diag_indices_from(G)
        # duplicated triplets make G singular where E vanishes: a shift at rounding level, undone by the iteration
        G[diagonal] += E[active] + EPS * len(active) * float(np.max(G[diagonal]))
        factor = scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)

        def precondition(r: Array) -> Array:
            y = r / E
            y[active] = scipy.linalg.cho_solve(factor, r[active], check_finite=False)
            return np.asarray(y)

        return precondition

    def __matmul__(self, x: Array) -> Array:
        """(G + E) x, without G."""
        return self.scaled.forms(self.scaled.combination(x)) + self.E * x

    def solve(self, r: Array) -> Array:
        """x (m,) by preconditioned conjugate gradients from the factorised part."""
        x = self._precondition(r)
        residual = r - self @ x
        z = self._precondition(residual)
        direction, product, goal = z, float(residual @ z), ACCURACY * abs(float(r @ x))
        for _ in range(CG_STEPS):
            if not product > goal:
                break
            image = self @ direction
            step = product / float(direction @ image)
            x = x + step * direction
            residual = residual - step * image
            z = self._precondition(residual)
            previous, product = product, float(residual @ z)
            direction = z + (product / previous) * direction
        return x
