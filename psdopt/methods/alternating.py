"""A method that alternates between two methods."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from psdopt.contracts.abilities import Requires, name_of, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, S, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError, InvalidTypeError

#: Outcomes after which a method has no next step, although the objective may still fall.
ENDED = (Outcome.STALLED, Outcome.FINISHED)
#: A step of a method on a factor, with its line search, costs so many products with ∇²F besides those that it reports.
STEP = 4.0
#: What every state has.
OWN = tuple(each.name for each in fields(State))


@dataclass(kw_only=True)
class AlternatingState(State):
    """The state `inner` of the method whose turn it is.

    `before` is F before its last step (None at the start of a turn), `steps` counts the steps of this
    turn, `products` the Hessian products that they reported, `turns` the turns that have ended; the first method has
    the even turns. `stuck`: the previous turn ended at this very point, because its method found no next step.
    """

    inner: State
    before: float | None = None
    steps: int = 0
    products: float = 0.0
    turns: int = 0
    stuck: bool = False

    @property
    def rounds(self) -> int:
        """How often both methods have had their turn."""
        return self.turns // 2


#: Whether the turn is over. Called after each step of a turn and at the start of the run.
Rule = Callable[[AlternatingState], bool]


@dataclass(frozen=True)
class AfterSteps:
    """The turn ends after `count` steps; the second turn of the same method has twice as many, and so on."""

    count: int

    def __call__(self, state: AlternatingState) -> bool:
        count = self.count if state.rounds == 0 else max(self.count * 2**state.rounds, 2 ** (state.rounds - 1))
        return state.steps >= count


@dataclass(frozen=True)
class AfterProducts:
    """The turn ends after Hessian products and steps that cost `count` products; a step costs STEP by itself."""

    count: float

    def __call__(self, state: AlternatingState) -> bool:
        return state.products + STEP * state.steps >= self.count


@dataclass(frozen=True)
class Settled:
    """The turn ends once a step changes F by at most `share` of F(0) − F(M), or after `most` steps.

    With `again` > 0 that holds for the first turn; the second has `again` steps, and each further one twice as many.
    """

    share: float
    most: int
    again: int = 0

    def __call__(self, state: AlternatingState) -> bool:
        if self.again and state.rounds:
            return state.steps >= self.again << (state.rounds - 1)
        if state.steps < 2 or state.before is None:
            return False
        value, decrease = state.evaluation.value, abs(state.before - state.evaluation.value)
        if state.steps >= self.most or decrease == 0.0:
            return True
        return decrease <= self.share * abs(state.problem.value_at_zero() - value) < math.inf


@dataclass(frozen=True)
class Confined:
    """The turn ends after `count` steps in a row that were cut short by the region in which the model of F has held
    (:class:`~psdopt.methods.truncated_newton.TruncatedNewtonState`); each further turn bears twice as many."""

    count: int

    def __call__(self, state: AlternatingState) -> bool:
        cut: int = getattr(state.inner, "cut", 0)
        return cut >= self.count << state.rounds


@dataclass(frozen=True)
class Alternating(Method[AlternatingState]):
    """`first` until `switch` says so, then `second` from the point reached; with `switch_back`, `first` again, and so
    on.

    A turn begins with :meth:`~psdopt.Method.continued`: by default ``init`` at the current point, with its evaluation.
    A turn also ends if its method finds no next step; the run ends only if both methods find none from the same point.
    A turn that ends without a move costs no step of the run. ``Outcome.UNBOUNDED`` and ``Outcome.DIVERGED`` of
    either method end the run.

    The history's column `phase` is 0 for `first` and 1 for `second`. If `second` has phases of its own, they are
    numbered from 1 on.

    Parameters
    ----------
    first, second : methods.
    switch, switch_back : functions of the :class:`AlternatingState` that say whether the turn of `first`, of `second`,
        is over.
        Without `switch_back` the turn of `second` lasts to the end of the run.
    stop : decides whether the run ends when a method finds no next step; it should if that method has a proof.

    Raises InvalidTypeError for other objects, IncompatibleError in ``init`` if a method does not fit the problem or
    the geometry. Cost of a step: that of the method whose turn it is.
    """

    first: Method
    second: Method
    switch: Rule
    switch_back: Rule | None = None
    stop: Rule | None = None

    def __post_init__(self) -> None:
        for name, method in (("first", self.first), ("second", self.second)):
            if not isinstance(method, Method):
                raise InvalidTypeError(f"{name} must be a method; found {method!r}")
        for name, rule in (("switch", self.switch), ("switch_back", self.switch_back)):
            if not callable(rule) and (name == "switch" or rule is not None):
                raise InvalidInputError(f"{name} must be a function of an AlternatingState; found {rule!r}")

    @property
    def name(self) -> str:
        """Of both methods."""
        return f"{name_of(self.first)} + {name_of(self.second)}"

    @property
    def requires(self) -> Requires:  # type: ignore[override]
        """The needs of both methods."""
        needs = (self.first.requires, self.second.requires)
        return {role: tuple(n for r in needs for n in r.get(role, ())) for role in ("problem", "geometry")}

    @property
    def descends(self) -> bool:  # type: ignore[override]
        """Whether both do."""
        return self.first.descends and self.second.descends

    @property
    def ranks_by_value(self) -> bool:  # type: ignore[override]
        """Whether both do."""
        return self.first.ranks_by_value and self.second.ranks_by_value

    @property
    def residual(self) -> Residual:  # type: ignore[override]
        """That of `first`."""
        return self.first.residual

    def with_escape(self, escape: bool, max_rank: int) -> Alternating:
        first, second = (method.with_escape(escape, max_rank) for method in (self.first, self.second))
        return replace(self, first=first, second=second)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> AlternatingState:
        for name, method in (("first", self.first), ("second", self.second)):
            require_inner(name, method, problem, geometry)
        state = around(self.first.init(problem, geometry, start, evaluation))
        return self._handed_over(state) if self.switch(state) else state

    def step(self, state: AlternatingState) -> AlternatingState:
        inner = (self.second if state.turns % 2 else self.first).step(state.inner)
        moved = inner.evaluation is not state.inner.evaluation
        after = around(
            inner,
            state.evaluation.value,
            steps=state.steps + 1,
            products=state.products + inner.extras.get("products", 0.0),
            turns=state.turns,
            stuck=state.stuck and not moved,
        )
        rule = self.switch_back if state.turns % 2 else self.switch
        if inner.outcome in ENDED:
            if rule is None or after.stuck or (self.stop is not None and self.stop(after)):
                return after
            after = self._handed_over(after, stuck=True)
            return after if moved else self.step(after)
        over = inner.outcome is Outcome.RUNNING and rule is not None and rule(after)
        return self._handed_over(after) if over else after

    def widened(
        self, state: AlternatingState, geometry: Geometry, point: Any, evaluation: Evaluation
    ) -> AlternatingState:
        """A turn of the last method: of `second`, or with `switch_back` a new turn of `first`.

        Columns are added at stationary points; without `switch_back`, `first` has no further turn after one, unless its
        turn is a number of steps that are left.
        """
        if self.switch_back is not None:
            return self.init(state.problem, geometry, point, evaluation)
        if state.turns == 0 and isinstance(self.switch, (AfterSteps, AfterProducts)):
            inner = self.first.widened(state.inner, geometry, point, evaluation)
            return around(inner, steps=state.steps, products=state.products)
        if state.turns > 0:
            inner = self.second.widened(state.inner, geometry, point, evaluation)
            return state if inner is state.inner else around(inner, turns=1)
        return around(self.second.init(state.problem, geometry, point, evaluation), turns=1)

    def _handed_over(self, state: AlternatingState, stuck: bool = False) -> AlternatingState:
        """The first state of the next turn, at the same point."""
        following = self.first if state.turns % 2 else self.second
        inner = following.continued(state.inner)
        after = around(inner, turns=state.turns + 1, stuck=stuck)
        # the step that led here belongs to the turn before
        return replace(after, step=state.step, extras={**after.extras, **state.extras})


class InTurns(Method[S]):
    """A method that delegates its steps to another one, built for each problem and number r of columns."""

    @abstractmethod
    def turns(self, problem: Problem, columns: int) -> Method[Any]:
        """The method that does the steps on `problem` at a factor (n, `columns`)."""

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> S:
        begun: S = self.turns(problem, geometry.factor(start).shape[1]).init(problem, geometry, start, evaluation)
        return begun

    def step(self, state: S) -> S:
        after: S = self.turns(state.problem, state.evaluation.factor.shape[1]).step(state)
        return after

    def widened(self, state: S, geometry: Geometry, point: Any, evaluation: Evaluation) -> S:
        turns = self.turns(state.problem, evaluation.factor.shape[1])
        begun: S = turns.widened(state, geometry, point, evaluation)
        return begun


def around(inner: State, before: float | None = None, *, turns: int = 0, **counted: Any) -> AlternatingState:
    """The state of a turn whose method is at `inner`."""
    phase = 1.0 + inner.extras.get("phase", 0.0) if turns % 2 else 0.0
    kept = {name: getattr(inner, name) for name in OWN}
    kept["extras"] = {**inner.extras, "phase": phase}
    return AlternatingState(**kept, inner=inner, before=before, turns=turns, **counted)
