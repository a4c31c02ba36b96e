"""Sums over groups of rows on a device, by gathers: the array API standard has neither sparse arrays nor scatter.

The members of a group are split into chunks of one width, about log₂ of the mean size of a group. So many gathers, each
of one row per chunk, give the sums of the chunks; these are summed in the same way until each group has one chunk. The
order of summation is the same in every run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.array import DeviceArray
from psdopt.devices.library import Device

Indices = NDArray[np.intp]


class GroupSums:
    """values ↦ their sums over groups, (size,) or (size, k). Members are sorted once, on construction.

    Parameters
    ----------
    keys : the group of each member (p,), integers below `size`. device : that of values and sums.
    """

    def __init__(self, keys: Indices, size: int, device: Device) -> None:
        self.device = device
        members, counts = np.argsort(keys, kind="stable"), np.bincount(keys, minlength=size)
        # wide chunks need more gathers, narrow ones more sums of chunks
        width = max((len(keys) // max(size, 1)).bit_length(), 2)
        #: Members of each chunk, width × (chunks,), padded with p for absent ones; then chunks of chunks of each.
        self.levels: list[list[Any]] = []
        while not self.levels or counts.max(initial=1) > 1:
            table, counts = _chunked(members, counts, width)
            self.levels.append([device.send(column, np.int64) for column in table.T])
            members = np.arange(len(table))

    def __call__(self, values: DeviceArray) -> DeviceArray:
        """Sums of values (p,) over the groups."""
        return DeviceArray(self.summed(self._rows(values.raw)), self.device)

    def padded(self, values: Any) -> Any:
        """Raw values (p,) or (p, k) with a zero row for the absent member."""
        return self.device.xp.concat([values, self.device.full((1, *values.shape[1:]), 0.0)])

    def summed(self, term: Callable[[Any], Any]) -> Any:
        """Sums over the groups of term(chosen), raw rows for raw numbers of members; row p must be zero."""
        total = None
        for columns in self.levels:
            total = reduce(operator.add, map(term if total is None else self._rows(total), columns))
        return total

    def _rows(self, values: Any) -> Callable[[Any], Any]:
        return partial(self.device.xp.take, self.padded(values), axis=0)


class PairSums:
    """w (p,) ↦ Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) (n, n) on a device, for index pairs (i_t, j_t)."""

    def __init__(self, i: Indices, j: Indices, n: int, device: Device) -> None:
        self.sums, self.device, self.n = GroupSums(np.concatenate([i, j]), n, device), device, n
        # the absent member gets a neighbour with weight zero
        self.neighbours = device.send(np.concatenate([j, i, [0]]), np.int64)

    def __call__(self, w: DeviceArray) -> PairSum:
        xp = self.device.xp
        return PairSum(self, self.sums.padded(xp.concat([w.raw, w.raw])))


class PairSum:
    """The matrix of :class:`PairSums` for one w; offers products and row sums only."""

    def __init__(self, pairs: PairSums, weights: Any) -> None:
        self.pairs, self.weights, self.shape = pairs, weights, (pairs.n, pairs.n)

    def __matmul__(self, Z: DeviceArray) -> DeviceArray:
        xp, neighbours = Z.device.xp, self.pairs.neighbours

        def term(chosen: Any) -> Any:
            rows = xp.take(Z.raw, xp.take(neighbours, chosen), axis=0)
            return xp.take(self.weights, chosen)[:, None] * rows

        return DeviceArray(self.pairs.sums.summed(term), Z.device)

    def sum(self, axis: int) -> DeviceArray:
        """Sums of the rows (n,); those of the columns are the same."""
        xp = self.pairs.device.xp
        return DeviceArray(self.pairs.sums.summed(lambda chosen: xp.take(self.weights, chosen)), self.pairs.device)


def _chunked(members: Indices, counts: Indices, width: int) -> tuple[Indices, Indices]:
    """(members of each chunk (chunks, width), chunks of each group) for members listed group by group.

    An empty group has one chunk of absent members.
    """
    chunks = np.maximum(-(-counts // width), 1)
    first = np.concatenate([[0], np.cumsum(chunks)[:-1]]) * width
    table = np.full(int(chunks.sum()) * width, len(members), dtype=np.intp)
    within = np.arange(len(members)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[np.repeat(first, counts) + within] = members
    return table.reshape(-1, width), chunks
