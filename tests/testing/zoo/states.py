"""Methods that are wrong about their state: what they hand on, what they keep elsewhere, what they write into."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import norm
from psdopt.methods import ConjugateGradient
from tests.testing.zoo.methods import Watched


@dataclass(frozen=True)
class StalePoint(Watched, ConjugateGradient):
    """The evaluation moves on, the point stays behind."""

    rejected_by = (
        "method.state_is_true",
        "method.residual_is_true",
        "method.optimal_is_true",
        "method.optimal_is_true_on_hostile",
    )

    def step(self, state: Any) -> Any:
        return dataclasses.replace(super().step(state), point=state.point)


@dataclass(frozen=True)
class FalseGradientNorm(Watched, ConjugateGradient):
    """Reports a hundredth of the gradient norm."""

    rejected_by = ("method.residual_is_true",)

    def step(self, state: Any) -> Any:
        new = super().step(state)
        return dataclasses.replace(new, gradient_norm=0.01 * new.gradient_norm)


_MEMORY: dict[str, Any] = {}


@dataclass(frozen=True)
class HiddenMemory(Watched, ConjugateGradient):
    """The direction lives outside the state: a run that is cut and resumed goes another way."""

    rejected_by = ("method.step_is_pure", "method.resume_repeats")

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> Any:
        _MEMORY.clear()
        return super().init(problem, geometry, start, evaluation)

    def step(self, state: Any) -> Any:
        last = _MEMORY.get("last")
        if last is not None and last.direction.shape == state.gradient.shape:
            state = dataclasses.replace(state, last=last, decrement=_MEMORY["decrement"])
        new: Any = super().step(state)
        _MEMORY.update(last=new.last, decrement=new.decrement)
        return new


@dataclass(frozen=True)
class MovesTheOldState(Watched, ConjugateGradient):
    """step writes the new evaluation into the state that it was given."""

    rejected_by = ("method.step_is_pure",)

    def step(self, state: Any) -> Any:
        new: Any = super().step(state)
        if state.outcome is Outcome.RUNNING:
            for field in dataclasses.fields(state):
                setattr(state, field.name, getattr(new, field.name))
        return new


@dataclass(frozen=True)
class WritesIntoTheOldState(Watched, ConjugateGradient):
    """step leaves point and value of the old state alone, and writes a note into what it holds besides."""

    rejected_by = ("method.step_is_pure",)

    def step(self, state: Any) -> Any:
        new = super().step(state)
        state.extras["steps"] = state.extras.get("steps", 0.0) + 1.0
        return new


@dataclass(frozen=True)
class ForgetsItsMomentum(Watched, ConjugateGradient):
    """Declares the steps of conjugate gradients, and takes the direction of steepest descent every time."""

    rejected_by = ("method.steps_counted",)
    conformance_steps: ClassVar[int] = 12

    preconditioner: str = "none"

    def step(self, state: Any) -> Any:
        return super().step(dataclasses.replace(state, last=None))


class Thawed(Watched, Method):
    """No frozen dataclass: its parameters change during a run."""

    rejected_by = ("method.hyperparameters_frozen",)
    requires = ConjugateGradient.requires
    descends = True

    def __init__(self) -> None:
        self.inside = ConjugateGradient()

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        return self.inside.init(problem, geometry, start, evaluation)

    def step(self, state: Any) -> State:
        self.last_size = norm(state.gradient)
        return self.inside.step(state)


ALL: tuple[type[Any], ...] = (
    StalePoint,
    FalseGradientNorm,
    HiddenMemory,
    MovesTheOldState,
    WritesIntoTheOldState,
    ForgetsItsMomentum,
    Thawed,
)
