"""DistanceRegression: metric learning from distance bounds on pairs, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from psdopt import Geometry, LowRankPSD, TermSum, starting_point
from psdopt.checks import CheckedIndices, classes, finite, integer_or_none, vector, weight
from psdopt.devices import held, on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, RowBlocks, linear_map, norm, row_dots
from psdopt.problems.distributed import touched
from psdopt.terms import GramForm, IdentityForm, LinearTerm, MeasuredTerm, ProductTerm
from psdopt_plugins.certificate_on import on_rows
from psdopt_plugins.estimators import generator, named_geometry, parameters, sample_weights
from psdopt_plugins.limits import MINOR, SAMPLES
from psdopt_plugins.long_fits import entries, products, say_if_long
from psdopt_plugins.metric_learning.lmnn_start import principal_axes
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.online import OnlineModel, moment_of
from psdopt_plugins.pair_sampling import random_pairs
from psdopt_plugins.pairs import Pairs, SignedPairs, joined_pairs, signed_pairs
from psdopt_plugins.regression.online import half_squares
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.rows import centred_touched, only_touched, that_count, validated, validated_with


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
    lam: float = 0.0,
) -> TermSum:
    """min 1/(2m) Σ max(0, d_M − upper)² over similar + max(0, lower − d_M)² over dissimilar pairs (Meyer et al., 10.3).

    With weights w of the pairs it is 1/(2 Σ w) Σ w_t max(0, ·)². Added is lam/2 D² |M − M_0|² / |M_0|², M_0 the
    `baseline` and D the (weighted) mean distance of the pairs under it: lam depends neither on the units of X nor on
    the number of pairs.

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
    lam : weight of the term towards M_0, >= 0.

    Raises InvalidInputError for bad pairs, thresholds that are not 0 <= upper <= lower, percentiles out of order, and
    a negative lam.

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
    problem = psd_regression_problem(data, targets, positions, np.where(similar, 1.0, -1.0), weights=w)
    if weight(lam, "lam") == 0.0:
        return problem
    return _towards(problem, np.eye(problem.n) if baseline is None else baseline.factor, lam, w)


def _towards(problem: TermSum, L: Array, lam: float, weights: Array | None) -> TermSum:
    """`problem` with the term towards M_0 = L Lᵀ. Its own preconditioner would ignore the term, which bounds the
    condition of the Hessian by about d / lam, so that none is needed."""
    distances, size = problem.at(L).feature_of(problem.terms[0]), norm(L.T @ L)
    mean = np.average(distances, weights=None if weights is None else weights[weights > 0.0])
    share = 0.5 * lam * (float(mean) / size) ** 2 if size > 0.0 else 0.0
    if not share > 0.0:
        return problem
    eye = IdentityForm(problem.n)
    pull = LinearTerm(GramForm(LinearMap(L.T, "baseline")), -2.0 * share)
    return TermSum([*problem.terms, ProductTerm(eye, eye, share), pull], share * size**2)


def distance_percentiles(
    X: Any, baseline: LowRankPSD | None, percentiles: tuple[float, float], seed: int
) -> tuple[float, float]:
    """The two percentiles of squared distances between rows of X (N, d) under `baseline`, or Euclidean ones.

    Both are 0 for one row, as for equal ones.
    """
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
    distances = _squared(Z[i] - Z[j]) if count > 1 else np.zeros(1)
    found: Array = np.percentile(distances, [low, high])
    return float(found[0]), float(found[1])


def _each_once(X: Any) -> Any:
    """The distinct rows of an array X, as pairs of points repeat them; other data as they are."""
    return np.unique(X, axis=0) if isinstance(X, np.ndarray) else X


def _squared(D: Any) -> Array:
    sparse: bool = sp.issparse(D)
    return np.asarray(D.multiply(D).sum(axis=1)).ravel() if sparse else np.asarray(on_host(row_dots(D, D)))


#: Steps, typically, those within a Newton step included.
STEPS = 40


