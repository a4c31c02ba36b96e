"""Newton on the factor and the multipliers of linear constraints, in turns with an augmented Lagrangian."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Requires, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.limits import MOST_STEPS
from psdopt.methods.alternating import AfterSteps, Alternating, AlternatingState
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


@dataclass(frozen=True)
class ConstrainedNewton(Method[TurnsState]):
    """:class:`~psdopt.LagrangeNewton` as it runs under linear constraints.

    Newton steps (:class:`~psdopt.methods.lagrange_newton.constrained_steps.ConstrainedSteps`) begin after `steps` steps
    of `approach`. If these steps are slow or do not descend, as at a rank too low for S ⪰ 0 or without a feasible M,
    `approach` has a turn of some rounds, which may add columns. Each such turn has twice as many rounds as the last
    one, but at most 60 steps. After ten turns the run ends at the Newton iterate of the least residual. Without this
    limit the turns would go on forever once the residual is rounding, or if solutions lie at infinity, as they do for
    duals without a strictly feasible point.

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
        known = constrained_of(problem)
        if known.contradiction is not None or known.only_zero:
            # the certificate proves that no M is feasible, or none but M = 0: the first turn is not over
            return _noted(replace(self, steps=1)._turns.init(problem, geometry, start, evaluation))
        return _noted(self._turns.init(problem, geometry, start, evaluation))

    def step(self, state: TurnsState) -> TurnsState:
        after = self._resumed(state, _noted(self._turns.step(state), state))
        tried = after.rounds >= MOST_TURNS and after.turns > state.turns
        if not tried or after.outcome is not Outcome.RUNNING:
            return after
        if after.best is not None:
            after = _at(after, after.best)
        return replace(after, outcome=Outcome.STALLED)

    @staticmethod
    def _resumed(before: TurnsState, after: TurnsState) -> TurnsState:
        """The augmented Lagrangian continues from its own last state unless Newton's turn came nearer to a solution.

        From a worse point of Newton's it would have to find penalty and multipliers again.
        """
        own, newton = after.approached, before.inner
        ended = before.turns % 2 == 1 and after.turns == before.turns + 1
        if not ended or not isinstance(own, AugmentedLagrangianState) or not isinstance(newton, ConstrainedState):
            return after
        if newton.residual < after.reached:
            return after
        return _at(after, replace(own, rounds=0, outcome=Outcome.RUNNING))

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


def _at(state: TurnsState, inner: State) -> TurnsState:
    """`state` at the point of `inner`, the method that continues."""
    return replace(
        state,
        inner=inner,
        geometry=inner.geometry,
        point=inner.point,
        evaluation=inner.evaluation,
        gradient_norm=inner.gradient_norm,
        dual=inner.dual,
        extras={**state.extras, **inner.extras},
    )


def _noted(state: AlternatingState, before: TurnsState | None = None) -> TurnsState:
    """`state` with the memory of a TurnsState: the best of `before` and of the state itself."""
    inner = state.inner
    kept = {each.name: getattr(state, each.name) for each in fields(AlternatingState)}
    best = None if before is None else before.best
    if isinstance(inner, ConstrainedState) and (best is None or inner.residual < best.residual):
        best = inner
    after = TurnsState(**kept, best=best)
    if before is not None:
        after.approached, after.reached = before.approached, before.reached
        if before.turns % 2 == 0 and isinstance(inner, ConstrainedState):
            after.approached, after.reached = before.inner, inner.residual
    return after


@dataclass(frozen=True)
class _Approached:
    """The first turn ends after `count` steps; later ones after 1, 2, 4, ... rounds of an augmented Lagrangian."""

    count: int

    def __call__(self, state: AlternatingState) -> bool:
        inner = state.inner
        if isinstance(inner, AugmentedLagrangianState) and inner.vanished:
            return False  # Newton has no step from M = 0
        if state.rounds > 0 and isinstance(inner, AugmentedLagrangianState):
            over = inner.rounds >= 2 ** (state.rounds - 1) or state.steps >= MOST_STEPS
            return over and not inner.grown
        return AfterSteps(self.count)(state)


def _over(state: AlternatingState) -> bool:
    """Whether the augmented Lagrangian has proven that no (other) M is feasible, or no progress is possible.

    The second case: Newton steps end in rounding after all turns of the augmented Lagrangian.
    """
    inner = state.inner
    if isinstance(inner, AugmentedLagrangianState):
        return inner.outcome is Outcome.FINISHED
    return isinstance(inner, ConstrainedState) and state.rounds >= LAST and inner.residual <= NEGLIGIBLE
