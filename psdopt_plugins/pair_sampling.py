"""Choosing pairs and triplets from labelled samples: the nearest ones, or some at random; must-links among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets

from psdopt.checks import classes, finite, integer, real_array, weight
from psdopt.errors import InvalidInputError
from psdopt.linalg import RowBlocks
from psdopt_plugins.block_neighbours import OTHER, SAME, nearest_rows
from psdopt_plugins.estimators import of_one_kind
from psdopt_plugins.limits import FACTOR_ORDER
from psdopt_plugins.pairs import Pairs, named_pairs, pair_codes, pairs_of


def nearest_pairs(X: Any, y: NDArray[Any], n_neighbors: int) -> tuple[Pairs, Pairs]:
    """Each sample with its `n_neighbors` nearest of the same class, and of the other classes.

    Returns (similar, dissimilar), (p, 2) and (q, 2). Fewer where a class is too small; y (m,) with at
    least two classes. Exact Euclidean neighbours of X (m, d), dense, sparse, or read in blocks; up to O(m² d) time,
    O(m) memory beyond X.

    Raises InvalidInputError unless n_neighbors >= 1, or for labels of one class.
    """
    classes(y)
    similar, dissimilar = nearest_of_kinds(X, y, integer(n_neighbors, "n_neighbors"), (SAME, OTHER))
    return similar, dissimilar


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
    first = np.searchsorted(dissimilar[:, 0], np.arange(len(y) + 1))
    source, place = each_with_its(similar[:, 0], first)
    triplets: Pairs = np.column_stack([similar[source], dissimilar[place, 1]])
    return triplets


def drawn_samples(m: int, max_samples: int, kept: NDArray[np.intp] | None = None) -> NDArray[np.intp] | None:
    """At most `max_samples` of m samples, ascending, drawn with a fixed seed; `kept` ones first; None for all.

    A fit then proves its result for the samples drawn. Raises InvalidInputError unless max_samples >= 1.
    """
    most = integer(max_samples, "max_samples")
    if m <= most:
        return None
    order = np.random.default_rng(0).permutation(m)
    if kept is not None:
        order = order[np.argsort(~np.isin(order, kept), kind="stable")]
    return np.sort(order[:most])


@contextmanager
def labels_of_drawn(y: NDArray[Any], rows: NDArray[np.intp] | None) -> Iterator[None]:
    """An InvalidInputError within names `max_samples` if y has two classes, one of them of two samples, y[rows] not.

    rows : as :func:`drawn_samples` returns them.
    """
    try:
        yield
    except InvalidInputError as error:
        if rows is None or _can_teach(y[rows]) or not _can_teach(y):
            raise
        raise InvalidInputError(
            f"max_samples must be large enough for the labels of the samples drawn; found {len(rows)} of {len(y)} "
            f"samples, and for these {error}"
        ) from error


def _can_teach(y: NDArray[Any]) -> bool:
    sizes = np.unique(y, return_counts=True)[1]
    return len(sizes) > 1 and sizes.max() > 1


@dataclass(frozen=True)
class FromSample:
    """(X, y) ↦ the tuples that `find` (X, y) makes of at most `max_samples` of the rows, as rows of X.

    find : such as :func:`nearest_pairs` or :func:`nearest_triplets`. Rows that are read in blocks are loaded if drawn.
    """

    find: Callable[[Any, NDArray[Any]], Any]
    max_samples: int

    def __call__(self, X: Any, y: NDArray[Any]) -> Any:
        rows = drawn_samples(X.shape[0], self.max_samples)
        if rows is None:
            return self.find(X, y)
        with labels_of_drawn(y, rows):
            found = self.find(rows_of(X, rows), y[rows])
        return tuple(rows[tuples] for tuples in found) if isinstance(found, tuple) else rows[found]


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """X[rows], in memory."""
    return X.take(rows) if isinstance(X, RowBlocks) else X[rows]


def each_with_its(owners: NDArray[Any], first: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positions in `owners` and in a list: each owner i with all of i's entries, first[i] to first[i + 1] − 1."""
    counts = first[owners + 1] - first[owners]
    source = np.repeat(np.arange(len(owners)), counts)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    return source, first[owners[source]] + offset


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


def nearest_of_kinds(X: Any, y: NDArray[Any], count: int, kinds: tuple[str, ...]) -> list[Pairs]:
    """For each of `kinds`, SAME or OTHER, the pairs (i, j) of each sample i and its `count` nearest of that kind.

    X, y and neighbours as in :func:`nearest_pairs`.
    """
    codes = np.unique(y, return_inverse=True)[1]
    if isinstance(X, RowBlocks):
        found = nearest_rows(X, codes, min(count, len(y) - 1), kinds)
        return [np.column_stack([i, rows[i, k]]) for rows in found for i, k in [np.nonzero(rows >= 0)]]
    pairs = {kind: [np.empty((0, 2), dtype=np.intp)] for kind in kinds}
    for code in range(codes.max() + 1):
        own = np.flatnonzero(codes == code)
        for kind in kinds:
            among = own if kind == SAME else np.flatnonzero(codes != code)
            most = min(count, len(among) - (kind == SAME))
            if most > 0:
                search = NearestNeighbors(n_neighbors=most).fit(X[among])
                near = search.kneighbors(None if kind == SAME else X[own], return_distance=False)
                pairs[kind].append(np.column_stack([np.repeat(own, most), among[near].ravel()]))
    return [np.concatenate(pairs[kind]) for kind in kinds]


def sampled_pairs(y: Any, fraction: float, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """round(fraction · n) pairs of one class and as many of two classes, each pair once (Hu & Kwok, section 4).

    Uniform over the pairs of each kind, or all of them if there are fewer. y (n,) labels. O(n) expected.

    Raises InvalidInputError unless fraction >= 0.
    """
    share = weight(fraction, "n_pairs")
    codes = np.unique(real_array(y, "y"), return_inverse=True)[1].ravel()
    wanted = round(share * len(codes))
    return random_pairs(len(codes), wanted, rng, codes, True), random_pairs(len(codes), wanted, rng, codes, False)


def check_consistent(must: Pairs, cannot: Pairs, n: int) -> None:
    """InvalidInputError, naming pairs, if a pair is in both lists or a chain of must-links joins a cannot-link."""
    if len(must) == 0 or len(cannot) == 0:
        return
    both = np.intersect1d(pair_codes(must, n), pair_codes(cannot, n))
    if len(both):
        found = named_pairs(both, n)
        raise InvalidInputError(f"must_link and cannot_link contradict each other; found in both: {found}")
    edges = sp.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    component = connected_components(edges, directed=False)[1]
    broken = component[cannot[:, 0]] == component[cannot[:, 1]]
    if np.any(broken):
        raise InvalidInputError(
            "must_link and cannot_link contradict each other; found cannot-links between samples that must-links "
            f"join through others: {named_pairs(pair_codes(cannot[broken], n), n)}"
        )


def checked_labels(y: Any, n: int) -> NDArray[Any]:
    """y as class labels (n,); InvalidInputError for another count, several kinds and NaN, ValueError for fractions."""
    of_one_kind(y)
    labels = real_array(y, "y").ravel()
    if labels.shape != (n,):
        raise InvalidInputError(f"y must hold one label per sample, shape ({n},); found {labels.shape}")
    if labels.dtype.kind == "f":
        finite(labels, "y")
    check_classification_targets(labels)
    return labels
