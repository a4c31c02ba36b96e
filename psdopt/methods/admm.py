"""Alternating direction method of multipliers on a bi-convex split M = V Uᵀ, V = U, with an exact-search polish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import brief, integer, is_name, number, positive
from psdopt.contracts.abilities import Ability, Requires, on_factors, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.splitting import BiconvexSplit, split_of
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, is_finite, norm
from psdopt.linalg.tolerances import SLIGHT, VANISHED
from psdopt.methods.alternating import Alternating, InTurns, Settled
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lagrange_newton.method import LagrangeNewton

#: rho starts at this multiple of the problem's own unit (see `_unit`), and adaptation does not go below it: at l = 2/3
#: the slowest mode shrinks by 0.83 per iteration, at l = 1 not at all, and the mean slows down as rho grows.
MULTIPLE = 1.5


@dataclass(kw_only=True)
class SplitState(State):
    """Blocks V and U, the multiplier, the image L U (n, r each) and the penalty rho; the iterate is (V + U)/2.

    `best` is the evaluation of least value. `restarts` counts how often rho was doubled because the blocks had drifted
    apart, `diverging` the last successive iterations with blocks apart. `size` is the largest |Y| at a start.
    """

    V: Array
    U: Array
    multiplier: Array
    image: Array
    rho: float
    best: Evaluation
    size: float
    restarts: int = 0
    diverging: int = 0


@dataclass(frozen=True)
class SplitSteps(Method[SplitState]):
    """V, U and the multiplier in turn, with the parameters of :class:`~psdopt.ADMM` and without its polish."""

    admm: ADMM

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.SPLIT)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SplitState:
        split = split_of(problem)
        Y = geometry.factor(start)
        rho = MULTIPLE * _unit(split) if self.admm.rho == "auto" else float(self.admm.rho)
        if self.admm.adapt:
            rho = max(rho, MULTIPLE * split.coupling_bound)
        LY = split.image(Y)
        return _restarted(problem, geometry, split.evaluation(Y, LY), LY, rho)

    def step(self, state: SplitState) -> SplitState:
        if state.outcome is not Outcome.RUNNING:
            return replace(state)
        split = split_of(state.problem)
        U, Lam, LU, rho = state.U, state.multiplier, state.image, state.rho
        # one work array: allocating one for each intermediate would cost as much as the updates
        work = Lam * (-1.0 / rho)
        work += U
        V_new = split.update(U, LU, work, rho)
        LV = split.image(V_new)
        np.multiply(Lam, 1.0 / rho, out=work)
        work += V_new
        U_new = split.update(V_new, LV, work, rho)
        dual = rho * norm(np.subtract(U_new, U, out=work))
        multiplier, mean = V_new - U_new, V_new + U_new
        mean *= 0.5
        primal = norm(multiplier)
        multiplier *= rho
        multiplier += Lam
        diverging = state.diverging + 1 if primal > norm(mean) else 0
        if not is_finite(mean) or not VANISHED * primal <= state.size or diverging >= self.admm.patience:
            return self._restart_or_diverge(state, split)
        LU_new = split.image(U_new)
        LM = LV + LU_new
        LM *= 0.5
        evaluation = split.evaluation(mean, LM)
        return replace(
            state,
            point=mean,
            evaluation=evaluation,
            gradient_norm=norm(evaluation.factor_gradient()),
            step=norm(np.subtract(mean, state.point, out=work)),
            extras={
                "phase": 0.0,
                "primal_residual": primal,
                "dual_residual": dual,
                "rho": rho,
                "restarts": float(state.restarts),
            },
            V=V_new,
            U=U_new,
            multiplier=multiplier,
            image=LU_new,
            rho=self._adapted(rho, split, primal, dual),
            best=evaluation if evaluation.value < state.best.value else state.best,
            diverging=diverging,
        )

    def _adapted(self, rho: float, split: BiconvexSplit, primal: float, dual: float) -> float:
        """rho, doubled, halved or unchanged; the printed rule lacks the case of balanced residuals."""
        unit, imbalance = _unit(split), self.admm.imbalance
        if not self.admm.adapt:
            return rho
        if primal * unit > imbalance * dual:
            return 2.0 * rho
        if dual > imbalance * primal * unit:
            return min(rho, max(0.5 * rho, MULTIPLE * unit))
        return rho

    def _restart_or_diverge(self, state: SplitState, split: BiconvexSplit) -> SplitState:
        """Restart from the best mean with twice the penalty, or end the run there as diverged."""
        best = state.best
        if not self.admm.adapt or state.restarts >= self.admm.restarts:
            gradient_norm = norm(best.factor_gradient())
            return replace(
                state, point=best.factor, evaluation=best, gradient_norm=gradient_norm, outcome=Outcome.DIVERGED
            )
        image = split.image(best.factor)
        return _restarted(state.problem, state.geometry, best, image, 2.0 * state.rho, state)


def _restarted(
    problem: Problem,
    geometry: Geometry,
    evaluation: Evaluation,
    image: Array,
    rho: float,
    last: SplitState | None = None,
) -> SplitState:
    """V = U = Y and no multiplier, at the start of a run or after the state `last`."""
    Y = evaluation.factor
    restarts = 0 if last is None else last.restarts + 1
    return SplitState(
        problem,
        geometry,
        Y,
        evaluation,
        gradient_norm=norm(evaluation.factor_gradient()),
        extras={"phase": 0.0, "rho": rho, "restarts": float(restarts)},
        V=Y,
        U=Y,
        multiplier=np.zeros_like(Y),
        image=image,
        rho=rho,
        best=evaluation,
        size=max(0.0 if last is None else last.size, norm(Y), np.finfo(float).tiny),
        restarts=restarts,
    )


def _unit(split: BiconvexSplit) -> float:
    """The penalty that the problem's own scale suggests: the bound on λ_max(L), unless the rest is far larger."""
    return max(split.coupling_bound, SLIGHT * split.scale)


