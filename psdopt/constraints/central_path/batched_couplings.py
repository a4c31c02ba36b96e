"""[Σ_k tr(A_sk X_k A_tk Q_k)] for many small blocks of one order, from the products of all pairs of their entries."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array, both_ways


class BatchedCouplings:
    """(X, Q) ↦ B diag(T_1, ..., T_K) Bᵀ, with T_k (p, p) = [tr(E_a X_k E_b Q_k)] for E_a = (e_i e_jᵀ + e_j e_iᵀ)/2.

    i, j (p,) : the places; B (m, K p) : the entries of the A_t there. K p² products of entries, and those of sparse
    arrays, whose pattern the blocks alone determine.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], B: sp.csr_array, count: int) -> None:
        self.i, self.j, self.B, p = i, j, B, len(i)
        self.forth, self.back = both_ways(B)
        first = p * np.arange(count, dtype=np.intp)
        self._columns = np.broadcast_to((first[:, None] + np.arange(p))[:, None, :], (count, p, p)).reshape(-1)
        self._ends = p * np.arange(count * p + 1, dtype=np.intp)

    def dense(self, X: Array, Q: Array) -> Array:
        """The products, (m, m), for X, Q (K, s, s)."""
        few = self.forth
        if not isinstance(few, np.ndarray):
            return np.asarray(self.sparse(X, Q).toarray())
        T, m = self._pairs(X, Q), len(few)
        left = few.reshape(m, len(T), 1, len(self.i)) @ T
        return np.asarray(left.reshape(few.shape) @ few.T)

    def sparse(self, X: Array, Q: Array) -> sp.csr_array:
        """:meth:`dense` as a sparse array."""
        T = self._pairs(X, Q)
        size = self.B.shape[1]
        blocks = sp.csr_array((T.reshape(-1), self._columns, self._ends), shape=(size, size))
        return sp.csr_array(self.B @ (blocks @ sp.csr_array(self.back)))

    def _pairs(self, X: Array, Q: Array) -> Array:
        """All T_k, (K, p, p)."""
        i, j = self.i, self.j
        T = np.zeros((len(X), len(i), len(i)))
        for a, b, c, d in ((i, i, j, j), (i, j, j, i), (j, i, i, j), (j, j, i, i)):
            T += X[:, a[:, None], b] * Q[:, c[:, None], d]
        T *= 0.25
        return T
