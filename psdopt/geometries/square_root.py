"""Small dense tools of the geometries: random factors, and any square root R of a positive definite B = R Rᵀ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psdopt.contracts.geometry import Defect
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, norm, orthonormal_columns
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: Standard deviation of the logarithms of the random singular values.
SPREAD = 0.25


def random_factor(rng: np.random.Generator, n: int, r: int) -> Array:
    """Y (n, r) with uniformly random orthonormal columns; if r = n, with log-normal lengths around one.

    For r = n equal lengths would give Y Yᵀ = I for every seed, and all measurements orthogonal to I would vanish. For
    r < n equal lengths are better: Y has condition number one, and Y Yᵀ is a generic projector.
    """
    columns = orthonormal_columns(rng, n, r)
    return columns * np.exp(SPREAD * rng.standard_normal(r)) if r == n else columns


def scaled_to_trace(Y: Array, trace: float) -> Array:
    """The multiple of Y (n, r) with |Y|² = trace; InvalidInputError for Y = 0. No size of Y overflows."""
    largest = float(np.max(np.abs(Y), initial=0.0))
    if not largest > 0.0:
        raise InvalidInputError("the zero matrix cannot be scaled to a positive trace; found Y = 0")
    Y = Y / largest
    return Y * (math.sqrt(trace) / norm(Y))


def trace_defect(Y: Array, trace: float) -> Defect | None:
    """None where |Y|² = trace up to rounding, else the :class:`~psdopt.Defect`."""
    error, allowed = abs(norm(Y) ** 2 - trace), 64 * EPS * math.sqrt(Y.size) * trace
    return Defect(f"the trace |Y|² must be {trace:g}; off by", error, allowed) if error > allowed else None


def symmetric_part(A: Any) -> Array:
    """(A + Aᵀ)/2."""
    return np.asarray(0.5 * (A + A.T))


def exponential(K: Array) -> Array:
    """exp(K) of a symmetric K, symmetric positive definite. One O(r³) eigensolve."""
    values, vectors = np.linalg.eigh(K)
    return np.asarray((vectors * np.exp(values)) @ vectors.T)


def longest_growth(K: Array) -> float:
    """The s at which exp(s K) changes some eigenvalue by the factor eps^±2, beyond which only rounding is left."""
    rate = float(np.max(np.abs(np.linalg.eigvalsh(K)), initial=0.0))
    return -2.0 * math.log(EPS) / rate if rate > 0.0 else np.inf


def log_eigen(R: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of log(R Rᵀ), from the singular values of R (r, r): no squaring. O(r³).

    Raises LinAlgError if R is singular.
    """
    P, s, _ = np.linalg.svd(R)
    if not s[-1] > 0.0:
        raise np.linalg.LinAlgError("an eigenvalue of W is zero at working precision")
    return 2.0 * np.log(s), P


def logarithm(R: Any) -> Array:
    """log(R Rᵀ), symmetric. Raises as :func:`log_eigen`."""
    logs, P = log_eigen(R)
    return np.asarray((P * logs) @ P.T)


def parallel(A: Any) -> Array:
    """The orthogonal polar factor of a square A: the rotation closest to it. O(r³)."""
    Z, _, Vt = np.linalg.svd(A)
    return np.asarray(Z @ Vt)


def shortest(R: Array, K: Array) -> Array:
    """X (r, r) with X + Xᵀ = K and RᵀR X symmetric: R X is the shortest Ṙ that moves R Rᵀ by R K Rᵀ. O(r³).

    In the eigenbasis of RᵀR, eigenvalues b: X_ij = K_ij b_j / (b_i + b_j), K_ij / 2 where both are 0.
    """
    _, singular, Qt = np.linalg.svd(R)
    b = singular**2
    sums = b[:, None] + b[None, :]
    shares = np.divide(b[None, :], sums, out=np.full_like(sums, 0.5), where=sums > 0.0)
    return np.asarray(Qt.T @ ((Qt @ K @ Qt.T) * shares) @ Qt)


def polar_factor(Z: Array) -> Array:
    """Z (ZᵀZ)^−½ for Z (n, r) of full column rank. O(n r²).

    From the Gram matrix of Z if its condition, the factor by which rounding grows, is at most ROUNDINGS; else by SVD.
    """
    values, turn = np.linalg.eigh(Z.T @ Z)
    if values[-1] > ROUNDINGS * values[0]:
        P, _, Qt = np.linalg.svd(Z, full_matrices=False)
        return np.asarray(P @ Qt)
    return np.asarray(Z @ ((turn / np.sqrt(values)) @ turn.T))
