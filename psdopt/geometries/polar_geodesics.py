"""Geodesics of the polar metric in closed form, and the difference of Hessians along them and along retractions."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from psdopt.geometries.square_root import exponential, logarithm, symmetric_part
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS


def exp(U: Array, R: Array, D: Array, K: Array, weight: float) -> tuple[Array, Array]:
    """(U, R) at time one of the geodesic from (U, R) with horizontal velocity (D, K). O(n r² + r³).

    In the gauge UᵀU̇ = 0 the energy |U̇|²/λ + |K|²/(1 − λ) has the Euler-Lagrange equations K constant,
    B = R exp(tK) Rᵀ, and Ü = −U U̇ᵀU̇ + c U̇ Ω with c = 2λ/(1 − λ) and Ω = N − Nᵀ, N = R K R⁻¹ (constant too):
    the change of B rotates the subspace. With U = V exp(cΩt) the equation becomes linear with
    constant coefficients, so that

        [V(t), W(t)] = [U, D] expm(t [[−cΩ, −DᵀD], [I, 0]]),   U(t) = V(t) exp(cΩt).
    """
    turned = R @ exponential(0.5 * K)
    if weight == 0.0 or not np.any(D):
        return U, turned
    r = len(R)
    W = _spin(R, K, weight)
    generator = np.block([[-W, -(D.T @ D)], [np.eye(r), np.zeros((r, r))]])
    flow = scipy.linalg.expm(generator)
    moved = (U @ flow[:r, :r] + D @ flow[r:, :r]) @ scipy.linalg.expm(W)
    return moved, turned


def _spin(R: Array, K: Array, weight: float) -> Array:
    """c Ω; zero for weight 1, where K is zero."""
    if weight >= 1.0:
        return np.zeros_like(R)
    N = np.linalg.solve(R.T, (R @ K).T).T
    return np.asarray(2.0 * weight / (1.0 - weight) * (N - N.T))


def inverse_retraction(U: Array, R: Array, U1: Array, R1: Array) -> tuple[Array, Array]:
    """(D, K), horizontal at (U, R), whose retraction has the matrix of (U1, R1). Undefined for orthogonal subspaces."""
    P, s, Qt = np.linalg.svd(U.T @ U1)
    turn = Qt.T @ P.T  # UᵀU1 · turn is symmetric positive definite
    aligned = U1 @ turn
    D = aligned @ ((P / s) @ P.T) - U
    return D - U @ (U.T @ D), logarithm(np.linalg.solve(R, turn.T @ R1))


def log(U: Array, R: Array, U1: Array, R1: Array, weight: float) -> tuple[Array, Array]:
    """(D, K) with exp = (U1, R1), for nearby points: the inverse retraction, corrected until exp gives (U1, R1)."""
    goal = inverse_retraction(U, R, U1, R1)
    D, K = goal
    before = np.inf
    for _ in range(60):  # each round reduces the error by a factor of the order of the distance
        reached = inverse_retraction(U, R, *exp(U, R, D, K, weight))
        miss = goal[0] - reached[0], goal[1] - reached[1]
        size = norm(miss[0]) + norm(miss[1])
        if not size < before:
            break  # only rounding is left
        D, K, before = D + miss[0], K + miss[1], size
        if size <= 8.0 * EPS * (norm(D) + norm(K)):
            break
    return D, K


def bend(R: Array, gradient: tuple[Array, Array], vector: tuple[Array, Array], weight: float) -> tuple[Array, Array]:
    """The correction to the Hessian along the retraction: geodesics differ from it by the acceleration cU̇Ω.

    It is the form ½ ⟨grad, c (U̇_v Ω_w + U̇_w Ω_v)⟩ as an operator on v, raised with the metric.
    """
    (G, _), (D, K) = gradient, vector
    if weight in (0.0, 1.0):
        return np.zeros_like(D), np.zeros_like(K)
    c = 2.0 * weight / (1.0 - weight)
    Q = G.T @ D
    # tr(Q (R K R⁻¹ − R⁻ᵀ K Rᵀ)) = tr(K (R⁻¹ Q R − Rᵀ Q R⁻ᵀ))
    slope = symmetric_part(np.linalg.solve(R, Q @ R) - np.linalg.solve(R, Q.T @ R))
    return -0.5 * (G @ _spin(R, K, weight)), 0.5 * c / weight * (1.0 - weight) * slope
