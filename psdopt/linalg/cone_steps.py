"""How far a definite matrix may move along a symmetric one and stay positive semidefinite."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dsymv, dtrsv

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.krylov import lanczos_steps
from psdopt.linalg.limits import MOST_STEPS, ROUNDS, SMALL_ORDER
from psdopt.linalg.subset import least_eigenvalue


def lower_factor(P: Array) -> Array:
    """L (n, n), lower triangular, stored by columns, with L Lᵀ = P for a symmetric P. n³/3 flops.

    Raises numpy.linalg.LinAlgError where P is not definite or not finite.
    """
    if not np.isfinite(P).all():
        raise np.linalg.LinAlgError("the matrix is not finite")
    deadline.ask()
    L, info = scipy.linalg.lapack.dpotrf(P.T, lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("the matrix is not definite")
    return np.asarray(L)


def inverse_of(L: Array) -> Array:
    """(L Lᵀ)⁻¹, symmetric, stored by rows. 2 n³/3 flops. Raises numpy.linalg.LinAlgError where L is singular."""
    deadline.ask()
    half, info = scipy.linalg.lapack.dpotri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the factor is singular")
    upper = np.triu(half.T)
    inverse = upper + upper.T
    inverse.reshape(-1)[:: len(inverse) + 1] *= 0.5
    return np.asarray(inverse)


def triangular_inverse(L: Array) -> Array:
    """L⁻¹ of a lower triangular L. n³/3 flops. Raises numpy.linalg.LinAlgError where L is singular."""
    deadline.ask()
    inverse, info = scipy.linalg.lapack.dtrtri(L, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the factor is singular")
    return np.asarray(np.tril(inverse))


def cone_step(L: Array, D: Array, accuracy: float) -> float:
    """The largest alpha with P + alpha D ⪰ 0, less a share of at most `accuracy`, for P = L Lᵀ and symmetric D (n, n).

    The largest alpha is −1/λ_min(L⁻¹ D L⁻ᵀ), or infinity if this eigenvalue is not negative. Beyond n = 64 Lanczos's
    method estimates it by the least Ritz value less its residual. Since a smaller eigenvalue may be missed, the caller
    has to check P + alpha D. O(n²) for each of about 10 to 30 steps of Lanczos.
    """
    n = len(L)
    if n <= SMALL_ORDER:
        W = scipy.linalg.solve_triangular(L, D, lower=True, check_finite=False)
        W = scipy.linalg.solve_triangular(L, W.T, lower=True, check_finite=False)
        least = least_eigenvalue(0.5 * (W + W.T))
    else:
        least = _least_ritz(L, D, accuracy)
    return -1.0 / least if least < 0.0 else math.inf


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
