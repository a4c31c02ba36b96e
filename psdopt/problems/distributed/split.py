"""Splitting samples, pairs and triplets into parts that each need few rows of the data."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psdopt.checks import integer
from psdopt.errors import InvalidInputError, InvalidTypeError


class Touched(NamedTuple):
    """Tuples of rows of X, (p, 2) pairs or (p, 3) triplets, and the rows that occur in them.

    `rows` (t,) are those rows of X, sorted; `tuples` (p, k) the same tuples as positions in `rows`.
    """

    rows: NDArray[np.intp]
    tuples: NDArray[np.intp]


def touched(tuples: Any) -> Touched:
    """The rows that occur in index `tuples` (p, k), and the tuples as positions among these rows. O(p log p).

    A part on these tuples needs X[rows] only.
    """
    index = np.asarray(tuples)
    if index.ndim != 2:
        raise InvalidInputError(f"tuples must have shape (p, k); found {index.shape}")
    if not np.issubdtype(index.dtype, np.integer):
        raise InvalidTypeError(f"tuples must hold integers; found dtype {index.dtype}")
    rows, where = np.unique(index, return_inverse=True)
    return Touched(rows.astype(np.intp), where.reshape(index.shape).astype(np.intp))


def even_slices(count: int, parts: int) -> list[slice]:
    """`parts` slices that cover range(count), lengths differing by one at most; some are empty if count < parts."""
    integer(parts, "parts")
    integer(count, "count", 0)
    bounds = [count * k // parts for k in range(parts + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]
