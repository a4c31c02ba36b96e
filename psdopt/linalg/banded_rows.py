"""Row-wise regularised least squares of small order: the systems of all rows as blocks of a banded matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbsv

from psdopt.linalg.arrays import Array, with_data

#: Up to this order the inner products of all rows come from two products of whole blocks: calls are what costs there.
SMALL_ORDER = 256
#: Rows of different numbers of entries share a band while that adds fewer multiplications: about what one more band
#: costs in calls.
SHARED = 1e5
#: Numbers kept in bands and their indices at most (8 MiB each).
MOST_PLACES = 2**20


@dataclass(frozen=True)
class Band:
    """Diagonal blocks of one order t or less as the lower band (N, t) of a matrix of order N, the sum of their orders.

    Per column, that is per entry e = (i, j) of the N: its number `entries` among all of W, its `own` place i n + j in
    a flat (n, n) array, `rows` i, `roots` √w and `targets` √w · target. Entry (e, d) of the band is `scales`
    √w_e √w_{e+d} times ⟨u_j, u_k⟩, j and k the columns of e and e + d, found at `pairs` in the flat U Uᵀ; scale 0
    outside the blocks.
    """

    entries: NDArray[np.intp]
    pairs: NDArray[np.intp]
    scales: Array
    own: NDArray[np.intp]
    rows: NDArray[np.intp]
    roots: Array
    targets: Array


class BandedRows:
    """v_i = argmin_v ½ Σ_j w_ij (vᵀu_j − t_ij)² + rho_i/2 |v − b_i|² for all rows of a small W at once.

    The systems rho_i I + P_i P_iᵀ (t_i, t_i) of :class:`~psdopt.linalg.row_updates.RowUpdates`, one after the other,
    are a banded positive definite matrix: one call of LAPACK solves them, where a batch makes one per row. All inner
    products come from U Uᵀ and b Uᵀ, and V = b + Z U with Z of the pattern of W.
    Cost 4 n² r + O(Σ_i t_i³) flops and some ten calls; memory n² + Σ_i t_i².

    Parameters
    ----------
    weights, targets : CSR arrays (n, n) with the same pattern, weights > 0 and finite; targets None is zero.
    """

    def __init__(self, weights: sp.csr_array, targets: sp.csr_array | None) -> None:
        self.n = int(weights.shape[0])
        counts = np.diff(weights.indptr)
        rows, columns = np.repeat(np.arange(self.n), counts), weights.indices.astype(np.intp)
        roots = np.sqrt(weights.data)
        wanted = np.zeros_like(roots) if targets is None else roots * targets.data
        band = band_numbers(counts)[rows]
        self.bands = tuple(
            _band(self.n, chosen, rows[chosen], columns[chosen], roots[chosen], wanted[chosen])
            for chosen in (np.flatnonzero(band == number) for number in np.unique(band))
        )
        self._pattern = weights

    @staticmethod
    def fits(weights: sp.csr_array) -> bool:
        """Whether W is small enough for this to be the faster way."""
        counts = np.diff(weights.indptr)
        return weights.shape[0] <= SMALL_ORDER and int(np.sum(counts * np.max(counts, initial=0))) <= MOST_PLACES

    def solve(self, U: Array, b: Array, rho: float | Array) -> Array:
        """V (n, r) from U (n, r), b (n, r) and rho > 0, one or (n,), not many orders below Σ_j w_ij |u_j|²."""
        gram, products = (U @ U.T).ravel(), (b @ U.T).ravel()
        Z = np.empty(self._pattern.nnz)
        for band in self.bands:
            A = gram.take(band.pairs)
            A *= band.scales
            A[:, 0] += rho[band.rows] if isinstance(rho, np.ndarray) else rho
            z = products.take(band.own)
            z *= band.roots
            np.subtract(band.targets, z, out=z)
            _, solution, info = dpbsv(A.T, z[:, None], lower=1, overwrite_ab=1, overwrite_b=1)
            if info != 0:
                raise np.linalg.LinAlgError(f"the system of entry {info} is not positive definite")
            Z[band.entries] = solution[:, 0] * band.roots
        V = with_data(self._pattern, Z) @ U
        V += b
        return np.asarray(V)


def band_numbers(counts: NDArray[np.integer]) -> NDArray[np.intp]:
    """A number per row: rows of one number share a band, as wide as the longest of them."""
    found, place, sizes = np.unique(counts, return_inverse=True, return_counts=True)
    number = np.zeros(len(found), dtype=np.intp)
    first = 0
    for k in range(1, len(found)):
        shorter = found[first:k].astype(float)
        wider = float(np.sum(sizes[first:k] * shorter * (float(found[k]) ** 2 - shorter**2)))
        if wider > SHARED:
            first = k
        number[k] = number[k - 1] + int(wider > SHARED)
    return number[place]


def _band(
    n: int, entries: NDArray[np.intp], rows: NDArray[np.intp], columns: NDArray[np.intp], roots: Array, targets: Array
) -> Band:
    """The band of entries that are sorted by row."""
    order = len(rows)
    width = int(np.max(np.bincount(rows)))
    below = np.arange(order)[:, None] + np.arange(width)
    inside = below < order
    below = np.minimum(below, order - 1)
    inside &= rows[below] == rows[:, None]
    pairs = np.where(inside, columns[:, None] * n + columns[below], 0)
    scales = np.where(inside, roots[:, None] * roots[below], 0.0)
    return Band(entries, pairs, scales, rows * n + columns, rows, roots, targets)
