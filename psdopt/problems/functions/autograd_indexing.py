"""The derivative of indexing in autograd: sums over an index that repeats are products with a sparse matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from autograd.extend import SparseObject, defjvp, defvjp, primitive, vspace
from autograd.numpy.numpy_boxes import ArrayBox
from scipy.sparse import csc_array

from psdopt.linalg.arrays import Array


def _scattered(x: Array, index: Any, space: Any) -> SparseObject:
    """Σ x_k e_index(k), zero elsewhere, in autograd's vector space of the arrays that are indexed."""
    index = np.array(index, dtype=np.int64) if _is_list(index) else index
    return SparseObject(space, lambda A: add_at(A, index, x))


def register() -> None:
    """Let autograd, in this process, pull derivatives back through A[index] by :func:`add_at` instead of its own sum.

    Both are equal up to the order in which they add. ``numpy.add.at``, autograd's own, takes ten times as long for
    rows.
    """
    defvjp(ArrayBox.__getitem__, lambda ans, A, index: lambda g: scattered(g, index, vspace(A)))


scattered = primitive(_scattered)
defvjp(scattered, lambda ans, x, index, space: lambda g: g[index])
defjvp(scattered, "same")


def add_at(A: Array, index: Any, x: Array) -> Array:
    """A, after A[index] += x with repetitions counted, as by ``numpy.add.at`` and with the same errors.

    Where integers alone choose at least as many parts of A as it has: one product with a sparse matrix of as many ones.
    """
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if all(isinstance(part, (int, slice, type(None), type(...))) and not isinstance(part, bool) for part in parts):
        A[index] += x  # nothing is repeated
    elif arrays and all(map(_counts, parts)) and np.broadcast(*parts).size >= math.prod(A.shape[: len(parts)]):
        lead, rest = A.shape[: len(parts)], A.shape[len(parts) :]
        inside = [np.asarray(part) % size for part, size in zip(parts, lead, strict=True)]
        place = np.ravel_multi_index(np.broadcast_arrays(*inside), lead).ravel()
        shape = math.prod(lead), len(place)
        chosen = csc_array((np.ones(len(place), dtype=A.dtype), place, np.arange(len(place) + 1)), shape=shape)
        A += (chosen @ np.reshape(x, (len(place), math.prod(rest)))).reshape(A.shape)
    else:
        np.add.at(A, index, x)
    return A


def _counts(part: Any) -> bool:
    """Whether a part of an index is an integer, or an array of integers."""
    return np.asarray(part).dtype.kind in "iu" and isinstance(part, (int, np.integer, np.ndarray))


def _is_list(index: Any) -> bool:
    return isinstance(index, list) and not any(isinstance(part, slice) for part in index[:1])
