"""The Schur complement of the multipliers of measured entries: [tr(A_s P A_t Q)] for two matrices P and Q."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import CACHED


def entry_coupling(i: NDArray[np.intp], j: NDArray[np.intp], P: Array, Q: Array, out: Array | None = None) -> Array:
    """[tr(A_s P A_t Q)], s <= t, for A_t = (e_i e_jᵀ + e_j e_iᵀ)/2 and symmetric P, Q (n, n).

    The upper triangle of an (m, m) array, `out` if given; the entries below the diagonal are undefined. Each is a sum
    of products of one entry of P and one of Q, over both orders of both index pairs. No matrix product is formed: O(m²)
    multiplications for m entries, in blocks of columns: gathered rows of CACHED numbers stay in the processor's cache.
    """
    size = len(i)
    C = np.empty((size, size)) if out is None else out
    block = max(1, CACHED // max(size, len(P)))
    for start in range(0, size, block):
        stop = min(start + block, size)
        left, right = i[:stop], j[:stop]
        Pi, Pj, Qi, Qj = (columns_of(A.take(ends[start:], axis=0)) for A in (P, Q) for ends in (left, right))
        pairs = Pi.take(left, axis=0)
        pairs *= Qj.take(right, axis=0)
        for A, of_left, B, of_right in ((Pj, right, Qi, left), (Pi, right, Qj, left), (Pj, left, Qi, right)):
            other = A.take(of_left, axis=0)
            other *= B.take(of_right, axis=0)
            pairs += other
        np.multiply(pairs, 0.25, out=C[:stop, start:stop])
    return C


def distance_coupling(i: NDArray[np.intp], j: NDArray[np.intp], P: Array, Q: Array, out: Array | None = None) -> Array:
    """As :func:`entry_coupling`, for A_t = (e_i − e_j)(e_i − e_j)ᵀ: the entries of E P Eᵀ times those of E Q Eᵀ.

    E (m, n) has the rows e_i − e_j.
    """
    size = len(i)
    C = np.empty((size, size)) if out is None else out
    block = max(1, CACHED // max(size, len(P)))
    for start in range(0, size, block):
        stop = min(start + block, size)
        pairs = []
        for A in (P, Q):
            side = columns_of(A.take(i[start:stop], axis=0) - A.take(j[start:stop], axis=0))
            pairs.append(side.take(i[:stop], axis=0))
            pairs[-1] -= side.take(j[:stop], axis=0)
        np.multiply(pairs[0], pairs[1], out=C[:stop, start:stop])
    return C


def columns_of(rows: Array) -> Array:
    """The transpose, stored by rows, since rows are gathered faster than columns."""
    return np.ascontiguousarray(rows.T)
