"""What the metric-learning estimators share: from a problem to a linear transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from psdopt import LowRankPSD, Problem, Result
from psdopt.linalg import Array
from psdopt_plugins.estimators import column_signs, solved


def sorted_components(M: LowRankPSD) -> Array:
    """L (r, d) with M = LᵀL: orthogonal rows by decreasing norm, the largest entry of each positive.

    r is the numerical rank of M. For M = 0 one row of zeros is returned, with a warning.
    """
    values, vectors = M.eigh()
    if len(values) == 0:
        warnings.warn("the learned matrix is M = 0: all distances are zero; change lam or the pairs", stacklevel=3)
        return np.zeros((1, M.n))
    return np.asarray((vectors * (np.sqrt(values) * column_signs(vectors))).T)


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
        """X Lᵀ (m, r): Euclidean distances between its rows are the learned distances. X (m, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_.T)

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
