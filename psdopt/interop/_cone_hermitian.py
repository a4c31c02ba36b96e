"""PSD blocks that are the real form [Re H, −Im H; Im H, Re H] of a Hermitian H: the equations between their parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.arrays import Array, for_products, scaled
from psdopt.linalg.entries import chosen_rows


@dataclass(frozen=True)
class Twins:
    """Rows of the PSD blocks that are equal, up to a sign, for every x: `of` (R,) the row, `sign` (R,).

    A block S(x) of order 2n with S = J S Jᵀ, J = [0, −I; I, 0], such as modelling languages make of a Hermitian
    variable or constraint, is semidefinite exactly where S(x) = (M + J M Jᵀ)/2 for some M ⪰ 0. So M need not have
    equal parts, and n (n + 1) equations are left out. Other rows are their own twins.
    """

    of: NDArray[np.intp]
    sign: Array

    @cached_property
    def mean(self) -> sp.csr_array:
        """(R, R): slacks s to (s + their twins)/2, for M to (M + J M Jᵀ)/2."""
        R = len(self.of)
        own = np.arange(R)
        numbers = np.concatenate([np.full(R, 0.5), 0.5 * self.sign])
        return sp.csr_array((numbers, (np.tile(own, 2), np.concatenate([own, self.of]))), shape=(R, R))

    def averaged(self, y: Array) -> Array:
        """Multipliers y (R,) with twins alike: the same Aᵀy and bᵀy, and PSD parts that are real forms."""
        return np.asarray(self.mean.T @ y)

    @property
    def repeated(self) -> NDArray[np.bool_]:
        """(R,) : the later of two twins, and rows that are their own negative and so zero."""
        own = np.arange(len(self.of))
        return np.asarray((self.of < own) | ((self.of == own) & (self.sign < 0.0)))


def twins(program: ConeProgram) -> Twins | None:
    """The twins of the program's rows; None where no PSD block without a log det has any. O(entries)."""
    of, sign = np.arange(len(program.b)), np.ones(len(program.b))
    with_log_det = {k for k, _ in program.log_dets}
    for k, order in enumerate(program.psd):
        if order % 2 or k in with_log_det:
            continue
        rows = np.arange(len(program.b))[program.rows_of(k)]
        at, factor = _turned(order)
        b, held = program.b[rows], np.diff(program.A.indptr)[rows]
        if not (np.array_equal(b, factor * b[at]) and np.array_equal(held, held[at])):
            continue
        A = for_products(chosen_rows(program.A, rows))
        if isinstance(A, np.ndarray):
            alike = np.array_equal(A, factor[:, None] * A[at])
        else:
            alike = abs(A - scaled(A[at], factor)).count_nonzero() == 0
        if alike:
            of[rows], sign[rows] = rows[at], factor
    return None if np.array_equal(of, np.arange(len(of))) else Twins(of, sign)


def _turned(order: int) -> tuple[NDArray[np.intp], Array]:
    """The row of the lower triangle, column by column, that J M Jᵀ has in the place of each row, and its sign."""
    n = order // 2
    column, row = np.triu_indices(order)
    code = np.zeros((order, order), dtype=np.intp)
    code[row, column] = code[column, row] = np.arange(len(row))
    at = code[(row + n) % order, (column + n) % order]
    return at, np.where((row < n) == (column < n), 1.0, -1.0)
