"""DistanceRegression: metric learning from distance bounds on pairs, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Geometry, LowRankPSD, TermSum, starting_point
from psdopt.checks import CheckedIndices, classes, finite, integer_or_none, vector
from psdopt.devices import held, on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, linear_map, row_dots
from psdopt_plugins.estimators import generator, named_geometry, parameters, sample_weights
from psdopt_plugins.limits import SAMPLES
from psdopt_plugins.metric_learning.lmnn_start import principal_axes
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.online import OnlineModel, moment_of
from psdopt_plugins.pair_sampling import random_pairs
from psdopt_plugins.pairs import SignedPairs, joined_pairs, signed_pairs
from psdopt_plugins.regression.online import half_squares
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.rows import only_touched, validated_with


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
        (:func:`psdopt.linalg.row_source`): then only rows that occur in pairs are loaded, and percentiles are taken of
        distances among these.
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
    if count * (count - 1) // 2 <= SAMPLES:
        i, j = np.triu_indices(count, 1)
    else:
        rng = np.random.default_rng(seed)
        i = rng.integers(count, size=SAMPLES)
        j = (i + 1 + rng.integers(count - 1, size=SAMPLES)) % count
    Z = X if baseline is None else X @ held(baseline.factor)
    found: Array = np.percentile(_squared(Z[i] - Z[j]), [low, high])
    return float(found[0]), float(found[1])


def _squared(D: Any) -> Array:
    sparse: bool = sp.issparse(D)
    return np.asarray(D.multiply(D).sum(axis=1)).ravel() if sparse else np.asarray(on_host(row_dots(D, D)))


@parameters
class DistanceRegression(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) with small distances for similar and large ones for dissimilar pairs (Meyer et al., 10.3).

    Parameters
    ----------
    rank : rank of M, or None for full rank. Full rank starts at M = I, lower rank at the leading principal directions.
    geometry : "flat" or "polar"; weight : of the polar metric.
    n_constraints : pairs sampled from labels, half of them similar where possible; None is 40 c (c − 1) for c classes.
    bounds : (upper, lower), 0 <= upper <= lower: d_M should be at most `upper` for similar and at least `lower` for
        dissimilar pairs. None: percentiles of the distances at the start.
    percentiles : these percentiles, if `bounds` is None.
    solver_options : keyword arguments of :func:`psdopt.solve`.
    batch_size : pairs per update in :meth:`partial_fit`.
    random_state : seed of the sampled pairs.

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_. result_ : the :class:`psdopt.Result` of :meth:`fit`.
        :meth:`partial_fit` makes another model and removes it. loss_ : mean loss of the pairs of the last
        :meth:`partial_fit`, each before its update.
    pairs_ : (m, 3), rows (i, j, ±1): the training pairs. bounds_ : (upper, lower). n_features_in_ : d.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = DistanceRegression(random_state=0).fit(X, y)
    >>> learner.transform(X).shape
    (150, 4)
    """

    rank: int | None = None
    _: KW_ONLY
    geometry: str = "flat"
    weight: float = 0.5
    n_constraints: int | None = None
    percentiles: tuple[float, float] = (5.0, 95.0)
    bounds: tuple[float, float] | None = None
    solver_options: Mapping[str, Any] | None = None
    batch_size: int = 32
    random_state: Any = None

    #: Pairs are drawn by row number, so that permuted rows give other pairs.
    permutation_invariant = False

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None, pair_weight: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) or `pairs`; if pairs are given, y is ignored.

        pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of (i, j, ±1).
        pair_weight : with `pairs` only, w (p,) at least 0, similar ones first: 1/(2 Σ w) Σ w_t max(0, ·)² is minimised,
        and the weights of a pair that is listed again are added.

        Raises InvalidInputError, which names the argument, and scikit-learn's ValueErrors.
        """
        if pairs is None and pair_weight is not None:
            raise InvalidInputError("pair_weight must be None unless pairs are given, whose weights it holds")
        X, pairs = validated_with(self, X, y, pairs, self._sampled, blocks=True)
        for name in ("_online", "loss_"):
            self.__dict__.pop(name, None)
        start = self._start(X)
        data, given = linear_map(X, "X", checked=True), signed_pairs(pairs, X.shape[0])
        self.pairs_, self.bounds_ = given.listed, self._bounds(data, given, start)
        upper, lower = self.bounds_
        problem = pair_distance_problem(data, given, upper=upper, lower=lower, weights=pair_weight)
        self._learn(problem, None, self.solver_options, geometry=self._geometry(X.shape[1]), start=start)
        self._known = len(self.pairs_), moment_of(problem)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Continue learning from `pairs` of the samples X (m, d): one update per `batch_size` pairs, in this order.

        Without `pairs` they are drawn from the labels y (m,) as in :meth:`fit`, among the samples of this call.

        The updates are those of :class:`~psdopt_plugins.online.OnlineModel`: no pair is stored, O(d²) memory besides X.
        Unless `bounds` are given, the first call chooses them from its own samples; after :meth:`fit` the model
        continues from M and keeps the bounds. Warns (ConvergenceWarning) if the loss of this call's
        pairs more than doubles during the call. Raises what :meth:`fit` raises.
        """
        fresh = not hasattr(self, "components_")
        X, pairs = validated_with(self, X, y, pairs, self._sampled, reset=fresh)
        given = signed_pairs(pairs, X.shape[0])
        self.pairs_ = given.listed
        start = self._start(X) if fresh else LowRankPSD(np.ascontiguousarray(self.components_.T))
        if fresh:
            self._known = 0, None
            self.bounds_ = self._bounds(linear_map(X, "X", checked=True), given, start)
        similar = self.pairs_[:, 2] == 1
        targets, direction = np.where(similar, *self.bounds_), np.where(similar, 1.0, -1.0)
        i, j = self.pairs_[:, :2].T
        if not hasattr(self, "_online"):
            geometry = self._geometry(X.shape[1])
            data, ends = linear_map(X, "X", checked=True), CheckedIndices(self.pairs_[:, :2], X.shape[0], distinct=True)
            problem = psd_regression_problem(data, targets, ends, direction)
            point = starting_point(geometry, problem, start, generator(self.random_state))
            self._online = OnlineModel.begun(geometry, point, *self._known)
        rows, loss = lambda part: X[i[part]] - X[j[part]], half_squares(targets, direction)
        self.loss_ = self._online.learn(rows, loss, len(similar), self.batch_size)
        self.components_ = np.ascontiguousarray(self._online.factor.T)
        self.__dict__.pop("result_", None)
        return self

    def _bounds(self, X: LinearMap, pairs: SignedPairs, start: LowRankPSD) -> tuple[float, float]:
        if self.bounds is not None:
            given = finite(self.bounds, "bounds")
            if given.shape != (2,) or not 0.0 <= given[0] <= given[1]:
                raise InvalidInputError(f"bounds must be (upper, lower) with 0 <= upper <= lower; found {self.bounds}")
            return float(given[0]), float(given[1])
        return distance_percentiles(only_touched(X, pairs.ends)[0].data, start, self.percentiles, seed=0)

    def _geometry(self, d: int) -> Geometry:
        return named_geometry(self.geometry, d, integer_or_none(self.rank, "rank") or d, self.weight)

    def _start(self, X: Any) -> LowRankPSD:
        d = X.shape[1]
        rank = integer_or_none(self.rank, "rank") or d
        return LowRankPSD(np.eye(d) if rank >= d else principal_axes(X, rank))

    def _sampled(self, X: Any, y: NDArray[Any]) -> NDArray[np.intp]:
        found, codes = classes(y)
        given = integer_or_none(self.n_constraints, "n_constraints")
        wanted = 40 * len(found) * (len(found) - 1) if given is None else given
        rng = generator(self.random_state)
        similar = random_pairs(len(codes), wanted // 2, rng, codes, same=True)
        return joined_pairs(similar, random_pairs(len(codes), wanted - wanted // 2, rng, codes, same=False))
