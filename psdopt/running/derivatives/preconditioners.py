"""Preconditioners of the system of derivatives: simpler curvatures of F, with which it is solved exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.contracts.quadratic_fit import Coupled
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import PROBES
from psdopt.linalg.tolerances import MINOR, VANISHED
from psdopt.methods.lagrange_newton.system import LagrangeSystem
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.system import AdjointSystem, Inverse


def inverse_at(at: Conditions) -> Inverse:
    """The preconditioner at a point: under constraints :func:`tied`, else the fastest of several."""
    if at.Y.size == 0:  # M = 0
        return lambda R, q: (R, q)
    if at.model is not None:
        return tied(at)
    return fastest(at, candidates(at))


def candidates(at: Conditions) -> Iterator[Inverse]:
    """Preconditioners for an F without constraints, each made when it is asked for."""
    if Ability.DIAGONAL_FORM in at.problem.abilities:
        form: Any = offered(at.problem, Ability.DIAGONAL_FORM, "psdopt.problems.diagonal_form.DiagonalForm")
        inverse = form.basis / np.sum(form.basis**2, axis=0)
        yield spectral(at, np.linalg.cholesky(inverse @ inverse.T))
    yield spectral(at, None)
    for each in at.evaluation.curvatures():
        if each.root is not None:
            yield spectral(at, each.root)
    if Ability.PRECONDITIONER in at.problem.abilities:
        own = at.evaluation.preconditioner()
        yield lambda R, q: (own(R), q)


def tied(at: Conditions) -> Inverse:
    """The system with a multiple of I for ∇²F, or for a linear F with slight damping: exact but for that."""
    fit, k, Y, shift = constrained_fit_of(at.problem), len(at.rows), at.Y, VANISHED * at.unit
    held, probe = fit.tied(at.evaluation, at.rows), probe_of(at)
    bent = fit.bend(at.evaluation, probe)
    if bent is not None:
        # κ (M X + X YᵀY), with the geometric mean of the eigenvalues of YᵀY for its second part
        kappa = 2.0 * max(inner(probe, bent), 0.0) / norm(probe @ Y.T + Y @ probe.T) ** 2
        shift += kappa * float(np.exp(np.mean(np.log(np.linalg.eigvalsh(Y.T @ Y)))))
        held = Raised(held, kappa * (Y @ Y.T))
    return LagrangeSystem(held, held.block(Y), Y, at.multipliers, shift, np.empty((k, k))).solve


class Raised:
    """Constraints (:class:`~psdopt.contracts.Coupled`) whose S(w) is `raised` by a fixed matrix (n, n)."""

    def __init__(self, fit: Coupled, raised: Array) -> None:
        self.fit, self.raised, self.curvatures = fit, raised, fit.curvatures
        self.block, self.pair, self.force, self.solver = fit.block, fit.pair, fit.force, fit.solver

    def gradient(self, w: Array) -> Array:
        return self.fit.gradient(w) + self.raised


def fastest(at: Conditions, found: Iterator[Inverse]) -> Inverse:
    """The first preconditioner that solves for a fixed right-hand side in a few steps, or the best of all."""
    R, q, best, least = at.horizontal(probe_of(at)), np.zeros_like(at.y), None, np.inf
    for inverse in found:
        X, _ = AdjointSystem(at, inverse).corrected(R, q, MINOR, PROBES)
        left = norm(at.horizontal(R - at.product(X)))
        if best is None or left < least:
            best, least = inverse, left
        if left <= MINOR * norm(R):
            break
    assert best is not None
    return best


def probe_of(at: Conditions) -> Array:
    """Fixed numbers (n, r), no random start of a run: to these, directions in which M is free are orthogonal."""
    return np.asarray(np.cos(np.arange(1.0, at.Y.size + 1.0) ** 2).reshape(at.Y.shape))


def spectral(at: Conditions, C: Array | None) -> Inverse:
    """The inverse of X ↦ S X + κ (G X YᵀG Y + G Y XᵀG Y) on horizontal X, for a metric G = C Cᵀ; None for G = I.

    κ is the curvature of F in this metric along one direction. In the coordinates CᵀX, for G = I, S and M commute, as
    S M = 0, and Y XᵀY = M X. With eigenvectors V of S − κ M, whose eigenvalues σ_i are those of S and of −κ M, and W of
    YᵀY, d its eigenvalues, the map multiplies (VᵀX W)_ij by |σ_i| + κ d_j. About 9 n³ flops, then 4 n² r a use.
    """
    Y, S = at.Y, at.slack
    Z = Y if C is None else C.T @ Y
    if C is not None:
        half = solve_triangular(C, S, lower=True)
        S = solve_triangular(C, half.T, lower=True)
        S = 0.5 * (S + S.T)
    probe = probe_of(at)
    probe = probe if C is None else solve_triangular(C, probe, lower=True, trans=1)
    probe = at.horizontal(probe)
    bent = at.product(probe) - at.slack @ probe
    image = probe if C is None else C.T @ probe
    weight = norm(image @ Z.T + Z @ image.T) ** 2
    kappa = 2.0 * max(inner(probe, bent), 0.0) / weight
    values, V = np.linalg.eigh(S - kappa * (Z @ Z.T))
    d, W = np.linalg.eigh(Z.T @ Z)
    scale = np.maximum(np.abs(values)[:, None] + kappa * d, VANISHED * at.unit)

    def inverse(R: Array, q: Array) -> tuple[Array, Array]:
        if C is not None:
            R = solve_triangular(C, R, lower=True)
        X = V @ ((V.T @ (R @ W)) / scale) @ W.T
        return X if C is None else solve_triangular(C, X, lower=True, trans=1), q

    return inverse
