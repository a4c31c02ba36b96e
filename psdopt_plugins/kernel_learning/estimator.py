"""QuadraticKernel: learn a kernel from a Gaussian base kernel and signed pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from psdopt import LowRankPSD
from psdopt.checks import positive, weight
from psdopt.linalg import Array
from psdopt_plugins.estimators import Estimator, centred, parameters, solved, sorted_components
from psdopt_plugins.kernel_learning.problem import quadratic_kernel_problem
from psdopt_plugins.long_fits import say_if_long
from psdopt_plugins.pair_sampling import nearest_pairs
from psdopt_plugins.pairs import signed_pairs
from psdopt_plugins.rows import validated, validated_with

NO_KERNEL = "all kernel values are zero; lower tau, or change the pairs"


@parameters
class QuadraticKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Learn a kernel K ⪰ 0 (m, m) near N, N_ij = exp(−|x_i − x_j|²/σ²), from similar and dissimilar pairs.

    min tr(N⁻¹KN⁻¹K) + tau tr(N⁻¹K) + lam Σ s_ij (K_ii + K_jj − 2 K_ij) (Yuan et al., eq. 10). With K = Y Yᵀ, a new
    sample x is embedded as n(x)ᵀN⁻¹Y, n(x)_i = exp(−|x − x_i|²/σ²), after Jain, Kulis and Dhillon (2010).

    Parameters
    ----------
    rank : largest rank of K, or None for no limit (closed form up to 3000 samples).
    tau : weight of the trace, >= 0; larger values lower the rank. K = 0 once tau >= −λ_min(lam N^½TN^½).
    lam : weight of the pairs, > 0. With tau = 0 it only scales K.
    bandwidth : σ, or None for the median distance between samples.
    n_neighbors : when `fit` gets labels instead of pairs: each sample is paired with this many nearest samples
        of its class (similar) and of the other classes (dissimilar).
    jitter : added to the diagonal of N, whose Gaussian entries alone are numerically singular.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    kernel_ : :class:`psdopt.LowRankPSD`, K on the training samples.
    embedding_ : (m, r) with K = embedding_ embedding_ᵀ, columns by decreasing norm.
    dual_coef_ : (m, r), N⁻¹ embedding_. X_fit_ : (m, d) training samples. bandwidth_ : σ.
    result_ : the :class:`psdopt.Result` with value, status, certificate and history. Run and certificate are in
        terms of W = R⁻¹KR⁻ᵀ, N = R Rᵀ, which has the same values without N's ill-conditioning.
    n_features_in_ : d.

    Cost: O(m³), without a rank most of it an eigendecomposition; memory: some arrays (m, m). 1,000 samples took 0.9 s
    of processor time, 1,800 17 s.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticKernel(rank=5).fit(X, y)
    >>> model.embedding_.shape
    (150, 5)
    """

    rank: int | None = None
    tau: float = 0.0
    lam: float = 1.0
    bandwidth: float | None = None
    n_neighbors: int = 3
    jitter: float = 1e-6
    solver_options: Mapping[str, Any] | None = None

    needs_y = True

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Learn from X (m, d) and labels y (m,) or `pairs`; if pairs are given, y is ignored.

        pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of (i, j, ±1). Samples
        in no pair enter through N only. Memory O(m²), time O(m³) for the Cholesky factor of N.

        Raises InvalidInputError (names the argument) and scikit-learn's ValueErrors.
        """
        drawn = partial(nearest_pairs, n_neighbors=self.n_neighbors)
        X, pairs = validated_with(self, X, y, pairs, drawn, accept_sparse=False)
        m, shorter = len(X), "fewer samples, the others placed by transform"
        say_if_long(self, X.shape, 8.0 * m**3, 0.0, numbers=8 * m**2, shorter=shorter)
        T = signed_pairs(pairs, m).laplacian()
        squared = euclidean_distances(centred(X), squared=True)
        self.bandwidth_ = self._bandwidth(squared)
        N = np.exp(-squared / self.bandwidth_**2)
        N[np.diag_indices(m)] += weight(self.jitter, "jitter")
        problem = quadratic_kernel_problem(N, T, self.tau, self.lam)
        result = solved(problem.whitened(), self.rank, self.solver_options)
        self.result_ = replace(result, matrix=problem.unwhitened(result.matrix))
        self.embedding_ = sorted_components(self.result_.matrix, NO_KERNEL).T
        self.kernel_ = LowRankPSD(self.embedding_)
        self.X_fit_ = X
        R = np.asarray(problem.root)  # of a dense N
        self.dual_coef_ = solve_triangular(R, solve_triangular(R, self.embedding_, lower=True), lower=True, trans="T")
        return self

    def transform(self, X: Any) -> Array:
        """Embedding (q, r) of samples X (q, d): inner products of its rows are values of the learned kernel."""
        check_is_fitted(self)
        X = validated(self, X, dtype=np.float64, reset=False)
        squared = euclidean_distances(centred(X, self.X_fit_), centred(self.X_fit_), squared=True)
        base = np.exp(-squared / self.bandwidth_**2)
        return np.asarray(base @ self.dual_coef_)

    def _bandwidth(self, squared: Array) -> float:
        if self.bandwidth is not None:
            return positive(self.bandwidth, "bandwidth")
        median = math.sqrt(float(np.median(squared[np.triu_indices(len(squared), 1)])))
        if median > 0.0:
            return median
        largest = math.sqrt(float(squared.max()))
        return largest if largest > 0.0 else 1.0

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
