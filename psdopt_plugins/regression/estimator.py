"""PSDRegressor: targets as quadratic forms of the samples, with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from psdopt import FlatQuotient, Geometry, LowRankPSD, Result
from psdopt.choose import starting_point
from psdopt.errors import InvalidInputError
from psdopt.geometries.polar import Polar
from psdopt.linalg.arrays import Array
from psdopt.methods.online_gradient import OnlineRiemannianGradient, Pace
from psdopt_plugins.metric_learning.mahalanobis import solved, sorted_components
from psdopt_plugins.regression.online import psd_regression_stream
from psdopt_plugins.regression.problem import psd_regression_problem

GEOMETRIES = ("flat", "polar")


def geometry_for(name: str, n: int, rank: int | None, weight: float) -> Geometry | None:
    """The geometry called `name`; None (the solver's own choice) for "flat" without a rank.

    Raises InvalidInputError for another name, and what the geometry raises for its rank and weight.
    """
    if name not in GEOMETRIES:
        raise InvalidInputError(f"geometry must be one of {', '.join(map(repr, GEOMETRIES))}; found {name!r}")
    if name == "polar":
        return Polar(n, n if rank is None else rank, weight)
    return None if rank is None else FlatQuotient(n, rank)


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
        X, y = validate_data(self, X, y, accept_sparse=["csr"], dtype=np.float64, y_numeric=True)
        options = dict(self.solver_options or {})
        geometry = geometry_for(self.geometry, X.shape[1], self.rank, self.weight)
        if geometry is not None:
            options.setdefault("geometry", geometry)
        options.setdefault("rng", self._generator())
        self.result_ = solved(psd_regression_problem(X, y, direction=direction), None, options)
        self.components_ = sorted_components(self.result_.matrix)
        self.__dict__.pop("_online", None)
        return self

    def partial_fit(self, X: Any, y: Any, *, direction: Any = None) -> Self:
        """Go on learning: one update per `batch_size` rows, in the order given. O(d r) memory beyond X.

        The first call chooses step and annealing on its own samples; after :meth:`fit` it goes on from W.
        """
        fresh = not hasattr(self, "components_")
        X, y = validate_data(
            self, X, y, accept_sparse=["csr"], dtype=np.float64, y_numeric=True, reset=fresh,
        )  # fmt: skip
        method = OnlineRiemannianGradient(self.batch_size)
        problem = psd_regression_stream(X, y, None, direction, order="given")
        if not hasattr(self, "_online"):
            d = X.shape[1]
            geometry = geometry_for(self.geometry, d, self.rank, self.weight) or FlatQuotient(d, d)
            start = None if fresh else LowRankPSD(np.ascontiguousarray(self.components_.T))
            state = method.init(problem, geometry, starting_point(geometry, problem, start, self._generator()))
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
        X = validate_data(self, X, accept_sparse=["csr"], dtype=np.float64, reset=False)
        return LowRankPSD(self.components_.T).quadratic_form(X)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=4))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # no offset, no linear terms: most targets are no quadratic form
        return tags
