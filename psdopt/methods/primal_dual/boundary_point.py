"""Alternating projections with multipliers on the dual, for linear objectives under very many linear constraints."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer, number
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual
from psdopt.contracts.problem import Evaluation, Problem
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
    starts_at_zero: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        number(self.overshoot, "overshoot", above=0.0, below=0.5 * (1.0 + 5.0**0.5))
        number(self.factor, "factor", above=1.0)
        integer(self.patience, "patience")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BoundaryPointState:
        form = StandardForm(constrained(problem)[1])
        zeros = [np.zeros_like(part.C) for part in form.parts]
        first = begun(problem, geometry, start, evaluation, form, zeros, zeros)
        return BoundaryPointState(**{field.name: getattr(first, field.name) for field in fields(first)})

    def warmed(self, state: BoundaryPointState, multipliers: Array) -> BoundaryPointState:
        """X of M, and v and Z of `multipliers`."""
        form = state.form
        v = form.dual(multipliers)
        Z = [part.split(D)[0] for part, D in zip(form.parts, form.slacks(v), strict=True)]
        return replace(state, X=form.primal(state.evaluation.factor), Z=Z, v=v)

    def step(self, state: BoundaryPointState) -> BoundaryPointState:
        form, s, rho = state.form, state.penalty, self.overshoot
        right = form.b / s
        for part, X, Z in zip(form.parts, state.X, state.Z, strict=True):
            right = right + part.measure(part.C - Z - X / s)
        v = np.asarray(form.normal_factor.solve(right))
        Xs, Zs, shown, roots, off = [], [], [], [], 0.0
        for part, X in zip(form.parts, state.X, strict=True):
            D = part.C - part.adjoint(v)
            Z, negative, root = part.split(D - X / s)
            Zs.append(Z)
            shown.append(s * negative)
            roots.append(root * np.sqrt(s))
            Xs.append((1.0 - rho) * X + rho * s * negative)
            off += norm(Z - D) ** 2
        primal = norm(form.b - form.measure(Xs))
        factor = form.assembled(roots)
        options: dict[str, Any] = {"step": s, "outcome": Outcome.RUNNING, "patience": self.patience, "splits": True}
        new = moved(state, Iterate.at(form, shown, Zs, v, [], []), factor=factor, **options)
        new.X = Xs  # iterate with the overshot multiplier, but show the PSD point
        return self._balanced(new, primal, 0.5 * off**0.5)

    def _balanced(self, state: BoundaryPointState, primal: float, dual: float) -> BoundaryPointState:
        """The penalty after a step with these residuals, |A(X) − b| / (1 + |b|) and |C − A*(v) − Z| / (1 + |C|)."""
        larger = 0.5 * primal > dual
        state.primal_larger, state.dual_larger = (state.primal_larger + 1, 0) if larger else (0, state.dual_larger + 1)
        if state.dual_larger >= LEAD:
            state.penalty, state.dual_larger = state.penalty * self.factor, 0
        elif state.primal_larger >= LEAD:
            state.penalty, state.primal_larger = state.penalty / self.factor, 0
        return state
