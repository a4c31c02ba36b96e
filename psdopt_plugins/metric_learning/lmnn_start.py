"""The start of the large-margin active set: coordinates, target neighbours, principal axes, scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.sparsefuncs import mean_variance_axis

from psdopt.linalg import (
    Array,
    LinearMap,
    RowBlocks,
    as_dense,
    inner,
    mean_and_scale,
    minimize_smooth,
    pair_dots,
    transformed,
)
from psdopt.problems.distributed import touched
from psdopt.terms import SquaredHinge
from psdopt_plugins.block_neighbours import ANY, nearest_rows
from psdopt_plugins.limits import BLOCK, DENSE_ORDER, MINOR, SLIGHT, SPECTRUM_ORDER
from psdopt_plugins.metric_learning.impostors import Indices, target_neighbours
from psdopt_plugins.pairs import pair_laplacian
from psdopt_plugins.rows import ranges_of_features

#: Samples that vote on the metric in which targets are chosen.
VOTERS = 500
#: Number of random triplets from which sums over very many are estimated; about one in a hundred is violated.
DRAWN_TRIPLETS = 2**16
#: Tolerance of the derivative along the ray, relative to that at M = 0, where every triplet is violated; with 1e-3 the
#: start is so far off that more rounds are needed.
SCALE_ACCURACY = 1e-6


def can_be_whitened(X: Any) -> bool:
    """Whether X is dense and narrow enough for its scatter to be decomposed."""
    return not sp.issparse(X) and X.shape[1] <= SPECTRUM_ORDER


def units_of_features(X: Any, ranges: Array, varies: NDArray[np.bool_]) -> Array | None:
    """Standard deviations (d,) of the features of X (m, d), dense or sparse, if their ranges max − min are unlike.

    `ranges` and `varies` of :func:`psdopt_plugins.rows.ranges_of_features`. Ranges are unlike if the least is minor
    beside the largest; None otherwise. 1 for constant features.
    """
    if not varies.any() or MINOR * ranges[varies].max() <= ranges[varies].min():
        return None
    scaled_to_range = in_units(X, np.where(varies, ranges, 1.0))
    if isinstance(X, RowBlocks):
        return np.where(varies, ranges * mean_and_scale(scaled_to_range.source)[1], 1.0)
    variances = mean_variance_axis(scaled_to_range, 0)[1] if sp.issparse(X) else scaled_to_range.var(axis=0)
    return np.where(varies, ranges * np.sqrt(variances), 1.0)


def in_units(X: Any, units: Array) -> Any:
    """X (m, d) with its columns divided by `units` (d,), sparse if X is, read in blocks if X is."""
    if isinstance(X, RowBlocks):
        return in_basis(X, np.diag(1.0 / units))
    entries: Any = X
    return sp.csr_array(entries.multiply(1.0 / units)) if sp.issparse(X) else X / units


def targets_and_basis(X: Any, y: NDArray[Any], n_neighbors: int, metric: str) -> tuple[Indices, Array | None]:
    """Target neighbours (p, 2) of X (m, d) under `metric`, and the basis that whitens their scatter.

    "euclidean" is the distance of X as given, "whitened" that of X in the basis of its Euclidean targets; "auto" is the
    one under which fewer of VOTERS samples (drawn with a fixed seed) are misclassified by their nearest other samples,
    the Euclidean one unless the difference is significant. The basis is None if X cannot be whitened, or all
    targets coincide.
    """
    targets = target_neighbours(X, y, n_neighbors)
    basis = whitening(X, targets) if can_be_whitened(X) else None
    if basis is None or metric == "euclidean":
        return targets, basis
    white = in_basis(X, basis)
    if metric == "auto" and not _clearly_better(*(_misclassified(Z, y, n_neighbors) for Z in (white, X))):
        return targets, basis
    targets = target_neighbours(white, y, n_neighbors)
    return targets, whitening(X, targets)


def whitening(X: Array, targets: Indices) -> Array | None:
    """B (d, d) with Bᵀ (C + δ R²) B = I, C the mean scatter of target neighbours; None if C = 0.

    R is the diagonal matrix of the ranges max − min of the features, δ = SLIGHT tr(R⁻¹ C R⁻¹) / d: rescaled features
    give the same X B, and collinear ones do no harm. (Standard deviations would give rarely lit pixels too much
    weight.) Rows of B for constant features are 0. In these coordinates the sum of target distances is about the trace
    of M, which makes the problem well conditioned.
    """
    scatter = _scatter_in_blocks(X, targets) if isinstance(X, RowBlocks) else _scatter(X, targets)
    ranges = ranges_of_features(X)[0]
    inverse = np.divide(1.0, ranges, out=np.zeros_like(ranges), where=ranges > np.finfo(float).tiny)
    scatter *= inverse[:, None] / len(targets)
    scatter *= inverse
    values, vectors = np.linalg.eigh(scatter)
    values = np.maximum(values, 0.0)
    if not values[-1] > 0.0:
        return None
    vectors *= inverse[:, None]
    return np.asarray(vectors / np.sqrt(values + SLIGHT * values.mean()))


def _scatter(X: Array, targets: Indices) -> Array:
    """Σ (x_i − x_j)(x_i − x_j)ᵀ over the targets (i, j)."""
    laplacian, scatter = pair_laplacian(targets, len(X)), np.zeros((X.shape[1], X.shape[1]))
    size = max(1, BLOCK // X.shape[1])
    for rows in (slice(s, s + size) for s in range(0, len(X), size)):  # avoids a second array of the size of X
        scatter += X[rows].T @ (laplacian[rows] @ X)
    return scatter


def _scatter_in_blocks(X: RowBlocks, targets: Indices) -> Array:
    """The scatter for rows read in blocks: as many targets at a time as a block has rows, ordered by i."""
    scatter, size = np.zeros((X.shape[1], X.shape[1])), X.source.block
    ordered = targets[np.argsort(targets[:, 0], kind="stable")]
    for start in range(0, len(ordered), size):
        here = ordered[start : start + size]
        rows, ends = touched(here)
        block = X.take(rows)
        difference = block[ends[:, 0]] - block[ends[:, 1]]
        scatter += difference.T @ difference
    return scatter


def _misclassified(X: Any, y: NDArray[Any], n_neighbors: int) -> NDArray[np.bool_]:
    """Which of VOTERS samples have a class without a majority among their nearest others."""
    m = X.shape[0]
    voters = np.random.default_rng(0).choice(m, VOTERS, replace=False) if m > VOTERS else np.arange(m)
    count = min(n_neighbors, m - 1)
    if isinstance(X, RowBlocks):
        nearest = nearest_rows(X, np.zeros(m, dtype=np.intp), count, (ANY,), voters)[0]
        return np.asarray(2 * np.sum(y[nearest] == y[voters][:, None], axis=1) <= count)
    search = NearestNeighbors(n_neighbors=count + 1, algorithm="brute").fit(X)
    found = search.kneighbors(X[voters], return_distance=False)
    others = found != voters[:, None]
    others[others.all(axis=1), -1] = False  # a sample missing from its own list because of duplicates
    agree = np.sum((y[found] == y[voters][:, None]) & others, axis=1)
    return np.asarray(2 * agree <= count)


def _clearly_better(white: NDArray[np.bool_], plain: NDArray[np.bool_]) -> bool:
    """Whether the whitened distance errs less often, beyond chance: by 2 sigma of the voters on whom the two differ."""
    better, worse = int(np.sum(plain & ~white)), int(np.sum(white & ~plain))
    return better - worse > 2.0 * math.sqrt(better + worse)


def centred(X: Any) -> Any:
    """X less its mean row, in place where it is an array; sparse arrays as they are."""
    if isinstance(X, RowBlocks):
        return RowBlocks(transformed(X.source, mean_and_scale(X.source)[0]), X.name)
    if not sp.issparse(X):
        X -= X.mean(axis=0)
    return X


def in_basis(X: Any, basis: Array) -> Any:
    """X B; rows that are read in blocks stay so."""
    if isinstance(X, RowBlocks):
        return RowBlocks(transformed(X.source, basis=basis), X.name)
    return X @ basis


def principal_axes(X: Any, rank: int) -> Array:
    """(d, rank): leading principal axes, orthonormal, of samples X (m, d), dense, sparse or read in blocks; rank < d.

    X is centred implicitly. O(m d²); of a sparse X above d = 500 by ARPACK.
    """
    m, d = X.shape
    if isinstance(X, RowBlocks):
        gram, sums = X.moments(np.ones((m, 1)))
        mean = np.zeros(d) if sums is None else sums[:, 0] / m
    else:
        mean, sparse = np.asarray(X.mean(axis=0)).ravel(), sp.issparse(X)
        if sparse and d > DENSE_ORDER:
            scatter = LinearOperator((d, d), lambda v: X.T @ (X @ v) - m * mean * (mean @ v), dtype=np.float64)
            return np.ascontiguousarray(eigsh(scatter, k=rank, v0=np.ones(d))[1][:, ::-1])
        if not sparse and rank <= m < d:
            return np.ascontiguousarray(np.linalg.svd(X - mean, full_matrices=False)[2][:rank].T)
        gram = as_dense(X.T @ X)
    return np.ascontiguousarray(np.linalg.eigh(gram - m * np.outer(mean, mean))[1][:, ::-1][:, :rank])


def scaled(
    data: LinearMap, y: NDArray[Any], targets: Indices, lam: float, Z: Array, weights: Array | None = None
) -> Array:
    """The multiple of Z (d, r) with the least F, from all targets, and margins estimated from random triplets.

    Under a metric of the wrong scale, the active set would have far too many triplets, or too few to keep M from
    shrinking.
    """
    m, every = len(y), len(targets) * len(y)
    drawn = (
        np.random.default_rng(0).integers(every, size=DRAWN_TRIPLETS) if every > DRAWN_TRIPLETS else np.arange(every)
    )
    pair, k = np.divmod(drawn, m)
    kept = y[targets[pair, 0]] != y[k]
    pair, k = pair[kept], k[kept]
    image = data.apply(Z)
    near = pair_dots(targets[:, 0], targets[:, 1], image, image)
    far_less_near = pair_dots(targets[pair, 0], k, image, image) - near[pair]
    w = np.ones(m) if weights is None else weights
    pull, weight, hinge = inner(w[targets[:, 0]], near), lam * every / len(drawn), SquaredHinge(1.0)
    weighted = w[targets[pair, 0]] * w[k] * far_less_near

    def derivatives(multiple: float) -> tuple[float, float]:
        g, h = hinge.derivatives(multiple * far_less_near)
        return pull + weight * inner(g, weighted), weight * inner(h * far_less_near, weighted)

    multiple = minimize_smooth(derivatives, tol=SCALE_ACCURACY)
    return Z * math.sqrt(multiple) if 0.0 < multiple < math.inf else Z
