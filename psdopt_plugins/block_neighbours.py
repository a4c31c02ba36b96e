"""Exact nearest rows among rows that are read in blocks: a block of queries is compared with every block in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg import Array, RowBlocks, row_dots
from psdopt_plugins.limits import BLOCK

Rows = NDArray[np.intp]
#: Additional candidates whose distances are recomputed from differences, since products lose digits.
SPARE = 4
#: Kinds of neighbours: those of the query's own class, those of other classes, or all.
SAME, OTHER, ANY = "same", "other", "any"


def nearest_rows(
    data: RowBlocks, codes: Rows, count: int, kinds: Sequence[str], queries: Rows | None = None
) -> list[Rows]:
    """For each kind the `count` rows of X (m, d) nearest to each query, by Euclidean distance, (q, count).

    codes : class of each row, (m,). kinds : of SAME, OTHER, ANY. queries : rows of X (q,); None is all. A row is not
    its own neighbour; of rows at equal distance the first counts; missing neighbours are -1.

    Exact. O(q m d) flops in ⌈q / block⌉ passes, computed by the workers of the source; memory: two blocks.
    """
    wanted = np.arange(data.shape[0]) if queries is None else queries
    found = [np.empty((len(wanted), count), dtype=np.intp) for _ in kinds]
    for start in range(0, len(wanted), data.source.block):
        own = wanted[start : start + data.source.block]
        best = [(np.full((len(own), count), np.inf), np.full((len(own), count), -1)) for _ in kinds]
        for _, parts in data.parts(_Nearest(data.take(own), own, codes[own], codes, count, tuple(kinds))):
            best = [_merged(*pair, count) for pair in zip(best, parts, strict=True)]
        for all_rows, (_, rows) in zip(found, best, strict=True):
            all_rows[start : start + len(own)] = rows
    return found


class _Nearest:
    """(rows, X_k) ↦ for each kind (squared distances, rows) (q, c) of the nearest to each query in this block."""

    def __init__(
        self, Q: Array, own: Rows, mine: Rows, codes: Rows, count: int, kinds: tuple[str, ...], first: int = 0
    ) -> None:
        self.Q, self.own, self.mine, self.codes, self.count, self.kinds = Q, own, mine, codes, count, kinds
        self.first = first

    def only(self, rows: slice) -> _Nearest:
        codes = self.codes[rows.start - self.first : rows.stop - self.first]
        return _Nearest(self.Q, self.own, self.mine, codes, self.count, self.kinds, rows.start)

    def __call__(self, rows: slice, block: Array) -> list[tuple[Array, Rows]]:
        codes = self.codes[rows.start - self.first : rows.stop - self.first]
        size = max(1, BLOCK // len(block))
        chunks = [self._chunk(slice(s, s + size), rows, block, codes) for s in range(0, len(self.Q), size)]
        found = []
        for kind in zip(*chunks, strict=True):
            squared, nearest = zip(*kind, strict=True)
            found.append((np.concatenate(squared), np.concatenate(nearest)))
        return found

    def _chunk(self, chosen: slice, rows: slice, block: Array, codes: Rows) -> list[tuple[Array, Rows]]:
        Q, own = self.Q[chosen], self.own[chosen]
        center = block.mean(axis=0)
        left, right = Q - center, block - center
        squared = row_dots(left, left)[:, None] - 2.0 * (left @ right.T) + row_dots(right, right)
        inside = (own >= rows.start) & (own < rows.stop)
        squared[np.flatnonzero(inside), own[inside] - rows.start] = np.inf
        same = self.mine[chosen][:, None] == codes
        found = []
        for kind in self.kinds:
            allowed = squared if kind == ANY else np.where(same == (kind == SAME), squared, np.inf)
            found.append(_selected(Q, block, allowed, self.count, rows.start))
        return found


def _selected(Q: Array, block: Array, squared: Array, count: int, start: int) -> tuple[Array, Rows]:
    """The `count` nearest of a block; distances of the candidates are computed from differences."""
    kept = min(count + SPARE, len(block))
    candidates = np.argpartition(squared, kept - 1, axis=1)[:, :kept]
    far = ~np.isfinite(np.take_along_axis(squared, candidates, axis=1))
    exact = np.empty(candidates.shape)
    for k in range(kept):
        difference = Q - block[candidates[:, k]]
        exact[:, k] = row_dots(difference, difference)
    exact[far] = np.inf
    return _sorted(exact, np.where(far, -1, candidates + start), count)


def _merged(one: tuple[Array, Rows], other: tuple[Array, Rows], count: int) -> tuple[Array, Rows]:
    return _sorted(np.concatenate([one[0], other[0]], axis=1), np.concatenate([one[1], other[1]], axis=1), count)


def _sorted(squared: Array, rows: Any, count: int) -> tuple[Array, Rows]:
    order = np.lexsort((rows, squared), axis=1)[:, :count]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(rows, order, axis=1)
