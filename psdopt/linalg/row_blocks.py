"""A linear map whose rows are read block by block, for data that do not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Self, overload

import numpy as np

from psdopt.linalg.arrays import Array, row_dots
from psdopt.linalg.operators import LinearMap, WeightedRows
from psdopt.linalg.row_sources import SMALL_MAP, RowSource, only, require_finite, row_source

#: Called as observer(name, rows_read, rows) after each block of a pass over the rows.
Observer = Callable[[str, int, int], None]
#: (rows, their block) ↦ what one part of a pass is made of.
Part = Callable[[slice, Array], Any]
_observer: ContextVar[Observer | None] = ContextVar("pass_observer", default=None)


@contextmanager
def watching(observer: Observer) -> Iterator[None]:
    """Within the block `observer(name, rows_read, rows)` is called after every block of rows that is read."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


class RowBlocks(LinearMap):
    """X (m, d) for a :class:`~psdopt.linalg.row_sources.RowSource`: at most one block of rows is in memory.

    A product X V makes the image (m, k), which is kept in memory; X itself is not. :meth:`moments` and
    :meth:`normal_product` make no array with m rows. Every entry is checked for NaN and infinity during the first pass.
    """

    is_matrix = False
    is_sparse = False

    def __init__(self, source: RowSource, name: str = "X") -> None:
        self.source, self.data, self.name, self.shape = source, source, name, source.shape
        # twice as much as memory is sure to hold, beside the image of the factor: each part costs a pass over the rows
        self.most_columns = max(1, 2 * SMALL_MAP // (8 * self.shape[0]))
        self.applications = 0
        self.columns = 0
        self.passes = 0
        self._checked = 0

    def apply(self, V: Array) -> Array:
        """X V (m, k) for V (d, k). One pass."""
        self._count(V)
        return self._side_by_side(partial(_times, V), V.shape[1])

    def adjoint(self, W: Array | WeightedRows) -> Array:
        """Xᵀ W (d, k) for W (m, k). One pass."""
        self._count(W)
        return self._summed(_TimesRows(W))

    def normal_product(self, V: Array) -> Array:
        """XᵀX V (d, k) for V (d, k), without the image (m, k). One pass."""
        self._count(V)
        return self._summed(partial(_normal, V))

    @overload
    def moments(self) -> tuple[Array, None]: ...

    @overload
    def moments(self, Y: Any) -> tuple[Array, Array]: ...

    def moments(self, Y: Any = None) -> tuple[Array, Array | None]:
        """(XᵀX (d, d), XᵀY (d, c) for Y (m, c) dense or sparse by rows, or None). One pass; no array with m rows."""
        d = self.shape[1]
        self._count(np.empty((d, d)))
        both = self._summed(_gram if Y is None else _Moments(Y))
        gram = both[:, :d]
        return 0.5 * (gram + gram.T), None if Y is None else both[:, d:]

    def weighted_gram(self, w: Array) -> Array:
        """Xᵀ diag(w) X (d, d) for w (m,). One pass; no array with m rows."""
        d = self.shape[1]
        self._count(np.empty((d, d)))
        return self._summed(_WeightedGram(w))

    def row_squares(self, V: Array) -> Array:
        """|Vᵀx_t|² for the rows x_t of X, shape (m,), without the image X V. One pass."""
        self._count(V)
        return self._side_by_side(partial(_squares, V))

    def take(self, rows: Any) -> Array:
        """The given rows (k, d) as an array, checked for NaN. Reads the blocks that hold them."""
        found = self.source.take(rows)
        require_finite(found, self.name, self.source.columns)
        return found

    def largest_row_sum(self) -> float:
        """max_i Σ_j |X_ij|. One pass."""
        return float(self._side_by_side(_row_sums).max())

    def to_dense(self) -> Array:
        """X as one array (m, d) in memory, for small m. The library itself never calls it."""
        return self._side_by_side(_whole, self.shape[1])

    def _summed(self, part: Part) -> Array:
        """The sum of `part` over all blocks."""
        parts = self.parts(part)
        total = np.array(next(parts)[1])
        for _, found in parts:
            total += found
        return total

    def _side_by_side(self, part: Part, *width: int) -> Array:
        """What `part` gives for the rows of each block, (m, *width)."""
        whole = np.empty((self.shape[0], *width))
        for rows, found in self.parts(part):
            whole[rows] = found
        return whole

    def parts(self, part: Part) -> Iterator[tuple[slice, Any]]:
        """(rows, part(rows, block)) for every block, in any order, computed by the workers of the source. One pass.

        If `part` has a method ``only(rows)``, just ``part.only(rows)`` is sent to the worker of these rows.
        """
        observer, done = _observer.get(), 0
        self.passes += 1
        checked = _Checked(part, self.name, self.source.columns) if self._checked < self.shape[0] else part
        for rows, found in self.source.partial_sums(checked):
            yield rows, found
            done += rows.stop - rows.start
            if observer is not None:
                observer(self.name, done, self.shape[0])
        self._checked = self.shape[0]

    def __repr__(self) -> str:
        return f"RowBlocks({self.name}: {self.shape[0]}x{self.shape[1]}, {type(self.source).__name__})"


def _times(V: Array, _: slice, block: Array) -> Array:
    return block @ V


def _squares(V: Array, _: slice, block: Array) -> Array:
    image = block @ V
    return row_dots(image, image)


def _normal(V: Array, _: slice, block: Array) -> Array:
    return np.asarray(block.T @ (block @ V))


def _gram(_: slice, block: Array) -> Array:
    return block.T @ block


def _row_sums(_: slice, block: Array) -> Array:
    return np.asarray(np.abs(block).sum(axis=1))


def _whole(_: slice, block: Array) -> Array:
    return block


class _TimesRows:
    """(rows, X_k) ↦ X_kᵀ W_k; W (m, k), or its rows from `first` on. Picklable, so that a cluster can compute it."""

    def __init__(self, W: Any, first: int = 0) -> None:
        self.W, self.first = W, first

    def only(self, rows: slice) -> Self:
        return type(self)(self._own(rows), rows.start)

    def _own(self, rows: slice) -> Array:
        """W_k."""
        own: Array = self.W[rows.start - self.first : rows.stop - self.first]
        return own

    def __call__(self, rows: slice, block: Array) -> Array:
        return block.T @ self._own(rows)


class _Moments(_TimesRows):
    """(rows, X_k) ↦ [X_kᵀX_k, X_kᵀW_k] for W (m, c) dense or sparse by rows."""

    def __call__(self, rows: slice, block: Array) -> Array:
        return np.hstack([block.T @ block, (self._own(rows).T @ block).T])


class _WeightedGram(_TimesRows):
    """(rows, X_k) ↦ X_kᵀ diag(w_k) X_k for w (m,)."""

    def __call__(self, rows: slice, block: Array) -> Array:
        return block.T @ (self._own(rows)[:, None] * block)


class _Checked:
    """Applies `part` after checking the block for NaN and infinity."""

    def __init__(self, part: Part, name: str, columns: Sequence[str] | None) -> None:
        self.part, self.name, self.columns = part, name, columns

    def only(self, rows: slice) -> _Checked:
        return _Checked(only(self.part, rows), self.name, self.columns)

    def __call__(self, rows: slice, block: Array) -> Any:
        require_finite(block, self.name, self.columns)
        return self.part(rows, block)


def linear_map(data: Any, name: str = "A", *, owned: bool = False, checked: bool = False) -> LinearMap:
    """The :class:`LinearMap` for `data`: in memory, matrix-free, or read in blocks of rows (:class:`RowBlocks`).

    `owned`, `checked` : as for :class:`LinearMap`; a LinearMap is returned as it is.

    Raises InvalidInputError or InvalidTypeError if `data` is not a finite real matrix, or could only be loaded whole.
    """
    if isinstance(data, LinearMap):
        return data
    source = row_source(data, name)
    return LinearMap(data, name, owned=owned, checked=checked) if source is None else RowBlocks(source, name)
