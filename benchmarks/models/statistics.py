"""Models of statistics and finance."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def worst_case_risk() -> cp.Problem:
    """Worst-case portfolio risk, covariances known up to bounds on their entries."""
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((6, 6))
    nominal, weights = factors @ factors.T / 6.0, np.full(6, 1.0 / 6.0)
    sigma = cp.Variable((6, 6), PSD=True)
    within = cp.abs(sigma - nominal) <= 0.2 * (1.0 - np.eye(6))
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(np.outer(weights, weights), sigma))), [within])


def _noisy_correlations(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = np.corrcoef(rng.standard_normal((n, 3 * n))) + 0.6 * rng.standard_normal((n, n))
    found = (found + found.T) / 2.0
    np.fill_diagonal(found, 1.0)
    return found


def correlation_frobenius() -> cp.Problem:
    """Nearest correlation matrix in the Frobenius norm."""
    given = _noisy_correlations(10, 2)
    x = cp.Variable((10, 10), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - given)), [cp.diag(x) == 1])


def correlation_absolute() -> cp.Problem:
    """Nearest correlation matrix in the sum of absolute differences."""
    given = _noisy_correlations(8, 3)
    x = cp.Variable((8, 8), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(x - given))), [cp.diag(x) == 1])


def correlation_spectral() -> cp.Problem:
    """Nearest correlation matrix in the spectral norm."""
    given = _noisy_correlations(8, 4)
    x = cp.Variable((8, 8), PSD=True)
    return cp.Problem(cp.Minimize(cp.norm(x - given, 2)), [cp.diag(x) == 1])


def _sample_covariance(n: int, samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    leading = np.zeros(n)
    leading[:3] = 1.5
    rows = rng.standard_normal((samples, n)) + rng.standard_normal((samples, 1)) * leading
    return np.cov(rows, rowvar=False)


def fantope() -> cp.Problem:
    """Fantope projection and selection: sparse principal subspaces."""
    s = _sample_covariance(10, 30, 5)
    x = cp.Variable((10, 10), symmetric=True)
    aim = cp.trace(s @ x) - 0.2 * cp.sum(cp.abs(x))
    return cp.Problem(cp.Maximize(aim), [x >> 0, np.eye(10) - x >> 0, cp.trace(x) == 2])


def sparse_pca() -> cp.Problem:
    """DSPCA: sparse principal component by a penalty on the entries of X = xxᵀ."""
    s = _sample_covariance(10, 25, 6)
    x = cp.Variable((10, 10), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(s @ x) - 0.3 * cp.norm1(cp.vec(x, order="F"))), [cp.trace(x) == 1])


def distance_embedding() -> cp.Problem:
    """Euclidean distance embedding in absolute deviations, centred."""
    rng = np.random.default_rng(7)
    points = rng.standard_normal((8, 2))
    squared = np.sum((points[:, None] - points[None]) ** 2, axis=2)
    noise = 1.0 + 0.1 * rng.standard_normal((8, 8))
    squared = squared * (noise + noise.T) / 2.0
    g = cp.Variable((8, 8), PSD=True)
    d = cp.reshape(cp.diag(g), (8, 1), order="F")
    ones = np.ones((1, 8))
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(d @ ones + ones.T @ d.T - 2 * g - squared))), [cp.sum(g, axis=1) == 0])


def robust_pca() -> cp.Problem:
    """Robust principal components: a matrix split into low rank and sparse."""
    rng = np.random.default_rng(8)
    given = rng.standard_normal((8, 1)) @ rng.standard_normal((1, 8))
    given += 4.0 * rng.standard_normal((8, 8)) * (rng.random((8, 8)) < 0.08)
    low, sparse = cp.Variable((8, 8)), cp.Variable((8, 8))
    aim = cp.normNuc(low) + cp.sum(cp.abs(sparse)) / np.sqrt(8.0)
    return cp.Problem(cp.Minimize(aim), [low + sparse == given])


def completion_nuclear() -> cp.Problem:
    """Matrix completion by the nuclear norm."""
    rng = np.random.default_rng(9)
    full = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 7))
    mask = (rng.random((8, 7)) < 0.7).astype(float)
    x = cp.Variable((8, 7))
    return cp.Problem(cp.Minimize(cp.normNuc(x)), [cp.multiply(mask, x) == mask * full])


def completion_max_norm() -> cp.Problem:
    """Matrix completion by the max norm: least largest row of the factors, with tolerated deviations."""
    rng = np.random.default_rng(10)
    full = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 5))
    rows, columns = np.nonzero(rng.random((6, 5)) < 0.7)
    w = cp.Variable((11, 11), PSD=True)
    bound = cp.Variable()
    seen = cp.abs(w[:6, 6:][rows, columns] - full[rows, columns]) <= 0.05
    return cp.Problem(cp.Minimize(bound), [cp.diag(w) <= bound, seen])


def graphical_lasso() -> cp.Problem:
    """Graphical lasso: a sparse inverse covariance."""
    s = _sample_covariance(8, 40, 11)
    x = cp.Variable((8, 8), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(s @ x) - cp.log_det(x) + 0.1 * cp.sum(cp.abs(x))))


def kernel_learning() -> cp.Problem:
    """Kernel learning with a soft margin: a kernel of unit trace in the span of given ones."""
    rng = np.random.default_rng(12)
    n = 10
    x = rng.standard_normal((n, 2))
    y = np.where(x[:, 0] + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
    squared = np.sum((x[:, None] - x[None]) ** 2, axis=2)
    given = [x @ x.T, (1.0 + x @ x.T) ** 2, np.exp(-squared)]
    weights, t, shift = cp.Variable(3), cp.Variable(), cp.Variable()
    low, high = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    kernel = sum(weights[k] * given[k] / np.trace(given[k]) for k in range(3))
    column = cp.reshape(1 + low - high + shift * y, (n, 1), order="F")
    corner = cp.reshape(t - 2 * cp.sum(high), (1, 1), order="F")
    margins = cp.bmat([[cp.multiply(np.outer(y, y), kernel), column], [column.T, corner]])
    return cp.Problem(cp.Minimize(t), [(margins + margins.T) / 2 >> 0, kernel >> 0, cp.sum(weights) == 1])
