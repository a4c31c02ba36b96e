"""The scikit-learn face: a correlation matrix of low rank between the columns of X."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from nearest_correlation.geometry import UnitDiagonal
from nearest_correlation.problem import nearest_correlation_problem
from psdopt import TrustRegions, solve


class LowRankCorrelation(BaseEstimator):
    """Nearest correlation matrix, of rank at most `rank`, to the sample correlation of the columns of X.

    Parameters: rank; tol, relative accuracy; max_iter. A run that does not converge warns.
    Attributes: correlation_ (d, d); loadings_ (d, rank); result_, the solver's answer; n_iter_.
    """

    def __init__(self, rank=2, tol=1e-6, max_iter=500):
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y=None):
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        centred = X - X.mean(axis=0)
        spread = np.linalg.norm(centred, axis=0)
        Z = centred / np.where(spread > 0, spread, 1.0)
        problem = nearest_correlation_problem(Z.T @ Z)
        geometry = UnitDiagonal(X.shape[1], min(int(self.rank), X.shape[1]))
        start = geometry.from_factor(Z.T)
        self.result_ = solve(problem, geometry, TrustRegions(), start=start, tol=self.tol, max_iterations=self.max_iter)
        if not self.result_.converged:
            warnings.warn(f"no convergence: {self.result_.message}", ConvergenceWarning, stacklevel=2)
        self.loadings_ = self.result_.matrix.factor
        self.correlation_ = self.result_.matrix.to_dense()
        self.n_iter_ = self.result_.iterations
        return self
