"""The parts of a run of solve(): its state, the snapshot for its callback, and the rules of its caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.scales import reference_value, stationarity_scale
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import twin
from psdopt.linalg.tolerances import SLIGHT, tie
from psdopt.running.escape import Escape
from psdopt.running.patience import Patience
from psdopt.running.progress import Show
from psdopt.running.result import History, Status
from psdopt.running.stopping import Stopping

#: Least extra seconds for start and final certificate beyond a time limit.
LEAST_EXTRA = 0.5


@dataclass
class Run:
    """Everything a checkpoint holds.

    `nearest` : the best certificate so far, after the state to which it belongs. `ended` : status, message and
    tolerance of a run that is over. `first_trace` : tr M at the start. `seen_trace` : tr M when the existence of a
    minimum was last tested (0 before the first test).
    """

    state: State
    geometry: Geometry
    inner_tol: float
    pieces: tuple[str, str] = ("", "")  # of geometry and method at the start, so that resume refuses others
    history: History = field(default_factory=History)
    iteration: int = 0
    seconds: float = 0.0
    judged: int = -1
    idle_steps: int = 0
    best_stationarity: float = math.inf
    zero_tried: bool = False
    first_trace: float = 0.0
    seen_trace: float = 0.0
    best: State | None = None
    escape: Escape = field(default_factory=lambda: Escape(False, 0))
    patience: Patience = field(default_factory=Patience)
    recoveries: int = 0
    nearest: tuple[State, Certificate] | None = None
    ended: tuple[Status, str, float] | None = None
    certificate: Certificate | None = None
    counts: dict[str, int] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)

    def record(self, problem: Problem, descends: bool, counts: Mapping[str, int]) -> float:
        """Add the current state to the history; returns its relative stationarity.

        If a method descends, `idle_steps` counts its consecutive steps without progress.
        """
        state, value = self.state, self.state.evaluation.value
        reference = reference_value(problem, self.geometry.trace or 0.0)
        reference = reference if math.isfinite(reference) else value
        scale = stationarity_scale(problem, value, state.evaluation.size, self.geometry.trace)
        at_rest = 0.0 if state.gradient_norm == 0.0 else math.inf
        stationarity = float(0.5 * state.gradient_norm / scale) if scale > 0.0 else at_rest
        idle = False
        if self.values and descends:
            # near a minimum F stops falling, up to rounding, while stationarity still falls: that counts as progress.
            # Stationarity may fall by little per step, so it is compared with its value at the last progress
            idle = self.values[-1] - value <= tie(value, reference)
            idle = idle and not stationarity < (1.0 - SLIGHT) * self.best_stationarity
        record = {
            "iteration": float(self.iteration),
            "value": value,
            "gradient_norm": float(state.gradient_norm),
            "stationarity": stationarity,
            "step": float(state.step),
            "seconds": self.seconds,
            "columns": float(state.evaluation.factor.shape[1]),
            **{key: float(number) for key, number in counts.items()},
            **{key: float(number) for key, number in state.extras.items()},
        }
        self.idle_steps = self.idle_steps + 1 if idle else 0
        if not idle:
            self.best_stationarity = min(self.best_stationarity, stationarity)
        self.values.append(value)
        self.history.records.append(record)
        return stationarity

    def kept(self) -> Run:
        """A copy of the run that later steps and certificates do not change; only the history is shared."""
        kept = twin(self)
        kept.escape, kept.patience = twin(self.escape), twin(self.patience)
        return kept

    def restore(self, kept: Run) -> None:
        """Undo everything since `kept` was made from this run."""
        vars(self).update(vars(kept.kept()))
        del self.values[self.iteration + 1 :], self.history.records[self.iteration + 1 :]

    def go_on(self, method: Method, geometry: Geometry, point: Any, evaluation: Evaluation) -> bool:
        """Continue with `method` from a better `point` of `geometry`, with more columns; `evaluation` is F there.

        False if the method keeps to its own path.
        """
        state = method.widened(self.state, geometry, point, evaluation)
        if state is self.state:
            return False
        self.geometry, self.state = geometry, state
        self.idle_steps, self.best_stationarity = 0, math.inf
        return True


@dataclass
class NonFiniteStart(State):
    """The state of a run that cannot begin, because value or gradient at the start is not finite."""


@dataclass(frozen=True)
class Snapshot:
    """What a callback sees after every iteration. Return True from it to stop."""

    iteration: int
    seconds: float
    value: float
    record: dict[str, float]
    state: State
    history: History


@dataclass
class Rules:
    """The settings of the caller of solve()."""

    tol: float
    limits: Stopping
    callback: Callable[[Snapshot], Any] | None = None
    checkpoint: str | Path | None = None
    checkpoint_seconds: float = 60.0
    show: Show = lambda *_: None
    proof: str = "full"

    @property
    def end(self) -> float:
        """Seconds after which the choice of pieces, the start and the final certificate are cut as well."""
        return self.limits.longest + max(LEAST_EXTRA, SLIGHT * self.limits.longest)
