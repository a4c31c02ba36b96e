"""PSDBoost: the metric of largest margin over triplets (i, j, k), "i is nearer to j than to k"; a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from psdopt import ColumnGeneration, MarginProblem, Spectraplex, solve
from psdopt.checks import integer, number
from psdopt.linalg import RowBlocks, linear_map
from psdopt.terms import TripletDifferences
from psdopt_plugins.estimators import finished, options_for_solve, parameters, sorted_components
from psdopt_plugins.limits import ROOT_EPS
from psdopt_plugins.long_fits import entries, say_if_long, search
from psdopt_plugins.metric_learning.lmnn_start import in_basis, in_units, units_of_features
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.pair_sampling import FromSample, nearest_triplets
from psdopt_plugins.pairs import checked_triplets
from psdopt_plugins.rows import only_touched, ranges_of_features, validated_with


def triplet_margin_problem(
    X: Any, triplets: Any, C: float | None = None, n: int | None = None, smoothing: float = 0.0
) -> MarginProblem:
    """max ρ − C Σ ξ_r s.t. d_M(i, k) − d_M(i, j) >= ρ − ξ_r, ξ >= 0, for matrices of trace one (Shen et al., eq. 3).

    The library minimises, so F(M) is **minus** that objective: the margin reached is −result.value. Solve it over
    ``Spectraplex(n)``, with :class:`~psdopt.margins.column_generation.ColumnGeneration`. Triplets that contradict
    each other are allowed and cost slack.

    Parameters
    ----------
    X : (N, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``; d_M(i, j) = (x_i − x_j)ᵀM(x_i − x_j).
        Of rows that are read in blocks (:func:`psdopt.linalg.row_source`) those that occur in triplets are loaded.
        None: M is a kernel matrix of order `n` and d_M(i, j) = M_ii + M_jj − 2 M_ij.
    triplets : (m, 3) integer rows (i, j, k), three different indices each.
    C : cost of a violation, at least 1/m; C = 1/(ν m) lets about a fraction ν of the triplets stay below the margin.
        None: hard margin, F(M) = −min_r (d_M(i, k) − d_M(i, j)); so does every C >= 1.
    smoothing : mu of the smoothed loss, for methods that need a gradient.

    Raises
    ------
    InvalidInputError for NaN, wrong shapes, no triplets, indices out of range or repeated within a triplet, C m < 1.

    Cost: no A_r (d, d) is formed. ⟨A_r, YYᵀ⟩ and Σ w_r A_r V cost one product with X (and one with Xᵀ) and O(m r);
    distances that triplets share are computed once.
    """
    if X is None:
        rows = checked_triplets(triplets)
    else:
        data = linear_map(X, "X")
        X, rows = only_touched(data, checked_triplets(triplets, data.shape[0]))
    return MarginProblem(TripletDifferences(rows[:, 0], rows[:, 1], rows[:, 2], X, n), C, smoothing)


#: Tolerance for `solve` unless `solver_options` give another.
TOLERANCE = 1e-4
#: Columns of the master problem, typically, and the operations of a run per triplet and feature.
COLUMNS, WORK = 1000, 1.2e5


@parameters
class PSDBoost(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d), tr M = 1: max ρ − C Σ ξ, d_M(i, k) − d_M(i, j) >= ρ − ξ (Shen et al., eq. 3).

    LPBoost with matrices: a rank-one v vᵀ is a weak learner, the eigenvector of Σ w_r A_r the best one for the
    weights w on the triplets, M their convex combination, ρ the soft margin.

    Parameters
    ----------
    nu : fraction of triplets that may stay below the margin, in (0, 1]: C = 1/(nu m). Below 1/m: hard margin.
    C : cost of a violation, instead of `nu`; at least 1/m for m triplets.
    n_neighbors : when `fit` gets labels: each sample gives triplets with this many nearest samples of its class
        and as many of the others.
    max_samples : samples among which nearest samples are sought; of more, as many are drawn (with a fixed seed),
        and the proof is that of the problem of the samples drawn. Given triplets are all used.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...). The default method
        is ``ColumnGeneration()`` to tol = 1e-4.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` with value, status, certificate and history; its matrix is that of the features
        that vary, in the units in which M is learned.
    margin_ : the optimal ρ − C Σ ξ (−result_.value); negative if no M satisfies the triplets.
    triplets_ : (m, 3), the triplets used.
    n_features_in_ : d.

    Features that are constant in X are left out: they would take the trace, and M has zeros for them. A warning says if
    all distances are zero because features are sums of others. Units of features: tr M = 1 weighs them. If their ranges
    max − min differ by a factor above 1000, triplets and M are those of X divided by its standard deviations, and
    tr M = 1 holds there; `components_` still apply to X as given, as from a pipeline with ``StandardScaler``.

    Cost: with labels O(s² d) for the nearest of s samples drawn; an iteration takes products with X and O(triplets),
    the master problem O(triplets · columns). Memory: the data and (triplets, columns). 100,000 × 50 took 55 s of
    processor time and 590 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PSDBoost().fit(X, y)
    >>> bool(model.result_.optimal)
    True
    >>> bool(PSDBoost(nu=1.0).fit(X, triplets=[(0, 1, 50), (50, 51, 0)]).margin_ > 0)
    True
    """

    nu: float = 0.1
    C: float | None = None
    n_neighbors: int = 1
    max_samples: int = 20_000
    solver_options: Mapping[str, Any] | None = None
    preprocessor: Any = None

    no_metric = "all distances are zero; change nu, or the labels or triplets"

    def fit(self, X: Any, y: Any = None, *, triplets: Any = None) -> Self:
        """Learn from X (N, d), dense or sparse, and labels y (N,) or `triplets` (m, 3); if given, y is ignored.

        Raises InvalidInputError (one class, no triplets, bad indices, C m < 1, nu outside (0, 1]),
        UnknownNameError for a solver option, and scikit-learn's ValueErrors.
        """
        given = triplets is not None
        options: dict[str, Any] = {"blocks": True, "accept_sparse": ["csr", "csc"]}
        X, triplets = validated_with(self, X, y, triplets, lambda X, y: y, **options)
        ranges, varies = ranges_of_features(X)
        units = units_of_features(X, ranges, varies)
        if units is not None:
            X, ranges = in_units(X, units), ranges / units
        kept = varies if varies.any() else ~varies
        if not kept.all():
            X = in_basis(X, np.eye(len(kept))[:, kept]) if isinstance(X, RowBlocks) else X[:, kept]
        if not given:
            triplets = self._nearest(X, triplets)
        rows = checked_triplets(triplets, X.shape[0])
        if given:
            self._say_if_long(X, 0, len(rows), "fewer triplets", 4)
        data, among = only_touched(linear_map(X, "X", checked=True), rows)
        problem = triplet_margin_problem(data, among, self._cost(len(rows)))
        defaults = {"geometry": Spectraplex(problem.n), "method": ColumnGeneration(), "tol": TOLERANCE}
        self.result_ = finished(solve(problem, **options_for_solve(self.solver_options, **defaults)))
        # before units are divided out, which would cost small rows
        found = sorted_components(self.result_.matrix, self.no_metric)
        self.components_ = np.zeros((len(found), len(kept)))
        self.components_[:, kept] = found if units is None else found / units[kept]
        self.margin_, self.triplets_ = -self.result_.value, rows.array
        if np.ptp(data.apply(found.T), axis=0).max() <= ROOT_EPS * ranges[kept].max():
            warnings.warn(
                "all distances between the samples are zero under the learned metric: no M reaches a positive margin; "
                "increase nu, or drop features that are sums of others",
                stacklevel=2,
            )
        return self

    def _nearest(self, X: Any, y: Any) -> Any:
        s = min(integer(self.max_samples, "max_samples"), X.shape[0])
        self._say_if_long(X, s, s * integer(self.n_neighbors, "n_neighbors") ** 2, "a smaller max_samples", 5)
        return FromSample(partial(nearest_triplets, n_neighbors=self.n_neighbors), self.max_samples)(X, y)

    def _say_if_long(self, X: Any, searched: int, triplets: int, shorter: str, stacklevel: int) -> None:
        (m, d), run = X.shape, WORK * triplets * X.shape[1]
        numbers = 3 * entries(X) + 3 * COLUMNS * triplets
        once = search(searched, X, searched / m)
        say_if_long(self, (m, d), once, run, numbers=numbers, shorter=shorter, stacklevel=stacklevel)

    def _cost(self, m: int) -> float | None:
        if self.C is not None:
            return self.C
        nu = number(self.nu, "nu", above=0.0, most=1.0)
        return None if nu * m < 1.0 else 1.0 / (nu * m)
