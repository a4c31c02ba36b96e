"""Riemannian gradient descent on mini-batches, with an annealed step chosen by pre-training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, is_finite
from psdopt.method import Method, Outcome, State, factor_residual
from psdopt.problem import Evaluation, Problem
from psdopt.problems.streamed import STREAM, Streamed
from psdopt.streams import Batch

#: Values tried for s and t0: 2^-3, ..., 2^3 (Meyer et al., section 7.4.2).
GRID = tuple(2.0**k for k in range(-3, 4))
#: Passes over the pre-training batches per trial.
PRETRAINING_PASSES = 2
#: Batches per step of a run over a stream of unknown length.
UNKNOWN_EPOCH = 1000


@dataclass
class OnlineState(State):
    """Position in the stream (batches read), samples seen, and the schedule: s / mean gradient norm, and n t0."""

    position: int = 0
    samples: int = 0
    scale: float = 0.0
    horizon: float = 0.0


@dataclass(frozen=True)
class OnlineRiemannianGradient(Method):
    """x⁺ = R(x, −s_t · mean batch gradient), s_t = (s / μ) · n t0 / (n t0 + t), t samples seen (eq. 23).

    μ is the mean length of the batch gradients at the start, n the number of samples per epoch. One step of this
    method is `report_every` batches, then F is evaluated on the held-out data of the :class:`Streamed` problem.
    Everything that moves is in the state, so a run stops, is saved and goes on mid-stream (``checkpoint=``,
    ``resume=`` of :func:`psdopt.solve`) with the same iterates as without the break.

    Parameters
    ----------
    batch_size : samples per update. An iterator's own batches are taken as they come.
    scale, annealing : s and t0; None (both) chooses the pair of {2^-3, ..., 2^3}² that lowers the loss of the first
        `pretraining` batches most, by two passes over them from the start.
    report_every : batches per step; None is one epoch (1000 batches where its length is not known).
    longest : bound on the length s_t |gradient| of an update, in the metric: a wild batch cannot undo the run.
    """

    batch_size: int = 32
    scale: float | None = None
    annealing: float | None = None
    pretraining: int = 20
    report_every: int | None = None
    longest: float = 1.0

    requires: ClassVar[Requires] = {"problem": (STREAM,), "geometry": (Ability.RIEMANNIAN,)}
    descends: ClassVar[bool] = False
    #: F − min F falls like k^-1/2 with annealed steps, its gradient like the root of that.
    sublinear_order: ClassVar[float | None] = 0.25

    def __post_init__(self) -> None:
        for name in ("batch_size", "pretraining", "report_every"):
            value = getattr(self, name)
            if value is None and name == "report_every":
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InvalidInputError(f"{name} must be an integer of at least 1; found {value!r}")
        for name in ("scale", "annealing", "longest"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < math.inf:
                raise InvalidInputError(f"{name} must be positive and finite; found {value!r}")
        if (self.scale is None) != (self.annealing is None):
            raise InvalidInputError("scale and annealing go together: give both, or neither to have them chosen")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> OnlineState:
        assert isinstance(problem, Streamed)
        evaluation = evaluation or problem.at(geometry.factor(start))
        batches = problem.stream.sample(self.pretraining, self.batch_size)
        if not batches:
            raise InvalidInputError("the stream holds no batch")
        mean = _mean_gradient_norm(problem, geometry, start, batches)
        s, t0 = self.scale, self.annealing
        if s is None or t0 is None:
            s, t0 = self._pretrained(problem, geometry, start, batches, mean)
        n = problem.stream.size or UNKNOWN_EPOCH * self.batch_size
        return OnlineState(
            problem, geometry, start, evaluation, factor_residual(geometry, evaluation),
            scale=s / mean if mean > 0.0 else 0.0, horizon=n * t0, extras={"s": s, "t0": t0, "samples": 0.0},
        )  # fmt: skip

    def step(self, state: State) -> OnlineState:
        assert isinstance(state, OnlineState)
        problem, geometry = state.problem, state.geometry
        assert isinstance(problem, Streamed)
        batches = problem.stream.take(self.batch_size, state.position, self._batches_per_step(problem))
        point, loss, samples = self.advance(
            problem, geometry, state.point, batches, state.scale, state.horizon, state.samples
        )
        position = state.position + len(batches)
        evaluation = problem.at(geometry.factor(point))
        seen = samples - state.samples
        extras = {**state.extras, "samples": float(samples), "training_loss": loss / seen if seen else math.nan}
        outcome = Outcome.RUNNING if batches else Outcome.FINISHED
        return OnlineState(
            problem, geometry, point, evaluation, factor_residual(geometry, evaluation),
            _step_length(state.scale, state.horizon, samples), outcome, extras,
            position=position, samples=samples, scale=state.scale, horizon=state.horizon,
        )  # fmt: skip

    def advance(
        self, problem: Streamed, geometry: Geometry, point: Any, batches: Sequence[Batch],
        scale: float, horizon: float, samples: int,
    ) -> tuple[Any, float, int]:  # fmt: skip
        """One update per batch. Returns point, sum of the losses before each update, samples seen."""
        total = 0.0
        for rows, targets in batches:
            SY, loss = problem.batch_gradient(rows, targets, geometry.factor(point))
            if not is_finite(SY):
                raise FloatingPointError("a batch gradient is not finite")
            total += loss * len(targets)
            g = geometry.gradient(point, _KnownProduct(SY))
            s = _step_length(scale, horizon, samples)
            length = s * geometry.norm(point, g)
            if length > self.longest:
                s *= self.longest / length
            point = geometry.retract(point, -s * g)
            samples += len(targets)
        return point, total, samples

    def _pretrained(
        self, problem: Streamed, geometry: Geometry, start: Any, batches: Sequence[Batch], mean: float
    ) -> tuple[float, float]:
        """The (s, t0) after which the loss of `batches` is least; ties go to the shorter step."""
        n = sum(len(targets) for _, targets in batches)
        best, chosen = math.inf, (GRID[0], GRID[0])
        with np.errstate(over="ignore", invalid="ignore"):
            for s in GRID:
                for t0 in GRID:
                    point, samples = start, 0
                    for _ in range(PRETRAINING_PASSES):
                        scale = s / mean if mean > 0.0 else 0.0
                        point, _, samples = self.advance(problem, geometry, point, batches, scale, n * t0, samples)
                    Y = geometry.factor(point)
                    loss = sum(problem.batch_gradient(rows, targets, Y)[1] * len(targets) for rows, targets in batches)
                    if loss < best:
                        best, chosen = loss, (s, t0)
        return chosen

    def _batches_per_step(self, problem: Streamed) -> int:
        if self.report_every is not None:
            return self.report_every
        size = problem.stream.size
        return UNKNOWN_EPOCH if size is None else -(-size // self.batch_size)


class _KnownProduct:
    """S for geometries that only ask for S Y."""

    def __init__(self, product: Array) -> None:
        self.product = product

    def __matmul__(self, Y: Array) -> Array:
        return self.product


def _step_length(scale: float, horizon: float, samples: int) -> float:
    return scale * horizon / (horizon + samples)


def _mean_gradient_norm(problem: Streamed, geometry: Geometry, point: Any, batches: Sequence[Batch]) -> float:
    Y = geometry.factor(point)
    lengths = []
    for rows, targets in batches:
        SY, _ = problem.batch_gradient(rows, targets, Y)
        lengths.append(geometry.norm(point, geometry.gradient(point, _KnownProduct(SY))))
    return float(np.mean(lengths))
