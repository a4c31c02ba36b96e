"""The central path of max log det W, |W_ij − S_ij| <= alpha, W_ii = S_ii, the dual of a sparse inverse covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg import Array
from psdopt_plugins.limits import MOST_PRODUCTS, MOST_STEPS, SLIGHT

#: Share of the way to the boundary that a step goes at most, and accuracy of a direction, as a share of its residual.
SHARE, ACCURACY = 0.95, 1e-2


def dual_path(S: Array, alpha: float, gap: float) -> tuple[Array, Array, int]:
    """(M, W, steps) at a duality gap of about gap n: W strictly inside the box, M = W⁻¹ with small entries made zero.

    With p = S + alpha − W, q = W − S + alpha and multipliers A, B > 0 of the two bounds, the path is W⁻¹ = A − B off
    the diagonal, A p = B q = mu, entry by entry. Newton's method on all of them leaves

        M dW M + (A/p + B/q) dW = M − mu/p + mu/q,

    solved by conjugate gradient with the preconditioner M_ii M_jj + A_ij/p_ij + B_ij/q_ij. W starts at (1 − e) S + e
    Diag(S), definite and inside of the box. An entry of M counts as zero where it is smaller than the distance of W_ij
    from its bounds, in units of the variances.

    S (n, n) symmetric, semidefinite, with a positive diagonal; alpha > 0. About ten steps; n³ flops each, and 4 n³ for
    each of some ten products in it.
    """
    n, d = len(S), np.diagonal(S)
    off = ~np.eye(n, dtype=bool)
    units = np.sqrt(np.outer(d, d))  # M has units of 1 / units
    share = min(0.5, 0.5 * alpha / float(np.abs(S[off]).max()))
    W = np.where(off, (1.0 - share) * S, S)
    M = _inverse(W)
    p, q = _distances(S, W, alpha, off)
    A, B = (np.where(off, np.maximum(sign * M, 0.0) + SLIGHT / units, 0.0) for sign in (1.0, -1.0))
    steps = 0
    while steps < MOST_STEPS:
        left = float(np.vdot(A, p) + np.vdot(B, q))
        wrong = float(np.max(np.abs(np.where(off, (M - A + B) * units, 0.0))))
        if left <= gap * n and wrong <= SLIGHT**2:
            break
        mu = (SLIGHT if wrong <= 0.5 else 0.5) * left / (2 * n * (n - 1))
        right = np.where(off, M - mu / p + mu / q, 0.0)
        D = _direction(M, np.where(off, A / p + B / q, 0.0), right, off)
        dA, dB = (mu - A * p + A * D) / p, (mu - B * q - B * D) / q
        step = min(1.0, SHARE * min(_reach(p, -D, off), _reach(q, D, off)))
        dual = min(1.0, SHARE * min(_reach(A, dA, off), _reach(B, dB, off)))
        found = _moved(W, D, step)
        if found is None:
            break
        W, M = found
        steps += 1
        A, B = np.where(off, A + dual * dA, 0.0), np.where(off, B + dual * dB, 0.0)
        p, q = _distances(S, W, alpha, off)
    zero = off & (np.abs(M) * units < np.minimum(p, q) / units)
    return np.where(zero, 0.0, M), W, steps


def _direction(M: Array, theta: Array, right: Array, off: NDArray[np.bool_]) -> Array:
    """D, zero on the diagonal, with M D M + theta D = right off it, by preconditioned conjugate gradient."""
    scale = np.outer(np.diagonal(M), np.diagonal(M)) + theta
    D, r = np.zeros_like(M), right
    z = r / scale
    p, rz = z, float(np.vdot(r, z))
    stop = ACCURACY**2 * rz
    for _ in range(MOST_PRODUCTS):
        if not rz > stop:
            break
        image = M @ p @ M
        image = np.where(off, 0.5 * (image + image.T) + theta * p, 0.0)
        step = rz / float(np.vdot(p, image))
        D, r = D + step * p, r - step * image
        z = r / scale
        before, rz = rz, float(np.vdot(r, z))
        p = z + (rz / before) * p
    return 0.5 * (D + D.T)


def _distances(S: Array, W: Array, alpha: float, off: NDArray[np.bool_]) -> tuple[Array, Array]:
    """S + alpha − W and W − S + alpha, one on the diagonal."""
    apart = W - S
    return np.where(off, alpha - apart, 1.0), np.where(off, alpha + apart, 1.0)


def _reach(x: Array, dx: Array, off: NDArray[np.bool_]) -> float:
    """The largest step with x + step dx >= 0 off the diagonal."""
    falls = off & (dx < 0.0)
    return float(np.min(-x[falls] / dx[falls], initial=np.inf))


def _moved(W: Array, D: Array, step: float) -> tuple[Array, Array] | None:
    """W + step D and its inverse, the step shortened where W leaves the cone; None if none is short enough."""
    for _ in range(MOST_STEPS):
        try:
            np.linalg.cholesky(W + step / SHARE * D)
        except np.linalg.LinAlgError:
            step *= 1.0 - 2.0 * SLIGHT
            continue
        moved = W + step * D
        return moved, _inverse(moved)
    return None


def _inverse(W: Array) -> Array:
    inverse = np.linalg.inv(W)
    return np.asarray(0.5 * (inverse + inverse.T))
