"""Large-margin nearest neighbours as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from psdopt import FlatQuotient, LowRankPSD, TermSum, solve
from psdopt.checks import CheckedIndices, classes, integer, integer_or_none, one_of, positive
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, RowBlocks, linear_map, norm
from psdopt.problems.distributed import touched
from psdopt_plugins.certificate_on import on_rows
from psdopt_plugins.estimators import (
    finished,
    of_a_round,
    options_for_solve,
    parameters,
    sample_weights,
    sorted_components,
)
from psdopt_plugins.limits import SPECTRUM_ORDER
from psdopt_plugins.long_fits import products, say_if_long, search
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem, triplet_loss, triplet_rows
from psdopt_plugins.metric_learning.lmnn_rounds import Labelled, Rounds
from psdopt_plugins.metric_learning.lmnn_start import (
    can_be_whitened,
    centred,
    in_basis,
    in_units,
    principal_axes,
    targets_and_basis,
    units_of_features,
    whitening,
)
from psdopt_plugins.metric_learning.mahalanobis import LARGE_RANK, MahalanobisTransformer
from psdopt_plugins.online import OnlineModel
from psdopt_plugins.pair_sampling import FromSample, drawn_samples, labels_of_drawn, nearest_triplets, rows_of
from psdopt_plugins.pairs import checked_triplets
from psdopt_plugins.rows import centred_touched, ranges_of_features, that_count, validated, validated_with, weighted

TARGET_METRICS = ("auto", "euclidean", "whitened")
#: Tolerance for `solve` unless `solver_options` give another.
DEFAULT_TOL = 0.1
#: Triplets per sample, searches among all samples, and steps of all rounds, typically.
TRIPLETS, SEARCHES, STEPS = 30, 6, 80


@parameters
class LMNN(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d): target neighbours close, samples of other classes farther by a margin (Hao et al., eq. 8).

    Minimises Σ w_i d_M(i, j) + lam Σ w_i w_k max(0, 1 + d_M(i, j) − d_M(i, k))² over the `n_neighbors` targets j of
    every i and *all* k of other classes (w_i = 1 unless weights are given), by an active set: only triplets that the
    current metric violates, or nearly violates, are listed; impostors are searched again in each round, until none is
    missing. The certificate of the last round then holds for the whole problem. If triplets are given, the sums are
    over them, and over the targets (i, j) that occur in them.

    Parameters
    ----------
    n_neighbors : target neighbours per sample.
    passes : how often they are chosen; after the first time as the nearest in the metric that the steps before the
        rounds reach, and F and its certificate are those of the last choice. A second choice helps where no Euclidean
        neighbour is a good target (balance scale: error 6.4 % instead of 12.9), and does harm where samples are few
        for their features (sonar: 22.5 instead of 18.7). None: 2 with `target_metric` "auto" if samples outnumber the
        d (d + 1)/2 unknowns of M, else 1.
    lam : weight of the margins, > 0; it does not depend on the units of X.
    rank : largest rank of M, or None for no limit.
    target_metric : distance in which targets are nearest: "euclidean"; "whitened", in which the scatter of the
        Euclidean targets is the identity (dense X up to d = 1500); or "auto", the one under which fewer of 500
        samples are misclassified by their neighbours (the Euclidean one unless the difference is significant). "auto"
        first standardises features whose ranges differ by a factor above 1000.
    max_samples : samples among which targets and impostors are sought; of more, as many are drawn (with a fixed seed),
        and the proof is that of the problem of the samples drawn. Given triplets are all used.
    max_rounds : rounds of the active set. max_triplets : most triplets held; beyond, the most violated are kept.
    solver_options : keyword arguments for :func:`psdopt.solve`, for every round, but `max_time` for all of them
        together; default tol 0.1, since a smaller tol changed no measured error rate. With a smaller tol the last round
        continues in search of a proof on the whole cone.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` of the last round, in the coordinates in which the scatter of target
        neighbours is the identity (dense X up to d = 1500; a change of basis, which no value depends on).
    targets_ : (p, 2), rows (i, j). n_triplets_ : triplets of the last round.
    warm_up_values_ : F on the current triplets, after each step before the first round.
    n_rounds_, n_iter_ : rounds, and iterations of all rounds and of the steps before the first.
    complete_ : whether no violated triplet is missing from the last round.
    n_features_in_ : d.

    Units of features: if the ranges max − min of the features of X differ by a factor above 1000, "auto" learns from
    X divided by its standard deviations; `components_` still apply to X as given, so that the result is that of a
    pipeline with ``StandardScaler``. Otherwise targets are those of X as given: standardise X first unless its features
    have a common unit. `partial_fit` takes the nearest triplets of labels in X as given.

    Cost per round: O(s² r) flops in blocks for the impostors of s samples drawn, O((s d + triplets) r) per iteration.
    Memory: the data, the triplets, one block. 100,000 × 50 took 12 s of processor time and 260 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(LMNN(), KNeighborsClassifier(3)).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.93)
    True
    """

    n_neighbors: int = 3
    lam: float = 1.0
    rank: int | None = None
    target_metric: str = "auto"
    max_rounds: int = 20
    max_triplets: int = 2_000_000
    max_samples: int = 20_000
    passes: int | None = None
    solver_options: Mapping[str, Any] | None = None
    preprocessor: Any = None

    #: `result_` is in the coordinates of the scatter of target pairs, `components_` in those of X.
    components_of_result = False
    no_metric = "all distances are zero; change lam, or the labels or triplets"

    #: A second copy of a sample is its nearest neighbour; weight 2 does not make a sample its own neighbour.
    expected_failed_checks: ClassVar[Mapping[str, str]] = {
        f"check_sample_weight_equivalence_on_{kind}_data": "copies of a sample are neighbours of each other"
        for kind in ("dense", "sparse")
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, triplets: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) of at least two classes or `triplets` (q, 3).

        sample_weight : w (m,), at least 0. A weight of 2 counts the terms of a sample twice, as owner of targets and as
        impostor; unlike a second copy it does not make the sample its own neighbour. Samples of weight 0 are
        left out. triplets : rows (i, j, k), "i is nearer to j than to k"; y is then ignored.

        Rows that are read in blocks (files, chunked arrays) are not loaded: neighbours are searched block by
        block, O(m² d) flops in m / block passes, and only the images X L of the samples (m, r) are in memory. For a
        Dask array with an open client, targets and triplets are stored on the workers in parts, with their rows.

        Raises InvalidInputError (naming the argument) and scikit-learn's ValueErrors.
        """
        options: dict[str, Any] = {"accept_sparse": ["csr"], "dtype": np.float64, "ensure_min_samples": 2, "copy": True}
        if triplets is None:
            X, y = validated(self, X, y, blocks=True, **options)
            shape = X.shape
            check_classification_targets(y)
            X, self._weights, y = weighted(X, sample_weight, y)
            classes(y)
            labels, drawn = y, drawn_samples(X.shape[0], self.max_samples)
            if drawn is not None:
                X, y = rows_of(X, drawn), y[drawn]
                self._weights = None if self._weights is None else self._weights[drawn]
        else:
            X = validated(self, X, blocks=True, **options)
            shape = X.shape
            self._weights = sample_weights(sample_weight, X.shape[0])
            triplets = checked_triplets(triplets, X.shape[0])
            self.targets_ = ends = np.unique(triplets.array[:, :2], axis=0)
            if isinstance(X, RowBlocks):  # the rows that occur in triplets, and positions among them
                rows, places = touched(triplets.array)
                triplets, ends = CheckedIndices(places, len(rows), distinct=True), np.searchsorted(rows, ends)
                X = X.take(rows)
                self._weights = None if self._weights is None else self._weights[rows]
        self._check_parameters(X)
        self._say_if_long(X, shape, None if triplets is None else len(triplets))
        units = units_of_features(X, *ranges_of_features(X)) if self.target_metric == "auto" else None
        X = centred(X)  # distances stay the same, and an offset would cost digits
        if units is not None:
            X = in_units(X, units)
        if triplets is None:
            with labels_of_drawn(labels, drawn):
                self.targets_, basis = targets_and_basis(X, y, self.n_neighbors, self.target_metric)
        else:
            basis = whitening(X, ends) if can_be_whitened(X) else None
        rank = int(min(self.rank or LARGE_RANK, *X.shape))
        X = X if basis is None else in_basis(X, basis)
        data, start = linear_map(X, "X", owned=True), principal_axes(X, rank)
        if triplets is None:
            Z = self._on_labels(data, y, start)
            self.targets_ = self.targets_ if drawn is None else drawn[self.targets_]
        else:
            Z = self._on_triplets(data, CheckedIndices(ends, X.shape[0], distinct=True), triplets, start)
        del self._weights
        for name in ("_online", "loss_"):
            self.__dict__.pop(name, None)
        # before units are divided out: small rows would be rounding of large ones
        found = sorted_components(LowRankPSD(Z if basis is None else basis @ Z), self.no_metric)
        self.components_ = found if units is None else found / units
        return self

    def _on_labels(self, data: LinearMap, y: Any, Z: Array) -> Array:
        """The factor at the end of the rounds of the active set."""
        options = options_for_solve(self.solver_options, tol=DEFAULT_TOL)
        labelled = Labelled(data, y, self.targets_, self.lam, self._weights)
        waits = bool(options["tol"] < DEFAULT_TOL)
        limits = self.rank, self.max_rounds, self.max_triplets, options, waits
        m, d = data.shape
        passes = self.passes or (2 if self.target_metric == "auto" and 2 * m > d * (d + 1) else 1)
        rounds = Rounds(labelled, *limits, passes, self.n_neighbors)
        Z = rounds.run(Z)
        self.targets_ = rounds.labelled.targets
        self.result_, self.warm_up_values_ = rounds.result, rounds.warm_up_values
        self.n_rounds_, self.n_iter_ = rounds.made, rounds.iterations
        self.n_triplets_, self.complete_ = rounds.held, rounds.complete
        if not (self.complete_ and self.result_.converged):
            missing = "violated triplets are missing from the last round"
            what = missing if self.result_.converged else self.result_.message
            text = f"LMNN stopped after {self.n_rounds_} rounds before convergence: {what}"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return Z

    def partial_fit(self, X: Any, y: Any = None, *, triplets: Any = None) -> Self:
        """Go on learning from `triplets` (q, 3) of the samples X (m, d): one update per 32, in the order given.

        Without `triplets` they are those of the labels y (m,) among the samples of this call: each sample with its
        nearest ones of its class and of the others.

        The objective is E d_M(i, j) + lam max(0, 1 + d_M(i, j) − d_M(i, k))² over the stream. The updates are those of
        :class:`~psdopt_plugins.online.OnlineModel`: no parameter is chosen, no triplet is kept, O(d²) memory beyond X.
        The first call starts at the metric that whitens its pairs (i, j); after :meth:`fit` it continues from M.
        `result_` is removed. `loss_` is the mean loss of the triplets of this call, each before it was learned from.
        Warns and raises as :meth:`fit` does.
        """
        fresh = not hasattr(self, "components_")
        drawn = partial(nearest_triplets, n_neighbors=self.n_neighbors)
        X, triplets = validated_with(self, X, y, triplets, drawn, reset=fresh)
        rows = checked_triplets(triplets, X.shape[0])
        self._check_parameters(X)
        if not hasattr(self, "_online"):
            start = self._first_metric(X, rows) if fresh else np.ascontiguousarray(self.components_.T)
            self._online = OnlineModel.begun(FlatQuotient(*start.shape), start, 0 if fresh else len(self.targets_))
        self.loss_ = self._online.learn(triplet_rows(X, rows), triplet_loss(self.lam), len(rows))
        self.components_ = np.ascontiguousarray(self._online.factor.T)
        self.__dict__.pop("result_", None)
        return self

    @on_rows
    def certificate_on(self, X: Any, y: Any = None, *, triplets: Any = None) -> tuple[TermSum, Any]:
        """How far M is proven to be from the best M for `triplets` of the samples X (m, d): all seen, or others.

        F(M) = Σ d_M(i, j) + lam max(0, 1 + d_M(i, j) − d_M(i, k))² over the triplets, the sum whose mean
        :meth:`partial_fit` learns from. Without `triplets` they are the nearest ones of labels y, among `max_samples`.
        """
        drawn = FromSample(partial(nearest_triplets, n_neighbors=self.n_neighbors), self.max_samples)
        X, triplets = validated_with(self, X, y, triplets, drawn, blocks=True, reset=False)
        data, rows = centred_touched(X, checked_triplets(triplets, X.shape[0]))
        data, kept = that_count(data, of_differences=True)
        return lmnn_problem(data, rows.array[:, :2], rows, self.lam), kept

    def _first_metric(self, X: Any, triplets: CheckedIndices) -> Array:
        """The factor (d, r) of a metric under which pairs (i, j) have the mean distance 1, all directions alike."""
        basis = whitening(X, np.unique(triplets.array[:, :2], axis=0)) if can_be_whitened(X) else None
        image = X if basis is None else X @ basis
        axes = principal_axes(image, int(min(self.rank or LARGE_RANK, *X.shape))) / np.sqrt(X.shape[1])
        return np.asarray(axes if basis is None else basis @ axes)

    def _on_triplets(self, data: LinearMap, targets: CheckedIndices, triplets: CheckedIndices, Z: Array) -> Array:
        """The factor at the end of one solve with the triplets given."""
        problem = lmnn_problem(data, targets, triplets, self.lam, self._weights)
        given = {"geometry": FlatQuotient(*Z.shape), "escape": self.rank is None, "tol": DEFAULT_TOL}
        start = LowRankPSD(Z) if norm(Z) > 0.0 else None
        result = solve(problem, **options_for_solve(self.solver_options, start=start, **given))
        self.result_ = finished(of_a_round(result, problem, Z), 4)
        self.n_rounds_, self.n_iter_, self.warm_up_values_ = 1, self.result_.iterations, []
        self.n_triplets_, self.complete_ = len(triplets), True
        return self.result_.matrix.factor

    def _say_if_long(self, X: Any, shape: tuple[int, ...], triplets: int | None) -> None:
        s, r = X.shape[0], min(self.rank or LARGE_RANK, *X.shape)
        count = TRIPLETS * s if triplets is None else triplets
        once, run = (SEARCHES * search(s, X) if triplets is None else 0.0), STEPS * (products(X, r) + 4.0 * count * r)
        numbers = 4 * shape[0] * shape[1] + count * r
        shorter = "a smaller max_samples or rank" if triplets is None else "a smaller rank or fewer triplets"
        say_if_long(self, shape, once, run, numbers=numbers, shorter=shorter, stacklevel=4)

    def _check_parameters(self, X: Any) -> None:
        for name in ("n_neighbors", "max_rounds", "max_triplets", "max_samples"):
            integer(getattr(self, name), name)
        integer_or_none(self.passes, "passes")
        integer_or_none(self.rank, "rank", 1, self.n_features_in_, "the number of features")
        positive(self.lam, "lam")
        one_of(self.target_metric, "target_metric", TARGET_METRICS)
        if self.target_metric == "whitened" and not can_be_whitened(X):
            kind = "sparse" if sp.issparse(X) else "dense"
            needed = f"a dense X of at most {SPECTRUM_ORDER} features"
            raise InvalidInputError(f"target_metric 'whitened' needs {needed}; found a {kind} X of shape {X.shape}")
