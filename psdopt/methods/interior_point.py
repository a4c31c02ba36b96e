"""Primal-dual interior point for linear objectives under linear constraints: Newton's method on X, v and Z at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.capability import Ability, Requires
from psdopt.checks import number
from psdopt.constraints.primal_dual import PrimalDualState, begun, constrained, moved
from psdopt.constraints.standard import StandardForm
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.ridged import ridged_solver
from psdopt.method import Method, Outcome, Residual
from psdopt.problem import Evaluation, Problem

#: A step goes this share of the way to the boundary, or more the longer the predictor's steps are.
SHARE = 0.9
#: So many steps without a tenth off the largest relative residual are no progress: rounding is what is left.
CALM = 12
#: Steps shorter than this make no progress.
SHORT = 1e-7


@dataclass(frozen=True)
class InteriorPoint(Method[PrimalDualState]):
    """min ⟨C, M⟩ under linear constraints: infeasible primal-dual path following in the HKM direction.

    With v the dual variables, Z = C − A*(v) and X Z = mu I are linearised at once; dX and dZ are eliminated, and the
    Schur complement [tr(A_s X A_t Z⁻¹)] (m, m) is left. Mehrotra's predictor and corrector share its factor. The start
    is a multiple of I. Blocks that no constraint joins are worked on one by one.

    Helmberg, Rendl, Vanderbei, Wolkowicz (1996); Kojima, Shindoh, Hara (1997); Monteiro (1997).

    Parameters
    ----------
    share : of the way to the boundary that a step goes at least, in (0, 1).

    Cost per step: O(n_k³) for each block of order n_k, the Schur complement, m³/3 flops for its factor. Memory
    O(m² + Σ n_k²). For m up to some thousands and n up to about a thousand.
    """

    share: float = SHARE

    requires: ClassVar[Requires] = {"problem": (Ability.CONIC,), "geometry": (Ability.FULL_CONE,)}
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        number(self.share, "share", above=0.0, below=1.0)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> PrimalDualState:
        form = StandardForm(constrained(problem)[1])
        # SDPT3's start (Toh, Todd, Tutuncu 1999), block by block
        X, Z = [], []
        for block in form.blocks:
            squares = block.B.multiply(block.B) @ np.where(block.i == block.j, 1.0, 0.5)
            sizes = np.sqrt(np.asarray(squares, dtype=np.float64))[block.used]
            reach = float(np.max((1.0 + np.abs(form.b[block.used])) / (1.0 + sizes), initial=0.0))
            s = block.size
            X.append(np.eye(s) * max(10.0, math.sqrt(s), s * reach))
            Z.append(np.eye(s) * max(10.0, math.sqrt(s), float(sizes.max(initial=0.0)), norm(block.C)))
        x, z = np.full(len(form.c), 10.0), np.full(len(form.c), 10.0)
        return begun(problem, geometry, start, evaluation, form, X, Z, x, z)

    def step(self, state: PrimalDualState) -> PrimalDualState:
        try:
            X, Z, x, z, v, length = self._newton(state.form, state)
        except (np.linalg.LinAlgError, FloatingPointError):
            here = (state.X, state.Z, state.x, state.z, state.v)
            return moved(state, *here, step=0.0, outcome=Outcome.STALLED, patience=CALM)
        outcome = Outcome.STALLED if length < SHORT else Outcome.RUNNING
        return moved(state, X, Z, x, z, v, step=length, outcome=outcome, patience=CALM)

    def _newton(
        self, form: StandardForm, state: PrimalDualState
    ) -> tuple[list[Array], list[Array], Array, Array, Array, float]:
        X, Z, x, z, v = state.X, state.Z, state.x, state.z, state.v
        Zi = [_inverse(S) for S in Z]
        rp = form.b - form.A @ x
        Rd, rd = [], form.c - form.At @ v - z
        for block, P, S in zip(form.blocks, X, Z, strict=True):
            rp = rp - block.measure(P)
            Rd.append(block.C - block.adjoint(v) - S)
        mu = (sum(inner(P, S) for P, S in zip(X, Z, strict=True)) + float(x @ z)) / max(form.order, 1)
        M = np.zeros((form.m, form.m))
        for block, P, Q in zip(form.blocks, X, Zi, strict=True):
            block.add_schur(M, P, Q)
        if len(x):
            linear = sp.csr_array(form.A @ sp.diags_array(x / z) @ form.At)
            M += linear.toarray()
        solve = ridged_solver(M)
        XRZ = [P @ R @ Q for P, R, Q in zip(X, Rd, Zi, strict=True)]

        def direction(target: float, corrections: list[Array] | None, correction: Array | None) -> Any:
            right = rp.copy()
            for k, block in enumerate(form.blocks):
                E = X[k] - target * Zi[k] + XRZ[k]
                if corrections is not None:
                    E = E + corrections[k]
                right += block.measure(E)
            e = x - target / z + x * rd / z + (0.0 if correction is None else correction)
            right += form.A @ e
            dv = solve(right)
            dXs, dZs = [], []
            for k, block in enumerate(form.blocks):
                dZ = Rd[k] - block.adjoint(dv)
                dX = target * Zi[k] - X[k] - X[k] @ dZ @ Zi[k]
                if corrections is not None:
                    dX = dX - corrections[k]
                dXs.append(0.5 * (dX + dX.T))
                dZs.append(dZ)
            dz = rd - form.At @ dv
            dx = target / z - x - x * dz / z - (0.0 if correction is None else correction)
            return dXs, dZs, dx, dz, dv

        Lx, Lz = [_lower(P) for P in X], [_lower(S) for S in Z]
        dX, dZ, dx, dz, _ = direction(0.0, None, None)
        ap, ad = min(1.0, _reach(Lx, dX, x, dx)), min(1.0, _reach(Lz, dZ, z, dz))
        after = sum(inner(P + ap * dP, S + ad * dS) for P, dP, S, dS in zip(X, dX, Z, dZ, strict=True))
        after = (after + float((x + ap * dx) @ (z + ad * dz))) / max(form.order, 1)
        power = max(1.0, 3.0 * min(ap, ad) ** 2)
        sigma = min(1.0, max(after / mu, 0.0) ** power) if after > 0.0 else 0.1
        share = self.share + 0.09 * min(ap, ad)
        corrections = [dP @ dS @ Q for dP, dS, Q in zip(dX, dZ, Zi, strict=True)]
        dX, dZ, dx, dz, dv = direction(sigma * mu, corrections, dx * dz / z)
        ap, ad = min(1.0, share * _reach(Lx, dX, x, dx)), min(1.0, share * _reach(Lz, dZ, z, dz))
        X = [_definite(P, dP, ap) for P, dP in zip(X, dX, strict=True)]
        Z = [_definite(S, dS, ad) for S, dS in zip(Z, dZ, strict=True)]
        return X, Z, x + ap * dx, z + ad * dz, v + ad * dv, max(ap, ad)


def _lower(P: Array) -> Array:
    """L with L Lᵀ = P."""
    return np.asarray(np.linalg.cholesky(P), dtype=np.float64)


def _inverse(S: Array) -> Array:
    factor = scipy.linalg.cho_factor(S, lower=True, check_finite=False)
    inverse = scipy.linalg.cho_solve(factor, np.eye(len(S)), check_finite=False)
    return np.asarray(0.5 * (inverse + inverse.T))


def _reach(factors: list[Array], moves: list[Array], x: Array, dx: Array) -> float:
    """The largest alpha with P + alpha dP ⪰ 0 for all blocks P = L Lᵀ, and x + alpha dx >= 0."""
    least = float(np.min(dx / x, initial=0.0)) if len(x) else 0.0
    for L, dP in zip(factors, moves, strict=True):
        W = scipy.linalg.solve_triangular(L, dP, lower=True, check_finite=False)
        W = scipy.linalg.solve_triangular(L, W.T, lower=True, check_finite=False)
        W = 0.5 * (W + W.T)
        least = min(least, float(scipy.linalg.eigvalsh(W, subset_by_index=[0, 0], check_finite=False)[0]))
    return -1.0 / least if least < 0.0 else math.inf


def _definite(P: Array, dP: Array, step: float) -> Array:
    """P + step dP, nearer to P where rounding makes it indefinite."""
    for _ in range(20):
        moved = P + step * dP
        try:
            np.linalg.cholesky(moved)
            return moved
        except np.linalg.LinAlgError:
            step *= 0.8
    raise np.linalg.LinAlgError("no step keeps the matrix definite")
