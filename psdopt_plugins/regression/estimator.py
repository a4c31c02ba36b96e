"""PSDRegressor: targets as quadratic forms of the samples, a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from psdopt import Geometry, LowRankPSD, TermSum, starting_point
from psdopt.checks import one_of
from psdopt.linalg import Array, RowBlocks, as_dense, linear_map, row_dots
from psdopt_plugins.certificate_on import on_rows
from psdopt_plugins.estimators import Estimator, generator, named_geometry, parameters, solved, sorted_components
from psdopt_plugins.long_fits import entries, products, say_if_long
from psdopt_plugins.online import OnlineModel, moment_of
from psdopt_plugins.regression.online import half_squares
from psdopt_plugins.regression.problem import checked_directions, psd_regression_problem
from psdopt_plugins.rows import projected, that_count, validated, warn_of_offset, weighted

#: Warning about W = 0 at the end of a fit.
NO_FORM = "every prediction is the same; no quadratic form lowers the error, as where no target is above the intercept"

#: Steps, typically, those within a Newton step included, and the rank that a run without a limit finds.
STEPS, FOUND = 80, 20


@parameters
class PSDRegressor(RegressorMixin, Estimator):
    """Learn W ⪰ 0 (d, d) with xᵀWx ≈ y: min 1/(2m) Σ (x_iᵀWx_i − y_i)² (Meyer et al.).

    xᵀWx is never negative; if some target is, an intercept c is learned with W: xᵀWx + c ≈ y. A constant feature
    adds linear terms and a nonnegative offset; c is then not learned but the least target, since with both no W may be
    best: (εa + b/(2ε))² − b²/(4ε²) → a b, where W grows without bound.

    Parameters
    ----------
    rank : largest rank of W, or None for no limit (then a global optimum is certified).
    geometry : "flat" (the factor itself) or "polar" (subspace and matrix within it).
    weight : of the polar metric: 0 keeps the range of the start, 1 moves only the range.
    batch_size : samples per update in :meth:`partial_fit`.
    fit_intercept : True, False, or "auto": if some target is negative, True, or where a feature is constant and not 0,
        False with c = min y. With bounds (`direction`) "auto" is False.
    solver_options : keyword arguments of :func:`psdopt.solve` for :meth:`fit` (tol, method, start, max_time, ...).
    random_state : seed of the start.

    Attributes
    ----------
    components_ : (r, d), W = components_ᵀ components_. intercept_ : c, 0 without one.
    result_ : the :class:`psdopt.Result` of :meth:`fit`. :meth:`partial_fit` makes another model and removes it.
    loss_ : mean loss of the samples of the last :meth:`partial_fit`, each predicted before its update.
    n_features_in_ : d.

    Cost per step: O(m d r), r the rank that the run needs if there is no limit; some tens of steps.
    Memory: the data and, up to d = 1500, (d, d). 100,000 × 50 took 12 s of processor time, 5,000 × 400 2.4 s.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 4))
    >>> y = (X @ [1.0, 2.0, 0.0, -1.0]) ** 2
    >>> model = PSDRegressor(rank=1).fit(X, y)
    >>> round(model.score(X, y), 6)
    1.0
    """

    rank: int | None = None
    _: KW_ONLY
    geometry: str = "flat"
    weight: float = 0.5
    batch_size: int = 64
    fit_intercept: bool | str = "auto"
    solver_options: Mapping[str, Any] | None = None
    random_state: Any = None

    takes_sparse = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, direction: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and y (m,); `direction` as in :func:`psd_regression_problem`.

        sample_weight : w (m,), at least 0: the objective is 1/(2 Σ w) Σ w_i (x_iᵀWx_i + c − y_i)², so that weight 2
        means the sample occurs twice.

        Warns where the mean of a feature of an array X is more than 10⁶ times its standard deviation, and
        (ConvergenceWarning) where the run ended before convergence.
        """
        X, y = validated(self, X, y, blocks=True, accept_sparse=["csr"], dtype=np.float64, y_numeric=True)
        X, w, y, direction = weighted(X, sample_weight, y, direction)
        warn_of_offset(X, "PSDRegressor", "xᵀWx")
        geometry, d = self._geometry(X.shape[1]), X.shape[1]
        run, numbers = STEPS * products(X, self.rank or min(d, FOUND)), 3 * entries(X) + d * d
        say_if_long(self, X.shape, 0.0, run, numbers=numbers, shorter="a smaller rank, fewer samples or features")
        chosen = {} if self.geometry == "flat" and self.rank is None else {"geometry": geometry}
        self._learned, c = self._intercept(X, y, direction)
        data, targets = linear_map(X, "X", checked=True), y if self._learned else y - c
        problem = psd_regression_problem(data, targets, direction=direction, offset=self._learned, weights=w)
        self.result_ = solved(problem, None, self.solver_options, rng=generator(self.random_state), **chosen)
        self.components_ = sorted_components(self.result_.matrix, NO_FORM)
        self.intercept_ = float(np.average(y - self._forms(X), weights=w)) if self._learned else c
        self._known = X.shape[0], moment_of(problem)
        for name in ("_online", "loss_"):
            self.__dict__.pop(name, None)
        return self

    def partial_fit(self, X: Any, y: Any, *, direction: Any = None) -> Self:
        """Continue learning: one update per `batch_size` rows, in the given order. O(d²) memory besides X.

        The updates are those of :class:`~psdopt_plugins.online.OnlineModel`, Gauss–Newton steps that need no choice of
        a step or a schedule; after :meth:`fit` they continue from W. W is the mean of the iterates, and :attr:`loss_`
        that of the iterates. :meth:`fit` or the first call decides whether there is an intercept. It moves by the mean
        residual of a call, weighted by the share of the call in all samples seen so far.

        Warns (ConvergenceWarning) if the loss of this call's rows more than doubles during the call:
        the batches contradict each other, or they are too small.
        """
        fresh = not hasattr(self, "components_")
        X, y = validated(self, X, y, accept_sparse=["csr"], dtype=np.float64, y_numeric=True, reset=fresh)
        if fresh:
            self._learned, self.intercept_ = self._intercept(X, y, direction)
            self._known = 0, None
        signs = None if direction is None else checked_directions(direction, len(y))
        targets = y - self.intercept_
        if not hasattr(self, "_online"):
            self._online = self._begun(fresh, X[: self.batch_size], targets[: self.batch_size])
        self.loss_ = self._online.learn(X.__getitem__, half_squares(targets, signs), len(y), self.batch_size)
        self.components_ = np.ascontiguousarray(self._online.factor.T)
        if self._learned:
            self.intercept_ += X.shape[0] / self._online.samples * float(np.mean(y - self.predict(X)))
        self.__dict__.pop("result_", None)
        return self

    @on_rows
    def certificate_on(self, X: Any, y: Any, *, direction: Any = None) -> tuple[TermSum, Any]:
        """How far W is proven to be from the best W for the rows X (m, d), y (m,): all rows seen, or others.

        F(M) = 1/(2m) Σ (xᵀMx + c − y)², c the `intercept_` that has been learned, with `direction` as in :meth:`fit`.
        """
        options: dict[str, Any] = {"accept_sparse": ["csr"], "dtype": np.float64, "y_numeric": True}
        X, y = validated(self, X, y, blocks=True, reset=False, **options)
        data, kept = that_count(linear_map(X, "X", checked=True), of_differences=False)
        return psd_regression_problem(data, y - self.intercept_, direction=direction), kept

    def _begun(self, fresh: bool, X: Any, targets: Array) -> OnlineModel:
        """At a random W with predictions as large as the targets, or at the fitted W."""
        geometry, rng = self._geometry(X.shape[1]), generator(self.random_state)
        if fresh:
            Y = geometry.factor(geometry.random_point(rng))
            Z = X @ Y
            scale = np.abs(targets).mean() / (np.vdot(Z, Z) / len(targets) or 1.0)
            return OnlineModel.begun(geometry, geometry.from_factor(np.sqrt(scale or 1.0) * Y))
        start = LowRankPSD(np.ascontiguousarray(self.components_.T))
        point = starting_point(geometry, psd_regression_problem(X, targets), start, rng)
        return OnlineModel.begun(geometry, point, *self._known)

    def _intercept(self, X: Any, y: Array, direction: Any) -> tuple[bool, float]:
        """Whether an intercept is learned; where it starts or, if it is not learned, stays."""
        least = float(np.min(y))
        if isinstance(self.fit_intercept, (bool, np.bool_)):
            return bool(self.fit_intercept), least if self.fit_intercept else 0.0
        one_of(self.fit_intercept, "fit_intercept", ("auto",))
        return (not _has_a_constant(X), least) if direction is None and least < 0.0 else (False, 0.0)

    def predict(self, X: Any) -> Array:
        """xᵀWx + c for each row of X (m, d); shape (m,). O(m d r)."""
        check_is_fitted(self)
        X = validated(self, X, blocks=True, accept_sparse=["csr"], dtype=np.float64, reset=False)
        return self._forms(X) + self.intercept_

    def _forms(self, X: Any) -> Array:
        if isinstance(X, RowBlocks):
            image = projected(X, self.components_)
            return row_dots(image, image)
        return LowRankPSD(self.components_.T).quadratic_form(X)

    def _geometry(self, d: int) -> Geometry:
        return named_geometry(self.geometry, d, d if self.rank is None else self.rank, self.weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # without linear terms most targets cannot be fitted
        return tags


def _has_a_constant(X: Any) -> bool:
    """Whether a column of X (m, d) is constant and not 0. O(m d); of rows in blocks, those until no column is left."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for block in (block for _, block in X.source.blocks()) if isinstance(X, RowBlocks) else (X,):
        low = np.minimum(low, as_dense(block.min(axis=0)).ravel())
        high = np.maximum(high, as_dense(block.max(axis=0)).ravel())
        if not np.any((low == high) & (low != 0.0)):
            return False
    return True
