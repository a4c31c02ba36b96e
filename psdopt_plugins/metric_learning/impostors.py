"""Triplets that can matter: target neighbours once, impostors anew as the metric moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, row_dots

Indices = NDArray[np.intp]
#: Distances held at a time while looking for impostors (8 bytes each).
BLOCK_ENTRIES = 2_000_000


def target_neighbours(X: Any, y: NDArray[Any], n_neighbors: int) -> Indices:
    """Rows (i, j): j among the `n_neighbors` nearest samples of i's class, by Euclidean distance.

    Classes with fewer samples give what they have. Raises InvalidInputError if no class has two samples.
    """
    rows = []
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        if len(own) < 2:
            continue
        count = min(n_neighbors, len(own) - 1)
        found = NearestNeighbors(n_neighbors=count).fit(X[own]).kneighbors(return_distance=False)
        rows.append(np.column_stack([np.repeat(own, count), own[found.ravel()]]))
    if not rows:
        raise InvalidInputError("y must hold a class with at least 2 samples; found none")
    return np.concatenate(rows).astype(np.intp)


def violated_triplets(
    Z: Array, y: NDArray[Any], targets: Indices, margin: float = 1.0, limit: int = 2_000_000
) -> tuple[Indices, Array]:
    """(rows, excess): all rows (i, j, k), (i, j) in `targets`, y_k ≠ y_i, whose excess is positive.

    excess = |z_i − z_j|² + margin − |z_i − z_k|².

    Z (m, r): samples under the metric, d_M(i, j) = |z_i − z_j|². Distances are computed class by class in blocks, so
    that memory is bounded by `limit` rows and one block, whatever m; O(m² r) flops. Of more than `limit` triplets the
    most violated are kept (their number is cut block by block).
    """
    near = row_dots(Z[targets[:, 0]] - Z[targets[:, 1]], Z[targets[:, 0]] - Z[targets[:, 1]])
    order = np.argsort(targets[:, 0], kind="stable")
    pairs, near = targets[order], near[order]
    first = np.searchsorted(pairs[:, 0], np.arange(len(y) + 1))
    radius = np.zeros(len(y))
    np.maximum.at(radius, pairs[:, 0], near + margin)
    squares = row_dots(Z, Z)
    found: list[Indices] = []
    excess: list[Array] = []
    total = 0
    for label in np.unique(y):
        own, others = np.flatnonzero((y == label) & (radius > 0.0)), np.flatnonzero(y != label)
        if len(own) == 0 or len(others) == 0:
            continue
        size = max(1, BLOCK_ENTRIES // len(others))
        for block in (own[s : s + size] for s in range(0, len(own), size)):
            d = Z[block] @ Z[others].T
            d *= -2.0
            d += squares[others]
            d += squares[block][:, None]
            a, b = np.nonzero(d < radius[block][:, None])
            rows, gaps = _expanded(block[a], others[b], d[a, b], pairs, near, first, margin)
            found.append(rows)
            excess.append(gaps)
            total += len(rows)
            if total > limit:
                rows, gaps = np.concatenate(found), np.concatenate(excess)
                keep = np.sort(np.argpartition(-gaps, limit - 1)[:limit])
                found, excess, total = [rows[keep]], [gaps[keep]], limit
    if not found:
        return np.empty((0, 3), dtype=np.intp), np.empty(0)
    return np.concatenate(found), np.concatenate(excess)


def nearest_impostors(Z: Array, y: NDArray[Any], targets: Indices, count: int) -> Indices:
    """Rows (i, j, k) for all (i, j) in `targets` and the `count` samples k of other classes that are nearest to i.

    Chosen by rank, not by margin, so that they do not depend on the scale of the metric, which is wrong at first.
    """
    order = np.argsort(targets[:, 0], kind="stable")
    pairs = targets[order]
    first = np.searchsorted(pairs[:, 0], np.arange(len(y) + 1))
    squares = row_dots(Z, Z)
    found: list[Indices] = []
    for label in np.unique(y):
        own = np.flatnonzero((y == label) & (np.diff(first) > 0))
        others = np.flatnonzero(y != label)
        kept = min(count, len(others))
        size = max(1, BLOCK_ENTRIES // max(len(others), 1))
        for block in (own[s : s + size] for s in range(0, len(own), size)):
            d = Z[block] @ Z[others].T
            d *= -2.0
            d += squares[others]
            near = np.argpartition(d, kept - 1, axis=1)[:, :kept] if kept < len(others) else np.tile(
                np.arange(len(others)), (len(block), 1)
            )  # fmt: skip
            i, k = np.repeat(block, kept), others[near.ravel()]
            source, pair = _with_targets(i, first)
            found.append(np.column_stack([i[source], pairs[pair, 1], k[source]]))
    return np.concatenate(found) if found else np.empty((0, 3), dtype=np.intp)


def _with_targets(i: Indices, first: Indices) -> tuple[Indices, Indices]:
    """Positions in `i` and of pairs: every entry of `i` with each of its targets."""
    counts = first[i + 1] - first[i]
    source = np.repeat(np.arange(len(i)), counts)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    return source, first[i[source]] + offset


def _expanded(
    i: Indices, k: Indices, far: Array, pairs: Indices, near: Array, first: Indices, margin: float
) -> tuple[Indices, Array]:
    """Triplets of every close (i, k) with each target of i whose margin k violates, and by how much."""
    source, pair = _with_targets(i, first)
    excess = near[pair] + margin - far[source]
    keep = excess > 0.0
    rows = np.column_stack([i[source[keep]], pairs[pair[keep], 1], k[source[keep]]])
    return rows, excess[keep]


def merged(old: Indices, new: Indices, m: int) -> Indices:
    """Rows of either, each once."""
    if len(old) == 0:
        return new
    both = np.concatenate([old, new])
    code = (both[:, 0] * m + both[:, 1]) * m + both[:, 2]
    return both[np.unique(code, return_index=True)[1]]
