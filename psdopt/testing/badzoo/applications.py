"""Broken estimators: a metric learner that whitens the data, with one sin each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from psdopt.linalg.arrays import Array


class _Whitening(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Healthy base: L = (Σ + eps I)^-½ of the samples."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, eps: float = 0.1) -> None:
        self.eps = eps

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64)
        values, vectors = np.linalg.eigh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))
        self.components_ = self.roots(X, values)[:, None] * vectors.T
        return self

    def roots(self, X: Array, values: Array) -> Array:
        return np.asarray(1.0 / np.sqrt(np.maximum(values, 0.0) + self.eps))

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_.T)

    def get_mahalanobis_matrix(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)


class ChangesParameters(_Whitening):
    """The constructor rewrites its argument, so that clones differ."""

    rejected_by = ("application.sklearn_conventions",)

    def __init__(self, eps: float = 0.1) -> None:
        self.eps = 2.0 * eps


class NoMetric(_Whitening):
    """The matrix has a negative eigenvalue that the components do not show."""

    rejected_by = ("application.pseudo_metric",)

    def get_mahalanobis_matrix(self) -> Array:
        M = super().get_mahalanobis_matrix()
        return np.asarray(M - 2.0 * np.diag([np.max(M), *np.zeros(len(M) - 1)]))


class Unseeded(_Whitening):
    """Every fit draws from fresh randomness."""

    rejected_by = ("application.same_seed_same_answer", "application.permuted_samples",
                   "application.sklearn_conventions")  # fmt: skip

    def roots(self, X: Array, values: Array) -> Array:
        return np.asarray(super().roots(X, values) * np.random.default_rng().uniform(0.5, 2.0, len(values)))


class FirstSampleCounts(_Whitening):
    """The first sample sets the scale."""

    rejected_by = ("application.permuted_samples",)

    def roots(self, X: Array, values: Array) -> Array:
        return np.asarray(super().roots(X, values) * (1.0 + float(np.sum(X[0] ** 2))))


class Unpicklable(_Whitening):
    """Keeps a lambda, which cannot be saved."""

    rejected_by = ("application.save_and_load", "application.sklearn_conventions")

    def fit(self, X: Any, y: Any = None) -> Any:
        super().fit(X, y)
        self.metric_ = lambda a, b: float(np.linalg.norm(self.components_ @ (a - b)))
        return self


ALL: tuple[type[Any], ...] = (ChangesParameters, NoMetric, Unseeded, FirstSampleCounts, Unpicklable)
