"""Unknowns of linear rows with slacks, A x + s = b, as affine functions of the slacks, so that M determines x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array

#: A pivot is at least this share of the largest entry of its row.
PIVOT = 1e-6
#: Columns with a pivot below this share of the largest one are not determined by the remaining rows.
RANK = 1e-10
#: Largest size of the dense rest that QR solves; unknowns of a larger rest stay free.
DENSE_REST = 30_000_000
#: Entries of products below this share of the largest of their row are rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Elimination:
    """x = offset + K s + Z u: K (N, R) has columns for the rows that were used, Z (N, k) for unknowns that stay free.

    Attributes: `used` (R,) bool, rows that define an unknown; `free` (k,), unknowns that no row defines. Then
    A[used] x + s[used] = b[used] for every s and u; the other rows remain as constraints.
    """

    offset: Array
    K: sp.csr_array
    Z: sp.csr_array
    used: NDArray[np.bool_]
    free: NDArray[np.intp]

    def rest(self, A: sp.csr_array, b: Array) -> tuple[sp.csr_array, sp.csr_array, Array]:
        """(A K, A Z, b − A offset): the rows of A x + s = b in terms of s and u, rounding left out."""
        return pruned(sp.csr_array(A @ self.K), abs(A)), pruned(sp.csr_array(A @ self.Z), abs(A)), b - A @ self.offset


def eliminate(A: sp.csr_array, b: Array, order: NDArray[np.intp]) -> Elimination:
    """Solve rows of A x + s = b, A (R, N), for as many unknowns as they determine.

    `order` (R,): rows of a lower number are taken first, those below 0 never. A row with a single unknown left defines
    this unknown, and so on until no such row is left. QR with pivots solves the rest.
    Cost: a few sparse products for each round, and O(R' f²) for f unknowns in R' rows that remain.
    """
    state = _State(sp.csr_array(A), b, order)
    while state.singletons():
        pass
    Z, free = state.dense_rest()
    return Elimination(state.offset, sp.csr_array(state.K), Z, state.used, free)


class _State:
    """x = offset + K s so far, with zeros for unknowns that are not `known`."""

    def __init__(self, A: sp.csr_array, b: Array, order: NDArray[np.intp]) -> None:
        self.A, self.b, self.order = A, b, order
        self.pattern = sp.csr_array((np.where(A.data != 0.0, 1.0, 0.0), A.indices, A.indptr), shape=A.shape)
        self.weight = np.asarray(self.pattern.sum(axis=1)).ravel()
        self.largest = abs(A).max(axis=1).toarray().ravel() if A.nnz else np.zeros(A.shape[0])
        rows, columns = A.shape
        self.offset = np.zeros(columns)
        self.K = sp.csr_array((columns, rows))
        self.known = np.zeros(columns, dtype=bool)
        self.used = np.zeros(rows, dtype=bool)

    def singletons(self) -> bool:
        """Use all rows with a single unknown, one row for each unknown; False if there is none."""
        left = np.asarray(self.pattern @ (~self.known).astype(np.float64))
        candidates = np.flatnonzero((left == 1.0) & ~self.used & (self.order >= 0))
        part = self.A[candidates].tocoo()
        row, column = part.coords
        keep = ~self.known[column] & (part.data != 0.0)
        row, column, pivot = candidates[row[keep]], column[keep], part.data[keep]
        keep = np.abs(pivot) >= PIVOT * self.largest[row]
        row, column, pivot = row[keep], column[keep], pivot[keep]
        if not len(row):
            return False
        sequence = np.lexsort((row, self.weight[row], self.order[row]))
        row, column, pivot = row[sequence], column[sequence], pivot[sequence]
        column, first = np.unique(column, return_index=True)
        self._define(row[first], column.astype(np.intp), sp.csr_array(sp.diags_array(1.0 / pivot[first])))
        return True

    def _define(self, row: NDArray[np.intp], column: NDArray[np.intp], inverse: sp.csr_array) -> None:
        """x[column] = inverse (b − s − A x_known)[row]."""
        part = sp.csr_array(self.A[row])
        mine = sp.csr_array((np.ones(len(row)), (np.arange(len(row)), row)), shape=(len(row), self.A.shape[0]))
        K = pruned(sp.csr_array(inverse @ (-(mine + part @ self.K))), sp.csr_array(abs(inverse)))
        offset = inverse @ (self.b[row] - part @ self.offset)
        place = sp.csr_array(
            (np.ones(len(column)), (column, np.arange(len(column)))), shape=(len(self.known), len(row))
        )
        self.K = sp.csr_array(self.K + place @ K)
        self.offset = self.offset + place @ offset
        self.known[column] = True
        self.used[row] = True

    def dense_rest(self) -> tuple[sp.csr_array, NDArray[np.intp]]:
        """Solve the remaining rows for the remaining unknowns; Z, and the unknowns that stay free."""
        unknown = np.flatnonzero(~self.known)
        left = np.asarray(self.pattern[:, unknown].sum(axis=1)).ravel() if len(unknown) else np.zeros(len(self.used))
        rows = np.flatnonzero((left > 0.0) & ~self.used & (self.order >= 0))
        size = len(self.known)
        if len(rows) and len(unknown) and len(rows) * len(unknown) <= DENSE_REST:
            E = self.A[rows][:, unknown].toarray()
            # rows of a low order and sparse rows are preferred
            scale = 1.0 / (np.linalg.norm(E, axis=1) * np.sqrt(self.weight[rows]) * (1.0 + 9.0 * self.order[rows]))
            R, chosen = scipy.linalg.qr(E.T * scale, mode="r", pivoting=True)
            rank = _rank(R)
            chosen = chosen[:rank]
            R, columns = scipy.linalg.qr(E[chosen], mode="r", pivoting=True)
            columns, rest = columns[:rank], columns[rank:]
            inverse = np.linalg.inv(E[chosen][:, columns])
            across = -inverse @ E[chosen][:, rest]
            self._define(rows[chosen], unknown[columns], sp.csr_array(inverse))
            Z = sp.lil_array((size, len(rest)))
            Z[unknown[columns]] = np.where(np.abs(across) > ROUNDING * np.max(np.abs(across), initial=0.0), across, 0.0)
            Z[unknown[rest], np.arange(len(rest))] = 1.0
            return sp.csr_array(Z), unknown[rest]
        shape = (size, len(unknown))
        return sp.csr_array((np.ones(len(unknown)), (unknown, np.arange(len(unknown)))), shape=shape), unknown


def _rank(R: Array) -> int:
    diagonal = np.abs(np.diagonal(R))
    return int(np.sum(diagonal > RANK * diagonal[0])) if len(diagonal) and diagonal[0] > 0.0 else 0


def pruned(product: sp.csr_array, factor: sp.csr_array) -> sp.csr_array:
    """A sparse product without entries at rounding level, row by row."""
    if not product.nnz:
        return product
    largest = np.maximum(abs(product).max(axis=1).toarray().ravel(), factor.max(axis=1).toarray().ravel())
    row = np.repeat(np.arange(product.shape[0]), np.diff(product.indptr))
    product.data[np.abs(product.data) <= ROUNDING * largest[row]] = 0.0
    product.eliminate_zeros()
    return product


def consistent(zero_rows: sp.csr_array, right: Array, scale: Array) -> bool:
    """Whether rows without unknowns have the right side zero, up to rounding of numbers of size `scale`."""
    empty = np.diff(zero_rows.indptr) == 0
    return bool(np.all(np.abs(right[empty]) <= 1e-9 * (1.0 + scale[empty])))


def merged(rows: sp.csr_array, upper: Array, loose: NDArray[np.bool_]) -> tuple[NDArray[np.intp], sp.csr_array]:
    """(kept, shares): rows given more than once, as both X_ij >= 0 and X_ji >= 0 are, are kept once.

    Of equal inequalities rows @ s <= `upper`, those that are `loose`, the tightest is kept; equations are equal only
    with equal right sides. `shares` (rows, kept) distributes multipliers of kept rows among the rows equal to them.
    """
    if not len(upper):
        return np.zeros(0, dtype=np.intp), sp.csr_array((0, 0))
    marks = rows @ np.random.default_rng(0).standard_normal((rows.shape[1], 2))
    keys = np.column_stack([marks, loose, np.where(loose, 0.0, upper)])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    if abs(rows - rows[first[group]]).sum() > 0.0:  # marks may agree by chance
        return np.arange(len(upper)), sp.csr_array(sp.eye_array(len(upper), format="csr"))
    least = np.full(len(first), np.inf)
    np.minimum.at(least, group, upper)
    tight = np.flatnonzero(upper == least[group])
    _, kept = np.unique(group[tight], return_index=True)
    kept = np.sort(tight[kept])
    place = np.zeros(len(first), dtype=np.intp)
    place[group[kept]] = np.arange(len(kept))
    count = np.bincount(group[tight], minlength=len(first))
    share = 1.0 / count[group[tight]]
    return kept, sp.csr_array((share, (tight, place[group[tight]])), shape=(len(upper), len(kept)))
