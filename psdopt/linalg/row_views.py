"""Views of rows that are read in blocks: without some of the rows, or transformed. Nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.row_sources import DaskRows, RowSource, require_finite


class WithoutRows(RowSource):
    """All rows of `source` but those in `left_out` (k,), such as a test sample; InvalidInputError if none is left."""

    def __init__(self, source: RowSource, left_out: Any) -> None:
        self.source, self.name = source, source.name
        kept = np.ones(source.shape[0], dtype=bool)
        kept[np.asarray(left_out, dtype=np.intp)] = False
        self.kept = np.flatnonzero(kept)
        if len(self.kept) == 0:
            raise InvalidInputError(f"{self.name} must keep at least one row; found none")
        self.shape = (len(self.kept), source.shape[1])

    def read(self, start: int, stop: int) -> Array:
        rows = self.kept[start:stop]
        first = int(rows[0])
        return np.asarray(self.source.read(first, int(rows[-1]) + 1)[rows - first])


class Standardized(RowSource):
    """(x − mean) / scale of each row x of `source`, for mean and scale (d,)."""

    def __init__(self, source: RowSource, mean: Array, scale: Array) -> None:
        self.source, self.name, self.shape = source, source.name, source.shape
        self.mean, self.scale = mean, scale

    def read(self, start: int, stop: int) -> Array:
        return np.asarray((self.source.read(start, stop) - self.mean) / self.scale)


class Transformed(RowSource):
    """(x − mean) B of each row x of `source`, for mean (d,) and B (d, k); None stands for mean 0, and for B = I."""

    def __init__(self, source: RowSource, mean: Array | None = None, basis: Array | None = None) -> None:
        self.source, self.name, self.mean, self.basis = source, source.name, mean, basis
        self.shape = source.shape if basis is None else (source.shape[0], basis.shape[1])

    def read(self, start: int, stop: int) -> Array:
        rows = self.source.read(start, stop)
        rows = rows if self.mean is None else rows - self.mean
        return rows if self.basis is None else rows @ self.basis


def transformed(source: RowSource, mean: Array | None = None, basis: Array | None = None) -> RowSource:
    """:class:`Transformed` rows. For a Dask array they are a Dask array again, so that Dask's workers compute sums."""
    if not isinstance(source, DaskRows):
        return Transformed(source, mean, basis)
    rows = source.data.astype(np.float64)
    rows = rows if mean is None else rows - mean
    return DaskRows(rows if basis is None else rows @ basis, source.name)


class WithConstant(RowSource):
    """Each row of `source` with a 1 at its end."""

    def __init__(self, source: RowSource) -> None:
        self.source, self.name, self.shape = source, source.name, (source.shape[0], source.shape[1] + 1)

    def read(self, start: int, stop: int) -> Array:
        return np.column_stack([self.source.read(start, stop), np.ones(stop - start)])


def mean_and_scale(source: RowSource) -> tuple[Array, Array]:
    """Mean and standard deviation (d,) of the columns, with 1 instead of a deviation of 0: one pass over blocks.

    Raises InvalidInputError for NaN and infinity if this is the first pass.
    """
    count, mean, squares = 0, np.zeros(source.shape[1]), np.zeros(source.shape[1])
    for _, block in source.blocks():
        require_finite(block, source.name, source.columns)
        k, own = len(block), block.mean(axis=0)
        squares += ((block - own) ** 2).sum(axis=0) + (own - mean) ** 2 * (count * k / (count + k))
        mean += (own - mean) * (k / (count + k))
        count += k
    deviation = np.sqrt(squares / count)
    return mean, np.where(deviation > 0.0, deviation, 1.0)
