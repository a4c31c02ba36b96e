"""min ⟨S, M⟩ − log det M + alpha Σ_{i≠j} |M_ij| over M ≻ 0, with a proven gap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from psdopt.checks import integer, number
from psdopt.errors import InvalidInputError
from psdopt.linalg import EPS, Array
from psdopt_plugins.covariance.dual_path import dual_path
from psdopt_plugins.limits import MINOR, SLIGHT

#: Share of the decrease that the linear model promises which a step must give (Armijo's rule), and most halvings.
SUFFICIENT, HALVINGS = 1e-3, 40
#: Most products with the Hessian in one Newton step.
PRODUCTS = 40


@dataclass(frozen=True)
class SparseInverse:
    """M and its inverse, the W of the dual whose value is the bound (all (n, n)), F(M), a proven lower bound on min F,
    steps in all, and whether the gap is met.
    """

    precision: Array
    covariance: Array
    dual: Array
    value: float
    bound: float
    steps: int
    converged: bool


def sparse_inverse(S: Array, alpha: float, tol: float = 1e-6, max_iter: int = 100) -> SparseInverse:
    """Minimise F(M) = ⟨S, M⟩ − log det M + alpha Σ_{i≠j} |M_ij| to a proven gap of at most tol n.

    Sets of variables that no |S_ij| > alpha joins are independent in the solution and are solved apart (Mazumder and
    Hastie 2012). Within a set, the central path of the dual (:func:`~psdopt_plugins.covariance.dual_path.dual_path`)
    leads near to the solution and to its pattern. From there Newton steps in the orthant of M are taken on the entries
    that may move, by conjugate gradient with the Hessian D ↦ M⁻¹ D M⁻¹, projected to that orthant (Olsen, Oztoprak,
    Nocedal and Rennie 2012). If no length of such a step lowers F enough, a proximal gradient step replaces it. The
    bound is the dual value

        n + log det W,   |W_ij − S_ij| <= alpha, W_ii = S_ii,

    at the W nearest to M⁻¹ entry by entry, the log det being that of a Cholesky factor of less than W.

    At a solution ⟨S, M⟩ + alpha Σ |M_ij| = n, and F(M/4) − F(M) = n (log 4 − 3/4): tol n is a share of the range of F
    near M, whatever the units of the variables are.

    Parameters
    ----------
    S : (n, n) symmetric, semidefinite, with a positive diagonal. alpha : at least 0; above 0 if S is singular.
    tol : gap relative to n. max_iter : most Newton steps in each set, after its path.

    Raises InvalidInputError for S with a diagonal entry that is not positive, and for a singular S at alpha = 0.
    Cost: 2 n³/3 flops for each trial of a step and 4 n³ for each product with the Hessian.
    """
    alpha, tol = number(alpha, "alpha", least=0.0), number(tol, "tol", above=0.0)
    integer(max_iter, "max_iter")
    n, d = len(S), np.diagonal(S)
    if not np.all(d > 0.0):
        k = int(np.argmin(d))
        raise InvalidInputError(f"variances must be positive; found {d[k]:g} for variable {k}")
    links: Any = csr_array(np.abs(S) > alpha)
    count, label = connected_components(links, directed=False)
    M, W, dual, steps = np.zeros((n, n)), np.zeros((n, n)), np.diag(d), 0
    alone = np.flatnonzero(np.bincount(label)[label] == 1)
    M[alone, alone], W[alone, alone] = 1.0 / d[alone], d[alone]
    value = bound = math.fsum(1.0 + np.log(d[alone]))
    for each in np.flatnonzero(np.bincount(label, minlength=count) > 1):
        rows = np.flatnonzero(label == each)
        block = np.ix_(rows, rows)
        at, proof, low, taken = _minimised(S[block], alpha, tol, max_iter)
        M[block], W[block], dual[block] = at.M, at.W, proof
        value, bound, steps = value + at.value, bound + low, steps + taken
    return SparseInverse(M, W, dual, value, bound, steps, value - bound <= tol * n)


class _Point:
    """M with its factor, inverse W, F(M), and the gradient G = S − W of the smooth part."""

    def __init__(self, S: Array, alpha: float, M: Array) -> None:
        self.M = M
        L = np.linalg.cholesky(M)
        self.log_det = 2.0 * math.fsum(np.log(np.diagonal(L)))
        self.L = L
        off = 2.0 * float(np.abs(np.tril(M, -1)).sum())  # apart from the diagonal, which may be far larger
        self.value = float(np.vdot(S, M)) - self.log_det + alpha * off

    def complete(self, S: Array) -> None:
        inverse = np.tril(dpotri(self.L, lower=1)[0])
        self.W = inverse + np.tril(inverse, -1).T
        self.G = S - self.W


def _minimised(S: Array, alpha: float, tol: float, max_iter: int) -> tuple[_Point, Array, float, int]:
    """(the last point, W of the best dual value, that value, steps) for one set of variables."""
    n = len(S)
    weights = alpha * (1.0 - np.eye(n))
    at, proof, best, before = _start(S, alpha, weights, tol)
    for step in range(max_iter + 1):
        at.complete(S)
        low = _dual_value(S, weights, at.W)
        if low >= best:
            proof, best = at.W, low
        after = None
        if at.value - best > tol * n and step < max_iter:
            after = _newton_step(S, alpha, weights, at) or _proximal_step(S, alpha, weights, at)
        if after is None:
            return at, np.clip(proof, S - weights, S + weights), best, before + step
        at = after
    raise AssertionError


def _start(S: Array, alpha: float, weights: Array, tol: float) -> tuple[_Point, Array, float, int]:
    """A point near the solution, a W of the dual, its value and the steps to it; S⁻¹ and S without a penalty."""
    try:
        if alpha == 0.0:
            np.linalg.cholesky(S - len(S) * EPS * np.diag(np.diagonal(S)))
            return _Point(S, alpha, np.asarray(np.linalg.inv(S), dtype=np.float64)), S, -math.inf, 0
        M, W, steps = dual_path(S, alpha, max(tol / SLIGHT, MINOR**2))
        at = _point(S, alpha, M) or _Point(S, alpha, np.asarray(np.linalg.inv(W), dtype=np.float64))
    except np.linalg.LinAlgError:
        raise InvalidInputError(f"alpha must be larger for a singular covariance; found {alpha:g}") from None
    return at, W, _dual_value(S, weights, W), steps


def _newton_step(S: Array, alpha: float, weights: Array, at: _Point) -> _Point | None:
    """The best of halved Newton steps in the orthant of M; None if none lowers F enough."""
    M, G = at.M, at.G
    still = (M == 0.0) & (np.abs(G) <= weights)
    sign = np.where(M != 0.0, np.sign(M), -np.sign(G))
    g = np.where(still, 0.0, G + weights * sign)
    D = _direction(at.W, g, ~still)
    bound_sign = np.where(weights > 0.0, sign, 0.0)  # entries without a penalty may change their signs
    t = 1.0
    for _ in range(HALVINGS):
        new = M + t * D
        new = np.where(new * bound_sign < 0.0, 0.0, new)
        promised = float(np.vdot(g, new - M))
        trial = _point(S, alpha, new) if promised < 0.0 else None
        if trial is not None and trial.value <= at.value + SUFFICIENT * promised:
            return trial
        t *= 0.5
    return None


def _direction(W: Array, g: Array, free: NDArray[np.bool_]) -> Array:
    """D with (W D W + g) = 0 on the free entries and 0 elsewhere, by conjugate gradient preconditioned by W_ii W_jj.

    The residual falls to a share min(1/10, √(residual)) of the first, so that steps converge faster than linearly.
    """
    scale = np.outer(np.diagonal(W), np.diagonal(W))
    D, r = np.zeros_like(g), -g
    z = r / scale
    p, rz = z, float(np.vdot(r, z))
    stop = rz * min(SLIGHT, math.sqrt(rz)) ** 2
    for _ in range(PRODUCTS):
        if not rz > stop:
            break
        q = W @ p @ W
        q = np.where(free, 0.5 * (q + q.T), 0.0)
        curvature = float(np.vdot(p, q))
        if not curvature > 0.0:
            break
        step = rz / curvature
        D, r = D + step * p, r - step * q
        z = r / scale
        before, rz = rz, float(np.vdot(r, z))
        p = z + (rz / before) * p
    return 0.5 * (D + D.T)


def _proximal_step(S: Array, alpha: float, weights: Array, at: _Point) -> _Point | None:
    """M moved against the gradient in units of W_ii W_jj, and shrunk; None if no length lowers F."""
    unit = 1.0 / np.outer(np.diagonal(at.W), np.diagonal(at.W))
    t = 1.0
    for _ in range(HALVINGS):
        moved = at.M - t * unit * at.G
        new = np.sign(moved) * np.maximum(np.abs(moved) - t * unit * weights, 0.0)
        trial = _point(S, alpha, new)
        if trial is not None and trial.value < at.value:
            return trial
        t *= 0.5
    return None


def _point(S: Array, alpha: float, M: Array) -> _Point | None:
    try:
        return _Point(S, alpha, M)
    except np.linalg.LinAlgError:
        return None


def _dual_value(S: Array, weights: Array, W: Array) -> float:
    """A lower bound on n + log det of the W nearest to `W` with |W_ij − S_ij| <= weights_ij; −inf if not definite.

    A Cholesky factor of W − g I, with W scaled to a unit diagonal, is that of a matrix that W exceeds: g covers the
    rounding of the factor, 2 (n + 1) eps tr W (Rump 2006), and that of the bounds, n eps.
    """
    n, scale = len(S), 1.0 / np.sqrt(np.diagonal(S))
    inside = np.clip(W, S - weights, S + weights) * scale * scale[:, None]
    inside[np.diag_indices(n)] = 1.0 - EPS * (2.0 * (n + 1) * n + 4.0 * n)
    try:
        L = np.linalg.cholesky(inside)
    except np.linalg.LinAlgError:
        return -math.inf
    logs = np.concatenate([2.0 * np.log(np.diagonal(L)), -2.0 * np.log(scale)])
    return n + math.fsum(logs) - 4.0 * EPS * float(n + np.abs(logs).sum())
