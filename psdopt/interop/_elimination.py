"""Unknowns of rows A x + s = b as affine functions of the slacks s, so that M determines x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.limits import CANCELLED, FEASIBLE, NEGLIGIBLE, NUMBERS
from psdopt.linalg.arrays import Array, as_dense, for_products, with_data
from psdopt.linalg.tolerances import EPS, MINOR, rounding


@dataclass(frozen=True)
class Elimination:
    """x = offset + K s + Z u for rows A x + s = b: K (N, R) has columns for the rows that were used, Z (N, k) for
    unknowns that stay free.

    Attributes: `used` (R,) bool, rows that define an unknown; `free` (k,), unknowns that no row defines. Then
    A[used] x + s[used] = b[used] for every s and u; the other rows remain as constraints. `size` (N,), `K_sizes` and
    `Z_sizes` are the sums of the sizes of all terms in the entries of `offset`, K and Z, relative to which these have
    rounding. `A_sizes` is |A|, `largest` (R,) its largest entry of each row.
    """

    A: sp.csr_array
    b: Array
    A_sizes: sp.csr_array
    largest: Array
    offset: Array
    size: Array
    K: sp.csr_array
    K_sizes: sp.csr_array
    Z: sp.csr_array
    Z_sizes: sp.csr_array
    used: NDArray[np.bool_]
    free: NDArray[np.intp]

    @cached_property
    def allowed(self) -> Array:
        """(R,) : the rounding of b − A offset: a share of its terms, and of A x for x as large as b requires.

        Right sides are often computed as A x for some x; one that is only rounding must not contradict others.
        """
        held = self.largest > 0.0
        asked = float(np.max(np.abs(self.b[held]) / self.largest[held], initial=0.0))
        return MINOR * FEASIBLE * self._terms + rounding(asked, len(self.offset)) * self.largest

    @cached_property
    def _terms(self) -> Array:
        """The sizes of the terms of b − A offset."""
        return np.asarray(np.abs(self.b) + self.A_sizes @ self.size)

    def multipliers(self, gradient: Array, y: Array) -> Array:
        """`y` (R,) with those of the rows that define unknowns, so that gradient + Aᵀy is zero there."""
        found = y.copy()
        found[self.used] = (self.K.T @ (gradient + self.A.T @ y))[self.used]
        return found

    def rest(self) -> tuple[sp.csr_array, sp.csr_array, Array]:
        """(A K, A Z, b − A offset): the rows of A x + s = b in terms of s and u, rounding left out."""
        AK, AZ = sp.csr_array(self.A @ self.K), sp.csr_array(self.A @ self.Z)
        right = self.b - self.A @ self.offset
        right = np.where(np.abs(right) > CANCELLED * EPS * self._terms, right, 0.0)
        return pruned(AK, self.A_sizes @ self.K_sizes), pruned(AZ, self.A_sizes @ self.Z_sizes), right


def eliminate(A: sp.csr_array, b: Array, order: NDArray[np.intp]) -> Elimination:
    """Solve rows of A x + s = b, A (R, N), for as many unknowns as they determine.

    `order` (R,): rows of a lower number are taken first, those below 0 never. A row with a single unknown left defines
    this unknown, and so on until no such row is left. Of the rest a row with an unknown that no other has is put aside,
    and defines it once all others are solved, and so on. QR with pivots solves what remains.
    Cost: a few sparse products for each round, and O(R' f²) for f unknowns in R' rows that remain.
    """
    A_sizes = abs(A)
    largest = A_sizes.max(axis=1).toarray().ravel() if A.nnz else np.zeros(A.shape[0])
    state = _State(A, b, order, largest)
    while state.singletons():
        pass
    aside = state.own_unknowns()
    free = state.dense_rest(aside)
    for row, column, pivot in reversed(aside):
        state.define_each(row, column, pivot)
    K, K_sizes, Z, Z_sizes = (sp.csr_array(each) for each in (state.K, state.K_sizes, state.Z, state.Z_sizes))
    known = A, b, A_sizes, largest, state.offset, state.size
    return Elimination(*known, K, K_sizes, Z, Z_sizes, state.used, free)


#: Rows, and for each an unknown that it can define and its coefficient there.
Stage = tuple[NDArray[np.intp], NDArray[np.intp], Array]


class _State:
    """x = offset + K s + Z u so far, with zeros for unknowns that are not `known`. `made` gives all arrays one type:
    sparse, or dense where A has few entries in all."""

    def __init__(self, A: sp.csr_array, b: Array, order: NDArray[np.intp], largest: Array) -> None:
        self.A, self.b, self.order, self.largest = for_products(A), b, order, largest
        self.made: Callable[[Any], Any] = as_dense if self.A is not A else sp.csr_array
        self.pattern = self.made(with_data(A, np.where(A.data != 0.0, 1.0, 0.0)))
        self.weight = np.asarray(self.pattern.sum(axis=1)).ravel()
        rows, columns = A.shape
        self.offset, self.size = np.zeros(columns), np.zeros(columns)
        self.K = self.K_sizes = self.made(sp.csr_array((columns, rows)))
        self.Z = self.Z_sizes = self.made(sp.csr_array((columns, 0)))
        self.known = np.zeros(columns, dtype=bool)
        self.used = np.zeros(rows, dtype=bool)

    def singletons(self) -> bool:
        """Use all rows with a single unknown, one row for each unknown; False if there is none."""
        left = np.asarray(self.pattern @ (~self.known).astype(np.float64))
        candidates = np.flatnonzero((left == 1.0) & ~self.used & (self.order >= 0))
        part = sp.coo_array(self.A[candidates])
        row, column, pivot = candidates[part.coords[0]], part.coords[1], part.data
        keep = ~self.known[column] & (pivot != 0.0) & (np.abs(pivot) >= MINOR * self.largest[row])
        row, column, pivot = row[keep], column[keep], pivot[keep]
        if not len(row):
            return False
        # an unknown with a small coefficient would be a large multiple of the rest of its row
        share = np.abs(pivot) / self.largest[row]
        sequence = np.lexsort((row, self._reluctance(row) / share))
        row, column, pivot = row[sequence], column[sequence], pivot[sequence]
        column, first = np.unique(column, return_index=True)
        self.define_each(row[first], column.astype(np.intp), pivot[first])
        return True

    def own_unknowns(self) -> list[Stage]:
        """Rows with an unknown that no other row left has, stage by stage; such a row depends on no other."""
        stages: list[Stage] = []
        open_rows, open_columns = (self.order >= 0) & ~self.used, ~self.known
        every = sp.coo_array(self.A)
        kept = open_rows[every.coords[0]] & open_columns[every.coords[1]] & (every.data != 0.0)
        row, column, pivot = every.coords[0][kept], every.coords[1][kept], every.data[kept]
        while True:
            alone = np.bincount(column)[column] == 1
            (own,) = (alone & (np.abs(pivot) >= MINOR * self.largest[row])).nonzero()
            if not len(own):
                return stages
            own = own[np.lexsort((-np.abs(pivot[own]), row[own]))]  # the largest of the own ones of a row
            own = own[np.unique(row[own], return_index=True)[1]]
            stages.append((row[own].astype(np.intp), column[own].astype(np.intp), pivot[own]))
            open_rows[row[own]] = False
            kept = open_rows[row]
            row, column, pivot = row[kept], column[kept], pivot[kept]

    def define_each(self, row: NDArray[np.intp], column: NDArray[np.intp], pivot: Array) -> None:
        """Define one unknown by each row, in which it has the coefficient `pivot` and others are known."""
        inverse = self.made(sp.diags_array(1.0 / pivot))
        self._define(row, column, inverse, abs(inverse))

    def _reluctance(self, row: NDArray[np.intp]) -> Array:
        """Rows of a low order and sparse rows are preferred."""
        return np.asarray(np.sqrt(self.weight[row]) * (1.0 + 9.0 * self.order[row]))

    def _define(self, row: NDArray[np.intp], column: NDArray[np.intp], inverse: Any, sizes: Any) -> None:
        """x[column] = inverse (b − s − A x_known)[row]; `sizes` : |E⁻¹| |L| |U| |E⁻¹| for E = L U."""
        made, part, known = self.made, self.made(self.A[row]), self.offset
        mine, place = made(placed(row, self.A.shape[0]).T), made(placed(column, self.A.shape[1]))
        K_sizes = made(sizes @ (mine + abs(part) @ self.K_sizes))
        K = pruned(made(inverse @ (-(mine + part @ self.K))), K_sizes)
        self.K, self.K_sizes = made(self.K + place @ K), made(self.K_sizes + place @ K_sizes)
        if self.Z.shape[1]:
            Z_sizes = made(sizes @ (abs(part) @ self.Z_sizes))
            Z = pruned(made(inverse @ (-(part @ self.Z))), Z_sizes)
            self.Z, self.Z_sizes = made(self.Z + place @ Z), made(self.Z_sizes + place @ Z_sizes)
        self.offset = known + place @ (inverse @ (self.b[row] - part @ known))
        self.size = self.size + place @ (sizes @ (np.abs(self.b[row]) + abs(part) @ self.size))
        self.known[column] = True
        self.used[row] = True

    def dense_rest(self, aside: list[Stage]) -> NDArray[np.intp]:
        """Solve the remaining rows, but for those put aside, for unknowns; the ones (k,) that stay free, u."""
        later, rows_left = self.known.copy(), (self.order >= 0) & ~self.used
        for row, column, _ in aside:
            later[column], rows_left[row] = True, False
        unknown, chosen = np.flatnonzero(~later), np.zeros(0, dtype=np.intp)
        left = np.asarray(self.pattern[:, unknown].sum(axis=1)).ravel() if len(unknown) else np.zeros(len(self.used))
        rows, columns, free = np.flatnonzero((left > 0.0) & rows_left), chosen, unknown
        if len(rows) and len(rows) * len(unknown) <= NUMBERS:
            E = as_dense(self.A[rows][:, unknown])
            scale = 1.0 / (np.linalg.norm(E, axis=1) * self._reluctance(rows))
            R, order = scipy.linalg.qr(E.T * scale, mode="r", pivoting=True)
            diagonal = np.abs(np.diagonal(R))
            rank = int(np.sum(diagonal > MINOR * NEGLIGIBLE * diagonal[0]))
            chosen, E = rows[order[:rank]], E[order[:rank]]
            _, order = scipy.linalg.qr(E, mode="r", pivoting=True)
            columns, free = unknown[order[:rank]], unknown[order[rank:]]
        self.Z = self.Z_sizes = self.made(placed(free, len(self.known)))
        self.known[free] = True
        if len(chosen):
            self._define(chosen, columns, *map(self.made, _inverse(as_dense(self.A[chosen][:, columns]))))
        return free


def _inverse(E: Array) -> tuple[Array, Array]:
    """(E⁻¹, |E⁻¹| |L| |U| |E⁻¹|) for E = L U, whose fill-in leaves rounding where E⁻¹ has zeros."""
    unit = np.max(np.abs(E), axis=1)  # LU is accurate in each row only if all rows have the same size
    lower, upper = scipy.linalg.lu(E / unit[:, None], permute_l=True)
    inverse = np.linalg.inv(E / unit[:, None]) / unit
    factors = (np.abs(lower) @ np.abs(upper)) * unit[:, None]
    return inverse, np.abs(inverse) @ factors @ np.abs(inverse)


def placed(rows: NDArray[np.intp], size: int) -> sp.csr_array:
    """(size, k): takes entry t of a vector (k,) to position rows[t]."""
    return sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(size, len(rows)))


def pruned(product: Any, sizes: Any) -> Any:
    """A product without entries that are rounding beside `sizes`, the sums of the sizes of their own terms.

    An entry that is small beside others of its row may belong to an unknown in large units.
    """
    if isinstance(product, np.ndarray):
        return np.where(np.abs(product) > CANCELLED * EPS * sizes, product, 0.0)
    return sp.csr_array(product.multiply(abs(product) > CANCELLED * EPS * sizes))


def violated(rows: sp.csr_array, right: Array, allowed: Array) -> int | None:
    """Of the rows without unknowns, the one whose right side exceeds `allowed` most clearly; None if none does."""
    excess = np.where(np.diff(rows.indptr) == 0, np.abs(right) / np.maximum(allowed, np.finfo(float).tiny), 0.0)
    return int(np.argmax(excess)) if np.any(excess > 1.0) else None


def merged(rows: sp.csr_array, upper: Array, loose: NDArray[np.bool_]) -> tuple[NDArray[np.intp], sp.csr_array]:
    """(kept, shares): rows given more than once, such as X_ij >= 0 and X_ji >= 0, are kept once.

    Of equal inequalities rows @ s <= `upper`, those that are `loose`, the tightest is kept; equations are equal only
    with equal right sides. `shares` (rows, kept) distributes multipliers of kept rows among the rows equal to them.
    """
    if not len(upper):
        return np.zeros(0, dtype=np.intp), sp.csr_array((0, 0))
    marks = rows @ np.random.default_rng(0).standard_normal((rows.shape[1], 2))
    if len(np.unique(marks[:, 0])) == len(upper):
        return np.arange(len(upper)), sp.csr_array(sp.eye_array(len(upper), format="csr"))
    keys = np.column_stack([marks, loose, np.where(loose, 0.0, upper)])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    if abs(rows - rows[first[group]]).sum() > 0.0:  # equal marks may be a coincidence
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
