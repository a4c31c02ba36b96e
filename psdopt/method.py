"""The method interface: frozen hyper-parameters, and a state that holds all that moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from psdopt.capability import Requires
from psdopt.geometry import Geometry
from psdopt.problem import Evaluation, Problem


class Outcome(Enum):
    """What a method found out about its own run; the driver turns it into a status."""

    RUNNING = "running"
    FINISHED = "nothing left to do"
    STALLED = "no direction of descent is left at working precision"
    UNBOUNDED = "the objective decreases without bound along a direction"
    DIVERGED = "the iteration has left every bounded set; the objective may well be bounded"


@dataclass
class State:
    """All that moves. Picklable; methods subclass it with what they carry from step to step.

    `point` and `evaluation` describe the current iterate; `gradient_norm` is |2 S Y| there (nan if
    the method does not know it); `step` the last step length; `extras` further history columns.
    """

    problem: Problem
    geometry: Geometry
    point: Any
    evaluation: Evaluation
    gradient_norm: float = float("nan")
    step: float = float("nan")
    outcome: Outcome = Outcome.RUNNING
    extras: dict[str, float] = field(default_factory=dict)


class Method(ABC):
    """A rule for the next move. Owns no loop, no clock, no print and no status.

    Subclasses are frozen dataclasses of hyper-parameters. ``step`` returns a new state and leaves
    the old one as it was, so that a caller may keep any state and go on from it.
    """

    #: Needs as data: {"problem": (need, ...), "geometry": (need, ...)}; a tuple inside means any of.
    requires: ClassVar[Requires] = {}
    #: Whether the value never increases from step to step.
    descends: ClassVar[bool] = False
    #: Whether a run without a given start begins at M = 0 rather than at a random point.
    starts_at_zero: ClassVar[bool] = False

    @abstractmethod
    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        """State at `start`; `evaluation` is given when F is already known there."""

    @abstractmethod
    def step(self, state: State) -> Any:
        """The next state."""

    @property
    def name(self) -> str:
        return type(self).__name__
