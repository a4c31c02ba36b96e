"""Margin problems of random triplets, their matrices, and optima by a conic solver."""

import warnings

import numpy as np
import pytest

from psdopt.margins.problem import MarginProblem
from psdopt.terms.measurements import TripletDifferences

EPS = np.finfo(float).eps


def triplets(rng, samples, m):
    return np.array([rng.choice(samples, 3, replace=False) for _ in range(m)])


def instance(d=6, m=40, nu=0.2, seed=0, offset=0.0, samples=25):
    """Random triplets: the optimum may have either sign."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d)) + offset
    t = triplets(rng, samples, m)
    return MarginProblem(TripletDifferences(*t.T, X), None if nu is None else 1.0 / (nu * m)), X, t


def matrices(X, t):
    far, near = X[t[:, 0]] - X[t[:, 2]], X[t[:, 0]] - X[t[:, 1]]
    return far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]


def conic_optimum(A, C):
    cp = pytest.importorskip("cvxpy")
    m, d, _ = A.shape
    M, rho, xi = cp.Variable((d, d), PSD=True), cp.Variable(), cp.Variable(m, nonneg=True)
    constraints = [cp.trace(M) == 1.0, A.reshape(m, -1) @ cp.vec(M, order="C") >= rho - xi]
    problem = cp.Problem(cp.Maximize(rho - C * cp.sum(xi)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy calls 1e-7 inaccurate
        problem.solve(solver="CLARABEL")
    return float(problem.value)


def check_bounds(problem, result, A):
    """Value and bound of the last state, recomputed from the dense A_r."""
    M, w = result.matrix.to_dense(), result.state.dual
    a = np.einsum("rij,ij->r", A, M)
    scale = np.abs(A).sum(axis=(1, 2)).max()
    slack = 64 * EPS * len(A) * scale
    assert abs(np.trace(M) - 1.0) <= slack
    assert np.linalg.eigvalsh(M)[0] >= -slack
    rhos = a[:, None] - problem.C * np.maximum(a[:, None] - a[None, :], 0.0).sum(axis=1)[:, None]
    assert abs(result.value + rhos.max()) <= slack
    assert w.min() >= 0.0
    assert w.max() <= problem.C + slack
    assert abs(w.sum() - 1.0) <= slack
    assert result.state.bound <= -np.linalg.eigvalsh(np.einsum("r,rij->ij", w, A))[-1] + slack


def only(d=6, m=40, nu=0.2, seed=0, samples=25):
    """The problem of :func:`instance` alone."""
    return instance(d, m, nu, seed, samples=samples)[0]
