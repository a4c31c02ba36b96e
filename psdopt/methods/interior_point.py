"""Primal-dual interior point for linear objectives under linear constraints: Newton's method on X, v and Z at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.capability import Ability, Requires
from psdopt.checks import number
from psdopt.constraints.conic import Conic
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.primal_dual import PrimalDualState, begun, constrained, moved
from psdopt.constraints.standard import StandardForm
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.ridged import ridged_solver
from psdopt.linalg.subset import least_eigenvalue
from psdopt.method import Method, Outcome, Residual
from psdopt.problem import Evaluation, Problem

#: A step goes this share of the way to the boundary, or more the longer the predictor's steps are.
SHARE = 0.9
#: So many steps without a tenth off the largest relative residual are no progress: rounding is what is left.
CALM = 12
#: From this relative gap on X is moved onto the constraints, where what is off changes the gap by more than this share.
CLOSE, MET = 1e-3, 1e-7
#: A run that stalls with a larger relative residual than this begins once more, with an X so many times as large.
FAR, BEYOND = 1e-6, 1e5
#: Flops of a Schur complement of dense forms that a step may take.
DENSE = 4e9
#: Steps shorter than this make no progress.
SHORT = 1e-7


@dataclass(frozen=True)
class InteriorPoint(Method[PrimalDualState]):
    """min ⟨C, M⟩ under linear constraints: infeasible primal-dual path following in the HKM direction.

    With v the dual variables, Z = C − A*(v) and X Z = mu I are linearised at once; dX and dZ are eliminated, and the
    Schur complement [tr(A_s X A_t Z⁻¹)] (m, m) is left. Mehrotra's predictor and corrector share its factor. The start
    is a multiple of I. Blocks that no constraint joins are worked on one by one. A run that stalls begins once more: on
    the face of the cone that constraints leave, where there is one, else from a larger X.

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
        return begun(problem, geometry, start, evaluation, form, *_first(form))

    def step(self, state: PrimalDualState) -> PrimalDualState:
        after = self._stepped(state)
        if after.outcome is not Outcome.STALLED or after.anew or after.nearest_error <= FAR:
            return after
        # on a face nothing is strictly feasible but within it; elsewhere a path from below the size of a solution
        # creeps along the boundary, and one from far beyond it does not
        form = _within(state.problem)
        far = BEYOND if form is None else 1.0
        form = form or state.form
        X, Z, x, z = _first(form)
        return replace(
            after,
            form=form,
            X=[far * P for P in X],
            Z=Z,
            x=far * x,
            z=z,
            v=np.zeros(form.m),
            least=math.inf,
            since=0,
            anew=True,
            outcome=Outcome.RUNNING,
        )

    def _stepped(self, state: PrimalDualState) -> PrimalDualState:
        try:
            X, Z, x, z, v, length = self._newton(state.form, state)
        except (np.linalg.LinAlgError, FloatingPointError):
            here = (state.X, state.Z, state.x, state.z, state.v)
            return moved(state, *here, step=0.0, outcome=Outcome.STALLED, patience=CALM)
        outcome = Outcome.STALLED if length < SHORT else Outcome.RUNNING
        close = state.extras.get("gap", math.inf) <= CLOSE
        factor = _met(state.form, X, x, v) if close else None
        return moved(state, X, Z, x, z, v, step=length, outcome=outcome, patience=CALM, factor=factor)

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


def _within(problem: Problem) -> StandardForm | None:
    """The problem on its face, where it has one and its forms there, which are dense, are affordable."""
    known, conic = constrained(problem)
    W = None if known.face is None or known.only_zero else known.face.within
    if known.face is None or W is None or 4.0 * float(W.shape[1]) ** 3 * conic.m > DENSE:
        return None
    q, forms = W.shape[1], conic.forms
    i, j = np.triu_indices(q)
    twice, kept = np.where(i == j, 1.0, 2.0), np.setdiff1d(np.arange(conic.m), known.face.rows)
    B = np.zeros((conic.m, len(i)))
    for t in kept:
        e = np.zeros(conic.m)
        e[t] = 1.0
        B[t] = twice * (W.T @ (forms.matrix(e) @ W)).toarray()[i, j]
    there = SparseForms(i, j, sp.csr_array(B), q)
    C = sp.csr_array(W.T @ conic.C @ W)
    return StandardForm(Conic(C, conic.constant, there, conic.lower, conic.upper), W)


def _first(form: StandardForm) -> tuple[list[Array], list[Array], Array, Array]:
    """X, Z, x, z of SDPT3's start (Toh, Todd, Tutuncu 1999), block by block."""
    X, Z = [], []
    for block in form.blocks:
        squares = block.B.multiply(block.B) @ np.where(block.i == block.j, 1.0, 0.5)
        sizes = np.sqrt(np.asarray(squares, dtype=np.float64))[block.used]
        reach = float(np.max((1.0 + np.abs(form.b[block.used])) / (1.0 + sizes), initial=0.0))
        s = block.size
        X.append(np.eye(s) * max(10.0, math.sqrt(s), s * reach))
        Z.append(np.eye(s) * max(10.0, math.sqrt(s), float(sizes.max(initial=0.0)), norm(block.C)))
    x, z = np.full(len(form.c), 10.0), np.full(len(form.c), 10.0)
    return X, Z, x, z


def _met(form: StandardForm, X: list[Array], x: Array, v: Array) -> Array | None:
    """The factor of X and x moved to A(X) + A x = b by the least move in the metric of X⁻¹.

    None where what is missing is next to nothing in bᵀv, and where the move is of no use. The products X dZ Z⁻¹ lose
    digits as Z⁻¹ grows, and large multipliers make a small infeasibility a large gap; in X A*(w) X nothing cancels.
    Costs a second Schur complement. The path itself goes on from X, which is better centred.
    """
    rest = _missing(form, X, x)
    if norm(rest) * norm(v) <= MET * abs(float(form.b @ v)):
        return None
    M = np.zeros((form.m, form.m))
    for block, P in zip(form.blocks, X, strict=True):
        block.add_schur(M, P, P)
    if len(x):
        M += sp.csr_array(form.A @ sp.diags_array(x * x) @ form.At).toarray()
    try:
        w = ridged_solver(M)(rest)
        onto = [_definite(P, P @ block.adjoint(w) @ P, 1.0) for block, P in zip(form.blocks, X, strict=True)]
    except np.linalg.LinAlgError:
        return None
    along = x + x * x * (form.At @ w)
    if not np.all(along >= 0.0) or not norm(_missing(form, onto, along)) < 0.1 * norm(rest):
        return None
    return form.factor(onto, along)


def _missing(form: StandardForm, X: list[Array], x: Array) -> Array:
    """b − A(X) − A x."""
    rest = np.asarray(form.b - form.A @ x)
    for block, P in zip(form.blocks, X, strict=True):
        rest = rest - block.measure(P)
    return rest


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
        least = min(least, least_eigenvalue(W))
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
