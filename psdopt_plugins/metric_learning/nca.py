"""Neighbourhood components analysis as a scikit-learn transformer."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from psdopt import FlatQuotient, Result, solve
from psdopt.checks import classes, integer, integer_or_none, positive
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, linear_map, norm, pair_dots
from psdopt_plugins.estimators import finished, of_a_round, options_for_solve, parameters, sorted_components, was_cut
from psdopt_plugins.limits import MOST_PRODUCTS
from psdopt_plugins.long_fits import entries, products, say_if_long, search
from psdopt_plugins.metric_learning.lmnn_start import centred, principal_axes
from psdopt_plugins.metric_learning.mahalanobis import LARGE_RANK, MahalanobisTransformer
from psdopt_plugins.metric_learning.nca_problem import Indices, nca_problem, nearest_candidates
from psdopt_plugins.rows import validated, warn_of_units

#: Tolerance for `solve` unless `solver_options` give another.
DEFAULT_TOL = 0.1
#: Mean squared distance of samples and candidates at the start. At a much larger one each sample would pick the nearest
#: candidate for certain, so that nothing could be learned from the others.
START_DISTANCE = 10.0
#: Steps of a round, typically, those within a Newton step included.
STEPS = 20


@parameters
class NCA(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) under which samples rarely pick a neighbour of another class (Goldberger et al., 2004).

    Sample i picks j with probability p_ij proportional to exp(−d_M(i, j)). Minimised is the mean chance of picking
    another class, plus lam tr(M) / tr(M_0), M_0 the start. Chances are computed among the nearest samples only, since
    beyond them exp(−d_M) is small: `n_neighbors` of the class of i and as many of the others. The first round takes
    those of M_0, the multiple of the identity (of the projection to the leading principal axes, if the rank is limited)
    at which they are at the mean distance 10; each further round those of the metric found so far.

    F is not convex in M, and nothing here claims a global optimum: a fit ends as ``stationary``, at a point at which no
    small change of M lowers F to first order, for the candidates of the last round. Another start may give another M;
    starts at the M of KTA or LMNN were no gain on twelve sets (mean error 12.17 % from the identity, 12.12 from KTA,
    12.35 from LMNN).

    Parameters
    ----------
    n_neighbors : candidates of each sample among its own class, and as many among the others.
    lam : weight of the trace, > 0; it does not depend on the scale of X.
    rank : largest rank of M; None is the number of features, but at most 60.
    max_rounds : rounds; candidates are searched anew in each.
    max_samples : samples whose chances are averaged; of more, as many are drawn (with a fixed seed). Candidates are
        always searched among all samples.
    solver_options : keyword arguments for :func:`psdopt.solve`, for every round, but `max_time` for all of them
        together; default tol 0.1, since smaller ones took longer and had higher error rates.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` of the last round.
    n_rounds_, n_iter_ : rounds, and iterations of all rounds.
    n_features_in_ : d.

    Distances at the start are those of X as given: standardise X first unless its features have a common unit.

    Cost per round: O(n m r) flops for the candidates of n samples among m, O((m d + n n_neighbors) r) per iteration.
    Memory: the data, X L (m, r), the candidates; never an array (m, m). 100,000 × 50 took 43 s of processor time and
    650 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), NCA(), KNeighborsClassifier(3))
    >>> model = model.fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    n_neighbors: int = 10
    lam: float = 5e-3
    rank: int | None = None
    max_rounds: int = 2
    max_samples: int = 20_000
    solver_options: Mapping[str, Any] | None = None
    preprocessor: Any = None

    no_metric = "all distances are zero; lower lam, or give features that tell samples apart"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) of at least two classes, one of two samples.

        Raises InvalidInputError (naming the argument) and scikit-learn's ValueErrors. Warns (ConvergenceWarning) if
        the last round ended before it converged, and where standard deviations of features differ by a factor above
        10⁶: the start then sees the largest alone.
        """
        X, y = validated(self, X, y, accept_sparse=["csr"], dtype=np.float64, ensure_min_samples=2, copy=True)
        check_classification_targets(y)
        codes = classes(y)[1]
        if np.bincount(codes).max() < 2:
            raise InvalidInputError("y must hold a class with at least 2 samples; found none")
        for name in ("n_neighbors", "max_rounds", "max_samples"):
            integer(getattr(self, name), name)
        integer_or_none(self.rank, "rank", 1, self.n_features_in_, "the number of features")
        positive(self.lam, "lam")
        m, d = X.shape
        options = options_for_solve(self.solver_options, tol=DEFAULT_TOL)
        if "start" in options:
            raise InvalidInputError("solver_options must not hold 'start': each round has its own; found one")
        count, rank = min(m, self.max_samples), min(self.rank or LARGE_RANK, m, d)
        r, k = rank, 2 * self.n_neighbors
        run = self.max_rounds * (search(count, X, r / d) + STEPS * (products(X, r) + 16.0 * count * k * r))
        numbers, shorter = 4 * entries(X) + 3 * count * k * r, "a smaller max_samples or rank"
        say_if_long(self, (m, d), 0.0, run, numbers=numbers, shorter=shorter)
        samples = np.sort(np.random.default_rng(0).choice(m, count, replace=False))
        warn_of_units(X, "NCA")
        X = centred(X)  # distances stay the same, and an offset would cost digits
        L = np.eye(d) if rank == d else principal_axes(X, rank)
        result = self._rounds(linear_map(X, "X", checked=True, owned=True), codes, samples, L, options)
        self.result_ = finished(result)
        self.components_ = sorted_components(result.matrix, self.no_metric)
        return self

    def _rounds(self, data: LinearMap, codes: Indices, samples: Indices, L: Array, options: dict[str, Any]) -> Result:
        """The result of the last round, from orthonormal columns L (d, r)."""
        clock, limit = time.perf_counter(), options.get("max_time")
        Z = data.apply(L)
        candidates = nearest_candidates(Z, codes, samples, self.n_neighbors)
        i, j = np.repeat(samples, candidates.shape[1] - 1), candidates[:, 1:].ravel()
        distances = pair_dots(i, j, Z, Z)
        mean = float(np.minimum(distances, START_DISTANCE * np.median(distances)).mean())  # whatever one outlier says
        largest, tiny = float(np.max(np.abs(Z), initial=0.0)), float(np.finfo(np.float64).tiny)
        if 0.0 < mean < tiny or 0.0 < largest < math.sqrt(tiny):
            raise InvalidInputError(
                "X must not be so small that squared distances of neighbours underflow; found deviations from the "
                f"mean of at most {largest:.2g}. Scale the data"
            )
        L = L * math.sqrt(START_DISTANCE / mean) if mean > 0.0 else L
        lam = self.lam / norm(L) ** 2
        self.n_rounds_ = self.n_iter_ = 0
        while True:
            given = {"geometry": FlatQuotient(*L.shape), "escape": False, "proof": "cheap", **options, "start": L}
            if isinstance(limit, Real) and float(limit) >= 0.0:
                given["max_time"] = max(float(limit) - (time.perf_counter() - clock), 0.0)
            problem = nca_problem(data, codes, candidates, lam)
            result = of_a_round(solve(problem, **{"max_iterations": MOST_PRODUCTS, **given}), problem, L, limit)
            L = result.matrix.factor
            self.n_rounds_ += 1
            self.n_iter_ += result.iterations
            if self.n_rounds_ == self.max_rounds or was_cut(result) or not norm(L) > 0.0:
                return result
            before, candidates = candidates, nearest_candidates(data.apply(L), codes, samples, self.n_neighbors)
            if np.array_equal(before, candidates):
                return result
