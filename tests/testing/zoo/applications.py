"""Broken estimators: a metric learner that whitens the data, with one sin each."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from psdopt.contracts.matrix import LowRankPSD
from psdopt.geometries import FlatQuotient
from psdopt.linalg.arrays import Array
from psdopt.methods import ConjugateGradient
from psdopt.problems import QuadraticSDP
from psdopt.running.solve import solve


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

    rejected_by = (
        "application.same_seed_same_answer",
        "application.permuted_samples",
        "application.storage_independence",
        "application.sklearn_conventions",
    )

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


class SpoilsItsData(_Whitening):
    """Centres the caller's X in place."""

    rejected_by = ("application.data_untouched", "application.sklearn_conventions")

    def fit(self, X: Any, y: Any = None) -> Any:
        if isinstance(X, np.ndarray) and X.dtype == np.float64:
            X -= X.mean(axis=0)
        return super().fit(X, y)


class SparseDiffers(_Whitening):
    """Sparse X is scaled by a path of its own."""

    rejected_by = ("application.storage_independence",)

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64, accept_sparse=["csr", "csc"])
        sparse = sp.issparse(X)
        super().fit(X.toarray() if sparse else X)
        self.components_ = self.components_ * (1.1 if sparse else 1.0)
        return self

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse=["csr", "csc"])
        return np.asarray(X @ self.components_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SinglePrecision(_Whitening):
    """Rounds X to single precision before it looks at it."""

    rejected_by = ("application.not_rounded",)

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64)
        return super().fit(X.astype(np.float32).astype(np.float64))


class SparseSinglePrecision(SparseDiffers):
    """Sparse X is rounded to single precision."""

    rejected_by = ("application.not_rounded",)

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64, accept_sparse=["csr", "csc"])
        sparse = sp.issparse(X)
        return _Whitening.fit(self, X.toarray().astype(np.float32).astype(np.float64) if sparse else X)


class LastFitCounts(_Whitening):
    """transform reads what the last fit has left in the class."""

    rejected_by = ("application.fits_apart",)
    last: ClassVar[Any] = None

    def fit(self, X: Any, y: Any = None) -> Any:
        super().fit(X, y)
        type(self).last = self.components_
        return self

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ type(self).last.T)


class LearnsNothing(_Whitening):
    """Looks at the number of features only."""

    rejected_by = ("application.samples_count", "application.not_rounded")

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64)
        self.components_ = np.eye(X.shape[1])
        return self


class OneSeed(_Whitening):
    """Takes a random_state, and draws from a seed of its own."""

    rejected_by = ("application.seed_counts",)

    def __init__(self, eps: float = 0.1, random_state: Any = None) -> None:
        super().__init__(eps)
        self.random_state = random_state

    def roots(self, X: Array, values: Array) -> Array:
        jitter = np.random.default_rng(0).uniform(1.0, 1.0 + 1e-12, len(values))
        return np.asarray(super().roots(X, values) * jitter)


class _Solved(_Whitening):
    """Base: the metric M of least |M − Σ|², Σ the scatter of the samples, found by conjugate gradients."""

    def __init__(self, max_iter: int = 500) -> None:
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Any:
        X = validate_data(self, X, dtype=np.float64)
        problem = QuadraticSDP(None, 1.0, -self.scatter(X))
        n = X.shape[1]
        start = np.random.default_rng(0).standard_normal((n, n))
        result = solve(
            problem, FlatQuotient(n, n), ConjugateGradient(), start=start, tol=1e-10, max_iterations=self.max_iter
        )
        self.n_iter_ = max(result.iterations, 1)
        self.result_ = self.finished(dataclasses.replace(result, state=None))
        self.components_ = self.learned(result.matrix)
        return self

    def scatter(self, X: Array) -> Array:
        return np.asarray(np.cov(X.T, bias=True).reshape(X.shape[1], -1))

    def finished(self, result: Any) -> Any:
        if not result.converged:
            warnings.warn(f"ended before convergence: {result.message}", ConvergenceWarning, stacklevel=3)
        return result

    def learned(self, M: LowRankPSD) -> Array:
        return np.asarray(M.factor.T)

    def reference(self, X: Array, y: Any) -> QuadraticSDP:
        """|M − Σ|² up to a constant."""
        return QuadraticSDP(None, 1.0, -np.cov(X.T, bias=True))


class SilentlyUnfinished(_Solved):
    """Tells nobody that its run did not converge."""

    rejected_by = ("application.unconverged_warns",)

    def finished(self, result: Any) -> Any:
        return result


class OtherComponents(_Solved):
    """The components are those of M², where `result_` has M."""

    rejected_by = ("application.components_of_result", "application.solves_reference")

    def learned(self, M: LowRankPSD) -> Array:
        return np.asarray(M.to_dense())


class RolledSamples(_Solved):
    """Pairs every sample with the next one, where its formula pairs it with itself."""

    rejected_by = ("application.solves_reference", "application.permuted_samples")

    def scatter(self, X: Array) -> Array:
        Z = X - X.mean(axis=0)
        rolled = Z.T @ np.roll(Z, 1, axis=0) / len(Z)
        return np.asarray(0.5 * (rolled + rolled.T))


ALL: tuple[type[Any], ...] = (
    ChangesParameters,
    NoMetric,
    Unseeded,
    FirstSampleCounts,
    Unpicklable,
    SpoilsItsData,
    SparseDiffers,
    SinglePrecision,
    SparseSinglePrecision,
    LastFitCounts,
    LearnsNothing,
    OneSeed,
    SilentlyUnfinished,
    OtherComponents,
    RolledSamples,
)
