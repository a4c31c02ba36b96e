"""Cone programs in the form of modelling languages: min ½ xᵀPx + cᵀx, A x + s = b, s zero, nonnegative or PSD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array


@dataclass(frozen=True)
class ConeProgram:
    """min ½ xᵀPx + cᵀx with A x + s = b; the dual is c + P x + Aᵀy = 0 with y free, nonnegative or PSD as s is.

    Rows: `zero` with s = 0, then `nonneg` with s >= 0, then the PSD blocks of the orders `psd`. Of a block of order k
    the k (k + 1)/2 rows are the entries of its lower triangle, column by column: s_ij is the entry itself.

    Attributes: `c` (N,); `P` sparse symmetric (N, N) or None; `A` sparse (R, N); `b` (R,).
    """

    c: Array
    P: sp.csr_array | None
    A: sp.csr_array
    b: Array
    zero: int
    nonneg: int
    psd: tuple[int, ...]

    @classmethod
    def from_full(cls, c: Array, P: Any, A: Any, b: Array, zero: int, nonneg: int, psd: Sequence[int]) -> ConeProgram:
        """From a program whose PSD blocks have k² rows, all entries; the cone constraint is on the symmetric part."""
        halves = symmetric_parts(zero + nonneg, psd)
        quadratic = None if P is None or sp.csr_array(P).nnz == 0 else sp.csr_array(P)
        rows = sp.csr_array(halves @ sp.csr_array(A))
        rows.eliminate_zeros()
        right = np.asarray(halves @ np.asarray(b, dtype=np.float64))
        return cls(np.asarray(c, dtype=np.float64), quadratic, rows, right, zero, nonneg, tuple(int(k) for k in psd))

    @property
    def first_psd(self) -> int:
        """The first row of the PSD blocks."""
        return self.zero + self.nonneg

    @property
    def order(self) -> int:
        """Σ k over the PSD blocks."""
        return sum(self.psd)

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

    def gradient(self, x: Array) -> Array:
        """c + P x."""
        return self.c if self.P is None else np.asarray(self.c + self.P @ x)

    def value(self, x: Array) -> float:
        """½ xᵀPx + cᵀx."""
        return float(0.5 * x @ (self.gradient(x) + self.c))


def symmetric_parts(first: int, psd: Sequence[int]) -> sp.csr_array:
    """(R, first + Σ k²): copies `first` rows, and takes (s_ij + s_ji)/2 of blocks given by all entries.

    Its transpose takes multipliers of the entries of the lower triangles to symmetric matrices of multipliers.
    """
    parts = [sp.eye_array(first, format="csr")] if first else []
    for k in psd:
        column, row = np.triu_indices(k)
        t = np.arange(len(row))
        places = np.concatenate([column * k + row, row * k + column])
        halves = np.full(2 * len(row), 0.5)
        parts.append(sp.csr_array((halves, (np.concatenate([t, t]), places)), shape=(len(row), k * k)))
    return sp.csr_array(sp.block_diag(parts, format="csr")) if parts else sp.csr_array((0, 0))
