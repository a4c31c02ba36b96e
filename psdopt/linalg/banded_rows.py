"""Row-wise regularised least squares of small order: the systems of all rows as blocks of a banded matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbsv

from psdopt.linalg.arrays import Array, gathered_dots, row_dots, sparse_product, with_data

#: Up to this order n the systems of all rows are solved in one call.
SMALL_ORDER = 256
#: An inner product of two gathered rows costs about as much as this many entries of a product U Uᵀ of whole blocks.
GATHERING = 16
#: Most multiplications that padding may add so that rows with different numbers of entries share a band. The calls for
#: a separate band cost about as much.
SHARED = 1e5
#: Most entries of all bands together: their numbers and their indices take 8 MiB each.
MOST_PLACES = 2**20


@dataclass(frozen=True)
class Band:
    """Diagonal blocks of one order t or less as the lower band (N, t) of a matrix of order N, the sum of their orders.

    Per column, that is per entry e = (i, j) of the N: its number `entries` among all of W, its row i in `rows` and its
    column j in `columns`. Entry (e, d) of the band is ⟨u_j, u_k⟩, j and k the columns of e and e + d, or 0 where they
    belong to different blocks. The others, d > 0, have their flat places in `places`, and j and k in `left`, `right`.
    """

    entries: NDArray[np.intp]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    width: int
    places: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]


class BandedRows:
    """v_i = argmin_v ½ Σ_j w_ij (vᵀu_j − t_ij)² + rho_i/2 |v − b_i|² for all rows of a small W at once.

    With U_i = [u_j] (t_i, r), one row for each entry of row i of W, and W_i the diagonal matrix of its weights,

        v_i = b_i + U_iᵀ z_i,   (rho_i W_i⁻¹ + U_i U_iᵀ) z_i = t_i − U_i b_i,

    the systems of :class:`~psdopt.linalg.row_updates.RowUpdates` with √W_i taken out on both sides. Placed along one
    diagonal, the systems are a banded positive definite matrix, which one call of LAPACK solves; a batch of separate
    systems makes one call per row. This is why the class exists beside RowUpdates, which says what it gains.
    V = b + Z U with Z of the pattern of W. Inner products come from gathered rows, or from U Uᵀ and b Uᵀ where many are
    needed. Cost O(min(Σ_i t_i², n²) r + Σ_i t_i³) flops and some ten calls; memory Σ_i t_i², and n² at most.

    Parameters
    ----------
    weights, targets : CSR arrays (n, n) with the same pattern, weights > 0 and finite; targets None is zero.
    """

    def __init__(
        self, weights: sp.csr_array, targets: sp.csr_array | None, bands: tuple[Band, ...] | None = None
    ) -> None:
        self.n = int(weights.shape[0])
        self._pattern, self._inverse = weights, 1.0 / weights.data
        self._targets = np.zeros_like(weights.data) if targets is None else targets.data
        self.bands = _bands(weights) if bands is None else bands

    def reweighted(self, weights: sp.csr_array) -> BandedRows:
        """The same rows with other weights of the same pattern and targets 0; the bands are shared."""
        return BandedRows(weights, None, self.bands)

    @staticmethod
    def fits(weights: sp.csr_array) -> bool:
        """Whether W is small enough for bands to be faster."""
        longest = int(np.max(weights.indptr[1:] - weights.indptr[:-1]))
        return weights.shape[0] <= SMALL_ORDER and weights.nnz * longest <= MOST_PLACES

    def solve(self, U: Array, b: Array, rho: float | Array) -> Array:
        """V (n, r) from U (n, r), b (n, r) and rho > 0, one or (n,), not many orders below Σ_j w_ij |u_j|²."""
        Z, squares = np.empty(self._pattern.nnz), row_dots(U, U)
        for band in self.bands:
            A = np.zeros((len(band.entries), band.width))
            A.reshape(-1)[band.places] = self._dots(band.left, U, band.right, U)
            ridge = self._inverse.take(band.entries)
            ridge *= rho[band.rows] if isinstance(rho, np.ndarray) else rho
            ridge += squares.take(band.columns)
            A[:, 0] = ridge
            z = self._targets.take(band.entries)
            z -= self._dots(band.rows, b, band.columns, U)
            _, solution, info = dpbsv(A.T, z, lower=1, overwrite_ab=1, overwrite_b=1)
            if info != 0:
                raise np.linalg.LinAlgError(f"the system of entry {info} is not positive definite")
            Z[band.entries] = solution
        return sparse_product(with_data(self._pattern, Z), U, b)

    def _dots(self, i: NDArray[np.intp], Y: Array, j: NDArray[np.intp], U: Array) -> Array:
        """⟨y_i, u_j⟩ for index pairs."""
        if GATHERING * len(i) <= self.n**2:
            return gathered_dots(i, Y, j, U)
        return (Y @ U.T).take(i * self.n + j)


def _bands(weights: sp.csr_array) -> tuple[Band, ...]:
    """The bands of all rows, by their numbers of entries."""
    n, counts = int(weights.shape[0]), weights.indptr[1:] - weights.indptr[:-1]
    rows, columns = np.repeat(np.arange(n), counts), weights.indices.astype(np.intp)
    number = band_numbers(counts)[rows]
    chosen = (np.flatnonzero(number == k) for k in range(int(number.max(initial=-1)) + 1))
    return tuple(_band(entries, rows[entries], columns[entries]) for entries in chosen if len(entries))


def band_numbers(counts: NDArray[np.integer]) -> NDArray[np.intp]:
    """A number per row: rows of one number share a band, as wide as the longest of them."""
    sizes = np.bincount(counts)
    numbers: NDArray[np.intp] = np.zeros(len(sizes), dtype=np.intp)
    number = 0
    multiplications = entries = 0.0  # of the rows of one band, by themselves: Σ t³ and Σ t
    for t in np.flatnonzero(sizes).tolist():
        if entries * t * t - multiplications > SHARED:
            number += 1
            multiplications = entries = 0.0
        numbers[t] = number
        multiplications += float(sizes[t]) * t**3
        entries += float(sizes[t]) * t
    return numbers.take(counts)


def _band(entries: NDArray[np.intp], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Band:
    """The band of entries that are sorted by row."""
    width = int(np.bincount(rows).max())
    below = np.arange(len(rows))[:, None] + np.arange(width)
    inside = np.concatenate([rows, np.full(width - 1, -1)]).take(below) == rows[:, None]
    inside[:, 0] = False
    places = np.flatnonzero(inside)
    first = places // width
    return Band(entries, rows, columns, width, places, columns[first], columns[first + places % width])
