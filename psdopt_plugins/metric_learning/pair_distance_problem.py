"""Mahalanobis distances below a threshold for similar pairs, above another for dissimilar ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import LowRankPSD, TermSum
from psdopt.checks import vector
from psdopt.devices import held, on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, linear_map, row_dots
from psdopt_plugins.estimators import sample_weights
from psdopt_plugins.pairs import signed_pairs
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.rows import only_touched

#: Pairs drawn to estimate the percentiles of all distances.
PERCENTILE_PAIRS = 20_000


def pair_distance_problem(
    X: Any,
    pairs: Any,
    *,
    upper: float | None = None,
    lower: float | None = None,
    baseline: LowRankPSD | None = None,
    percentiles: tuple[float, float] = (5.0, 95.0),
    seed: int = 0,
    weights: Any = None,
) -> TermSum:
    """min 1/(2m) Σ max(0, d_M − upper)² over similar + max(0, lower − d_M)² over dissimilar pairs (Meyer et al., 10.3).

    With weights w of the pairs it is 1/(2 Σ w) Σ w_t max(0, ·)².

    Parameters
    ----------
    X : (N, d) samples as rows, array or sparse array, or rows that are read in blocks
        (:func:`psdopt.linalg.row_source`): then those that occur in pairs are loaded, and percentiles are of distances
        among them.
    pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of rows (i, j, ±1).
    upper, lower : thresholds; None takes the 5th and the 95th percentile (`percentiles`) of the squared distances
        between samples under `baseline` (None: Euclidean), estimated on 20,000 random pairs (`seed`) or on all.
    weights : (m,), at least 0 and not all 0, one per pair as listed; those of a pair that is listed again are added.
        Without weights a pair counts once, however often it is listed.

    Raises InvalidInputError for bad pairs, thresholds that are not 0 <= upper <= lower, percentiles out of order.

    Cost of a step: one product with X and one with Xᵀ, and O(m r).
    """
    data = linear_map(X, "X")
    given = signed_pairs(pairs, data.shape[0])
    data, positions = only_touched(data, given.ends)
    if upper is None or lower is None:
        low, high = distance_percentiles(data.data, baseline, percentiles, seed)
        upper = low if upper is None else upper
        lower = high if lower is None else lower
    if not 0.0 <= upper <= lower < np.inf:
        raise InvalidInputError(f"thresholds must satisfy 0 <= upper <= lower; found upper={upper}, lower={lower}")
    similar = given.signs == 1
    targets = np.where(similar, upper, lower)
    w = sample_weights(weights, len(given.listed), "one per pair", "weights of pairs")
    w = None if w is None else given.summed(w)
    return psd_regression_problem(data, targets, positions, np.where(similar, 1.0, -1.0), weights=w)


def distance_percentiles(
    X: Any, baseline: LowRankPSD | None, percentiles: tuple[float, float], seed: int
) -> tuple[float, float]:
    """The two percentiles of squared distances between rows of X (N, d) under `baseline`, or Euclidean ones."""
    low, high = vector(percentiles, "percentiles", 2)
    if not 0.0 <= low < high <= 100.0:
        raise InvalidInputError(f"percentiles must satisfy 0 <= first < second <= 100; found {percentiles}")
    count = X.shape[0]
    if count * (count - 1) // 2 <= PERCENTILE_PAIRS:
        i, j = np.triu_indices(count, 1)
    else:
        rng = np.random.default_rng(seed)
        i = rng.integers(count, size=PERCENTILE_PAIRS)
        j = (i + 1 + rng.integers(count - 1, size=PERCENTILE_PAIRS)) % count
    Z = X if baseline is None else X @ held(baseline.factor)
    found: Array = np.percentile(_squared(Z[i] - Z[j]), [low, high])
    return float(found[0]), float(found[1])


def _squared(D: Any) -> Array:
    sparse: bool = sp.issparse(D)
    return np.asarray(D.multiply(D).sum(axis=1)).ravel() if sparse else np.asarray(on_host(row_dots(D, D)))
