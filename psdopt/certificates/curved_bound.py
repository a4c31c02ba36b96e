"""The bound on F(M) − min F at any M that a lower bound on the curvature of F gives."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from psdopt.contracts.curvature import Curvature
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS, ROUNDINGS


def curved_gap(S: Array, Y: Array, curvature: Curvature, trace: float | None = None) -> float:
    """An upper bound on F(M) − F(N) over all N ⪰ 0, or over those with tr N = `trace` = tr M; inf if none is found.

    For M' = CᵀMC, S' = C⁻¹SC⁻ᵀ and N' = CᵀNC, F(N) − F(M) >= ⟨S', N' − M'⟩ + κ/2 |N' − M'|². Any Ψ' ⪰ 0 bounds this
    from below by −⟨Ψ', M'⟩ − |S' − Ψ'|²/(2κ), since ⟨Ψ', N'⟩ >= 0. The best one is κ times the negative part of
    M' − S'/κ; with it the bound is the minimum of the quadratic model over the cone. So the gap is that of F itself
    where F is this model.

    Ψ = P Pᵀ is formed from the computed eigenvectors, and ⟨Ψ, M⟩ = |PᵀY|² and S − Ψ from P: it is semidefinite
    whatever the errors of the eigenvectors are. The rounding of S' − Ψ' is added to its norm. S (n, n) symmetric;
    Y (n, r) the factor of M. Under a fixed trace a multiple of I is added to S first, the best one where C = I.
    Cost: one spectrum, O(n³).
    """
    C, kappa = curvature.root, curvature.modulus
    Z = Y if C is None else C.T @ Y
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = _scaled(S, C)
        T = Z @ Z.T - scaled / kappa
        if not np.all(np.isfinite(T)):
            return math.inf
        values, V = spectrum(T)
        if trace is not None and C is None:
            shift = _shift(values, trace)
            S, values = S + kappa * shift * np.eye(len(S)), values - shift
        below = values < 0.0
        P = V[:, below] * np.sqrt(-kappa * values[below])
        if C is not None:
            P = C @ P
        return gap_by_factor(S, Y, curvature, P, _norm(scaled) + _norm(T) * kappa)


def gap_by_factor(S: Array, Y: Array, curvature: Curvature, P: Array, size: float | None = None) -> float:
    """The bound of :func:`curved_gap` that Ψ = P Pᵀ gives, for any P (n, q). `size` : of the numbers that S' − Ψ' is
    computed from, by default |S| + κ |M| for C = I. Cost: n² q flops."""
    size = _norm(S) + curvature.modulus * _norm(Y) ** 2 if size is None else size
    rest = _norm(_scaled(S - P @ P.T, curvature.root)) + ROUNDINGS * math.sqrt(len(S)) * EPS * size
    gap = _norm(P.T @ Y) ** 2 + 0.5 * rest * (rest / curvature.modulus)  # rest² may underflow
    return gap if math.isfinite(gap) else math.inf


def _scaled(S: Array, C: Array | None) -> Array:
    """C⁻¹ S C⁻ᵀ."""
    if C is None:
        return S
    half = solve_triangular(C, S, lower=True, check_finite=False)
    return np.asarray(solve_triangular(C, half.T, lower=True, check_finite=False))


def _norm(A: Array) -> float:
    """|A| without underflow of squares."""
    largest = float(np.abs(A).max(initial=0.0))
    return largest * norm(A / largest) if largest > 0.0 else 0.0


def _shift(values: Array, trace: float) -> float:
    """The θ with Σ max(values − θ, 0) = `trace`, for ascending values: the projection onto the simplex."""
    descending = values[::-1]
    means = (np.cumsum(descending) - trace) / np.arange(1, len(values) + 1)
    return float(means[np.count_nonzero(descending > means) - 1])
