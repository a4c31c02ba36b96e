"""Newton on the factor and the multipliers of linear constraints, in turns with an augmented Lagrangian."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.contracts.abilities import Requires, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.limits import MOST_STEPS
from psdopt.methods.alternating import AfterSteps, Alternating, AlternatingState, around
from psdopt.methods.augmented_lagrangian.method import AugmentedLagrangian
from psdopt.methods.augmented_lagrangian.state import AugmentedLagrangianState
from psdopt.methods.lagrange_newton.constrained_steps import ConstrainedState, ConstrainedSteps

#: After this many turns of the augmented Lagrangian, the run ends when Newton steps stall at a negligible residual.
LAST = 3
#: The run ends after this many turns of both methods.
MOST_TURNS = 10


@dataclass(kw_only=True)
class TurnsState(AlternatingState):
    """`best` is the state of a Newton turn with the least residual of Lagrange's conditions; None before the first.

    `approached` is the last state of the first method, and `reached` the residual at which Newton took over from it.
    """

    best: ConstrainedState | None = None
    approached: State | None = None
    reached: float = math.inf

    def at(self, inner: State) -> TurnsState:
        """The same turn from the point of `inner`."""
        return TurnsState(**{**vars(self), **vars(around(inner, turns=self.turns, stuck=self.stuck))})


@dataclass(frozen=True)
class ConstrainedNewton(Method[TurnsState]):
    """:class:`~psdopt.LagrangeNewton` as it runs under linear constraints.

    Newton steps (:class:`~psdopt.methods.lagrange_newton.constrained_steps.ConstrainedSteps`) begin after `steps` steps
    of `approach`. If these steps are slow or do not descend, as at a rank too low for S ⪰ 0 or without a feasible M,
    `approach` has a turn of some rounds, which may add columns. Each such turn has twice as many rounds as the last
    one, but at most 60 steps, and continues from the end of the last one unless Newton came nearer to a solution: from
    a worse point it would have to find penalty and multipliers again. After ten turns the run ends at the Newton
    iterate of the least residual. Without this limit the turns would go on forever once the residual is rounding, or if
    solutions lie at infinity, as they do for duals without a strictly feasible point.

    Parameters
    ----------
    approach : a method for constrained problems on a factor. steps : the number of steps in its first turn.
    patience : after this many slow Newton steps in a row it is the turn of `approach`.
    """

    approach: Method = AugmentedLagrangian()
    steps: int = 0
    patience: int = 8

    requires: ClassVar[Requires] = ConstrainedSteps.requires
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def with_escape(self, escape: bool, max_rank: int) -> ConstrainedNewton:
        return replace(self, approach=self.approach.with_escape(escape, max_rank))

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TurnsState:
        require_inner("approach", self.approach, problem, geometry)
        state = TurnsState(**vars(self._turns.init(problem, geometry, start, evaluation)))
        state.best = state.inner if isinstance(state.inner, ConstrainedState) else None
        return state

    def step(self, state: TurnsState) -> TurnsState:
        after = TurnsState(**{**vars(state), **vars(self._turns.step(state))})
        last, inner, ended = state.inner, after.inner, after.turns > state.turns
        if isinstance(inner, ConstrainedState) and (state.best is None or inner.residual < state.best.residual):
            after.best = inner
        if isinstance(inner, ConstrainedState) and not isinstance(last, ConstrainedState):
            after.approached, after.reached = last, inner.residual
        own, farther = after.approached, isinstance(last, ConstrainedState) and last.residual >= after.reached
        if ended and farther and after.turns % 2 == 0 and isinstance(own, AugmentedLagrangianState):
            after = after.at(replace(own, rounds=0, outcome=Outcome.RUNNING))
        if not ended or after.rounds < MOST_TURNS or after.outcome is not Outcome.RUNNING:
            return after
        return replace(after if after.best is None else after.at(after.best), outcome=Outcome.STALLED)

    @property
    def name(self) -> str:
        return "LagrangeNewton"

    @property
    def _turns(self) -> Alternating:
        return Alternating(
            self.approach, ConstrainedSteps(), _Approached(self.steps), switch_back=self._slow, stop=_over
        )

    def _slow(self, state: AlternatingState) -> bool:
        """Whether Newton's steps are slow, or have ended at a stationary point with S indefinite, a saddle."""
        return isinstance(state.inner, ConstrainedState) and (state.inner.slow >= self.patience or state.inner.saddle)


@dataclass(frozen=True)
class _Approached:
    """The first turn ends after `count` steps; later ones after 1, 2, 4, ... rounds of an augmented Lagrangian."""

    count: int

    def __call__(self, state: AlternatingState) -> bool:
        inner = state.inner
        if _proven(state):
            return False
        if state.rounds > 0 and isinstance(inner, AugmentedLagrangianState):
            over = inner.rounds >= 2 ** (state.rounds - 1) or state.steps >= MOST_STEPS
            return over and not inner.grown
        return AfterSteps(self.count)(state)


def _proven(state: AlternatingState) -> bool:
    """Whether the augmented Lagrangian has proven that no M is feasible, or none but M = 0."""
    return isinstance(state.inner, AugmentedLagrangianState) and state.inner.outcome is Outcome.FINISHED


def _over(state: AlternatingState) -> bool:
    """Whether no (other) M is feasible, or Newton steps end in rounding after all turns of the augmented Lagrangian."""
    inner = state.inner
    rounding = isinstance(inner, ConstrainedState) and state.rounds >= LAST and inner.residual <= NEGLIGIBLE
    return rounding or _proven(state)
