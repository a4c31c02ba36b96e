"""Cone programs in the form of modelling languages: min ½ xᵀPx + cᵀx, A x + s = b, s zero, nonnegative or PSD."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.least_squares import least_squares


@dataclass(frozen=True)
class Stack:
    """The PSD blocks of one order k: their rows (blocks, k (k + 1)/2), and the entries (i, j) of a lower triangle."""

    rows: NDArray[np.intp]
    i: NDArray[np.intp]
    j: NDArray[np.intp]

    @property
    def twice(self) -> Array:
        """How often each entry of the triangle stands in the matrix: 1 or 2."""
        return np.where(self.i == self.j, 1.0, 2.0)

    def matrices(self, v: Array) -> Array:
        """The symmetric matrices (blocks, k, k) with these entries of v (R,)."""
        k = int(self.i[-1]) + 1
        V = np.empty((len(self.rows), k, k))
        V[:, self.i, self.j] = V[:, self.j, self.i] = v[self.rows]
        return V


@dataclass(frozen=True)
class ConeProgram:
    """min ½ xᵀPx + cᵀx with A x + s = b; the dual is c + P x + Aᵀy = 0 with y free, nonnegative or PSD as s is.

    With −ν log det of a block S of s in the objective, its block of y is ν S⁻¹ at a solution.

    Rows: `zero` with s = 0, then `nonneg` with s >= 0, then the PSD blocks of the orders `psd`. Of a block of order k
    the k (k + 1)/2 rows are the entries of its lower triangle, column by column: s_ij is the entry itself.

    Attributes: `c` (N,); `P` sparse symmetric (N, N) or None; `A` sparse (R, N); `b` (R,); `log_dets`, (k, ν > 0) for
    each −ν log det of the k-th block in the objective.
    """

    c: Array
    P: sp.csr_array | None
    A: sp.csr_array
    b: Array
    zero: int
    nonneg: int
    psd: tuple[int, ...]
    log_dets: tuple[tuple[int, float], ...] = ()

    @classmethod
    def from_rows(
        cls, c: Array, P: Any, A: Any, b: Array, zero: int, nonneg: int, rows: tuple[sp.csr_array, tuple[int, ...]]
    ) -> ConeProgram:
        """From a modelling language's program, whose rows :func:`lower_triangles` takes to the rows here."""
        H, orders = rows
        quadratic = None if P is None or sp.csr_array(P).nnz == 0 else sp.csr_array(P)
        left = sp.csr_array(H @ sp.csr_array(A))
        left.eliminate_zeros()
        right = np.asarray(H @ np.asarray(b, dtype=np.float64))
        return cls(np.asarray(c, dtype=np.float64), quadratic, left, right, zero, nonneg, orders)

    @property
    def first_psd(self) -> int:
        """The first row of the PSD blocks."""
        return self.zero + self.nonneg

    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(i, j) of the PSD rows, blocks side by side in one matrix of order Σ k."""
        i, j, first = [], [], 0
        for k in self.psd:
            column, row = np.triu_indices(k)
            i.append(first + row)
            j.append(first + column)
            first += k
        empty = np.zeros(0, dtype=np.intp)
        return np.concatenate([empty, *i]), np.concatenate([empty, *j])

    @cached_property
    def stacks(self) -> list[Stack]:
        """The PSD blocks by their orders."""
        sizes = np.array([k * (k + 1) // 2 for k in self.psd], dtype=np.intp)
        firsts = self.first_psd + np.cumsum(sizes) - sizes
        found = []
        for k in sorted(set(self.psd)):
            j, i = np.triu_indices(k)
            first = firsts[[t for t, order in enumerate(self.psd) if order == k]]
            found.append(Stack(first[:, None] + np.arange(len(i)), i, j))
        return found

    @cached_property
    def origin(self) -> Array:
        """The shortest x (N,) that comes nearest to A x = b in the equations and inequalities."""
        A, b = sp.csr_array(self.A[: self.first_psd]), self.b[: self.first_psd]
        return least_squares(A, b) if np.any(b) else np.zeros(len(self.c))

    def gradient(self, x: Array) -> Array:
        """c + P x."""
        return self.c if self.P is None else np.asarray(self.c + self.P @ x)

    def value(self, x: Array) -> float:
        """½ xᵀPx + cᵀx − Σ ν log det of blocks of b − A x; infinite where one of them is not definite."""
        value = float(0.5 * x @ (self.gradient(x) + self.c))
        for k, nu in self.log_dets:
            S = self.matrix(k, self.b - self.A @ x)
            sign, log_det = np.linalg.slogdet(S)
            value -= nu * float(log_det) if sign > 0.0 else -math.inf
        return value

    @cached_property
    def twice(self) -> Array:
        """(R,) : how often an entry stands in its matrix: 2 beside the diagonal of a block, else 1."""
        i, j = self.places()
        return np.concatenate([np.ones(self.first_psd), np.where(i == j, 1.0, 2.0)])

    def matrix(self, k: int, v: Array) -> Array:
        """The symmetric matrix of the k-th PSD block with these entries of v (R,)."""
        j, i = np.triu_indices(self.psd[k])
        S = np.empty((self.psd[k], self.psd[k]))
        S[i, j] = S[j, i] = v[self.rows_of(k)]
        return S

    def rows_of(self, k: int) -> slice:
        """The rows of the k-th PSD block."""
        sizes = [each * (each + 1) // 2 for each in self.psd[: k + 1]]
        first = self.first_psd + sum(sizes[:-1])
        return slice(first, first + sizes[-1])

    def block(self, k: int) -> NDArray[np.intp]:
        """The rows of the k-th PSD block in a matrix that holds all blocks, as in :meth:`places`."""
        first = sum(self.psd[:k])
        return np.arange(first, first + self.psd[k])

    def with_log_dets(
        self, found: Sequence[tuple[int, float]], H: sp.csr_array, first: int = 0
    ) -> tuple[ConeProgram, sp.csr_array]:
        """The program with −ν log det of blocks (k, ν), and `H` without the rows of blocks that repeat such a block.

        A log det makes its block definite, so that the multipliers of its copies are zero. Blocks before the `first`
        are kept.
        """
        weights: dict[int, float] = {}
        copies: set[int] = set()
        for k, nu in found:
            same = [j for j in weights if self._alike(j, k)]
            weights[same[0] if same else k] = weights.get(same[0], 0.0) + nu if same else nu
            copies |= {j for j in range(first, len(self.psd)) if j != k and j not in weights and self._alike(j, k)}
            copies |= {k} if same and same[0] != k else set()
        if not weights:
            return self, H
        kept = np.ones(len(self.b), dtype=bool)
        for k in copies:
            kept[self.rows_of(k)] = False
        blocks = [k for k in range(len(self.psd)) if k not in copies]
        psd, log_dets = tuple(self.psd[k] for k in blocks), tuple((blocks.index(k), nu) for k, nu in weights.items())
        smaller = replace(self, A=sp.csr_array(self.A[kept]), b=self.b[kept], psd=psd, log_dets=log_dets)
        return smaller, sp.csr_array(H[kept])

    def _alike(self, j: int, k: int) -> bool:
        """Whether two PSD blocks are the same function of x."""
        one, two = self.rows_of(j), self.rows_of(k)
        same = self.psd[j] == self.psd[k] and np.array_equal(self.b[one], self.b[two])
        return bool(same and abs(self.A[one] - self.A[two]).nnz == 0)


def without_infinite_bounds(H: sp.csr_array, b: Array, zero: int, nonneg: int) -> tuple[sp.csr_array, int, int, bool]:
    """(H, zero, nonneg) without the rows of infinite right sides b, and whether one of these rows excludes every x.

    A x + s = inf holds for an s >= 0 whatever x is; A x + s = −inf for none, nor does A x = ±inf.
    Raises InvalidInputError for infinite right sides of cones.
    """
    first, endless = zero + nonneg, np.isinf(b)
    if np.any(endless[first:]):
        raise InvalidInputError("second-order cones and PSD constraints must hold finite constants; found inf")
    kept = np.ones(H.shape[0], dtype=bool)
    kept[:first] = ~endless[:first]
    impossible = bool(np.any(endless[:zero]) or np.any(b[zero:first] == -math.inf))
    return sp.csr_array(H[kept]), int(np.sum(kept[:zero])), int(np.sum(kept[zero:first])), impossible


def lower_triangles(
    first: int, soc: Sequence[int], psd: Sequence[tuple[int, ...]]
) -> tuple[sp.csr_array, tuple[int, ...]]:
    """(H, orders): H takes rows s of a modelling language to the rows of :class:`ConeProgram`, Hᵀ multipliers back.

    The rows s: `first` that are copied; then (t, u) of second-order cones t >= |u| of the dimensions `soc`, which
    become matrices [[t, uᵀ], [u, t I]] of the same orders; then arrays of the shapes `psd`, (*batch, k, k) with the
    first index fastest, of which each (k, k) becomes its symmetric part.
    """
    # (rows, columns, values) of one cone of each shape, and how many rows and columns it has
    local: dict[Any, tuple[NDArray[np.intp], NDArray[np.intp], Array, int, int]] = {}
    for d in set(soc):
        column, row = np.triu_indices(d)
        held = np.flatnonzero((column == 0) | (row == column))
        local[d] = held, np.where(row == column, 0, row)[held], np.ones(len(held)), len(row), d
    for shape in set(psd):
        size, k = math.prod(shape), shape[-1]
        entries = np.arange(size).reshape(shape, order="F").reshape(-1, k, k)
        column, row = np.triu_indices(k)
        places = np.concatenate([entries[:, row, column].ravel(), entries[:, column, row].ravel()])
        t = np.arange(len(places) // 2)
        local[shape] = np.tile(t, 2), places, np.full(len(places), 0.5), len(t), size
    rows, columns, values = [np.arange(first)], [np.arange(first)], [np.ones(first)]
    row_end = column_end = first
    for cone in [*soc, *psd]:
        own_rows, own_columns, own_values, height, width = local[cone]
        rows.append(row_end + own_rows)
        columns.append(column_end + own_columns)
        values.append(own_values)
        row_end, column_end = row_end + height, column_end + width
    onto = np.concatenate(rows), np.concatenate(columns)
    orders = [*soc, *(shape[-1] for shape in psd for _ in range(math.prod(shape[:-2])))]
    H = sp.csr_array((np.concatenate(values), onto), shape=(row_end, column_end))
    return H, tuple(int(k) for k in orders)


def lower_multipliers(v: Array, rows: sp.csr_array, kept: int, first: int, soc: Sequence[int]) -> Array:
    """y (R,) for the rows of :class:`ConeProgram` from multipliers v of a modelling language's rows.

    `rows` : H of :func:`lower_triangles`, with `kept` of its `first` rows; Hᵀy = v for symmetric v of blocks.
    Those of (t, u) in a cone, λ >= |μ|, become ½ [[λ, μᵀ], [μ, μ μᵀ/λ]] with the rest of λ in the corner, which is
    semidefinite with trace λ; where λ < |μ|, |μ| is the divisor.
    """
    ones = rows.copy()
    ones.data = np.ones_like(ones.data)
    y, row = np.asarray(ones @ v), kept
    for d in soc:
        size = d * (d + 1) // 2
        lam, mu = v[first], v[first + 1 : first + d]
        Y = np.zeros((d, d))
        Y[0, 1:], Y[1:, 0] = mu, mu
        Y[1:, 1:] = np.outer(mu, mu) / max(lam, float(np.linalg.norm(mu)), np.finfo(float).tiny)
        Y[0, 0] = 2.0 * lam - np.trace(Y[1:, 1:])
        column, place = np.triu_indices(d)
        y[row : row + size] = np.where(place == column, 0.5, 1.0) * Y[place, column]
        first, row = first + d, row + size
    return y
