"""Definite matrices: factors, inverses, how far they may move and stay semidefinite, pairs on a central path."""

from __future__ import annotations

import math
import sys

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dsymv, dtrsm, dtrsv

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.krylov import lanczos_steps
from psdopt.linalg.limits import MOST_STEPS, ROUNDS, SMALL_ORDER
from psdopt.linalg.subset import least_eigenvalue


def lower_factor(P: Array) -> Array:
    """L (K, n, n), lower triangular with L_k L_kᵀ = P_k for symmetric P_k; stored by columns if K = 1. K n³/3 flops.

    Raises numpy.linalg.LinAlgError where a P_k is not definite or not finite.
    """
    finite(P)
    deadline.ask()
    if len(P) > 1:
        return np.asarray(np.linalg.cholesky(P), dtype=np.float64)
    L, info = scipy.linalg.lapack.dpotrf(P[0].T, lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("the matrix is not definite")
    return np.asarray(L)[None]


def finite(P: Array) -> Array:
    """P; numpy.linalg.LinAlgError if an entry is not finite."""
    if not np.logical_and.reduce(np.isfinite(P), axis=None):
        raise np.linalg.LinAlgError("a matrix is not finite")
    return P


def inverse_of(L: Array) -> Array:
    """(L Lᵀ)⁻¹ (n, n), symmetric, stored by rows. 2 n³/3 flops. Raises numpy.linalg.LinAlgError where L is singular."""
    deadline.ask()
    half, info = scipy.linalg.lapack.dpotri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the factor is singular")
    inverse: Array = half.T + half  # above its diagonal L is zero, and so is its half
    inverse.reshape(-1)[:: len(inverse) + 1] *= 0.5
    return inverse


def triangular_inverse(L: Array) -> Array:
    """The L_k⁻¹ of lower triangular L (K, n, n). Raises numpy.linalg.LinAlgError where an L_k is singular."""
    deadline.ask()
    found = [scipy.linalg.lapack.dtrtri(each, lower=1) for each in L]
    if any(info != 0 for _, info in found):
        raise np.linalg.LinAlgError("the factor is singular")
    return np.tril([inverse for inverse, _ in found])


def cone_step(L: Array, D: Array, accuracy: float) -> float:
    """The largest alpha with P + alpha D ⪰ 0, less a share of at most `accuracy`, for P = L Lᵀ (n, n).

    The largest alpha is −1/λ_min(L⁻¹ D L⁻ᵀ), or infinity if this eigenvalue is not negative. Beyond n = 64 Lanczos's
    method estimates it by the least Ritz value less its residual. Since a smaller eigenvalue may be missed, the caller
    has to check P + alpha D. O(n²) for each of about 10 to 30 steps of Lanczos.
    """
    if len(L) <= SMALL_ORDER:
        return boundary(least_eigenvalue(dtrsm(1.0, L, dtrsm(1.0, L, finite(D), lower=1).T, lower=1)))
    return boundary(_least_ritz(L, finite(D), accuracy))


def cone_steps(H: Array, D: Array) -> list[float]:
    """:func:`cone_step` of all blocks of a group, for each group, by spectra: H = L⁻¹ and D (groups, K, n, n)."""
    return [boundary(float(least)) for least in np.linalg.eigvalsh(H @ finite(D) @ H.mT)[:, :, 0].min(axis=1)]


def boundary(least: float) -> float:
    """The largest alpha with 1 + alpha `least` >= 0; numpy.linalg.LinAlgError for a number that is none."""
    if math.isnan(least):
        raise np.linalg.LinAlgError("a direction is not finite")
    return -1.0 / least if least < 0.0 else math.inf


def smoothed(w: Array, mu: Array | float) -> tuple[Array, Array]:
    """(x, z) with x − z = w and x z = mu, both positive for mu > 0: (√(w² + 4 mu) ± w)/2, without cancellation.

    For mu = 0 the positive and the negative part of w. Chen, Harker (1993); Kanzow (1996); Smale (1986).
    """
    large = 0.5 * (np.hypot(w, 2.0 * np.sqrt(mu)) + np.abs(w))
    small = mu / np.maximum(large, sys.float_info.min)
    return np.where(w > 0.0, large, small), np.where(w > 0.0, small, large)


def _least_ritz(L: Array, D: Array, accuracy: float) -> float:
    def product(v: Array) -> Array:
        return np.asarray(dtrsv(L, dsymv(1.0, D.T, dtrsv(L, v, lower=1, trans=1), lower=1), lower=1))

    least, start = 0.0, np.cos(np.arange(1.0, len(L) + 1.0) ** 2)
    for _, T, length in lanczos_steps(product, start, MOST_STEPS):
        if len(T) % ROUNDS and length > 0.0 and len(T) < MOST_STEPS:  # a test costs about as much as a product
            continue
        values, W = np.linalg.eigh(T)
        residual = length * abs(float(W[-1, 0]))
        least = float(values[0]) - residual
        # steps beyond 1 are never taken
        if residual <= accuracy * abs(float(values[0])) or (len(T) >= ROUNDS**2 and least > -0.5):
            break
    return least
