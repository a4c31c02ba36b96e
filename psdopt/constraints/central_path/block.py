"""One diagonal block of a conic problem: the entries of the A_t in the block, and the products that methods need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.couplings import Couplings
from psdopt.constraints.limits import SPARSE
from psdopt.linalg.arrays import Array


@dataclass
class Block:
    """One PSD block: its `rows` in M, C (s, s), and the constraints' entries in it, B (rows, p places)."""

    rows: NDArray[np.intp]
    C: Array
    i: NDArray[np.intp]
    j: NDArray[np.intp]
    B: sp.csr_array

    def __post_init__(self) -> None:
        self.size = len(self.rows)
        self.at, self.mirrored = self.i * self.size + self.j, self.j * self.size + self.i
        self.back = sp.csr_array(self.B.T)
        self.half = np.where(self.i == self.j, 1.0, 0.5)
        self.scattered = SPARSE * (2 * len(self.i) - int(np.count_nonzero(self.i == self.j))) < self.size**2
        self.couplings = Couplings(self.i, self.j, self.B, self.size)

    @property
    def used(self) -> NDArray[np.intp]:
        """Constraints with entries in this block."""
        return np.flatnonzero(np.diff(self.B.indptr))

    def measure(self, X: Array) -> Array:
        """(⟨A_t, X⟩)_t, of the symmetric part of X (s, s)."""
        flat = np.ascontiguousarray(X).reshape(-1)
        return np.asarray(self.B @ (0.5 * (flat.take(self.at) + flat.take(self.mirrored))))

    def adjoint(self, v: Array) -> Array:
        """Σ_t v_t A_t, (s, s)."""
        S = np.zeros(self.size * self.size)
        w = self.half * np.asarray(self.back @ v)
        S[self.at] = w
        S[self.mirrored] = w
        return S.reshape(self.size, self.size)

    def adjoint_times(self, v: Array, V: Array) -> Array:
        """Σ_t v_t A_t V for V (s, k): through the entries of the A_t if they are few relative to s²."""
        if not self.scattered:
            return np.asarray(self.adjoint(v) @ V)
        w = self.half * np.asarray(self.back @ v)
        off = self.i != self.j
        coordinates = np.concatenate([self.i, self.j[off]]), np.concatenate([self.j, self.i[off]])
        S = sp.csr_array((np.concatenate([w, w[off]]), coordinates), shape=(self.size, self.size))
        return np.asarray(S @ V)
