"""What the metric-learning estimators share: from a problem to a linear transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from psdopt import Problem, Result
from psdopt.linalg import Array
from psdopt_plugins.estimators import solved, sorted_components
from psdopt_plugins.rows import projected, validated


class MahalanobisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of estimators that learn d_M(x, z) = (x − z)ᵀM(x − z), used as the linear map x ↦ L x, M = LᵀL."""

    components_: Array
    result_: Result
    n_features_in_: int

    def _learn(self, problem: Problem, rank: int | None, options: Mapping[str, Any] | None, **defaults: Any) -> Self:
        self.result_ = solved(problem, rank, options, **defaults)
        self.components_ = sorted_components(self.result_.matrix)
        return self

    def transform(self, X: Any) -> Array:
        """X Lᵀ (m, r): Euclidean distances between its rows are the learned ones. X (m, d), maybe in blocks of rows."""
        check_is_fitted(self)
        X = validated(self, X, blocks=True, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        return projected(X, self.components_)

    def get_mahalanobis_matrix(self) -> Array:
        """M = LᵀL (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
