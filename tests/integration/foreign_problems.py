"""Random problems as other fields write them down: raw units, offsets, counts, users' own functions.

Each family names coordinates T (n, n) in which the problem is well scaled, M = T N Tᵀ. :func:`point_in_coordinates`
minimises over N by a quasi-Newton method of SciPy: other coordinates and other code than the runs that it judges.
"""

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
import scipy.optimize

from psdopt import AutogradProblem, Problem, QuadraticSDP, TermSum
from psdopt.terms import LinearTerm, MeasuredTerm, PairDistances, TripletDifferences
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, SquaredHinge
from psdopt.terms.measurements import Entries, QuadraticForms
from psdopt_plugins.metric_learning import kta_problem, linearity_problem

from .hostile_problems import order

Array = np.ndarray[Any, Any]
#: A random problem of the generator and T; with harder data, if the second argument says so.
Foreign = Callable[[np.random.Generator, bool], tuple[Problem, Array]]

#: Columns as other fields store them: typical value, spread.
COLUMNS = {
    "year": (2000.0, 12.0), "altitude in m": (800.0, 600.0), "wavelength in m": (5.5e-7, 8e-8), "income": (4e4, 2e4),
    "latitude": (47.3, 1e-3), "pressure in Pa": (101325.0, 900.0), "mol/l": (3e-9, 1e-9), "share": (0.2, 0.1),
    "temperature in K": (288.0, 8.0), "count": (0.0, 900.0), "time stamp": (1.7e9, 4e4), "z-score": (0.0, 1.0),
}  # fmt: skip
#: Columns whose offset leaves fewer digits than this of their spread are drawn only where the data may be harder.
DIGITS = 1e4


def raw(rng: np.random.Generator, hard: bool, m: int, n: int) -> tuple[Array, Array]:
    """Samples (m, n) in raw units, and T: a root of the inverse of their second moments, with a floor."""
    columns = [c for c in COLUMNS.values() if hard or c[0] <= DIGITS * c[1]]
    chosen = [columns[k] for k in rng.integers(0, len(columns), n)]
    X = np.array([offset + spread * rng.standard_normal(m) for offset, spread in chosen]).T
    return X, root_of_inverse(X)


def root_of_inverse(X: Array) -> Array:
    """V diag(σ)⁻¹ of the rows, with σ at least eps^½ times the largest, after columns are scaled to size one."""
    scale = np.maximum(np.abs(X).max(axis=0), 1e-300)
    _, sigma, Vt = np.linalg.svd(X / scale, full_matrices=False)
    V = np.linalg.qr(Vt.T, mode="complete")[0] if len(Vt) < X.shape[1] else Vt.T
    sigma = np.pad(sigma, (0, X.shape[1] - len(sigma)))
    return (V / np.maximum(sigma, 1e-8 * sigma[0])) / scale[:, None]


def alignment(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Kernel target alignment of raw data, by either regulariser."""
    X, T = raw(rng, hard, 20, order(rng))
    labels = np.arange(20) % int(rng.integers(2, 4))
    return kta_problem(X, labels, float(10.0 ** rng.uniform(-3, 0)), regularizer=rng.choice(["trace", "frobenius"])), T


def pair_shares(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    X, T = raw(rng, hard, 15, order(rng))
    pairs = np.array([(i, j, rng.choice([-1, 1])) for i in range(15) for j in range(i) if rng.random() < 0.2])
    return linearity_problem(X, pairs, float(10.0 ** rng.uniform(-2, 1))), T


def measured_forms(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Regression of xᵀMx on raw features: targets of a true M with noise of 1e-6 to 1, weighted by their variance."""
    n = order(rng)
    X, T = raw(rng, hard, int(rng.integers(3, 40)), n)
    Z = X @ T * len(X) ** 0.5
    G = rng.standard_normal((n, n))
    y = np.sum((Z @ G) ** 2, axis=1) * 10.0 ** rng.uniform(-3, 3)
    y = y + 10.0 ** rng.uniform(-6, 0) * np.abs(y).mean() * rng.standard_normal(len(y))
    weights = 1.0 / np.maximum(np.abs(y), 1e-3 * np.abs(y).max()) if rng.random() < 0.5 else np.ones(len(y))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y, weights))]), T


