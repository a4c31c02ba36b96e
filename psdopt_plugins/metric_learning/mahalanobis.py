"""The base class of the metric-learning estimators, which are linear transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from psdopt import Problem, Result
from psdopt.checks import finite
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, norm, row_dots
from psdopt_plugins.estimators import Estimator, solved, sorted_components
from psdopt_plugins.rows import projected, validated
from psdopt_plugins.tuples import points_of_tuples

#: Largest rank of M for very many features (Yuan et al., section 5.2: at most 60), and at the start of LMNN.
LARGE_RANK = 60


class MahalanobisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of estimators that learn d_M(x, z) = (x − z)ᵀM(x − z), used as the linear map x ↦ L x, M = LᵀL."""

    takes_sparse, needs_y = True, True
    components_: Array
    result_: Result
    n_features_in_: int
    #: What a warning about M = 0 says.
    no_metric = "all distances are zero; change lam or the labels"
    #: Maps indices of samples to samples; a parameter of every learner.
    preprocessor: Any = None

    def _learn(self, problem: Problem, rank: int | None, options: Mapping[str, Any] | None, **defaults: Any) -> Self:
        self.result_ = solved(problem, rank, options, **defaults)
        self.components_ = sorted_components(self.result_.matrix, self.no_metric)
        return self

    def transform(self, X: Any) -> Array:
        """X Lᵀ (m, r): Euclidean distances between its rows are the learned ones.

        X (m, d) may be read in blocks. With a `preprocessor` it may be indices of samples (m,).
        """
        check_is_fitted(self)
        X = validated(self, X, blocks=True, devices=True, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        return projected(X, self.components_)

    def get_mahalanobis_matrix(self) -> Array:
        """M = LᵀL (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def get_metric(self) -> MahalanobisMetric:
        """The metric as a function (u, v, squared=False) ↦ |L (u − v)|; a later fit does not change it."""
        check_is_fitted(self)
        return MahalanobisMetric(self.components_)

    def pair_distance(self, pairs: Any) -> Array:
        """|L (x − z)| = √d_M(x, z) for each pair, (p,). O(p d r).

        pairs : points (p, 2, d) or, with a `preprocessor`, indices (p, 2). Raises InvalidInputError for another shape
        and for NaN.
        """
        return self._distances(*self._tuples(pairs, 2))

    def pair_score(self, pairs: Any) -> Array:
        """−:meth:`pair_distance` (p,); greater means more similar."""
        return -self.pair_distance(pairs)

    def _tuples(self, tuples: Any, width: int) -> tuple[Any, Any]:
        """Samples (m, d) and the tuples as rows of their indices. Checks the number of features."""
        check_is_fitted(self)
        X, rows = points_of_tuples(tuples, width, self.preprocessor)
        if X.shape[1] != self.n_features_in_:
            raise InvalidInputError(f"samples must have {self.n_features_in_} features; found {X.shape[1]}")
        return X, rows

    def _distances(self, X: Any, ends: Any) -> Array:
        """|L (x_i − x_j)| for rows (i, j); differences are formed first, so that an offset costs no digits."""
        image = np.asarray((X[ends[:, 0]] - X[ends[:, 1]]) @ self.components_.T)
        return np.sqrt(row_dots(image, image))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


class MahalanobisMetric:
    """(u, v) ↦ |L (u − v)| for u, v (d,) or (1, d), or numbers if d = 1. O(r d).

    A later fit of the estimator does not change it.

    Parameters
    ----------
    components : L (r, d), M = LᵀL; a copy is kept. Can be pickled, and be the `metric` of scikit-learn's estimators.
    """

    def __init__(self, components: Array) -> None:
        self.components = np.array(components, ndmin=2)

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """|L (u − v)|, or its square. Raises InvalidInputError unless both are finite and of shape (d,) or (1, d)."""
        first, second = np.atleast_1d(finite(u, "u"), finite(v, "v"))
        d = self.components.shape[1]
        if not {first.shape, second.shape} <= {(d,), (1, d)}:
            allowed = f"({d},) or (1, {d})"
            raise InvalidInputError(f"u and v must have shape {allowed}; found {first.shape} and {second.shape}")
        distance = norm(self.components @ (first.ravel() - second.ravel()))
        return distance**2 if squared else distance
