"""Diagonal blocks of one order, and where C and the A_t have entries in them: the one map from rows of M to blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Stack:
    """K diagonal blocks of order s.

    Attributes: `rows` (K, s), the rows of M of each block; `arrow`, whether C and every A_t have the form
    [[a, uᵀ], [u, a I]] on each of them, the row of a and u first; `held` (q,), the numbers of the places in these
    blocks; `block`, `i`, `j` (q,), the blocks k < K that they are in and where there, i <= j.
    """

    rows: Indices
    arrow: bool
    held: Indices
    block: Indices
    i: Indices
    j: Indices

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def order(self) -> int:
        """s."""
        return int(self.rows.shape[1])

    def __getitem__(self, which: Any) -> Stack:
        """The blocks of a slice, a mask or numbers."""
        rows, kept = self.rows[which], np.full(len(self), -1)
        kept[which] = np.arange(len(rows))
        block = kept[self.block]
        here = block >= 0
        return Stack(rows, self.arrow, self.held[here], block[here], self.i[here], self.j[here])

    def dense(self, entries: Any) -> Any:
        """The blocks (K, s, s) of the symmetric matrix with these `entries` (P,) at all places, in their type."""
        S = np.zeros((len(self), self.order, self.order), dtype=entries.dtype)
        S[self.block, self.i, self.j] = S[self.block, self.j, self.i] = entries[self.held]
        return S

    def first_rows(self, entries: Any) -> Any:
        """The first rows (K, s) of :meth:`dense`, all that there is of arrows."""
        u, first = np.zeros(self.rows.shape, dtype=entries.dtype), self.i == 0
        u[self.block[first], self.j[first]] = entries[self.held[first]]
        return u


#: No blocks, of order one.
NONE = Stack(np.zeros((0, 1), dtype=np.intp), False, *np.zeros((4, 0), dtype=np.intp))


def stacked(
    blocks: Sequence[Indices], n: int, i: NDArray[Any], j: NDArray[Any], hubs: Mapping[int, int] | None = None
) -> list[Stack]:
    """The blocks of one order together, by increasing order, with the places (i, j) that lie in them.

    `hubs` : the common rows of the blocks that are arrows, by the numbers of the blocks; arrows follow all others.
    """
    groups: dict[tuple[bool, int], list[Indices]] = {}
    for number, rows in enumerate(blocks):
        hub = None if hubs is None else hubs.get(number)
        ordered = rows if hub is None else np.append(hub, rows[rows != hub])
        groups.setdefault((hub is not None, len(rows)), []).append(ordered)
    kinds = [(np.array(groups[kind]), kind[0]) for kind in sorted(groups)]
    of, block, place = np.full((3, n), -1)
    for number, (rows, _) in enumerate(kinds):
        of[rows], block[rows], place[rows] = number, np.arange(len(rows))[:, None], np.arange(rows.shape[1])
    order, low, high = of[i].argsort(kind="stable"), np.minimum(place[i], place[j]), np.maximum(place[i], place[j])
    held = [order[a:b] for a, b in pairwise(of[i][order].searchsorted(np.arange(len(kinds) + 1)))]
    return [Stack(*kind, at, block[i[at]], low[at], high[at]) for kind, at in zip(kinds, held, strict=True)]
