"""∇F(0) and the curvature ∇²F[Z] of a quadratic F along matrices Z, computed once for each problem."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from psdopt.certificates.scales import natural_trace, reference_value
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import dense_gradient, value_and_gradient
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import ROOT_EPS


class Shift(NamedTuple):
    """Z and H = ∇²F[Z] (n, n) of a quadratic F, with the `diagonal` (n,) of Z, and `bend` = ⟨H, Z⟩.

    `terms` (n,) : the diagonal of ∇²F[D], D = diag(Σ_j |Z_ij|) ⪰ Z, the size of terms that may cancel in H.
    """

    H: Array
    diagonal: Array
    bend: float
    terms: Array


def identity_shift(problem: Problem) -> Shift:
    """Z = I."""
    K = origin(problem).curvature
    return Shift(K, np.ones(problem.n), float(np.trace(K)), np.diagonal(K))


def inverse_shift(problem: Problem) -> Shift | None:
    """Z = K⁻¹, K = ∇²F[I], made once; None where K has no positive eigenvalue."""

    def made() -> Shift | None:
        L = inverse_root(origin(problem).curvature)
        return None if L is None else curvature_along(problem, L)

    return problem.once("shift by inverse curvature", made)


def curvature_along(problem: Problem, L: Array) -> Shift:
    """Z = L Lᵀ."""
    start, H, Z = origin(problem), _curvature(problem, origin(problem), L), L @ L.T
    sizes, diagonal = np.abs(Z).sum(axis=1), np.diagonal(Z)
    terms = H if np.array_equal(sizes, diagonal) else _curvature(problem, start, np.diag(np.sqrt(sizes)))
    return Shift(H, diagonal, inner(H, Z), np.diagonal(terms))


def _curvature(problem: Problem, start: Origin, L: Array) -> Array:
    """∇²F[L Lᵀ] = (∇F(u L Lᵀ) − ∇F(0)) / u of a quadratic F, u L Lᵀ of the unit of M: the difference has all digits."""
    share = start.unit * problem.n / norm(L) ** 2
    _, H = value_and_gradient(problem, math.sqrt(share) * L)
    H -= start.gradient
    H /= share
    return H


def inverse_root(K: Array) -> Array | None:
    """L with L Lᵀ = K⁻¹ times the largest eigenvalue of K, all at least half of its digits; None if K ⪯ 0."""
    if not np.all(np.isfinite(K)):
        return None
    values, U = spectrum(K)
    if not values[-1] > 0.0:  # F does not depend on the trace, such as a fit of off-diagonal entries
        return None
    return np.asarray(U / np.sqrt(np.maximum(values / values[-1], ROOT_EPS)))


class Origin(NamedTuple):
    """`gradient` : ∇F(0) (n, n), 0 where undefined. `unit` : the unit of the diagonal of M. `curvature` : ∇²F[I] (n, n)
    of a quadratic F, else empty."""

    gradient: Array
    unit: float
    curvature: Array


def origin(problem: Problem) -> Origin:
    """The gradient and the curvature of F at 0, computed once for each problem and kept with it."""

    def compute() -> Origin:
        S = np.full((problem.n, problem.n), math.nan)
        if math.isfinite(reference_value(problem, 0.0)):  # where F may yet have no gradient
            with suppress(FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError), np.errstate(all="ignore"):
                S = dense_gradient(problem.at(np.zeros((problem.n, 1))))
        unit = (natural_trace(problem) or problem.n) / problem.n
        start = Origin(np.where(np.isfinite(S), S, 0.0), unit, np.empty((0, 0)))
        quadratic = Ability.QUADRATIC in problem.abilities
        return start._replace(curvature=_curvature(problem, start, np.eye(problem.n))) if quadratic else start

    return problem.once("origin", compute)
