"""Row-wise regularised least squares, all rows at once: the block updates of ADMM on matrix entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array

#: Floats gathered at a time (1 MiB): what fits a cache, and memory O(n r) whatever the number of entries.
CHUNK = 2**17


@dataclass(frozen=True)
class RowGroup:
    """Rows with the same number t of entries: `rows` (g,), `columns`, `weights`, `targets` (g, t)."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    weights: Array
    targets: Array

    @property
    def entries(self) -> int:
        """t, the number of entries in each row."""
        return int(self.columns.shape[1])


class RowUpdates:
    """v_i = argmin_v ½ Σ_j w_ij (vᵀu_j − t_ij)² + rho/2 |v − b_i|² for all rows i at once.

    The matrices rho I + Σ_j w_ij u_j u_jᵀ (r, r) of Hu & Kwok, eqs. (11)-(13) are never inverted where a row
    has t < r entries: with P_i = [u_j] (t, r),

        v_i = b_i + P_iᵀ z_i,   (rho W_i⁻¹ + P_i P_iᵀ) z_i = t_i − P_i b_i,

    which is their eq. (25) (Sherman-Morrison-Woodbury) rearranged so that only the correction is computed.
    Rows are grouped by t and each group is solved in one batch. Cost O(Σ_i (t_i² r + t_i³)) for t_i < r, else
    O(t_i r² + r³); memory O(n r).

    Parameters
    ----------
    weights, targets : CSR arrays (n, n) with the same pattern, weights > 0 and finite; targets None is zero.
    """

    def __init__(self, weights: sp.csr_array, targets: sp.csr_array | None) -> None:
        self.n = int(weights.shape[0])
        counts = np.diff(weights.indptr)
        if targets is None:
            targets = sp.csr_array((np.zeros_like(weights.data), weights.indices, weights.indptr), shape=weights.shape)
        self.groups = tuple(_group(weights, targets, counts, int(t)) for t in np.unique(counts) if t > 0)

    def solve(self, U: Array, b: Array, rho: float | Array) -> Array:
        """V (n, r) from the other block U (n, r), the anchors b (n, r) and rho > 0, one or (n,); b is not changed."""
        V = np.array(b, dtype=np.float64)
        rhos = np.broadcast_to(np.asarray(rho, dtype=np.float64), (self.n,))
        r = U.shape[1]
        # one buffer for all gathers: fresh pages for each would cost more than the arithmetic
        buffer = np.empty(max([CHUNK, *(group.entries * r for group in self.groups)]))
        for group in self.groups:
            t = group.entries
            solver, needed = (_by_entries, t * r) if t < r else (_by_columns, r * (t + r))
            size = max(1, CHUNK // needed)
            for first in range(0, len(group.rows), size):
                part = slice(first, first + size)
                rows, columns = group.rows[part], group.columns[part]
                P = buffer[: columns.size * r].reshape(*columns.shape, r)
                np.take(U, columns, axis=0, out=P, mode="clip")  # indices are valid; "raise" would copy P
                anchors = V[rows]
                V[rows] = anchors + solver(P, group.weights[part], group.targets[part], anchors, rhos[rows])
        return V


def _group(weights: sp.csr_array, targets: sp.csr_array, counts: NDArray[np.intp], t: int) -> RowGroup:
    rows = np.flatnonzero(counts == t)
    positions = weights.indptr[rows][:, None] + np.arange(t)
    return RowGroup(rows, weights.indices[positions].astype(np.intp), weights.data[positions], targets.data[positions])


def _residual(P: Array, targets: Array, b: Array) -> Array:
    return np.asarray(targets - np.matmul(P, b[:, :, None])[:, :, 0])


def _by_entries(P: Array, w: Array, targets: Array, b: Array, rho: Array) -> Array:
    """Correction Pᵀz (g, r) from the (t, t) systems."""
    gram = np.matmul(P, P.transpose(0, 2, 1))
    t = gram.shape[1]
    gram[:, np.arange(t), np.arange(t)] += rho[:, None] / w
    z = np.linalg.solve(gram, _residual(P, targets, b)[:, :, None])
    return np.asarray(np.matmul(z.transpose(0, 2, 1), P)[:, 0, :])


def _by_columns(P: Array, w: Array, targets: Array, b: Array, rho: Array) -> Array:
    """The same correction from the (r, r) systems: (rho I + PᵀWP) x = PᵀW (t − P b)."""
    weighted = w[:, :, None] * P
    A = np.matmul(weighted.transpose(0, 2, 1), P)
    r = A.shape[1]
    A[:, np.arange(r), np.arange(r)] += rho[:, None]
    right = np.matmul(weighted.transpose(0, 2, 1), _residual(P, targets, b)[:, :, None])
    return np.asarray(np.linalg.solve(A, right)[:, :, 0])