def margins(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Squared hinges of triplets or of pairs against bounds, with a pull by the covariance of the raw data."""
    X, T = raw(rng, hard, 15, order(rng))
    C = np.atleast_2d(np.cov(X.T))
    if rng.random() < 0.5:
        t = np.array([rng.choice(15, 3, replace=False) for _ in range(20)])
        hinge = MeasuredTerm(TripletDifferences(t[:, 0], t[:, 1], t[:, 2], X), SquaredHinge(np.ones(len(t))))
    else:
        i, j = np.triu_indices(15, 1)
        sign = rng.choice([-1.0, 1.0], len(i))
        hinge = MeasuredTerm(PairDistances(i, j, X), HalfSquaredOneSided(np.where(sign > 0, 1.0, 4.0), sign))
    return TermSum([hinge, LinearTerm(C, float(10.0 ** rng.uniform(-4, 0)))]), T


def variances(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """A covariance matrix of returns (1e-2) beside prices and volumes (1e2 to 1e7), fitted to a part of its entries."""
    n = order(rng)
    scale = rng.choice([1e-2, 1.0, 1e2, 1e7] if hard else [1e-1, 1.0, 10.0], n)
    K = np.cov(scale[:, None] * rng.standard_normal((n, 2 * n)))
    i, j = np.triu_indices(n)
    kept = (i == j) | (rng.random(len(i)) < 0.6)
    noise = 1.0 + 0.2 * rng.standard_normal(len(i))
    weights = 1.0 / (scale[i] * scale[j]) ** 2 if rng.random() < 0.5 else np.ones(len(i))
    fit = LeastSquares((K[i, j] * noise)[kept], weights[kept])
    return TermSum([MeasuredTerm(Entries(i[kept], j[kept], n), fit)]), np.diag(scale)


def stiffness(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """A quadratic F whose coordinates are forces in N and moments in Nmm: congruent to a well-scaled one."""
    n = order(rng)
    scale = 10.0 ** rng.integers(-4 if hard else -1, 5 if hard else 2, n)
    G = rng.standard_normal((n, n))
    A = G @ G.T + 0.1 * np.eye(n)
    C = rng.standard_normal((n, n))
    D = np.diag(1.0 / scale)
    return QuadraticSDP(A=D @ A @ D, C=D @ (C + C.T) @ D), np.diag(scale)


def graphical(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """−log det (M + eps I) + ⟨S, M⟩ of raw variables: an inverse covariance."""
    n = order(rng)
    X, _ = raw(rng, False, 5 * n, n)
    X = X - X.mean(axis=0)
    if not hard:
        X = X / X.std(axis=0)
    S = X.T @ X / len(X)
    T = np.diag(1.0 / np.sqrt(np.diag(S)))
    E = 10.0 ** rng.uniform(-6, 0) * T @ T

    def value(M: Any) -> Any:
        return -anp.linalg.slogdet(T_inverse @ (M + E) @ T_inverse)[1] + anp.sum(S * M)

    T_inverse = np.diag(1.0 / np.diag(T))
    return AutogradProblem(value, n, convex=True), T


def robust(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Σ √(δ² + (xᵀMx − y)²) of raw features and gross errors, plus a small trace."""
    n = order(rng)
    X, T = raw(rng, hard, 25, n)
    y = np.sum((X @ T * 5.0 @ rng.standard_normal((n, n))) ** 2, axis=1) * 10.0 ** rng.uniform(-3, 3)
    y[:3] *= 50.0
    delta, c = 0.1 * np.median(y), 1e-6 * np.median(y) * np.linalg.norm(X, axis=1).max() ** 2

    def value(M: Any) -> Any:
        return anp.sum(anp.sqrt(delta**2 + (anp.sum(anp.dot(X, M) * X, axis=1) - y) ** 2)) + c * anp.trace(M)

    return AutogradProblem(value, n, convex=True), T


def rates(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """A Poisson likelihood of counts, Σ λ_t − y_t log λ_t with λ_t = xᵀMx + a dark rate."""
    n = order(rng)
    X, T = raw(rng, False, 25, n)
    y = rng.poisson(10.0 ** rng.uniform(0, 5 if hard else 2, 25)).astype(float)
    dark = float(10.0 ** rng.uniform(-4, 0))

    def value(M: Any) -> Any:
        rate = anp.sum(anp.dot(X, M) * X, axis=1) + dark
        return anp.sum(rate - y * anp.log(rate))

    return AutogradProblem(value, n, convex=True), T * np.sqrt(max(y.mean(), 1.0))


def exponentials(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Σ exp(⟨A_t, M⟩ − b_t) + ⟨C, M⟩: a partition function and its data, in units of 1e±6 where hard."""
    n = order(rng)
    unit = float(10.0 ** rng.uniform(-6, 6)) if hard else 1.0
    A = rng.standard_normal((6, n, n)) / unit
    A = A + A.transpose(0, 2, 1)
    b = rng.standard_normal(6)

    def value(M: Any) -> Any:
        return anp.sum(anp.exp(anp.tensordot(A, M, 2) - b)) + anp.trace(M) / unit

    return AutogradProblem(value, n, convex=True), np.sqrt(unit) * np.eye(n)


def vanishing(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """Σ exp(−⟨x xᵀ, M⟩): an infimum of 0 that nothing attains; F does not fall without end."""
    n = order(rng)
    X, T = raw(rng, hard, 6, n)
    Z = X @ T
    return AutogradProblem(lambda M: anp.sum(anp.exp(-anp.sum(anp.dot(X, M) * X, axis=1))), n, convex=True), (
        T / max(np.abs(Z).max(), 1e-3)
    )


def logarithms(rng: np.random.Generator, hard: bool) -> tuple[Problem, Array]:
    """−Σ log(1 + xᵀMx): convex, and falls without end as slowly as a logarithm."""
    n = order(rng)
    X, T = raw(rng, hard, 6, n)
    return AutogradProblem(lambda M: -anp.sum(anp.log1p(anp.sum(anp.dot(X, M) * X, axis=1))), n, convex=True), T


def point_in_coordinates(problem: Problem, T: Array, trace: float | None, rng: np.random.Generator) -> Array | None:
    """Y (n, n) = T Z of low F, by L-BFGS-B over Z from two starts; None where it finds no finite value."""
    n = problem.n

    def point(z: Array) -> Array:
        Y = T @ z.reshape(n, n)
        if trace is not None:
            Y = Y * (np.sqrt(trace) / max(np.linalg.norm(Y), 1e-300))
        return Y

    def both(z: Array) -> tuple[float, Array]:
        Y = point(z)
        evaluation = problem.at(Y)
        G = 2.0 * (evaluation.gradient @ Y)
        if trace is not None:
            share = np.sqrt(trace) / max(np.linalg.norm(T @ z.reshape(n, n)), 1e-300)
            G = share * (G - Y * (np.sum(Y * G) / trace))
        value, slope = float(evaluation.value), (T.T @ G).ravel()
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            return 1e300, np.zeros(n * n)
        return value / unit, slope / unit

    best: tuple[float, Array] | None = None
    for scale in (1.0, 0.1):
        z, unit = scale * rng.standard_normal(n * n), 1.0
        unit = max(abs(both(z)[0]), 1e-300) if both(z)[0] < 1e300 else 1.0
        found = scipy.optimize.minimize(
            both, z, jac=True, method="L-BFGS-B", options={"maxiter": 600, "maxfun": 700, "ftol": 1e-16, "gtol": 1e-12}
        )
        value = float(problem.at(point(found.x)).value)
        if np.isfinite(value) and (best is None or value < best[0]):
            best = value, point(found.x)
    return None if best is None else best[1]


#: F falls without end on the cone: `optimal` is false.
ENDLESS = {"logarithms"}
#: Functions that a user writes for autograd: a run takes ten times as long as of the others.
WRITTEN = {"graphical", "robust", "rates", "exponentials", "vanishing", "logarithms"}
FOREIGN: dict[str, Foreign] = {f.__name__: f for f in (
    alignment, pair_shares, measured_forms, margins, variances, stiffness, graphical, robust, rates, exponentials,
    vanishing, logarithms,
)}  # fmt: skip
