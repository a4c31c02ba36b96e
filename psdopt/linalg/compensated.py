"""Sums of products as exact as if they were computed with twice the digits, by error-free transformations.

Dekker (1971); Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array

#: Parts of a number with half of the digits each: 2^27 + 1.
SPLITTER = 134217729.0


def two_products(a: Array, b: Array) -> tuple[Array, Array]:
    """a b rounded, and the rounding error of each product; not a number where one of them overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = a * b
        (high, low), (other, rest) = _halves(a), _halves(b)
        return product, low * rest - (((product - high * other) - low * other) - high * rest)


def grouped_products(a: Array, b: Array, group: NDArray[np.intp], size: int) -> Array:
    """The sums (`size`,) of a_k b_k over the k of each group; errors of eps times the sum, and n eps² times its terms.

    Cost: some 25 flops for each product, and a call for each member of the largest group.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        terms, errors = two_products(a, b)
        total, rest = np.zeros(size), np.bincount(group, errors, size)
        order = np.argsort(group, kind="stable")
        counts = np.bincount(group, minlength=size)
        starts = counts.cumsum() - counts
        for k in range(int(counts.max(initial=0))):
            (where,) = (counts > k).nonzero()
            new, old = terms[order[starts[where] + k]], total[where]
            both = old + new
            part = both - old
            rest[where] = rest[where] + ((old - (both - part)) + (new - part))
            total[where] = both
        found = total + rest
        return np.asarray(np.where(np.isfinite(found), found, np.bincount(group, a * b, size)))


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
