"""PSDRegressor: targets as quadratic forms of the samples, with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from psdopt import Geometry, LowRankPSD, OnlineRiemannianGradient, Pace, Result, starting_point
from psdopt.linalg import Array, RowBlocks, row_dots
from psdopt_plugins.estimators import generator, named_geometry, solved, sorted_components
from psdopt_plugins.regression.online import psd_regression_stream
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.rows import projected, validated


class PSDRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn W ⪰ 0 (d, d) with xᵀWx ≈ y: min 1/(2m) Σ (x_iᵀWx_i − y_i)² (Meyer et al.).

    Predictions are never negative. A constant feature adds linear terms and an offset.

    Parameters
    ----------
    rank : largest rank of W, or None for no limit (then a global optimum is certified).
    geometry : "flat" (the factor itself) or "polar" (subspace and matrix within it).
    weight : of the polar metric: 0 keeps the range of the start, 1 moves only the range.
    batch_size : samples per update in :meth:`partial_fit`.
    solver_options : keyword arguments of :func:`psdopt.solve` for :meth:`fit` (tol, method, start, max_time, ...).
    random_state : seed of the start.

    Attributes
    ----------
    components_ : (r, d), W = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` of :meth:`fit`.
    loss_ : after :meth:`partial_fit`, mean loss of its samples, each predicted before it was learned from.
    n_features_in_ : d.

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

    components_: Array
    result_: Result
    loss_: float
    n_features_in_: int

    def __init__(
        self,
        rank: int | None = None,
        *,
        geometry: str = "flat",
        weight: float = 0.5,
        batch_size: int = 32,
        solver_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.geometry = geometry
        self.weight = weight
        self.batch_size = batch_size
        self.solver_options = solver_options
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, direction: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and y (m,); `direction` as in :func:`psd_regression_problem`."""
        X, y = validated(self, X, y, blocks=True, accept_sparse=["csr"], dtype=np.float64, y_numeric=True)
        geometry = self._geometry(X.shape[1])
        chosen = {} if self.geometry == "flat" and self.rank is None else {"geometry": geometry}
        problem = psd_regression_problem(X, y, direction=direction)
        self.result_ = solved(problem, None, self.solver_options, rng=generator(self.random_state), **chosen)
        self.components_ = sorted_components(self.result_.matrix)
        self.__dict__.pop("_online", None)
        return self

    def partial_fit(self, X: Any, y: Any, *, direction: Any = None) -> Self:
        """Go on learning: one update per `batch_size` rows, in the order given. O(d r) memory beyond X.

        The first call chooses step and annealing on its own samples; after :meth:`fit` it goes on from W.
        """
        fresh = not hasattr(self, "components_")
        X, y = validated(
            self, X, y, accept_sparse=["csr"], dtype=np.float64, y_numeric=True, reset=fresh,
        )  # fmt: skip
        method = OnlineRiemannianGradient(self.batch_size)
        problem = psd_regression_stream(X, y, None, direction, order="given")
        if not hasattr(self, "_online"):
            d = X.shape[1]
            geometry = self._geometry(d)
            start = None if fresh else LowRankPSD(np.ascontiguousarray(self.components_.T))
            point = starting_point(geometry, problem, start, generator(self.random_state))
            state = method.init(problem, geometry, point)
            self._online = (geometry, state.point, Pace(state.scale, state.horizon, state.longest), 0)
        geometry, point, pace, samples = self._online
        batches = problem.stream.take(self.batch_size, 0, -(-X.shape[0] // self.batch_size))
        point, loss, samples, _ = method.advance(problem, geometry, point, batches, pace, samples)
        self._online = (geometry, point, pace, samples)
        self.loss_ = loss / X.shape[0]
        self.components_ = np.ascontiguousarray(geometry.factor(point).T)
        return self

    def predict(self, X: Any) -> Array:
        """xᵀWx for each row of X (m, d); shape (m,). O(m d r)."""
        check_is_fitted(self)
        X = validated(self, X, blocks=True, accept_sparse=["csr"], dtype=np.float64, reset=False)
        if isinstance(X, RowBlocks):
            image = projected(X, self.components_)
            return row_dots(image, image)
        return LowRankPSD(self.components_.T).quadratic_form(X)

    def _geometry(self, d: int) -> Geometry:
        return named_geometry(self.geometry, d, d if self.rank is None else self.rank, self.weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # no offset, no linear terms: most targets are no quadratic form
        return tags
