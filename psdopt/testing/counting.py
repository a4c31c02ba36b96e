"""Independent counts of operator applications, against which a problem's or a geometry's own counts are held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.linalg.arrays import Array


class Counter:
    """`calls` products with a block, in either direction."""

    def __init__(self) -> None:
        self.calls = 0


class _CountedOperator(LinearOperator):
    """A matrix or operator whose products are counted, whatever its owner says."""

    def __init__(self, data: Any, counter: Counter) -> None:
        super().__init__(dtype=np.float64, shape=tuple(data.shape))  # type: ignore[call-arg]
        self._data, self._counter = data, counter

    def _matmat(self, V: Any) -> Any:
        self._counter.calls += 1
        return self._data @ V

    def _rmatmat(self, V: Any) -> Any:
        self._counter.calls += 1
        return self._data.T @ V

    _matvec, _rmatvec = _matmat, _rmatmat


@contextmanager
def counted_data(maps: Sequence[Any]) -> Iterator[Counter]:
    """Within the block, the data of every map are replaced by a counting wrapper; restored at its end."""
    counter = Counter()
    originals = [m.data for m in maps]
    try:
        for m in maps:
            m.data = _CountedOperator(m.data, counter)
        yield counter
    finally:
        for m, data in zip(maps, originals, strict=True):
            m.data = data


class OnlyMatmul:
    """S (n, n) with `shape`, `dtype` and ``@`` alone: no indexing, no transpose, no array. It counts its columns."""

    def __init__(self, S: Array) -> None:
        self.S, self.shape, self.dtype, self.columns = S, S.shape, S.dtype, 0

    def __matmul__(self, V: Array) -> Array:
        self.columns += 1 if V.ndim == 1 else V.shape[1]
        return np.asarray(self.S @ V)