@dataclass(frozen=True)
class ADMM(InTurns[State]):
    """V ← argmin_V ℒ, then U ← argmin_U ℒ, then Λ ← Λ + rho (V − U) (Hu & Kwok, algorithm 1), then a polish.

    ℒ(V, U, Λ) = F(V, U) + ⟨Λ, V − U⟩ + rho/2 |V − U|², F the problem's
    :class:`~psdopt.contracts.splitting.BiconvexSplit`. The iterate is the mean (V + U)/2, so M is symmetric by
    construction. Corrections to the printed algorithm:

    - all of V is updated before any of U; the dual residual is rho |U⁺ − U|, of the block updated last;
    - rho scales with a bound b on λ_max(L), L the coupling of the blocks. ℒ is unbounded below for
      rho < λ_max/2. Along an eigenvector of L, eigenvalue λ, on which no other term of F acts, the iteration has the
      characteristic equation μ² − (1 − 3l + l²) μ − l(1 − l) = 0, l = λ/rho: unstable for l > (1 + √5)/2,
      that is rho < 0.618 λ_max, stable but with μ = −1 at l = 1, safely stable for rho > λ_max. Hence the start
      and floor 1.5 b (b being at least a tenth of the size of the other pieces of F);
    - adaptation compares |V − U| b with the dual residual (the printed comparison depends on units) and never raises
      rho when it means to lower it;
    - once the value of the mean changes by less than `switch` (F(0) − F) in an iteration, `polish` continues
      from the mean, since near the optimum splitting is slow and an exact search is fast. The history's
      column `phase` is 0 for the splitting, 1 for the polish and 2 for the Newton steps of a
      :class:`~psdopt.LagrangeNewton`. When columns are added to a point, the polish continues from there.

    When V and U drift apart (|V − U| > |V + U|/2 in `patience` iterations in a row, a millionfold growth, or not
    finite), rho is doubled and the run continues from the best mean. Without `adapt`, or after `restarts` times, the
    outcome is ``Outcome.DIVERGED`` at the best mean: a run with that status has not converged, whatever its residuals.

    The splitting is meant for moderate accuracy, or for problems that offer only their split. On fits of
    entries with Newton steps, :class:`~psdopt.LagrangeNewton` alone is as fast or faster.

    Parameters
    ----------
    rho : "auto", or the first value of rho, above 0.
    adapt : whether rho may change.
    polish : a method that finishes the run and fits the problem and the geometry, or None. "auto" is
        :class:`~psdopt.methods.lagrange_newton.method.LagrangeNewton` if Newton steps pay off, else
        :class:`~psdopt.methods.conjugate_gradient.ConjugateGradient`.
    switch : relative change of the value at which the polish takes over, in (0, 1).
    imbalance : ratio of the two residuals above which rho changes, at least 1 (Hu & Kwok, eq. 15).
    patience : iterations in a row in which V and U may be so far apart.
    restarts : how often rho may be doubled after V and U have drifted apart, at least 0.

    Cost per iteration: two products with L on (n, r) blocks, two block updates, one value and gradient.
    """

    rho: float | str = "auto"
    adapt: bool = True
    polish: Method | str | None = "auto"
    switch: float = 1e-2
    imbalance: float = 10.0
    patience: int = 10
    restarts: int = 5

    requires: ClassVar[Requires] = SplitSteps.requires

    def __post_init__(self) -> None:
        if not is_name(self.rho, "auto"):
            positive(self.rho, "rho ('auto', or the first penalty)")
        number(self.switch, "switch", above=0.0, below=1.0)
        number(self.imbalance, "imbalance", least=1.0)
        integer(self.patience, "patience")
        integer(self.restarts, "restarts", 0)
        if not (is_name(self.polish, "auto") or self.polish is None or isinstance(self.polish, Method)):
            raise InvalidInputError(f"polish must be 'auto', a method or None; found {brief(self.polish)}")

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        if self.polish is not None:
            # the methods that "auto" may choose instead of conjugate gradient have no further requirements
            polish = self.polish if isinstance(self.polish, Method) else ConjugateGradient()
            require_inner("polish", polish, problem, geometry)
        return super().init(problem, geometry, start, evaluation)

    def turns(self, problem: Problem, columns: int) -> Method:
        splitting = SplitSteps(self)
        if self.polish is None:
            return splitting
        polish = self.polish
        if not isinstance(polish, Method):
            polish = LagrangeNewton() if LagrangeNewton.is_efficient_for(problem, columns) else ConjugateGradient()
        return Alternating(splitting, polish, Settled(self.switch, most=100))
