"""Proofs by factorisation: a Cholesky factor of S − g I shows that no eigenvalue of a dense symmetric S is below g."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dtrsv
from scipy.linalg.lapack import dpotrf, dpotrs

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array, norm
from psdopt.linalg.krylov import lanczos_steps
from psdopt.linalg.limits import MOST_STEPS, PROBES
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, ROUNDINGS, SLIGHT

#: b ↦ (S − g I)⁻¹ b.
Solve = Callable[[Array], Array]


@dataclass(frozen=True)
class ProvenPair:
    """A unit vector, its Rayleigh quotient `value`, `residual` |S v − value v|, and `lower_bound` <= λ_min(S).

    `steps` of inverse iteration have found it, each with a product.
    """

    value: float
    vector: Array
    residual: float
    lower_bound: float
    steps: int


def factor_above(S: Array, g: float) -> tuple[Array, float] | None:
    """(R, bound) with RᵀR = S − g I up to rounding and bound <= λ_min(S); None if S − g I is not definite, or NaN.

    A completed factorisation of A, the rounded S − g I, proves λ_min(A) >= −γ/(1 − γ) tr A, γ = (n + 1) eps, for any
    order of summation (Rump, BIT 46 (2006), verification of positive definiteness). Cost n³/3 flops, a quarter of those
    of a reduction to tridiagonal form, and mostly in matrix products.
    """
    deadline.ask()
    A = S.T.copy(order="F")  # equals S, and copies rows as they are stored
    diagonal: Array = A.reshape(-1, order="F")[:: len(S) + 1]
    diagonal -= g
    gamma = (len(S) + 1) * EPS
    rounding = gamma / (1.0 - gamma) * float(diagonal.sum()) + EPS * float(np.abs(diagonal).max())
    if not math.isfinite(rounding):
        return None  # LAPACK may report success for NaN
    R, info = dpotrf(A, lower=0, clean=0, overwrite_a=1)
    return (R, float(g - rounding)) if info == 0 else None


def pair_above(S: Array, threshold: float, start: Array | None = None) -> ProvenPair | None:
    """The smallest eigenpair of S, with a lower bound, if the bound can be proven to exceed `threshold`; else None.

    Two factorisations: at `threshold`, whose factor gives the vector by inverse iteration on a few columns, then below
    its Ritz value by a slight share of its distance to `threshold`. If the iteration has missed the smallest
    eigenvalue, the second factorisation fails. It ends once the Ritz value falls by a minor share only, near an optimum
    after two or three steps, as the shift is close to a cluster of eigenvalues at 0.
    """

    def factor(g: float) -> tuple[Solve, float] | None:
        found = factor_above(S, g)
        if found is None:
            return None
        R, bound = found
        return lambda b: np.asarray(dpotrs(R, b, lower=0)[0]), bound

    return proven_pair(S, factor, threshold, start)


def proven_pair(
    S: Any, factor: Callable[[float], tuple[Solve, float] | None], threshold: float, start: Array | None = None
) -> ProvenPair | None:
    """:func:`pair_above` for any S with products S @ v. `factor`(g) returns (solves with S − g I, the bound that its
    Cholesky factor proves), or None if S − g I has no such factor.
    """
    found = factor(threshold)
    if found is None:
        return None
    solve, bound = found
    # any start is safe: if it has no component along the eigenvector, the second factorisation fails. One vector would
    # not do, as near an optimum S has as many eigenvalues close to 0 as M has columns
    V = np.cos(np.arange(1.0, PROBES * S.shape[0] + 1.0) ** 2).reshape(S.shape[0], PROBES)
    if start is not None:
        V[:, 0] = start
    value, steps = math.inf, 0
    while steps < MOST_STEPS:
        steps += 1
        V = np.linalg.qr(solve(V))[0]
        SV = as_array(S @ V)
        ritz, W = np.linalg.eigh(V.T @ SV)
        before, value = value, float(ritz[0])
        if not before - value > MINOR * (value - threshold):
            break
    v, Sv = V @ W[:, 0], SV @ W[:, 0]
    sharper = factor(max(value - max(SLIGHT * (value - threshold), threshold - bound), threshold))
    return None if sharper is None else ProvenPair(value, v, norm(Sv - value * v), sharper[1], steps)


def bound_above(S: Array, accuracy: float) -> float:
    """An upper bound on λ_max(S) for S ⪰ 0, at most `accuracy` λ_max above it, up to rounding.

    A few Lanczos steps give a Ritz value θ, and a factorisation of (1 + accuracy) θ I − S proves the bound. If θ was
    too low, the spectrum is computed. Cost n³/3 flops and PROBES products, else 4 n³/3.
    """
    start = np.cos(np.arange(1.0, len(S) + 1.0) ** 2)
    *_, (_, T, _) = lanczos_steps(lambda v: S @ v, start, PROBES)
    proven = factor_above(-S, -(1.0 + accuracy) * float(np.linalg.eigvalsh(T)[-1]))
    if proven is not None:
        _, bound = proven
        return -bound
    deadline.ask()
    values = np.linalg.eigvalsh(S)
    return float(values[-1]) + 4.0 * math.sqrt(len(S)) * EPS * float(np.abs(values).max())


def solver_of(K: Array) -> Callable[[Array], Array]:
    """q ↦ K⁻¹ q for a positive definite K (m, m), of which only the upper triangle is read. K is overwritten.

    A Cholesky factor, m³/3; each use 2 m². Raises numpy.linalg.LinAlgError where K is not positive definite.
    """
    # for LAPACK a matrix stored by rows is its transpose, so the upper triangle is the lower one, in place
    deadline.ask()
    L, info = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError(f"the matrix is not positive definite (row {info})")

    def solve(q: Array) -> Array:
        v = dtrsv(L, q, lower=1)
        return np.asarray(dtrsv(L, v, lower=1, trans=1, overwrite_x=1))

    return solve


def largest_share(C: Array, G: Array) -> float | None:
    """A large θ in [0, 1] with C + θ G ⪰ 0, from an eigenvalue; None if none is proven.

    The proof allows rounding of C and of θ G: beside a far larger G, what C lacks would look like rounding.
    """
    if _semidefinite(C, G):
        return 1.0
    # in units in which G is no larger than C
    size, other = float(np.abs(C).max()), float(np.abs(G).max())
    unit = min(1.0, size / other) if other > 0.0 else 1.0
    scale = _units(C, unit * G)
    try:
        lower = scale * scale[:, None] * C + ROUNDINGS * len(C) * EPS * np.eye(len(C))
        lowest = scipy.linalg.eigh(unit * scale * scale[:, None] * G, lower, eigvals_only=True, subset_by_index=[0, 0])
    except np.linalg.LinAlgError:  # C is not positive semidefinite
        return None
    most = min(1.0, -unit / float(lowest[0])) if lowest[0] < 0.0 else 1.0
    # reduced until a factorisation proves it: the rounding of the eigenvalue grows with the condition of C
    shares = (most * (1.0 - reserve) for reserve in (MINOR * ROOT_EPS, ROOT_EPS, MINOR))
    return next((share for share in shares if share > 0.0 and _semidefinite(C, share * G)), None)


def _semidefinite(C: Array, G: Array) -> bool:
    """Whether C + G ⪰ 0 is proven up to the rounding of both."""
    scale = _units(C, G)
    return factor_above((C + G) * scale * scale[:, None], -ROUNDINGS * len(C) * EPS) is not None


def _units(C: Array, G: Array) -> Array:
    """D (n,) for which D (|C| + |G|) D has a diagonal of one, but for entries that are rounding beside the largest."""
    sizes = np.abs(np.diagonal(C)) + np.abs(np.diagonal(G))
    largest = max(float(sizes.max()), float(np.abs(C).max()), float(np.abs(G).max()))
    return np.asarray(1.0 / np.sqrt(np.maximum(sizes, EPS**2 * largest or 1.0)))
