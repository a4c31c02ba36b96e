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
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS, ROUNDINGS, SLIGHT
from psdopt.problems.diagonal_form import DiagonalForm

#: The penalty changes by this factor once one residual is larger than the other by more than it.
BALANCE = 2.0


@dataclass(kw_only=True)
class SplittingState(State):
    """Z ⪰ 0 and the scaled multiplier U (n, n) of N = Z, the penalty `rho`, and the best `bound` on min F so far.

    There is nothing to split, and Z and U are empty, where the minimiser is known.
    """

    Z: Array = field(default_factory=lambda: np.empty((0, 0)))
    U: Array = field(default_factory=lambda: np.empty((0, 0)))
    rho: float = 1.0
    bound: float = -math.inf


@dataclass(frozen=True)
class EigenSplitting(Method[SplittingState]):
    """The known global minimiser in one step, else over-relaxed ADMM for min F(B N Bᵀ), N ⪰ 0, where the Hessian of N
    is diagonal (Boyd et al. 2011, section 3).

    With h, c and B of :class:`~psdopt.problems.diagonal_form.DiagonalForm`, an iteration is
    N = (rho (Z − U) − c) / (h + rho), elementwise; T = relaxation N + (1 − relaxation) Z + U; Z = T₊, U = T − Z ⪯ 0.
    From M = 0 it begins with Z and U the positive and the negative part of −c/h, the minimiser over all symmetric N.
    Ψ = −rho U ⪰ 0 proves min F >= constant − Σ (c − Ψ)²/(2 h), so the gap is known after every iteration; a step ends
    once the gap is a tenth of what it was, at the latest with the third change of the penalty rho, which balances the
    residuals |N − Z| and |Z⁺ − Z|. Cost: 9 n³ flops an iteration, whatever the rank of the solution; O(n²) memory. The
    rate depends on √b / max a, not on the condition number of A.

    Parameters
    ----------
    iterations : iterations between two changes of rho.
    relaxation : between 1 and 2.

    Raises IncompatibleError in the first step if the data admit no closed form (for instance if the unconstrained
    minimiser is not PSD) and the problem has no diagonal form.
    """

    iterations: int = 2
    relaxation: float = 1.6

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
        rho = math.sqrt(float(form.h.min()) * float(form.h.max()))
        if evaluation.size > 0.0:
            Z = form.coordinates(LowRankPSD(evaluation.factor))
            return replace(state, Z=Z, U=np.zeros_like(Z), rho=rho)
        values, vectors = form.free
        root = vectors[:, values > 0.0] * np.sqrt(values[values > 0.0])
        Z = root @ root.T
        return replace(state, Z=Z, U=-form.c / form.h - Z, rho=rho)

    def step(self, state: SplittingState) -> SplittingState:
        known = _minimizer(state.problem)
        if known is not None:
            evaluation = state.problem.at(known.factor)
            return replace(
                state,
                point=state.geometry.from_matrix(known),
                evaluation=evaluation,
                gradient_norm=norm(evaluation.factor_gradient()),
                dual=_multiplier(state.problem),
                step=1.0,
                outcome=Outcome.FINISHED,
            )
        if not len(state.Z):
            raise IncompatibleError(f"{type(state.problem).__name__} has no closed form for these data")
        form = _form(state.problem)
        Z, U, rho, best, dual = state.Z, state.U, state.rho, state.bound, state.dual
        begun = form.value(Z) - max(best, form.bound(-rho * U))
        for _ in range(ROUNDS):
            for _ in range(self.iterations):
                N = (rho * (Z - U) - form.c) / (form.h + rho)
                T = self.relaxation * N + (1.0 - self.relaxation) * Z + U
                values, vectors = spectrum(T)
                positive = values > 0.0
                root = vectors[:, positive] * np.sqrt(values[positive])
                last, Z = Z, root @ root.T
                U = T - Z
            bound = form.bound(-rho * U)
            if bound >= best or dual is None:
                best, dual = bound, vectors[:, ~positive] * np.sqrt(-rho * np.minimum(values[~positive], 0.0))
            gap, apart, moved = form.value(Z) - best, norm(N - Z), norm(Z - last)
            settled = max(apart, moved) <= ROUNDINGS * EPS * norm(Z)
            if apart > BALANCE * moved:
                rho, U = BALANCE * rho, U / BALANCE
            elif moved > BALANCE * apart:
                rho, U = rho / BALANCE, U * BALANCE
            if settled or gap <= SLIGHT * begun:
                break
        M = form.matrix(root if root.shape[1] else np.zeros((len(Z), 1)))
        evaluation = state.problem.at(M.factor)
        size = norm(M.factor)
        return replace(
            state,
            point=state.geometry.from_factor(M.factor),
            evaluation=evaluation,
            gradient_norm=2.0 * max(gap, 0.0) / size if size > 0.0 else 0.0,  # a certificate says whether 0 is best
            step=1.0 / rho,
            dual=dual,
            outcome=Outcome.STALLED if settled and size > 0.0 else Outcome.RUNNING,
            Z=Z,
            U=U,
            rho=rho,
            bound=best,
        )


def _minimizer(problem: Problem) -> LowRankPSD | None:
    return problem.solve_in_closed_form() if Ability.CLOSED_FORM in problem.abilities else None


def _multiplier(problem: Problem) -> Array | None:
    """A factor of Ψ at the known minimiser, h N for the negative part N of the free one, if there is a form."""
    if Ability.DIAGONAL_FORM not in problem.abilities:
        return None
    form = _form(problem)
    values, vectors = form.free
    return vectors * np.sqrt(float(form.h[0, 0]) * np.maximum(-values, 0.0))


def _form(problem: Any) -> DiagonalForm:
    form: DiagonalForm = problem.diagonal_form()
    return form
