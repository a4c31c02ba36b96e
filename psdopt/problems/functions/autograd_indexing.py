"""The derivative of indexing in autograd: sums over an index that repeats are products with a sparse matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from autograd.extend import SparseObject, defjvp, defvjp, primitive, vspace
from autograd.numpy.numpy_boxes import ArrayBox
from scipy.sparse import csc_array

from psdopt.linalg.arrays import Array


class Index:
    """What an array of a shape is indexed by, with what sums over it need, for all products of one trace."""

    def __init__(self, given: Any, shape: tuple[int, ...]) -> None:
        self.given = np.array(given, dtype=np.int64) if _is_list(given) else given
        self.parts = self.given if isinstance(self.given, tuple) else (self.given,)
        self.lead, self.rest = shape[: len(self.parts)], shape[len(self.parts) :]

    @cached_property
    def basic(self) -> bool:
        """Whether nothing can be chosen twice."""
        kinds = (int, slice, type(None), type(...))
        return all(isinstance(part, kinds) and not isinstance(part, bool) for part in self.parts)

    @cached_property
    def chosen(self) -> csc_array | None:
        """A column with a one for every choice, where integers alone choose as many parts as the array has, or more."""
        if not any(isinstance(part, np.ndarray) for part in self.parts) or not all(map(_counts, self.parts)):
            return None
        rows, choices = math.prod(self.lead), np.broadcast(*self.parts).size
        if choices < rows:
            return None
        inside = [np.asarray(part) % size for part, size in zip(self.parts, self.lead, strict=True)]
        place = np.ravel_multi_index(np.broadcast_arrays(*inside), self.lead).ravel()
        return csc_array((np.ones(choices), place, np.arange(choices + 1)), shape=(rows, choices))

    def add_at(self, A: Array, x: Array) -> Array:
        """A, after A[index] += x with repetitions counted, as by ``numpy.add.at`` and with the same errors."""
        if self.basic:
            A[self.given] += x
        elif self.chosen is not None:
            A += (self.chosen @ np.reshape(x, (self.chosen.shape[1], math.prod(self.rest)))).reshape(A.shape)
        else:
            np.add.at(A, self.given, x)
        return A


def _counts(part: Any) -> bool:
    """Whether a part of an index is an integer, or an array of integers."""
    return np.asarray(part).dtype.kind in "iu" and isinstance(part, (int, np.integer, np.ndarray))


def _is_list(index: Any) -> bool:
    return isinstance(index, list) and not any(isinstance(part, slice) for part in index[:1])


def _scattered(x: Array, index: Index, space: Any) -> SparseObject:
    """Σ x_k e_index(k), zero elsewhere, in autograd's vector space of the arrays that are indexed."""
    return SparseObject(space, lambda A: index.add_at(A, x))


scattered = primitive(_scattered)
defvjp(scattered, lambda ans, x, index, space: lambda g: g[index.given])
defjvp(scattered, "same")


def register() -> None:
    """Let autograd, in this process, pull derivatives back through A[index] by :meth:`Index.add_at`.

    Its own sum, ``numpy.add.at``, is equal up to the order of additions, and takes ten times as long for rows.
    """
    defvjp(ArrayBox.__getitem__, _pull_back)


def _pull_back(ans: Any, A: Any, given: Any) -> Callable[[Any], Any]:
    index, space = Index(given, A.shape), vspace(A)
    return lambda g: scattered(g, index, space)
