"""The matrices that a master combines: columns V of unit length, and an aggregate of all dropped columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS, ROOT_EPS, SLIGHT
from psdopt.margins.structure import MarginStructure, SignedSquares


@dataclass(frozen=True)
class Bundle:
    """All V T Vᵀ + θ M̄: columns V (n, k) and a frozen aggregate M̄ = ȲȲᵀ of trace one (Helmberg and Rendl 2000).

    Ȳ and V are columns of one `evaluation`, Ȳ the first `aggregated` of them. Changes are products with small matrices,
    and no map is applied again. Weights are matrices Diag(θ, T) of order `order`; the aggregate has index 0. Dropped
    columns enter M̄ with the weight that they had, so that the best matrix of a bundle is also in the next bundle,
    whatever its width.
    """

    evaluation: Evaluation
    aggregated: int = 0

    @property
    def order(self) -> int:
        """Number of weights: k, and one if there is an aggregate."""
        return self.width + (self.aggregated > 0)

    @property
    def width(self) -> int:
        """k, the number of columns."""
        return int(self.evaluation.factor.shape[1]) - self.aggregated

    @property
    def columns(self) -> Array:
        """V (n, k)."""
        return self.evaluation.factor[:, self.aggregated :]

    def block(self, T: Array) -> Array:
        """The part (k, k) of the weights T that belongs to the columns."""
        first = self.order - self.width
        return T[first:, first:]

    def squares(self, margins: MarginStructure) -> SignedSquares:
        """The margins as functions of the weights; the aggregate is one more direction, with ⟨A_r, M̄⟩ as its sign."""
        found = margins.squares(self.evaluation)
        q = self.aggregated
        if not q:
            return found
        Z = scipy.linalg.block_diag(np.eye(1), found.directions[:, q:])
        mean = SignedSquares(found.directions[:, :q], found.signs).squares().sum(axis=1)
        return SignedSquares(Z, sp.csr_array(sp.hstack([sp.csr_array(mean[:, None]), found.signs], format="csr")))

    def matrix(self, T: Array, trace: float, bound: float) -> Evaluation:
        """V T Vᵀ + θ M̄ of the right trace, less the eigenvalues of T that cost a slight share of the gap to `bound`.

        Interior-point weights are never exactly singular; O(m r) per trial, no application of a map.
        """
        values, W = np.linalg.eigh(self.block(T))

        def above(level: float) -> Evaluation:
            used = values > level * values[-1]
            mixing = self._mixing(T, W[:, used] * np.sqrt(values[used]))
            factor = self.evaluation.factor @ mixing
            return self.evaluation.mix(mixing @ _compression(factor) * (math.sqrt(trace) / norm(factor)))

        full = above(EPS * len(values))
        allowed, level = full.value + SLIGHT * max(full.value - bound, 0.0), SLIGHT**2
        while level > ROOT_EPS:
            candidate = above(level)
            if candidate.value <= allowed:
                return candidate
            level *= SLIGHT
        return full

    def grown(self, T: Array, new: Array, limit: int) -> tuple[Bundle, Array, bool]:
        """The next bundle of at most `limit` columns, T in it (new columns: zero), and whether any column is new.

        The columns become the leading eigenvectors of T; those below ROOT_EPS of the largest are dropped, those
        beyond the limit are aggregated.
        """
        values, W = np.linalg.eigh(self.block(T))
        values = np.maximum(values, 0.0)
        room = max(limit - new.shape[1], 1)
        matters = values > ROOT_EPS * values[-1]
        kept = matters & (np.arange(len(values)) >= len(values) - room)
        fresh = _outside(self.columns @ W[:, kept], new)
        if fresh.shape[1] == 0 and self.width <= limit:
            kept = matters = np.ones(len(values), dtype=bool)  # dropping would undo the last round
        weights = np.where(matters, values, 0.0)
        smaller, T = self.reduced(T, W, weights, kept, aggregate=not np.all(kept[matters]))
        added = fresh.shape[1]
        if added:
            smaller = Bundle(smaller.evaluation.append(fresh), smaller.aggregated)
        return smaller, np.pad(T, (0, added)), added > 0

    def reduced(
        self, T: Array, W: Array, values: Array, kept: NDArray[np.bool_], aggregate: bool
    ) -> tuple[Bundle, Array]:
        """The bundle of the columns V W[:, kept] with its weights, W (k, k) orthogonal.

        The other columns, of weights `values`, join M̄ or are lost.
        """
        q = self.aggregated
        rest = np.vstack([np.zeros((q, np.count_nonzero(kept))), W[:, kept]])
        left = ~kept & (values > 0.0)
        if aggregate and np.any(left):
            into = self._mixing(T, W[:, left] * np.sqrt(values[left]))
            merged = self.evaluation.factor @ into
            small = into @ _compression(merged) / norm(merged)
            weights = np.append(norm(merged) ** 2, values[kept])
        else:
            small = np.eye(q + self.width)[:, :q]
            weights = np.append(T[0, 0], values[kept]) if q else values[kept]
        bundle = Bundle(self.evaluation.mix(np.hstack([small, rest])), small.shape[1])
        return bundle, np.diag(weights / weights.sum())

    def _mixing(self, T: Array, W: Array) -> Array:
        """(q + k, ·): to [√θ Ȳ, V W] from [Ȳ, V]."""
        if not self.aggregated:
            return W
        return np.asarray(scipy.linalg.block_diag(math.sqrt(max(T[0, 0], 0.0)) * np.eye(self.aggregated), W))


def _compression(Y: Array) -> Array:
    """R (r, s), RᵀR = I, with Y R (Y R)ᵀ = Y Yᵀ up to rounding and s <= n. The identity where Y is not wide."""
    if Y.shape[1] <= Y.shape[0]:
        return np.eye(Y.shape[1])
    _, s, Wt = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(Wt[s > max(Y.shape) * EPS * s[0]].T)


def _outside(V: Array, new: Array) -> Array:
    """Orthonormal columns that extend the span of the orthonormal V to contain `new`."""
    for _ in range(2):
        new = new - V @ (V.T @ new)
    U, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.asarray(U[:, s > math.sqrt(EPS)][:, : max(V.shape[0] - V.shape[1], 0)])
