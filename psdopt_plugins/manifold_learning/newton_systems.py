"""The damped Newton system of unfolding: factorised, or solved by conjugate gradient preconditioned by column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psdopt.linalg import Array, inner, row_dots
from psdopt_plugins.limits import MOST_PRODUCTS, SLIGHT
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices, base_weights, natural

#: Conjugate gradient replaces the factorisation if that takes more multiplications, r³ work, than this number times the
#: entries, r fill, of the r small factors: an iteration reads each entry once or twice, and at most MOST_PRODUCTS are
#: made. Measured ratios: 600 to 1,200 for swiss rolls with r = 8, where factorising is much faster, 3,200 for 500
#: digits.
MOST_WORK = 2_000.0
#: Most entries of factors kept at the same time (8 bytes each, twice).
MOST_FILL = 40_000_000


def factorises(graph: GraphMatrices, r: int) -> bool:
    """Whether the Hessian of r columns is sparse enough to be factorised, as on the neighbour graph of a surface."""
    return graph.work * r * r <= MOST_WORK * graph.fill and graph.fill * r * r <= MOST_FILL


def affordable(graph: GraphMatrices, r: int) -> bool:
    """Whether Newton steps with r columns fit into memory one way or the other."""
    return graph.fill * r <= MOST_FILL


class NewtonSystem:
    """X ↦ [2 L(w + delta |w|) − 2 nu H + 16 Σ_t (δ_t δ_tᵀ) ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X for X (n, r), centred.

    Attributes: `differences` (m, r), the rows δ_t = y_i − y_j. :meth:`of` chooses between the two ways to invert it.
    """

    def __init__(self, graph: GraphMatrices, nu: float, Y: Array, weights: Array, delta: float) -> None:
        self.graph, self.nu = graph, nu
        self.differences = graph.E @ Y
        self.tension = 2.0 * (weights + delta * base_weights(weights))

    @staticmethod
    def of(graph: GraphMatrices, nu: float, Y: Array, weights: Array, delta: float) -> NewtonSystem:
        """The kind that is cheaper on this graph (:func:`factorises`)."""
        kind = FactorisedSystem if factorises(graph, Y.shape[1]) else ColumnwiseSystem
        return kind(graph, nu, Y, weights, delta)

    def apply(self, X: Array) -> Array:
        """The system times X. O(edges r)."""
        graph, first = self.graph, self.graph.E @ X
        pulled = self.tension[:, None] * first + 16.0 * row_dots(self.differences, first)[:, None] * self.differences
        return np.asarray(graph.adjoint @ pulled - 2.0 * self.nu * (X - X.mean(axis=0)))

    def solve(self, R: Array) -> Array:
        """Centred X (n, r) with system · X = R, for centred R."""
        raise NotImplementedError


class FactorisedSystem(NewtonSystem):
    """One vertex grounded, all columns factorised at once; −2 nu H by a rank-r correction.

    Cost: a sparse factorisation of order (n − 1) r.
    """

    def __init__(self, graph: GraphMatrices, nu: float, Y: Array, weights: Array, delta: float) -> None:
        super().__init__(graph, nu, Y, weights, delta)
        n, r = Y.shape
        blocks = 16.0 * self.differences[:, :, None] * self.differences[:, None, :]
        blocks += self.tension[:, None, None] * np.eye(r)
        self.factors = graph.grounded(blocks, -2.0 * nu)
        # + (2 nu/n) (eeᵀ ⊗ I), which grounding leaves: Sherman-Morrison-Woodbury with r columns
        solved = self.factors(np.tile(np.eye(r), (n - 1, 1, 1)))
        self._solved, self._small = solved.reshape(-1, r), np.eye(r) * (n / (2.0 * nu)) + solved.sum(axis=0)

    def solve(self, R: Array) -> Array:
        x = self.factors(R[:-1])
        x = x - (self._solved @ np.linalg.solve(self._small, x.sum(axis=0))).reshape(x.shape)
        return np.asarray(np.append(x, np.zeros((1, R.shape[1])), axis=0) - x.sum(axis=0) / len(R))


class ColumnwiseSystem(NewtonSystem):
    """Conjugate gradient, preconditioned by the r diagonal blocks of the system.

    The block of column a, L(2 (w + delta |w|) + 16 δ_a²) − 2 nu H, is sparse of order n, and positive semidefinite if
    the system is. It contains the edges that pull in that column's direction and, for a short column, the near null
    space of S. With Y in its principal axes some tens to hundreds of iterations are needed. On the complement of e, H
    is the identity, so that the factors are those of L − 2 nu I and map centred vectors to centred ones.

    Cost: r sparse factorisations of order n; an iteration O((fill + edges) r), fill that of r = 1.
    """

    def __init__(self, graph: GraphMatrices, nu: float, Y: Array, weights: Array, delta: float) -> None:
        super().__init__(graph, nu, Y, weights, delta)
        self.factors = [
            natural(graph.assemble((self.tension + 16.0 * column * column)[:, None, None], -2.0 * nu))
            for column in self.differences.T
        ]

    def preconditioned(self, R: Array) -> Array:
        """Column a of R through the inverse of block a."""
        order, Z = self.graph.order, np.empty_like(R)
        for a, factors in enumerate(self.factors):
            Z[order, a] = factors.solve(R[order, a])
        return np.asarray(Z - Z.mean(axis=0))

    def solve(self, R: Array) -> Array:
        """X with |R − system · X| <= SLIGHT |R| in the preconditioner's norm (:func:`conjugate_gradient`)."""
        return conjugate_gradient(self.apply, self.preconditioned, R, SLIGHT**2)


def conjugate_gradient(
    apply: Callable[[Array], Array], preconditioned: Callable[[Array], Array], R: Array, share: float
) -> Array:
    """X with |R − system · X|² <= share |R|² in the preconditioner's norm, or the last of MOST_PRODUCTS iterates.

    `apply` is X ↦ system · X. Every iterate is a direction of descent, so that stopping early is safe.
    """
    X, residual = np.zeros_like(R), R
    Z = preconditioned(residual)
    P, energy = Z, inner(residual, Z)
    goal = share * energy
    for _ in range(MOST_PRODUCTS):
        image = apply(P)
        curvature = inner(P, image)
        # solved, or singular to rounding, so that no progress is possible
        if not (energy > goal and curvature > 0.0):
            break
        X = X + (energy / curvature) * P
        residual = residual - (energy / curvature) * image
        Z = preconditioned(residual)
        following = inner(residual, Z)
        P, energy = Z + (following / energy) * P, following
    return X
