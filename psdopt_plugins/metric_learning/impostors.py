"""Triplets that can matter: target neighbours once, impostors anew as the metric moves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, pair_dots, row_dots

Indices = NDArray[np.intp]
#: Distances held at a time while looking for impostors: few enough to stay in the processor's cache.
BLOCK_ENTRIES = 2**18
#: Samples up to which a class is searched by a tree, in one thread.
SMALL_CLASS = 500
SINGLE = float(np.finfo(np.float32).eps)


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
        # threads that wait for each other cost more than a small class does
        algorithm = "ball_tree" if len(own) <= SMALL_CLASS and not sp.issparse(X) else "auto"
        found = NearestNeighbors(n_neighbors=count, algorithm=algorithm).fit(X[own]).kneighbors(return_distance=False)
        rows.append(np.column_stack([np.repeat(own, count), own[found.ravel()]]))
    if not rows:
        raise InvalidInputError("y must hold a class with at least 2 samples; found none")
    return np.concatenate(rows).astype(np.intp)


def violated_triplets(
    Z: Array, y: NDArray[Any], targets: Indices, margin: float = 1.0, limit: int = 2_000_000
) -> tuple[Indices, Array]:
    """(rows, excess): all rows (i, j, k), (i, j) in `targets`, y_k ≠ y_i, whose excess is positive.

    excess = |z_i − z_j|² + margin − |z_i − z_k|²; an infinite margin asks for all triplets.

    Z (m, r): samples under the metric, d_M(i, j) = |z_i − z_j|². Distances are computed class by class in blocks, so
    that memory is bounded by `limit` rows and one block, whatever m; O(m² r) flops. Of more than `limit` triplets the
    most violated are kept (their number is cut block by block).

    Blocks are formed in single precision, with a slack that covers their rounding; what they let pass is looked at in
    double precision.
    """
    Z = Z - Z.mean(axis=0)
    order = np.argsort(targets[:, 0], kind="stable")
    pairs = targets[order]
    difference = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    near = row_dots(difference, difference)
    first = np.searchsorted(pairs[:, 0], np.arange(len(y) + 1))
    radius = np.full(len(y), -np.inf)
    np.maximum.at(radius, pairs[:, 0], near + margin)
    squares = row_dots(Z, Z)
    unit = float(squares.max()) or 1.0
    # |z_k|² − 2⟨z_i, z_k⟩ < reach_i in units of the largest |z|², where neither side can overflow: one product
    reach = ((radius - squares) / unit + 6.0 * (Z.shape[1] + 4) * SINGLE).astype(np.float32)
    small = (Z / math.sqrt(unit)).astype(np.float32)
    left = np.column_stack([-2.0 * small, np.ones(len(Z), dtype=np.float32)])
    right = np.column_stack([small, squares / unit]).astype(np.float32).T
    found: list[Indices] = []
    excess: list[Array] = []
    total = 0
    for label in np.unique(y):
        own, others = np.flatnonzero((y == label) & (radius > 0.0)), np.flatnonzero(y != label)
        if len(own) == 0 or len(others) == 0:
            continue
        opposite = np.ascontiguousarray(right[:, others])
        size = max(1, BLOCK_ENTRIES // len(others))
        for block in (own[s : s + size] for s in range(0, len(own), size)):
            close = np.flatnonzero(left[block] @ opposite < reach[block][:, None])
            i, k = block[close // len(others)], others[close % len(others)]
            rows, gaps = _expanded(i, k, pair_dots(i, k, Z, Z), pairs, near, first, margin)
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
