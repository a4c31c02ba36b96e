"""Triplets that can be active: target neighbours, found once, and impostors, found again as the metric changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, pair_dots, row_dots
from psdopt_plugins.block_neighbours import SAME
from psdopt_plugins.limits import BLOCK, CACHED
from psdopt_plugins.pair_sampling import each_with_its, nearest_of_kinds

Indices = NDArray[np.signedinteger[Any]]
SINGLE = float(np.finfo(np.float32).eps)


def target_neighbours(X: Any, y: NDArray[Any], n_neighbors: int) -> Indices:
    """Rows (i, j): j among the `n_neighbors` nearest samples of i's class, by Euclidean distance.

    Samples of smaller classes have fewer targets. Raises InvalidInputError if no class has two samples.
    """
    rows = nearest_of_kinds(X, y, n_neighbors, (SAME,))[0]
    if not len(rows):
        raise InvalidInputError("y must hold a class with at least 2 samples; found none")
    return rows


def violated_triplets(
    Z: Array, y: NDArray[Any], targets: Indices, margin: float = 1.0, limit: int = 2_000_000
) -> tuple[Indices, Array]:
    """(rows, excess): all rows (i, j, k), (i, j) in `targets`, y_k ≠ y_i, whose excess is positive.

    excess = |z_i − z_j|² + margin − |z_i − z_k|²; an infinite margin gives all triplets.

    Z (m, r): samples under the metric, d_M(i, j) = |z_i − z_j|². Distances between two classes are computed once, in
    blocks, so that memory is bounded by `limit` rows and one block, whatever m; O(m² r) flops. If there are more than
    `limit` triplets, the most violated are kept (cut block by block).

    Blocks are formed in single precision, with a slack that covers their rounding; candidates are checked in double
    precision.
    """
    Z = Z - Z.mean(axis=0)
    pairs = targets[np.argsort(targets[:, 0], kind="stable")]
    near = pair_dots(pairs[:, 0], pairs[:, 1], Z, Z)
    first = np.searchsorted(pairs[:, 0], np.arange(len(y) + 1))
    radius = np.full(len(y), -np.inf)
    np.maximum.at(radius, pairs[:, 0], near + margin)
    found: list[Indices] = [np.empty((0, 3), dtype=np.int32)]
    excess: list[Array] = [np.empty(0)]
    total = 0
    for i, k in _gathered(_close_pairs(Z, y, radius), CACHED):
        far = pair_dots(i, k, Z, Z)
        for left, right in ((i, k), (k, i)):
            near_enough = np.flatnonzero(far < radius[left])
            rows, gaps = _expanded(left[near_enough], right[near_enough], far[near_enough], pairs, near, first, margin)
            found.append(rows)
            excess.append(gaps)
            total += len(rows)
        if total > limit:
            rows, gaps = np.concatenate(found), np.concatenate(excess)
            keep = np.sort(np.argpartition(-gaps, limit - 1)[:limit])
            found, excess, total = [rows[keep]], [gaps[keep]], limit
    return _emptied(found), _emptied(excess)


def _emptied(parts: list[Any]) -> Any:
    """The concatenation of `parts`, each of which is released once it is copied."""
    whole = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=parts[0].dtype)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def _close_pairs(Z: Array, y: NDArray[Any], radius: Array) -> Iterator[tuple[Indices, Indices]]:
    """Blocks (i, k) of pairs of two classes with |z_i − z_k|² < max(radius_i, radius_k), and a few more; Z centred."""
    order = np.argsort(y, kind="stable")
    squares = row_dots(Z, Z)
    unit = float(squares.max()) or 1.0
    # use units of the largest |z|², so that nothing overflows: |z_i|² − 2⟨z_i, z_k⟩ + |z_k|² is one product
    reach = (radius[order] / unit + 6.0 * (Z.shape[1] + 4) * SINGLE).astype(np.float32)
    right = np.empty((len(Z), Z.shape[1] + 2), dtype=np.float32)
    np.divide(Z[order], math.sqrt(unit), out=right[:, :-2], casting="same_kind")
    right[:, -2], right[:, -1] = 1.0, squares[order] / unit
    left = np.column_stack([-2.0 * right[:, :-2], right[:, -1], right[:, -2]])
    ends = np.searchsorted(y[order], np.unique(y), side="right")
    most = max(BLOCK, len(Z))
    buffers = [np.empty(most, dtype=kind) for kind in (np.float32, np.bool_, np.bool_)]
    for start, end in zip([0, *ends], ends[:-1], strict=False):
        width = len(Z) - end
        size = max(1, BLOCK // width)
        for s in range(start, end, size):
            block = slice(s, min(s + size, end))
            shape = (block.stop - s, width)
            squared, mine, theirs = (buffer[: shape[0] * width].reshape(shape) for buffer in buffers)
            np.matmul(left[block], right[end:].T, out=squared)
            np.less(squared, reach[block, None], out=mine)
            np.less(squared, reach[end:], out=theirs)
            i, k = np.divmod(np.flatnonzero(np.logical_or(mine, theirs, out=mine)), width)
            yield order[s + i], order[end + k]


def _gathered(blocks: Iterable[tuple[Indices, Indices]], size: int) -> Iterator[tuple[Indices, Indices]]:
    """The same pairs in blocks of at least `size`, except the last, to reduce the number of calls."""
    waiting, count = [np.empty((2, 0), dtype=np.intp)], 0
    for block in blocks:
        waiting.append(np.stack(block))
        count += len(block[0])
        if count >= size:
            i, k = np.concatenate(waiting, axis=1)
            yield i, k
            waiting, count = waiting[:1], 0
    i, k = np.concatenate(waiting, axis=1)
    yield i, k


def _expanded(
    i: Indices, k: Indices, far: Array, pairs: Indices, near: Array, first: Indices, margin: float
) -> tuple[Indices, Array]:
    """The triplets of every close (i, k) with each target of i whose margin k violates, and the violations."""
    source, pair = each_with_its(i, first)
    excess = near[pair] + margin - far[source]
    keep = excess > 0.0
    source, pair = source[keep], pair[keep]
    rows = np.empty((len(source), 3), dtype=np.int32)
    rows[:, 0], rows[:, 1], rows[:, 2] = i[source], pairs[pair, 1], k[source]
    return rows, excess[keep]


def merged(old: Indices, new: Indices, m: int) -> Indices:
    """Rows of either, each once."""
    if len(old) == 0:
        return new
    both = np.concatenate([old, new])
    code = (both[:, 0].astype(np.int64) * m + both[:, 1]) * m + both[:, 2]
    order = np.argsort(code)
    code = code[order]
    once: Indices = both[order[np.concatenate([[True], code[1:] != code[:-1]])]]
    return once
