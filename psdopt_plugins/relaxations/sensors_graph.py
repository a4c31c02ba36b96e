"""Sensors in more dimensions than their own: sparse matrices of the network, and bounds from tensions of its pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from psdopt.linalg import Array, incidence, norm, rounding, row_dots
from psdopt_plugins.limits import MINOR, SLIGHT
from psdopt_plugins.manifold_learning.graph import Edges
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices, base_weights
from psdopt_plugins.manifold_learning.newton_systems import conjugate_gradient, factorises

#: Unstable modes of a network that are made stable at once.
MODES = 10
#: A network whose Hessian of so many columns is factorised stays with factorisations, on which the last digits of the
#: tensions depend.
COLUMNS = 20


class SensorGraph:
    """Places Z (q, k) of the q sensors that occur in pairs, k >= d, with the anchors at (a, 0).

    Z = [P, V] stands for M = [I, Pᵀ; P, P Pᵀ + V Vᵀ], and F is the sum of the squares of |z_i − z_j|² − squares_t. All
    anchors are one vertex, the last, of the graph whose matrices
    (:class:`~psdopt_plugins.manifold_learning.graph_matrices.GraphMatrices`) are used without its row and column.

    Parameters
    ----------
    n : sensors. pairs : (m, 2), the sensor first; n, n + 1, ... are anchors, and paths of pairs lead from each sensor
        to one. squares : (m,) measured distances squared. anchors : (a, d).

    Attributes: `seen` (q,), the sensors in pairs; `E` (m, q) with rows e_i − e_j, or e_i for an anchor j; `fixed`
    (m, d), what the anchors add to the differences.
    """

    def __init__(self, n: int, pairs: NDArray[np.intp], squares: Array, anchors: Array) -> None:
        self.n, self.anchors, self.squares, self.d = n, anchors, squares, anchors.shape[1]
        self.seen = np.unique(pairs[pairs < n])
        i, j = pairs.T
        E = incidence(i, j, n + len(anchors))
        self.E, self.fixed = sp.csr_array(E[:, self.seen]), np.asarray(E[:, n:] @ anchors)
        self.adjoint = sp.csr_array(self.E.T)
        q = self.q = len(self.seen)
        i, j = np.searchsorted(self.seen, i), np.minimum(np.searchsorted(self.seen, j), q)
        j[pairs[:, 1] >= n] = q
        edges, place = np.unique(i * (q + 1) + j, return_inverse=True)
        self._edges = Edges(edges // (q + 1), edges % (q + 1), np.zeros(len(edges)), q + 1)
        self._sums = sp.csr_array((np.ones(len(i)), (place, np.arange(len(i)))), shape=(len(edges), len(i)))

    @cached_property
    def matrices(self) -> GraphMatrices:
        """Those of the graph with one vertex for all anchors."""
        return GraphMatrices(self._edges)

    def places(self, Y: Array) -> Array:
        """Z (q, k) = [P, V] of a factor Y (d + n, k), of the same M where M = Y Yᵀ is feasible."""
        A, B = Y[: self.d], Y[self.d :][self.seen]
        return np.column_stack([B @ np.linalg.pinv(A), B @ np.linalg.svd(A)[2][self.d :].T])

    def factor(self, Z: Array) -> Array:
        """Y (d + n, k) with M = Y Yᵀ for places Z (q, k); sensors in no pair are at 0."""
        Y = np.eye(self.d + self.n, Z.shape[1])
        Y[self.d :] = 0.0
        Y[self.d + self.seen] = Z
        return Y

    def differences(self, Z: Array) -> Array:
        """z_i − z_j (m, k), anchors included."""
        steps = np.asarray(self.E @ Z)
        steps[:, : self.d] += self.fixed
        return steps

    def excess(self, steps: Array) -> Array:
        """Squared lengths less measured ones, (m,); F is the sum of their squares."""
        return np.asarray(row_dots(steps, steps) - self.squares)

    def factors(self, blocks: Array) -> Callable[[Array], Array]:
        """R ↦ X with [Σ_t blocks_t ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X = R for blocks (m, k, k), by a sparse factorisation.

        X and R are (q, k); if k = 1, R may have any number of columns.
        """
        summed = np.asarray(self._sums @ blocks.reshape(len(blocks), -1)).reshape(-1, *blocks.shape[1:])
        return self.matrices.grounded(summed)

    def hessian(self, steps: Array, tension: Array, share: float) -> Callable[[Array], Array]:
        """R ↦ X (q, k) that solves [L(tension) ⊗ I + 8 Σ_t (δ_t δ_tᵀ) ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X = R, L(tension) ≻ 0.

        By a sparse factorisation of order q k where that is cheap (:func:`factorises`), else by conjugate gradient, to
        |residual|² <= `share` |R|² in the norm of its preconditioner: in the principal axes of the δ_t, `steps` (m, k),
        the first d coordinates are solved together, and each other one with the mean of their δ². These are two
        factorisations, of order q d and q; an iteration costs O((fill + pairs) k).
        """
        d, k = self.d, steps.shape[1]
        # conjugate gradient takes about twice the steps, and each step solves twice: four times the work is as cheap
        if k == d or factorises(self.matrices, min(k, COLUMNS) // 2):
            return self.factors(8.0 * steps[:, :, None] * steps[:, None, :] + tension[:, None, None] * np.eye(k))
        axes = np.linalg.eigh(steps.T @ steps)[1][:, ::-1]
        first, rest = np.split(steps @ axes, [d], axis=1)
        joint = self.factors(8.0 * first[:, :, None] * first[:, None, :] + tension[:, None, None] * np.eye(d))
        each = self.factors((8.0 * row_dots(rest, rest) / (k - d) + tension)[:, None, None])

        def apply(X: Array) -> Array:
            V = self.E @ X
            return np.asarray(self.adjoint @ (tension[:, None] * V + (8.0 * row_dots(steps, V))[:, None] * steps))

        def preconditioned(R: Array) -> Array:
            turned = R @ axes
            return np.asarray(joint(turned[:, :d]) @ axes[:, :d].T + each(turned[:, d:]) @ axes[:, d:].T)

        return lambda R: conjugate_gradient(apply, preconditioned, R, share)

    def feasible(self, weights: Array, guess: float = MINOR) -> tuple[Array, float]:
        """(w + theta |w|, theta) with L(w + theta |w|) ≻ 0, theta at most a quarter above the least, from `guess`.

        Without any tension, w = 0 itself. Raises FloatingPointError if there is none in double precision.
        """
        if not np.any(weights):
            return weights, 0.0
        base = base_weights(weights)
        w, more = np.asarray(self._sums @ weights), np.asarray(self._sums @ base)
        theta = self.matrices.feasible_multiple(w, more, self._level(w), guess)
        return weights + theta * base, theta

    def lifted(self, weights: Array, theta: float) -> Array:
        """Coordinates (q, p) of the sensors in p dimensions more, which change tensions `weights` to those nearest 0.

        Unstable modes of the network, u with uᵀ L(w) u < 0, are few and local where w is nearly feasible. Coordinates
        √τ_u u add τ_u (u_i − u_j)² to the tension of the pair (i, j). The τ >= 0 that make the new tensions least
        (nonnegative least squares) leave no mode unstable by itself. Modes are the MODES least eigenvectors of L(w)
        relative to L(|w|), by Lanczos on the factors of L(w + theta |w|) ≻ 0, the (w, theta) of :meth:`feasible`.
        """
        base = base_weights(weights)
        inverse = self.factors((weights + theta * base)[:, None, None])
        operators = [self.adjoint @ sp.diags_array(w) @ self.E for w in (weights, base)]
        solve = LinearOperator(operators[0].shape, matvec=lambda x: inverse(x.reshape(-1, 1)).ravel(), dtype=float)
        random = np.random.default_rng(0).standard_normal(self.q)
        count = min(MODES, self.q - 1)
        try:
            values, U = eigsh(operators[0], count, operators[1], sigma=-theta, OPinv=solve, v0=random, tol=SLIGHT**2)
        except ArpackError:  # no modes, no coordinates
            return np.zeros((self.q, 0))
        U = U[:, values < 0.0]
        stretch = np.asarray(self.E @ U) ** 2
        sizes = np.linalg.norm(stretch, axis=0)
        tau = nnls(stretch / sizes, -weights)[0] / sizes if len(sizes) else sizes
        return np.asarray((U * np.sqrt(tau))[:, tau > 0.0])

    def bound(self, weights: Array) -> float:
        """A lower bound on F at all places in any dimension, min_Z Σ_t w_t (2 (|z_i − z_j|² − squares_t) − w_t).

        As r² >= 2 w r − w². The minimum over Z is at the equilibrium P of tensions w with L(w) ≻ 0, where V = 0; what
        rounding leaves of the forces g there counts as |g|²/λ_min(L(w)). O(fill).
        """
        if not np.any(weights):
            return 0.0
        pulled = self.adjoint @ (weights[:, None] * self.fixed)
        P = self.factors(weights[:, None, None])(-pulled)
        steps = self.differences(P)
        forces = self.adjoint @ (weights[:, None] * steps)
        terms = weights * (2.0 * self.excess(steps) - weights)
        # L(w) ⪰ level (I − eeᵀ/(q + 1)) with the vertex of the anchors, and >= level/(q + 1) without it
        least = self._level(np.asarray(self._sums @ weights)) / (self.q + 1.0)
        off = norm(forces) + rounding(norm(weights[:, None] * steps), 1)
        return float(terms.sum()) - 2.0 * off**2 / least - rounding(float(np.abs(terms).sum()), 1)

    def _level(self, summed: Array) -> float:
        """The least level that factorisations resolve, for tensions summed by edge."""
        return self.matrices.resolved * max(float(np.abs(summed).max()), np.finfo(float).tiny)
