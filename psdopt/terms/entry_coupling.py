"""The Schur complement of the multipliers of measured entries: [tr(A_s P A_t Q)] for two matrices P and Q."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array

#: Numbers in a block of columns (128 KiB). Gathered rows of this size stay in the processor's cache, and the C library
#: reuses their memory; it returns larger arrays to the system and has to ask for new pages.
BLOCK = 16384


class EntryCoupling:
    """(P, Q) ↦ [tr(A_s P A_t Q)], s <= t, for A_t = (e_i e_jᵀ + e_j e_iᵀ)/2 and symmetric P, Q (n, n).

    Each is a sum of products of one entry of P and one of Q, over both orders of both index pairs; a diagonal entry has
    only one order. No matrix product is formed: O(m²) multiplications for m entries, in blocks of columns.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> None:
        self.size, self.n = len(i), n
        own = i == j
        order = np.argsort(~own, kind="stable")
        first = int(own.sum())
        self.diagonal, self.i, self.j = i[order[:first]], i[order[first:]], j[order[first:]]
        self.places = None if np.array_equal(order, np.arange(self.size)) else np.argsort(order)

    def __call__(self, P: Array, Q: Array, out: Array | None = None) -> Array:
        """The upper triangle of an (m, m) array, `out` if given. The entries below the diagonal are undefined."""
        own, k, size = self.diagonal, len(self.diagonal), len(self.i)
        C = np.empty((self.size, self.size)) if out is None else out
        Pd, Qd = (columns_of(A.take(own, axis=0)).take(own, axis=0) for A in (P, Q))
        np.multiply(Pd, Qd, out=C[:k, :k])
        block = max(1, BLOCK // max(size, self.n))
        for start in range(0, size, block):
            stop = min(start + block, size)
            i, j, columns = self.i[:stop], self.j[:stop], slice(k + start, k + stop)
            Pi, Pj, Qi, Qj = (columns_of(A.take(ends[start:], axis=0)) for A in (P, Q) for ends in (i, j))
            crossed = Pi * Qj
            crossed += Pj * Qi
            np.multiply(crossed.take(own, axis=0), 0.5, out=C[:k, columns])
            pairs = Pi.take(i, axis=0)
            pairs *= Qj.take(j, axis=0)
            for A, of_left, B, of_right in ((Pj, j, Qi, i), (Pi, j, Qj, i), (Pj, i, Qi, j)):
                other = A.take(of_left, axis=0)
                other *= B.take(of_right, axis=0)
                pairs += other
            np.multiply(pairs, 0.25, out=C[k : k + stop, columns])
        if self.places is None:
            return C
        C = np.triu(C)
        C += np.triu(C, 1).T
        return C[self.places[:, None], self.places]


def columns_of(rows: Array) -> Array:
    """The transpose, stored by rows, since rows are gathered faster than columns."""
    return np.ascontiguousarray(rows.T)


def distance_blocks(
    P: Array, Q: Array, i: NDArray[np.intp], j: NDArray[np.intp]
) -> Iterator[tuple[slice, tuple[Array, Array], tuple[Array, Array]]]:
    """(s, (P Eᵀ, Q Eᵀ), (E P Eᵀ, E Q Eᵀ)) for symmetric P, Q (n, n) and the rows e_i − e_j of E (p, n), block by block.

    Only the columns s of the four matrices are given, and of E P Eᵀ, E Q Eᵀ (p, p) only the rows up to the end of s.
    """
    size = len(i)
    block = max(1, BLOCK // max(size, len(P)))
    for start in range(0, size, block):
        here = slice(start, min(start + block, size))
        left, right = i[: here.stop], j[: here.stop]
        sides, pairs = [], []
        for A in (P, Q):
            rows = A.take(left[start:], axis=0)
            rows -= A.take(right[start:], axis=0)
            side = columns_of(rows)
            pair = side.take(left, axis=0)
            pair -= side.take(right, axis=0)
            sides.append(side)
            pairs.append(pair)
        yield here, (sides[0], sides[1]), (pairs[0], pairs[1])
