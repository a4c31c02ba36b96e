"""The bound on F(M) − min F at any M that a lower bound on the curvature of F gives."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from psdopt.contracts.curvature import Curvature
from psdopt.linalg.arrays import Array, inner, matrix_of, norm, vector_of
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.simplex import shift_to
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS, ROOT_EPS, ROUNDINGS, SLIGHT


def curved_gap(S: Array, Y: Array, curvature: Curvature, trace: float | None = None, most: float = math.inf) -> float:
    """An upper bound on F(M) − F(N) over all N ⪰ 0, or over those with tr N = `trace` = tr M; inf if none is found.

    For M' = CᵀMC, S' = C⁻¹SC⁻ᵀ and N' = CᵀNC, F(N) − F(M) >= ⟨S', N' − M'⟩ + κ/2 |N' − M'|². Any Ψ' ⪰ 0 bounds this
    from below by −⟨Ψ', M'⟩ − |S' − Ψ'|²/(2κ), since ⟨Ψ', N'⟩ >= 0. The best one is κ times the negative part of
    M' − S'/κ; with it the bound is the minimum of the quadratic model over the cone. So the gap is that of F itself
    where F is this model. With a form R, |R svec(N' − M')|² takes the place of κ |N' − M'|², and |R⁻ᵀ svec(S' − Ψ')|²
    that of |S' − Ψ'|²/κ; the least bound is found to a tenth.

    Ψ = P Pᵀ is formed from the computed eigenvectors, and ⟨Ψ, M⟩ = |PᵀY|² and S − Ψ from P: it is semidefinite
    whatever the errors of the eigenvectors are. The rounding of S' − Ψ' is added to its norm. S (n, n) symmetric;
    Y (n, r) the factor of M. Under a fixed trace a multiple of I is added to S first, the best one where C = I. With a
    form the search ends where no bound is below `most`. Cost: one spectrum, O(n³); with a form about ten, and as many
    solutions with R, O(n⁴).
    """
    C, kappa = curvature.root, curvature.modulus
    Z = Y if C is None else C.T @ Y
    M = Z @ Z.T
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = _scaled(S, C)
        T = M - scaled / kappa
        if not np.all(np.isfinite(T)):
            return math.inf
        if curvature.form is None:
            values, V = spectrum(T)
            if trace is not None and C is None:
                shift = shift_to(values, trace)
                S, values = S + kappa * shift * np.eye(len(S)), values - shift
            P = _root(-kappa * values, V)
        else:
            P = _root_by_form(scaled, M, kappa, curvature.form, most)
        if C is not None:
            P = C @ P
        return gap_by_factor(S - P @ P.T, Y, curvature, P, norm_of_any_size(scaled) + norm_of_any_size(T) * kappa)


def gap_by_factor(rest: Array, Y: Array, curvature: Curvature, P: Array, size: float) -> float:
    """The bound of :func:`curved_gap` that Ψ = P Pᵀ gives, for any P (n, q). `rest` : S − P Pᵀ. `size` : of the numbers
    that S' − Ψ' is computed from, |S| + κ |M| for C = I. Cost: n q r flops, and two solutions with C."""
    lost = 0.0 if curvature.root is None else _rounding_scaled(rest, P, curvature.root)
    rest, unit = _scaled(rest, curvature.root), math.sqrt(curvature.modulus)
    far = norm_of_any_size(rest) / unit if curvature.form is None else norm_of_any_size(_half(curvature.form, rest))
    far += EPS * (ROUNDINGS * math.sqrt(len(rest)) * size + lost) / unit
    own = norm_of_any_size(P.T @ Y)
    gap = own * own + 0.5 * far * far  # inf where it overflows; a power would raise OverflowError
    return gap if math.isfinite(gap) else math.inf


def _root_by_form(S: Array, M: Array, kappa: float, R: Array, most: float) -> Array:
    """P with Ψ = P Pᵀ near the least ⟨Ψ, M⟩ + ½ |R⁻ᵀ svec(S − Ψ)|², by accelerated projected gradient from Ψ = S.

    A step of κ makes Ψ − κ N semidefinite, N = M − (RᵀR)⁻¹(S − Ψ), and what it cuts off is κ times a matrix at which
    the model shows what no bound is below. The steps end once that is within a tenth of the bound, or not below `most`,
    or once a step without momentum gains nothing. The first gives the P of R = √κ I.
    """
    T = last = M - S / kappa
    found, best, k = np.empty((len(S), 0)), math.inf, 0
    for _ in range(MOST_STEPS):
        values, V = spectrum(T)
        P, Q = _root(-kappa * values, V), _root(values, V)
        Psi, E = P @ P.T, Q @ Q.T - M
        half = _half(R, S - Psi)
        bound, attained = inner(Psi, M) + 0.5 * norm(half) ** 2, -inner(S, E) - 0.5 * norm(R @ vector_of(E)) ** 2
        if bound < best:
            found, best = P, bound
            if bound - attained <= SLIGHT * bound or attained >= most:
                break
            here = M - matrix_of(solve_triangular(R, half, check_finite=False), len(S)) - Psi / kappa
            T, last, k = here + k / (k + 3) * (here - last), here, k + 1
        elif k > 0:
            T, k = last, 0
        else:
            break
    return found


def _root(values: Array, V: Array) -> Array:
    """P with P Pᵀ the positive part of V diag(values) Vᵀ."""
    above = values > 0.0
    return np.asarray(V[:, above] * np.sqrt(values[above]))


def _half(R: Array, A: Array) -> Array:
    """R⁻ᵀ svec(A)."""
    return np.asarray(solve_triangular(R, vector_of(A), trans="T", check_finite=False))


def _scaled(S: Array, C: Array | None) -> Array:
    """C⁻¹ S C⁻ᵀ."""
    if C is None:
        return S
    half = solve_triangular(C, S, lower=True, check_finite=False)
    return np.asarray(solve_triangular(C, half.T, lower=True, check_finite=False))


def _rounding_scaled(rest: Array, P: Array, C: Array) -> float:
    """||C⁻¹| A |C⁻ᵀ||, A = |rest| + 2 |P| |P|ᵀ: what C⁻¹ makes of the roundings of S and P Pᵀ, in units of eps.

    Entry by entry, so that it does not change with the units of the coordinates. Nearly equal coordinates of the rows,
    as those with a large offset, leave S' the difference of much larger entries of S.
    """
    sizes = np.abs(rest) + 2.0 * np.abs(P) @ np.abs(P).T
    inverse = np.abs(solve_triangular(C, np.eye(len(C)), lower=True, check_finite=False))
    return norm_of_any_size(inverse @ sizes @ inverse.T)


def norm_of_any_size(A: Array) -> float:
    """|A|, its squares without underflow or overflow."""
    plain = norm(A)
    if ROOT_EPS < plain < 1.0 / ROOT_EPS:
        return plain
    largest = float(np.abs(A).max(initial=0.0))
    return largest * norm(A / largest) if largest > 0.0 else 0.0
