"""Quadratic F over the cone by eigendecompositions: at once where they give the minimiser, else by splitting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer, number
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS, ROUNDINGS, SLIGHT
from psdopt.problems.diagonal_form import DiagonalForm

#: A change of the penalty is by the ratio of the residuals, at most by this factor.
BALANCE = 4.0


@dataclass(kw_only=True)
class SplittingState(State):
    """Z ⪰ 0 and the scaled multiplier U (n, n) of N = Z, the penalty `rho`, and the iterations `taken` so far.

    There is nothing to split, and Z and U are empty, where the minimiser is known.
    """

    Z: Array = field(default_factory=lambda: np.empty((0, 0)))
    U: Array = field(default_factory=lambda: np.empty((0, 0)))
    rho: float = 1.0
    taken: int = 0


@dataclass(frozen=True)
class EigenSplitting(Method[SplittingState]):
    """The known global minimiser in one step, else over-relaxed ADMM for min F(B N Bᵀ), N ⪰ 0, where the Hessian of N
    is diagonal (Boyd et al. 2011, section 3).

    With h, c and B of :class:`~psdopt.problems.diagonal_form.DiagonalForm`, Ψ = −rho U ⪰ 0 and R = h Z + c − Ψ, an
    iteration is N = Z − R / (h + rho), elementwise; T = Z + U + relaxation (N − Z); Z = T₊, U = T − Z ⪯ 0. From M = 0
    it begins with Z and U the positive and the negative part of −c/h, the minimiser over all symmetric N. Ψ proves that
    F exceeds its minimum by at most Σ R²/(2 h), so the gap is known after every iteration; a step ends once it is a
    tenth of what it was. The penalty rho, first the curvature of F along −c/h, balances the residuals |N − Z⁺| and
    |Z⁺ − Z|. It changes at intervals of growing length: within one an iteration contracts, and a change lengthens by
    the factor BALANCE at most. Cost: 9 n³ flops an iteration, whatever the rank of the solution; O(n²) memory. The rate
    depends on √b / max a, not on the condition number of A.

    Parameters
    ----------
    iterations : iterations before the first change of rho; the k-th interval is k times as long.
    relaxation : between 1 and 2. In the worst case 2 is best (Giselsson and Boyd 2017), in most a little less.

    Raises IncompatibleError in the first step if the data admit no closed form (for instance if the unconstrained
    minimiser is not PSD) and the problem has no diagonal form.
    """

    iterations: int = 2
    relaxation: float = 1.8

    requires: ClassVar[Requires] = {
        "problem": ((Ability.DIAGONAL_FORM, Ability.CLOSED_FORM),),
        "geometry": (Ability.FULL_CONE,),
    }
    residual: ClassVar[Residual] = Residual.GAP
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True
    starts_at_zero: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.iterations, "iterations", 1)
        number(self.relaxation, "relaxation", least=1.0, below=2.0)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SplittingState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        # at M = 0 the factor gradient is always zero: do not certify that point before the step
        residual = norm(evaluation.factor_gradient()) if evaluation.size > 0.0 else math.inf
        state = SplittingState(problem, geometry, start, evaluation, gradient_norm=residual)
        if Ability.DIAGONAL_FORM not in problem.abilities or _minimizer(problem) is not None:
            return state
        form = _form(problem)
        free = -form.c / form.h
        along = free / np.abs(free).max()  # so that no square vanishes
        rho = inner(form.h * along, along) / inner(along, along)
        if evaluation.size > 0.0:
            Z = form.coordinates(LowRankPSD(evaluation.factor))
            return replace(state, Z=Z, U=np.zeros_like(Z), rho=rho)
        values, vectors = form.free
        Z = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return replace(state, Z=Z, U=free - Z, rho=rho)

    def step(self, state: SplittingState) -> SplittingState:
        known = _minimizer(state.problem)
        if known is not None:
            point, here = state.geometry.from_matrix(known), state.problem.at(known.factor)
            dual = _multiplier(state.problem)
            bound = state.problem.duality.dual_bound(here, dual)
            residual = norm(here.factor_gradient()) if bound is None else _residual(here.value - bound, here)
            state = replace(state, point=point, evaluation=here, gradient_norm=residual, dual=dual, step=1.0)
            return replace(state, outcome=Outcome.FINISHED)
        if not len(state.Z):
            raise IncompatibleError(f"{type(state.problem).__name__} has no closed form for these data")
        form = _form(state.problem)
        Z, U, rho = state.Z, state.U, state.rho
        begun, R = form.gap(Z, -rho * U)
        for taken in range(state.taken + 1, state.taken + 1 + ROUNDS * self.iterations):
            last, D = Z, R / (form.h + rho)
            T = Z + U - self.relaxation * D
            values, vectors = spectrum(T)
            k = int(np.searchsorted(values, 0.0, side="right"))
            root, below = vectors[:, k:] * np.sqrt(values[k:]), -rho * values[:k]
            Z = root @ root.T
            U = T - Z
            gap, R = form.gap(Z, -rho * U)
            intervals, rest = divmod(taken, self.iterations)
            if rest == 0 and math.isqrt(8 * intervals + 1) ** 2 == 8 * intervals + 1:  # 1, 3, 6, 10, ...
                apart, moved = norm(last - D - Z), norm(Z - last)
                factor = min(max(apart, moved / BALANCE), BALANCE * moved) / moved if moved > 0.0 else BALANCE
                rho, U = factor * rho, U / factor
            still = norm(Z - last) <= ROUNDINGS * EPS * norm(Z)  # which may be far below c
            settled = still and norm(R) <= ROUNDINGS * EPS * (norm(form.c) + rho * norm(T))
            if settled or gap <= SLIGHT * begun:
                break
        M = form.matrix(root if root.shape[1] else np.zeros((len(Z), 1)))
        evaluation = state.problem.at(M.factor)
        return replace(
            state,
            point=state.geometry.from_factor(M.factor),
            evaluation=evaluation,
            gradient_norm=_residual(gap, evaluation),
            step=1.0 / rho,
            dual=vectors[:, :k] * np.sqrt(below),
            outcome=Outcome.STALLED if settled else Outcome.RUNNING,
            Z=Z,
            U=U,
            rho=rho,
            taken=taken,
        )


def _minimizer(problem: Problem) -> LowRankPSD | None:
    return problem.solve_in_closed_form() if Ability.CLOSED_FORM in problem.abilities else None


def _multiplier(problem: Problem) -> Array | None:
    """A factor of Ψ at the known minimiser, h N for the negative part N of the free one, if there is a form."""
    if Ability.DIAGONAL_FORM not in problem.abilities:
        return None
    form = _form(problem)
    values, vectors = form.free
    k = int(np.searchsorted(values, 0.0))
    return vectors[:, :k] * np.sqrt(-float(form.h[0, 0]) * values[:k])


def _residual(gap: float, evaluation: Evaluation) -> float:
    """The gap in the unit of the factor gradient; at M = 0, on the way to another M, there is none."""
    return 2.0 * max(gap, 0.0) / evaluation.size if evaluation.size > 0.0 else math.inf if gap > 0.0 else 0.0


def _form(problem: Any) -> DiagonalForm:
    form: DiagonalForm = problem.diagonal_form()
    return form