@parameters
class DistanceRegression(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) with small distances for similar and large ones for dissimilar pairs (Meyer et al., 10.3).

    F is that of :func:`pair_distance_problem`, with M_0 the start. At full rank F is convex, and `result_` says how far
    from its minimum the result is proven to be.

    Parameters
    ----------
    rank : rank of M, or None for full rank. Full rank starts at M = I, lower rank at the projection to the leading
        principal directions; with `bounds`, at the multiple of it at which the second of the `percentiles` is `lower`.
    lam : weight of the term towards the start, >= 0; 0 leaves it out. It does not depend on the units of X.
    geometry : "flat" or "polar"; weight : of the polar metric.
    n_constraints : pairs sampled from labels, half of them similar where possible; None is 20 m for m samples, but at
        most 20,000, and at least 40 c (c − 1) for c classes.
    bounds : (upper, lower), 0 <= upper <= lower: d_M should be at most `upper` for similar and at least `lower` for
        dissimilar pairs. None: percentiles of the distances at the start.
    percentiles : these percentiles of the distances between samples in pairs, each taken once.
    solver_options : keyword arguments of :func:`psdopt.solve`; default tol 0.001, since smaller ones changed no
        measured error rate and took three times as long.
    batch_size : pairs per update in :meth:`partial_fit`.
    random_state : seed of the sampled pairs: an integer, by default 0, so that two fits to the same data agree, as
        those of the other learners do; a generator, which goes on from fit to fit; or None, for other pairs each time.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_. result_ : the :class:`psdopt.Result` of :meth:`fit`.
        :meth:`partial_fit` makes another model and removes it. loss_ : mean loss of the pairs of the last
        :meth:`partial_fit`, each before its update.
    pairs_ : (m, 3), rows (i, j, ±1): the training pairs. bounds_ : (upper, lower). n_features_in_ : d.

    Cost per step: O((m d + p) r) for p pairs; some tens of steps. Memory: the data, a few arrays (p, r). 100,000 × 50
    took 3 s of processor time and 270 MB, 5,000 × 300 3 s.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = DistanceRegression().fit(X, y)
    >>> learner.transform(X).shape
    (150, 4)
    """

    rank: int | None = None
    _: KW_ONLY
    lam: float = 0.01
    geometry: str = "flat"
    weight: float = 0.5
    n_constraints: int | None = None
    percentiles: tuple[float, float] = (5.0, 95.0)
    bounds: tuple[float, float] | None = None
    solver_options: Mapping[str, Any] | None = None
    batch_size: int = 32
    random_state: Any = 0
    preprocessor: Any = None

    no_metric = "all distances are zero; change lam, or the labels or pairs"

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
        data, given = linear_map(X, "X", checked=True), signed_pairs(pairs, X.shape[0])
        p, r = len(given.listed), integer_or_none(self.rank, "rank") or X.shape[1]
        run = STEPS * (products(X, r) + 10.0 * p * (r + 30))
        numbers, shorter = 6 * entries(X) + 4 * p * r, "a smaller rank, fewer features or pairs"
        say_if_long(self, X.shape, 0.0, run, numbers=numbers, shorter=shorter)
        self.pairs_ = given.listed
        problem, start, self.bounds_, _ = self._posed(data, given, pair_weight)
        geometry = self._geometry(X.shape[1])
        self._learn(problem, None, self.solver_options, geometry=geometry, start=start, tol=MINOR)
        self._known = len(self.pairs_), moment_of(problem)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Continue learning from `pairs` of the samples X (m, d): one update per `batch_size` pairs, in this order.

        Without `pairs` they are drawn from the labels y (m,) as in :meth:`fit`, among the samples of this call.

        The updates are those of :class:`~psdopt_plugins.online.OnlineModel`: no pair is stored, O(d²) memory besides X.
        They are of the loss alone; nothing but their number holds M near the start.
        Unless `bounds` are given, the first call chooses them from its own samples; after :meth:`fit` the model
        continues from M and keeps the bounds. Warns (ConvergenceWarning) if the loss of this call's
        pairs more than doubles during the call. Raises what :meth:`fit` raises.
        """
        fresh = not hasattr(self, "components_")
        X, pairs = validated_with(self, X, y, pairs, self._sampled, reset=fresh)
        given = signed_pairs(pairs, X.shape[0])
        self.pairs_ = given.listed
        if fresh:
            self._known = 0, None
            start, self.bounds_ = self._begun(linear_map(X, "X", checked=True), given.ends.array)
        else:
            start = LowRankPSD(np.ascontiguousarray(self.components_.T))
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

    @on_rows
    def certificate_on(self, X: Any, y: Any = None, *, pairs: Any = None) -> tuple[TermSum, Any]:
        """How far M is proven to be from the best M for `pairs` of the samples X (m, d): all pairs seen, or others.

        F(M) is the mean loss of the pairs, 1/(2p) Σ max(0, ·)² with the bounds `bounds_`, without the term towards the
        start, as :meth:`partial_fit` learns it. Without `pairs` they are drawn from labels y as in :meth:`fit`.
        """
        # a generator goes on with the next fit as if nothing had been drawn here
        drawn = copy(self).set_params(random_state=deepcopy(self.random_state))._sampled
        X, pairs = validated_with(self, X, y, pairs, drawn, blocks=True, reset=False)
        given, (upper, lower) = signed_pairs(pairs, X.shape[0]), self.bounds_
        data, ends = centred_touched(X, given.ends)
        data, kept = that_count(data, of_differences=True)
        return pair_distance_problem(data, given.among(ends, data.shape[0]), upper=upper, lower=lower), kept

    def influence(self, X: Any, dM: Any, *, pair_weight: Any = None) -> Array:
        """dl/dw_t (p,) for a loss l(M) with dl/dM = `dM` (d, d), w_t the weight of training pair t in ``pairs_``.

        A pair of which l falls with more weight has a negative influence: one that pulls M where l is large has a
        positive one. First order, by :class:`psdopt.Adjoint`; 1/(2 Σ w) and the unit of lam count as fixed, and pairs
        without weight have nan. A steep influence of few pairs may show wrong labels (Koh & Liang 2017).

        X (m, d), pair_weight : those of :meth:`fit`, which are not kept.

        Raises NotDifferentiableError where M does not move smoothly with the weights, as at a pair whose distance is
        its bound; NotFittedError before :meth:`fit` and after :meth:`partial_fit`. Cost: some tens of steps, no fit.
        """
        check_is_fitted(self, "result_")
        X = validated(self, X, accept_sparse=["csr"], dtype=np.float64, reset=False)
        data, given = linear_map(X, "X", checked=True), signed_pairs(self.pairs_, X.shape[0])
        problem, _, _, kept = self._posed(data, given, pair_weight)
        adjoint, fit = replace(self.result_, solved=problem).adjoint, problem.terms[0]
        assert isinstance(fit, MeasuredTerm)
        loss: Any = fit.loss
        missed = problem.at(adjoint.matrix.factor).feature_of(fit) - loss.target
        # w_t v_t is the force of pair t, and w_t that of a unit of its target
        by_weight = np.full(len(kept), np.nan)
        by_weight[kept] = -adjoint.vjp(dM)["target"] * missed / loss.weights
        return np.asarray(by_weight[given.places])

    def _posed(
        self, data: LinearMap, given: SignedPairs, pair_weight: Any
    ) -> tuple[TermSum, LowRankPSD, tuple[float, float], NDArray[np.bool_]]:
        """The problem of a fit, its start, its bounds, and which of the distinct pairs have weight."""
        w = sample_weights(pair_weight, len(given.listed), "one per pair", "weights of pairs")
        kept = np.ones(len(given.ends), dtype=np.bool_) if w is None else np.asarray(given.summed(w) > 0.0)
        start, bounds = self._begun(data, given.ends.array[kept])
        upper, lower = bounds
        problem = pair_distance_problem(data, given, upper=upper, lower=lower, baseline=start, weights=w, lam=self.lam)
        return problem, start, bounds, kept

    def _begun(self, X: LinearMap, ends: Pairs) -> tuple[LowRankPSD, tuple[float, float]]:
        """The start, and (upper, lower), for the pairs `ends` (p, 2)."""
        rank, d = integer_or_none(self.rank, "rank") or X.shape[1], X.shape[1]
        whole: Any = X if isinstance(X, RowBlocks) else X.data
        start = np.eye(d) if rank >= d else principal_axes(_each_once(whole), rank)
        rows, _ = touched(ends)
        some = X.take(rows) if isinstance(X, RowBlocks) else whole[rows]
        low, high = distance_percentiles(_each_once(some), LowRankPSD(start), self.percentiles, seed=0)
        if self.bounds is None:
            return LowRankPSD(start), (low, high)
        given = finite(self.bounds, "bounds")
        if given.shape != (2,) or not 0.0 <= given[0] <= given[1]:
            raise InvalidInputError(f"bounds must be (upper, lower) with 0 <= upper <= lower; found {self.bounds}")
        scale = given[1] / high if given[1] > 0.0 < high else 1.0
        return LowRankPSD(start * np.sqrt(scale)), (float(given[0]), float(given[1]))

    def _geometry(self, d: int) -> Geometry:
        return named_geometry(self.geometry, d, integer_or_none(self.rank, "rank") or d, self.weight)

    def _sampled(self, X: Any, y: NDArray[Any]) -> NDArray[np.intp]:
        found, codes = classes(y)
        given = integer_or_none(self.n_constraints, "n_constraints")
        c, m = len(found), len(codes)
        wanted = max(40 * c * (c - 1), min(20 * m, SAMPLES)) if given is None else given
        rng = generator(self.random_state)
        similar = random_pairs(m, wanted // 2, rng, codes, same=True)
        return joined_pairs(similar, random_pairs(m, wanted - wanted // 2, rng, codes, same=False))
