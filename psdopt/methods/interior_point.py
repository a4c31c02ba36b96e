"""Primal-dual interior point for linear objectives under linear constraints: Newton's method on X, v and Z at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.capability import Ability, Requires
from psdopt.certificate import stationarity_scale
from psdopt.constraints.certificate import SHRUNK, Multipliers, relative_violation
from psdopt.constraints.problem import Constrained
from psdopt.constraints.standard import StandardForm
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, State
from psdopt.problem import Evaluation, Problem

#: A step goes this share of the way to the boundary, or more the longer the predictor's steps are.
SHARE = 0.9
#: A*(v) + Z and A(X) this small next to bᵀv and −⟨C, X⟩ make candidates for proofs that one side is infeasible.
RAY = 1e-7
#: So many steps without a tenth off the largest relative residual are no progress: rounding is what is left.
CALM = 12
#: C − A*(v) − Z is this small, next to C, once it is rounding.
SETTLED = 1e-10
#: Steps shorter than this make no progress.
SHORT = 1e-7
#: Ridges added to the system where it is not definite to working precision, as shares of its largest diagonal entry.
RIDGES = (0.0, 16 * EPS, 1e3 * EPS, 1e6 * EPS)


@dataclass
class InteriorPointState(State):
    """X and Z by blocks, x and z of the linear part, v; `dual` is what certificates are made from."""

    form: StandardForm | None = None
    X: list[Array] = field(default_factory=list)
    Z: list[Array] = field(default_factory=list)
    x: Array = field(default_factory=lambda: np.zeros(0))
    z: Array = field(default_factory=lambda: np.zeros(0))
    v: Array = field(default_factory=lambda: np.zeros(0))
    dual: Multipliers | None = None
    least: float = math.inf
    since: int = 0
    bound: float = -math.inf


@dataclass(frozen=True)
class InteriorPoint(Method):
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

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise InvalidInputError(f"share must lie between 0 and 1; found {self.share!r}")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> InteriorPointState:
        assert isinstance(problem, Constrained)
        assert problem.conic is not None
        form = StandardForm(problem.conic)
        v = np.zeros(form.m)
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
        state = InteriorPointState(
            problem, geometry, start, evaluation or problem.at(geometry.factor(start)), math.inf,
            form=form, X=X, Z=Z, x=x, z=z, v=v, dual=Multipliers(np.zeros(problem.m)),
        )  # fmt: skip
        if problem.contradiction is not None:
            state.outcome = Outcome.FINISHED  # the certificate proves that nothing is feasible
        return state

    def step(self, state: Any) -> InteriorPointState:
        assert isinstance(state, InteriorPointState)
        form = state.form
        assert form is not None
        try:
            moved = self._newton(form, state)
        except (np.linalg.LinAlgError, FloatingPointError):
            return self._at(state, state.X, state.Z, state.x, state.z, state.v, 0.0, Outcome.STALLED)
        X, Z, x, z, v, length = moved
        return self._at(state, X, Z, x, z, v, length, Outcome.STALLED if length < SHORT else Outcome.RUNNING)

    def _newton(
        self, form: StandardForm, state: InteriorPointState
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
        solve = _factorised(M)
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

    def _at(
        self, old: InteriorPointState, X: list[Array], Z: list[Array], x: Array, z: Array, v: Array, length: float,
        outcome: Outcome,
    ) -> InteriorPointState:  # fmt: skip
        problem, form = old.problem, old.form
        assert isinstance(problem, Constrained)
        assert form is not None
        Y = form.factor(X, x)
        evaluation = problem.at(Y)
        y = form.multipliers(v)
        value, a = evaluation.value, problem.measured(Y)
        falls = float(form.b @ v)
        dual_off = math.sqrt(sum(norm(b.adjoint(v) + S) ** 2 for b, S in zip(form.blocks, Z, strict=True))
                             + norm(form.At @ v + z) ** 2)  # fmt: skip
        measured = np.asarray(form.A @ x, dtype=np.float64)
        for block, P in zip(form.blocks, X, strict=True):
            measured = measured + block.measure(P)
        primal_off = norm(measured)
        cost = sum(inner(b.C, P) for b, P in zip(form.blocks, X, strict=True)) + float(form.c @ x)
        ray = y if falls > 0.0 and dual_off <= RAY * falls else None
        direction = Y if cost < 0.0 and primal_off <= RAY * -cost else None
        if ray is not None or direction is not None:
            outcome = Outcome.FINISHED
        infeasibility = relative_violation(problem, a)
        slack = math.sqrt(sum(norm(b.C - b.adjoint(v) - S) ** 2 for b, S in zip(form.blocks, Z, strict=True))
                          + norm(form.c - form.At @ v - z) ** 2)  # fmt: skip
        bound = float(form.b @ v) * form.beta * form.gamma + problem.conic.constant  # type: ignore[union-attr]
        # what a proof can make of it: S has rounding of its own, the more the larger multipliers are
        limit = problem.trace_limit
        reach = evaluation.size**2 if limit is None else limit.value
        large = max([math.sqrt(len(S)) * norm(S) for S in Z], default=0.0)
        cut = SHRUNK[-1] if problem.homogeneous.any() else 1.0
        bound -= 4.0 * EPS * form.gamma * reach * large * cut
        best, provable = old.dual.best if old.dual is not None else None, old.bound
        if bound > provable and slack <= SETTLED:
            best, provable = y, bound
        bound = max(bound, provable)
        unit = max(abs(value - problem.value_at_zero()), abs(bound - problem.value_at_zero()))
        gap = abs(value - bound) / unit if unit > 0.0 else 0.0
        relative = max(gap, infeasibility, slack)
        least, since = (relative, 0) if relative < 0.9 * old.least else (old.least, old.since + 1)
        if since >= CALM and outcome is Outcome.RUNNING:
            outcome = Outcome.STALLED
        scale = stationarity_scale(problem, value, evaluation.size)
        dual = Multipliers(y, best, ray, direction)
        return InteriorPointState(
            problem, old.geometry, old.geometry.from_factor(Y), evaluation, 2.0 * relative * (scale or 1.0), length,
            outcome,
            extras={"infeasibility": infeasibility, "dual_residual": slack, "dual_bound": bound, "gap": gap},
            form=form, X=X, Z=Z, x=x, z=z, v=v, dual=dual, least=least, since=since, bound=provable,
        )  # fmt: skip


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


def _factorised(M: Array) -> Any:
    """right ↦ M⁻¹ right with refinement; a ridge where M is not definite to working precision."""
    M = 0.5 * (M + M.T)
    top = float(np.max(np.diagonal(M), initial=0.0))
    if not math.isfinite(top):
        raise np.linalg.LinAlgError("the system of the multipliers is not finite")
    for ridge in RIDGES:
        try:
            shifted = M.copy()
            shifted[np.diag_indices_from(M)] += ridge * top
            factor = scipy.linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            continue
    else:
        raise np.linalg.LinAlgError("the system of the multipliers is not definite")

    def solve(right: Array) -> Array:
        w = scipy.linalg.cho_solve(factor, right, check_finite=False)
        for _ in range(3):
            rest = right - M @ w
            new = w + scipy.linalg.cho_solve(factor, rest, check_finite=False)
            if not norm(right - M @ new) < 0.5 * norm(rest):
                break
            w = new
        return np.asarray(w)

    return solve
