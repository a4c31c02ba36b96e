"""Row-wise regularised least squares, all rows at once: the block updates of ADMM on matrix entries."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import BLOCK

#: Rows with fewer entries are padded to join the next larger group if this adds at most so many inner products, about
#: the cost of the calls for a separate group. With a quarter of this number a solve on 50 rows takes a quarter longer;
#: with ten times this number a solve on 400 rows takes twice as long.
PADDING = 4000


class RowUpdates:
    """v_i = argmin_v ½ Σ_j w_ij (vᵀu_j − t_ij)² + rho/2 |v − b_i|² for all rows i at once.

    If a row has t < r entries, its matrix rho I + Σ_j w_ij u_j u_jᵀ (r, r) of Hu & Kwok, eqs. (11)-(13), is not
    inverted: with P_i = [u_j] (t, r) and W_i the diagonal matrix of its weights,

        v_i = b_i + P_iᵀ z_i,   (rho W_i⁻¹ + P_i P_iᵀ) z_i = t_i − P_i b_i,

    which is their eq. (25) (Sherman-Morrison-Woodbury) rearranged so that only the correction is computed.
    Rows are grouped by t and each group is solved in one batch; one product gives P_i P_iᵀ and P_i b_i.
    Cost O(Σ_i (t_i² r + t_i³)) for t_i < r, else O(t_i r² + r³); memory O(n r).

    Parameters
    ----------
    weights, targets : CSR arrays (n, n) with the same pattern, weights > 0 and finite; targets None is zero.
    """

    def __init__(self, weights: sp.csr_array, targets: sp.csr_array | None) -> None:
        self.n = int(weights.shape[0])
        self.weights, self.targets = weights, targets

    @property
    def target_values(self) -> Array:
        """The targets in the order of ``weights.data``."""
        return np.zeros_like(self.weights.data) if self.targets is None else np.asarray(self.targets.data)

    def of_weights(self, weights: sp.csr_array) -> RowUpdates:
        """RowUpdates for other weights of the same pattern, with targets 0; the order of the entries is shared."""
        other = RowUpdates(weights, None)
        other.order = self.order
        return other

    @cached_property
    def order(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """For each group its rows (g,), and (g, t) places of their entries in ``weights.data``, its length for padding.

        Rows are grouped by their number of entries; rows with similar numbers are padded to share a group.
        """
        starts, counts = self.weights.indptr[:-1], np.diff(self.weights.indptr)
        padded = _padded_counts(counts)
        found = []
        for t in np.unique(padded[padded > 0]):
            rows, each = np.flatnonzero(padded == t), np.arange(t)
            inside = each < counts[rows, None]
            found.append((rows, np.where(inside, starts[rows, None] + each, self.weights.nnz)))
        return tuple(found)

    @cached_property
    def groups(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]]:
        """(rows (g,), columns (t, g), weights and targets (g, t)) of each group of rows with t entries each.

        Padded rows have additional entries of target 0 and weight 1 in column n, where u = 0.
        """
        columns, weights = np.append(self.weights.indices, self.n), np.append(self.weights.data, 1.0)
        targets = np.append(self.target_values, 0.0)
        return [
            (rows, np.ascontiguousarray(columns[places].T, dtype=np.intp), weights[places], targets[places])
            for rows, places in self.order
        ]

    def solve(self, U: Array, b: Array, rho: float | Array) -> Array:
        """V (n, r) from the other block U (n, r), the anchors b (n, r) and rho > 0, a number or an array (n,)."""
        r = U.shape[1]
        rhos = rho if isinstance(rho, np.ndarray) else np.full(self.n, rho)
        V = b.copy()  # which rows without entries keep
        U = np.concatenate([U, np.zeros((1, r))])
        lengths = (len(columns) for _, columns, *_ in self.groups)
        needs = [r * (t + 1 if t < r else t + r + 1) for t in lengths]
        # one buffer for all gathers: allocating one for each would cost more than the arithmetic
        sizes = (min(max(BLOCK, need), need * len(rows)) for need, (rows, *_) in zip(needs, self.groups, strict=True))
        buffer = np.empty(max(sizes, default=0))
        for need, (rows, columns, weights, targets) in zip(needs, self.groups, strict=True):
            t, size = len(columns), max(1, BLOCK // need)
            update = _by_entries if t < r else _by_columns
            for first in range(0, len(rows), size):
                deadline.ask()
                part = slice(first, first + size)
                own = rows[part]
                gathered = buffer[: (t + 1) * len(own) * r].reshape(t + 1, len(own), r)
                # indices are valid; "raise" would copy
                np.take(b, own, axis=0, out=gathered[t], mode="clip")
                np.take(U, columns[:, part], axis=0, out=gathered[:t], mode="clip")
                V[own] = update(gathered.transpose(1, 0, 2), weights[part], targets[part], rhos[own])
        return V


def _padded_counts(counts: NDArray[np.integer]) -> NDArray[np.intp]:
    """For each row the number of entries of its group: its own, or a larger one that is cheaper to share."""
    found, sizes = np.unique(counts[counts > 0], return_counts=True)
    target = found.copy()
    first = 0
    for k in range(1, len(found)):
        extra = int(np.sum(sizes[first:k] * (found[k] ** 2 - found[first:k] ** 2)))
        if extra > PADDING:
            first = k
        target[first : k + 1] = found[k]
    padded = np.zeros(len(counts), dtype=np.intp)
    padded[counts > 0] = target[np.searchsorted(found, counts[counts > 0])]
    return padded


def _by_entries(P: Array, weights: Array, targets: Array, rho: Array) -> Array:
    """v (g, r) from the (t, t) systems; P (g, t + 1, r) holds the u_j and, last, the anchor."""
    count, t = weights.shape
    products = np.matmul(P[:, :t], P.transpose(0, 2, 1))
    products.reshape(count, t * (t + 1))[:, :: t + 2] += rho[:, None] / weights
    factors = np.ones((count, 1, t + 1))  # for the u_j, and 1 for the anchor
    factors[:, 0, :t] = np.linalg.solve(products[:, :, :t], (targets - products[:, :, t])[:, :, None])[:, :, 0]
    return np.asarray(np.matmul(factors, P)[:, 0])


def _by_columns(P: Array, weights: Array, targets: Array, rho: Array) -> Array:
    """The same from the (r, r) systems: v = b + x, (rho I + PᵀWP) x = PᵀW (t − P b)."""
    t, r = weights.shape[1], P.shape[2]
    weighted, b = (weights[:, :, None] * P[:, :t]).transpose(0, 2, 1), P[:, t, :, None]
    A = np.matmul(weighted, P[:, :t])
    A.reshape(len(A), r * r)[:, :: r + 1] += rho[:, None]
    residual = targets[:, :, None] - np.matmul(P[:, :t], b)
    return np.asarray((b + np.linalg.solve(A, np.matmul(weighted, residual)))[:, :, 0])
