"""Choosing pairs and triplets from labelled samples: the nearest ones, or some at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from psdopt.checks import integer
from psdopt.errors import InvalidInputError
from psdopt.linalg import RowBlocks
from psdopt_plugins.block_neighbours import OTHER, SAME, nearest_rows
from psdopt_plugins.limits import FACTOR_ORDER
from psdopt_plugins.pairs import Pairs, pair_codes, pairs_of


def nearest_pairs(X: Any, y: NDArray[Any], n_neighbors: int) -> tuple[Pairs, Pairs]:
    """Each sample with its `n_neighbors` nearest of the same class, and of the other classes.

    Returns (similar, dissimilar), (p, 2) and (q, 2). Fewer where a class is too small; y (m,) with at
    least two classes. Exact Euclidean neighbours of X (m, d), dense, sparse, or read in blocks; up to O(m² d) time,
    O(m) memory beyond X.

    Raises InvalidInputError unless n_neighbors >= 1.
    """
    count = integer(n_neighbors, "n_neighbors")
    if isinstance(X, RowBlocks):
        codes = np.unique(y, return_inverse=True)[1]
        same, other = nearest_rows(X, codes, min(count, len(y) - 1), (SAME, OTHER))
        return known_pairs(same), known_pairs(other)
    dissimilar = [np.empty((0, 2), dtype=np.intp)]
    for label in np.unique(y):
        own, others = np.flatnonzero(y == label), np.flatnonzero(y != label)
        if len(others):
            found = NearestNeighbors(n_neighbors=min(count, len(others))).fit(X[others])
            dissimilar.append(_each_with(own, others[found.kneighbors(X[own], return_distance=False)]))
    return nearest_similar(X, y, count), np.concatenate(dissimilar)


def nearest_similar(X: Any, y: NDArray[Any], count: int) -> Pairs:
    """(i, j) for every sample i and its `count` nearest of the same class, (p, 2); fewer where the class is too small.

    X (m, d) and neighbours as in :func:`nearest_pairs`.
    """
    if isinstance(X, RowBlocks):
        codes = np.unique(y, return_inverse=True)[1]
        return known_pairs(nearest_rows(X, codes, min(count, len(y) - 1), (SAME,))[0])
    similar = [np.empty((0, 2), dtype=np.intp)]
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        if len(own) > 1:
            found = NearestNeighbors(n_neighbors=min(count, len(own) - 1)).fit(X[own])
            similar.append(_each_with(own, own[found.kneighbors(return_distance=False)]))
    return np.concatenate(similar)


def nearest_triplets(X: Any, y: NDArray[Any], n_neighbors: int = 1) -> Pairs:
    """(i, j, k) for every sample i, j among its `n_neighbors` nearest of its class, k among those of other classes.

    Shen et al. (section 6) take one of each. Samples that are alone in their class give no triplet. O(N n_neighbors²)
    triplets; exact Euclidean neighbours of X (N, d), dense or sparse.

    Raises InvalidInputError unless n_neighbors >= 1, or if no triplet arises: one class only, or every class of
    one sample.
    """
    similar, dissimilar = nearest_pairs(X, y, n_neighbors)
    if len(similar) == 0 or len(dissimilar) == 0:
        found = f"{len(np.unique(y))} class(es) among {len(y)} samples"
        raise InvalidInputError(f"y must hold at least 2 classes, one of them with 2 samples; found {found}")
    dissimilar = dissimilar[np.argsort(dissimilar[:, 0], kind="stable")]
    counts = np.bincount(dissimilar[:, 0], minlength=len(y))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    repeats = counts[similar[:, 0]]
    base = np.repeat(similar, repeats, axis=0)
    offset = np.arange(len(base)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    others = dissimilar[starts[base[:, 0]] + offset, 1]
    triplets: Pairs = np.column_stack([base, others])
    return triplets


def random_pairs(
    n: int, wanted: int, rng: np.random.Generator, codes: NDArray[np.intp] | None = None, same: bool = True
) -> Pairs:
    """`wanted` pairs i < j of n samples, each pair once, uniformly among all candidates; (p, 2), ascending.

    codes : class of each sample as a number from 0, (n,): candidates are then the pairs within one class (`same`), or
        between two; without codes, all pairs. p < `wanted` if there are fewer candidates.

    O(wanted) expected; O(n²) where the candidates are few and n is at most 3000.
    """
    candidates = n * (n - 1) // 2
    if codes is not None:
        sizes = np.bincount(codes)
        within = int(np.sum(sizes * (sizes - 1)) // 2)
        candidates = within if same else candidates - within
    wanted = min(wanted, candidates)
    if (2 * wanted > candidates or candidates < 4 * n) and n <= FACTOR_ORDER:
        i, j = np.triu_indices(n, 1)
        listed = np.arange(len(i)) if codes is None else np.flatnonzero((codes[i] == codes[j]) == same)
        chosen = np.sort(rng.choice(listed, wanted, replace=False))
        return np.column_stack([i[chosen], j[chosen]]).astype(np.intp)
    found = np.empty(0, dtype=np.intp)
    while len(found) < wanted:
        i, j = rng.integers(n, size=(2, 4 * wanted + 16))
        good = i != j if codes is None else (i != j) & ((codes[i] == codes[j]) == same)
        found = np.unique(np.concatenate([found, pair_codes(np.column_stack([i[good], j[good]]), n)]))
    return pairs_of(np.sort(rng.choice(found, wanted, replace=False)), n)


def known_pairs(neighbours: Pairs) -> Pairs:
    """(i, j) for every j >= 0 in row i of `neighbours` (m, k), ascending in i."""
    i, k = np.nonzero(neighbours >= 0)
    return np.column_stack([i, neighbours[i, k]])


def _each_with(samples: Pairs, neighbours: Pairs) -> Pairs:
    return np.column_stack([np.repeat(samples, neighbours.shape[1]), neighbours.ravel()])
