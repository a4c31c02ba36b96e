"""∇F(0) and the curvature ∇²F[Z] of a quadratic F along matrices Z, computed once for each problem."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from psdopt.certificates.scales import natural_trace, reference_value
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT
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


def stored_shifts(problem: Problem) -> Iterator[Shift]:
    """The Z of a quadratic F that do not depend on M, made once: I, and up to order DENSE_LIMIT K⁻¹, K = ∇²F[I]."""
    K = origin(problem).curvature
    yield Shift(K, np.ones(problem.n), float(np.trace(K)), np.diagonal(K))

    def made() -> list[Shift]:
        L = inverse_root(K) if problem.n <= DENSE_LIMIT else None
        return [] if L is None else [curvature_along(problem, L)]

    yield from problem.once("shift by inverse curvature", made)


def curvature_along(problem: Problem, L: Array) -> Shift:
    """∇²F[Z] of a quadratic F for Z = L Lᵀ, from ∇F at 0 and at a multiple of Z whose trace has the unit of M."""
    H, Z = _difference(problem, L), L @ L.T
    sizes = np.abs(Z).sum(axis=1)
    diagonal = np.diagonal(Z)
    terms = H if np.array_equal(sizes, diagonal) else _difference(problem, np.diag(np.sqrt(sizes)))
    return Shift(H, diagonal, inner(H, Z), np.diagonal(terms))


def _difference(problem: Problem, L: Array) -> Array:
    unit = origin(problem).unit * problem.n / norm(L) ** 2
    H = dense_gradient(problem.at(math.sqrt(unit) * L)) - dense_gradient(problem.at(np.zeros((problem.n, 1))))
    H /= unit
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
    """`gradient` : |∇F(0)| (n, n), entry by entry, 0 where undefined; `sizes` : its diagonal (n,). `curvature` : ∇²F[I]
    (n, n) of a quadratic F, else empty.

    ∇²F[Z] = (∇F(uZ) − ∇F(0)) / u, with the `unit` u of M, so that the difference has all digits.
    """

    gradient: Array
    sizes: Array
    curvature: Array
    unit: float


def origin(problem: Problem) -> Origin:
    """The gradient and the curvature of F at 0, computed once for each problem and kept with it."""

    def compute() -> Origin:
        S, curvature = np.full((problem.n, problem.n), math.nan), np.empty((0, 0))
        unit = (natural_trace(problem) or problem.n) / problem.n
        if math.isfinite(reference_value(problem, 0.0)):  # where F may yet have no gradient
            with suppress(FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError), np.errstate(all="ignore"):
                S = dense_gradient(problem.at(np.zeros((problem.n, 1))))
        if Ability.QUADRATIC in problem.abilities:
            curvature = dense_gradient(problem.at(math.sqrt(unit) * np.eye(problem.n)))
            curvature -= S
            curvature /= unit
        size = np.abs(S)
        size = np.where(np.isfinite(size), size, 0.0)
        return Origin(size, np.diagonal(size), curvature, unit)

    return problem.once("origin", compute)
