"""Alternating projections with multipliers on the dual, for linear objectives under very many linear constraints."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from psdopt.checks import integer, number
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, norm
from psdopt.methods.primal_dual.state import PrimalDualState, begun, constrained, moved

#: The penalty changes once one residual was the larger for this many steps in a row.
LEAD = 12


@dataclass(kw_only=True)
class BoundaryPointState(PrimalDualState):
    """`penalty` of the dual equation; `primal_larger`, `dual_larger`: how many steps in a row that residual led."""

    penalty: float = 1.0
    primal_larger: int = 0
    dual_larger: int = 0


@dataclass(frozen=True)
class BoundaryPoint(Method[BoundaryPointState]):
    """min ⟨C, M⟩ under linear constraints: dual splitting, one eigendecomposition per block and step.

    On the dual, max bᵀv with C − A*(v) = Z ⪰ 0, the augmented Lagrangian with multiplier X and penalty s is minimised
    over v, A A*(v) = A(C − Z) + (b − A(X))/s, then over Z ⪰ 0, the positive part of W = C − A*(v) − X/s. The negative
    part gives X = s (Z − W) ⪰ 0, so that X Z = 0 holds in every step. A A* is sparse and is factorised once.

    Povh, Rendl, Wiegele (2006); Malick, Povh, Rendl, Wiegele (2009); Wen, Goldfarb, Yin (2010).

    Parameters
    ----------
    overshoot : step of X relative to the penalty, in (0, 1.618): the iteration converges below (1 + √5)/2.
    factor : by which the penalty changes when one of the two residuals stays the larger one, above 1.
    patience : the run stalls after this many steps in which the largest residual did not fall by a tenth.

    Cost per step: O(n_k³) for each block of order n_k, a solve with the factor of A A*, and the entries of the A_t: no
    (m, m) array. For n up to about two thousand and any m; convergence is linear at best, a few hundred steps to 1e-6
    where the solution is nondegenerate (theta numbers), very slow where it is not.
    """

    overshoot: float = 1.6
    factor: float = 1.7
    patience: int = 500

    requires: ClassVar[Requires] = {"problem": (Ability.CONIC,), "geometry": (Ability.FULL_CONE,)}
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        number(self.overshoot, "overshoot", above=0.0, below=0.5 * (1.0 + 5.0**0.5))
        number(self.factor, "factor", above=1.0)
        integer(self.patience, "patience")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BoundaryPointState:
        form = StandardForm(constrained(problem)[1])
        zeros = [np.zeros((block.size, block.size)) for block in form.blocks]
        none = np.zeros(len(form.c))
        first = begun(problem, geometry, start, evaluation, form, zeros, zeros, none, none)
        return BoundaryPointState(**{field.name: getattr(first, field.name) for field in fields(first)})

    def step(self, state: BoundaryPointState) -> BoundaryPointState:
        form, s, rho = state.form, state.penalty, self.overshoot
        right = (form.b - form.A @ state.x) / s + form.A @ (form.c - state.z)
        for block, X, Z in zip(form.blocks, state.X, state.Z, strict=True):
            right = right + block.measure(block.C - Z - X / s)
        v = np.asarray(form.normal_factor.solve(right))
        Xs, Zs, halves, dual_off = [], [], [], 0.0
        for block, X in zip(form.blocks, state.X, strict=True):
            D = block.C - block.adjoint(v)
            Z, shown, half = _split(D - X / s)
            Zs.append(Z)
            halves.append((s * shown, half * np.sqrt(s)))
            Xs.append((1.0 - rho) * X + rho * s * shown)
            dual_off += norm(Z - D) ** 2
        w = form.c - form.At @ v - state.x / s
        z = np.maximum(w, 0.0)
        x = (1.0 - rho) * state.x + rho * s * (z - w)
        dual_off += norm(z - form.c + form.At @ v) ** 2
        primal = form.b - form.measure(Xs, x)
        shown_x = s * (z - w)
        Y = form.assembled([half for _, half in halves], shown_x)
        new = moved(
            state,
            [X for X, _ in halves],
            Zs,
            shown_x,
            z,
            v,
            step=s,
            outcome=Outcome.RUNNING,
            patience=self.patience,
            splits=True,
            factor=Y,
        )
        new.X, new.x = Xs, x  # iterate with the overshot multiplier, but show the PSD point
        return self._balanced(new, norm(primal), 0.5 * dual_off**0.5)

    def _balanced(self, state: BoundaryPointState, primal: float, dual: float) -> BoundaryPointState:
        """The penalty after a step with these residuals, |A(X) − b| / (1 + |b|) and |C − A*(v) − Z| / (1 + |C|)."""
        larger = 0.5 * primal > dual
        state.primal_larger, state.dual_larger = (state.primal_larger + 1, 0) if larger else (0, state.dual_larger + 1)
        if state.dual_larger >= LEAD:
            state.penalty, state.dual_larger = state.penalty * self.factor, 0
        elif state.primal_larger >= LEAD:
            state.penalty, state.primal_larger = state.penalty / self.factor, 0
        return state


def _split(W: Array) -> tuple[Array, Array, Array]:
    """(W₊, W₋, H) with W = W₊ − W₋ and W₋ = H Hᵀ, by one eigendecomposition."""
    deadline.ask()
    values, V = scipy.linalg.eigh(W, driver="evd", check_finite=False)
    k = int(np.searchsorted(values, 0.0))
    H = V[:, :k] * np.sqrt(-values[:k])
    if k <= len(values) // 2:
        negative = H @ H.T
        return W + negative, negative, H
    root = V[:, k:] * np.sqrt(values[k:])
    positive = root @ root.T
    return positive, positive - W, H
