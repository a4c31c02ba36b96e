"""Sparse symmetric matrices on a neighbour graph: one elimination order, block factorisation, inertia."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from psdopt.linalg import EPS, Array, incidence
from psdopt_plugins.limits import ROUNDINGS, SLIGHT
from psdopt_plugins.manifold_learning.coordinates import SYMMETRIC
from psdopt_plugins.manifold_learning.graph import Edges

#: Feasible multiples are found to within this factor of the least.
BRACKET = 1.25


class GraphMatrices:
    """Σ_t C_t ⊗ (e_i − e_j)(e_i − e_j)ᵀ + c I for the edges t = (i, j) of a graph, C_t (r, r) symmetric.

    The vertices are ordered once for sparse elimination; matrices of all r share the order. A neighbour graph of a
    surface fills in by O(n log n) entries per r², which makes even the Hessian of unfolding cheap to factorise.
    Attributes: `edges`; `E` (m, n) differences; `order` of the vertices, the last vertex last; `fill`, entries of the
    factor for r = 1; `work`, multiplications that it takes (a multiple of r³ of them for any r); `resolved`, the share
    of the largest weight below which a level is rounding of the factorisations.
    """

    def __init__(self, edges: Edges) -> None:
        n = edges.n
        self.edges, self.n, self.resolved = edges, n, ROUNDINGS * max(n, ROUNDINGS) * EPS
        self.E = incidence(edges.i, edges.j, n)
        self.adjoint = self.E.T.tocsr()
        grounded = sp.csc_array((self.adjoint @ self.E).tocsc()[: n - 1, : n - 1])
        factors = splu(grounded, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC)
        counts = np.diff(factors.L.tocsc().indptr)
        self.fill, self.work = int(counts.sum()), float(np.sum(counts.astype(float) ** 2))
        self.order = np.append(np.argsort(factors.perm_c), n - 1)
        position = np.empty(n, dtype=np.intp)
        position[self.order] = np.arange(n)
        i, j = position[edges.i], position[edges.j]
        rows, columns = np.concatenate([np.arange(n), i, j]), np.concatenate([np.arange(n), j, i])
        pattern = sp.csr_array((np.arange(1.0, len(rows) + 1.0), (rows, columns)), shape=(n, n))
        pattern.sort_indices()
        self._slots = pattern.data.astype(np.intp) - 1
        self._indptr, self._indices = pattern.indptr, pattern.indices
        self._ends = abs(incidence(i, j, n)).T.tocsr()

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphMatrices, (self.edges,)

    def assemble(self, blocks: Array, shift: float = 0.0) -> Any:
        """The matrix (n r, n r) for `blocks` (m, r, r) and c = `shift`, rows in elimination order, r at a time."""
        m, r, _ = blocks.shape
        diagonal = (self._ends @ blocks.reshape(m, r * r)).reshape(self.n, r, r) + shift * np.eye(r)
        data = np.concatenate([diagonal, -blocks, -blocks])[self._slots]
        if r == 1:  # symmetric, so rows serve as columns
            return sp.csc_array((data[:, 0, 0], self._indices, self._indptr), shape=(self.n, self.n))
        return sp.bsr_array((data, self._indices, self._indptr), shape=(self.n * r, self.n * r)).tocsc()

    def negatives(self, weights: Array, shift: float) -> int:
        """Number of negative eigenvalues of L(w) − shift I, from the signs of the pivots (Sylvester).

        Exact up to the rounding of one sparse factorisation. n if a pivot vanished and rows had to be swapped.
        """
        try:
            factors = natural(self.assemble(weights[:, None, None], -shift))
        except RuntimeError:  # exactly singular
            return self.n
        if not np.array_equal(factors.perm_r, np.arange(self.n)):
            return self.n
        return int(np.count_nonzero(factors.U.diagonal() < 0.0))

    def dominates(self, weights: Array, level: float) -> bool:
        """Whether L(w) ⪰ level (I − eeᵀ/n), level > 0: L(w) − level I is negative on e and nowhere else.

        If pivots of L(w) do not resolve `level`, a higher level is tested instead, so that True is always correct.
        """
        return self.negatives(weights, max(level, self.resolved * float(np.abs(weights).max()))) == 1

    def feasible_multiple(self, weights: Array, base: Array, level: float, guess: float) -> float:
        """A theta >= 0, at most BRACKET times the least, with L(w + theta base) ⪰ level on the complement of e.

        Raises FloatingPointError if there is none in double precision.
        """
        if self.dominates(weights, level):
            return 0.0

        def fits(theta: float) -> bool:
            return self.dominates(weights + theta * base, level)

        high = max(guess, self.resolved)
        if fits(high):
            while high > self.resolved and fits(0.25 * high):
                high *= 0.25
            low = 0.25 * high
        else:
            low, high = high, 4.0 * high
            while not fits(high):
                low, high = high, 4.0 * high
                if not np.isfinite(high):
                    raise FloatingPointError("no multiple of the weights makes the dual feasible")
        while high > max(BRACKET * low, self.resolved):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high

    def feasible(self, weights: Array, level: float, guess: float) -> tuple[Array, float]:
        """(w + theta |w|, theta) with the :meth:`feasible_multiple` theta of :func:`base_weights`."""
        base = base_weights(weights)
        theta = self.feasible_multiple(weights, base, level, guess)
        return weights + theta * base, theta

    def grounded(self, blocks: Array, shift: float = 0.0) -> Callable[[Array], Array]:
        """R ↦ X, both (n − 1, r), that solves :meth:`assemble` without its last vertex, by one sparse factorisation.

        R may have a further axis, or for r = 1 any number of columns: several right-hand sides.
        """
        free, order = (self.n - 1) * blocks.shape[1], self.order[: self.n - 1]
        factors = natural(self.assemble(blocks, shift)[:free, :free])

        def solve(R: Array) -> Array:
            X = np.empty_like(R)
            X[order] = factors.solve(np.asfortranarray(R[order].reshape(free, -1))).reshape(R.shape)
            return X

        return solve


def natural(A: Any) -> Any:
    """Sparse LU in the given order, pivots on the diagonal."""
    return splu(A, permc_spec="NATURAL", **SYMMETRIC)


def base_weights(weights: Array) -> Array:
    """|w|, at least SLIGHT times its mean: tensions as positive weights of a connected Laplacian."""
    sizes = np.abs(weights)
    return np.asarray(sizes + SLIGHT * max(float(sizes.mean()), np.finfo(float).tiny))
