"""Riemannian gradient descent on mini-batches, with an annealed step chosen by pre-training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psdopt.checks import integer, integer_or_none, number_or_none, positive
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.data.streams import Batch
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, is_finite
from psdopt.problems.streamed import OffersStream, streamed

#: Values tried for s and t0: 2^-3, ..., 2^3 (Meyer et al., section 7.4.2).
GRID = tuple(2.0**k for k in range(-3, 4))
#: A trial of pre-training makes at least this number of updates, with several passes if an epoch has fewer batches. So
#: many batches of an iterator are kept, since it cannot be read twice.
TRIAL_UPDATES = 40
#: Pre-training reads this share of a long epoch: 18 passes over a sixteenth cost about as much as an epoch.
EPOCH_SHARE = 1 / 16
#: Rounds of trials as (divisor, pairs kept): on 1/8 of these samples, on 1/2, on all of them.
ROUNDS = ((8, 16), (2, 4), (1, 1))


class Pace(NamedTuple):
    """Step s_t = scale · horizon / (horizon + t) after t samples, for gradients no longer than `longest`."""

    scale: float
    horizon: float
    longest: float = math.inf

    def step(self, samples: int) -> float:
        """s_t."""
        return self.scale * self.horizon / (self.horizon + samples)


@dataclass(kw_only=True)
class OnlineState(State):
    """Position in the stream (batches read), samples seen, and the pace: s / μ, n t0, the longest gradient."""

    pace: Pace
    position: int = 0
    samples: int = 0


@dataclass(frozen=True)
class OnlineRiemannianGradient(Method[OnlineState]):
    """x⁺ = R(x, −s_t · mean batch gradient), s_t = (s / μ) · n t0 / (n t0 + t), t samples seen (eq. 23).

    μ is the mean length of the batch gradients at the start and n the number of samples on which s and t0 were chosen
    (if the user gives them, of an epoch). When steps should begin to shrink depends on curvature and noise, not on the
    number of samples that follow. So t0 is counted in samples: counted in epochs, a t0 chosen on few samples would come
    far too late on many.

    One step of this method is `report_every` batches, then F is evaluated on the held-out data of the
    problem. The state holds everything that changes, so that a run can be stopped, saved and resumed mid-stream
    (``checkpoint=``, ``resume=`` of :func:`psdopt.solve`) with the same iterates.

    Parameters
    ----------
    batch_size : samples per update. An iterator's batches keep their sizes.
    scale, annealing : s and t0; None (both) chooses the pair of {2^-3, ..., 2^3}² with the least loss in the second
        half of a pass from the start over the first `pretraining` batches (several passes if they are fewer than
        40). All 49 are tried on an eighth of these batches, the best 16 on half, the best 4 on all: together 18 passes
        over them.
    report_every : batches per step; None is one epoch (640 batches where its length is not known).
    pretraining : number of batches; None is a sixteenth of an epoch but at least 40, and 40 from an iterator.
    longest : bound on the length of a batch gradient in units of μ; longer ones are shortened, so that an outlying
        batch cannot spoil the run. It does not depend on the units of the data.

    Memory: a few (n, r) arrays and one batch (and the pre-training batches of an iterator).
    """

    batch_size: int = 32
    scale: float | None = None
    annealing: float | None = None
    pretraining: int | None = None
    report_every: int | None = None
    longest: float = 4.0

    requires: ClassVar[Requires] = {"problem": (Ability.STREAM,), "geometry": (Ability.RIEMANNIAN,)}
    takes_device_arrays: ClassVar[bool] = True
    descends: ClassVar[bool] = False
    #: F − min F falls like k^-1/2 with annealed steps, and its gradient like k^-1/4.
    sublinear_order: ClassVar[float | None] = 0.25

    def __post_init__(self) -> None:
        integer(self.batch_size, "batch_size")
        integer_or_none(self.pretraining, "pretraining")
        integer_or_none(self.report_every, "report_every")
        number_or_none(self.scale, "scale", above=0.0)
        number_or_none(self.annealing, "annealing", above=0.0)
        positive(self.longest, "longest")
        if (self.scale is None) != (self.annealing is None):
            raise InvalidInputError("scale and annealing go together: give both, or neither to have them chosen")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> OnlineState:
        source = streamed(problem)
        evaluation = evaluation or problem.at(geometry.factor(start))
        count = self._pretraining_batches(source)
        batches = source.stream.sample(count, self.batch_size)
        mean, seen = _mean_gradient_norm(source, geometry, start, batches)
        if seen == 0:
            raise InvalidInputError("the stream holds no batch")
        s, t0, n = self.scale, self.annealing, source.stream.size or int(TRIAL_UPDATES / EPOCH_SHARE) * self.batch_size
        if s is None or t0 is None:
            passes = -(-TRIAL_UPDATES // count)
            s, t0 = self._pretrained(source, geometry, start, count, passes, mean)
            n = passes * seen
        return OnlineState(
            problem,
            geometry,
            start,
            evaluation,
            gradient_norm=factor_residual(geometry, evaluation),
            extras={"s": s, "t0": t0, "samples": 0.0},
            pace=self._pace(s, t0, n, mean),
        )

    def step(self, state: OnlineState) -> OnlineState:
        problem, geometry, pace = state.problem, state.geometry, state.pace
        source = streamed(problem)
        batches = source.stream.take(self.batch_size, state.position, self._batches_per_step(source))
        point, loss, samples, read = self.advance(source, geometry, state.point, batches, pace, state.samples)
        evaluation = problem.at(geometry.factor(point))
        seen = samples - state.samples
        extras = {**state.extras, "samples": float(samples), "training_loss": loss / seen if seen else math.nan}
        return replace(
            state,
            point=point,
            evaluation=evaluation,
            gradient_norm=factor_residual(geometry, evaluation),
            step=pace.step(samples),
            outcome=Outcome.RUNNING if read else Outcome.FINISHED,
            extras=extras,
            position=state.position + read,
            samples=samples,
        )

    def advance(
        self, problem: OffersStream, geometry: Geometry, point: Any, batches: Iterable[Batch], pace: Pace, samples: int
    ) -> tuple[Any, float, int, int]:
        """One update per batch. Returns point, sum of the losses before each update, samples seen, batches read."""
        total, read = 0.0, 0
        for batch in batches:
            SY, loss = problem.batch_gradient(batch, geometry.factor(point))
            if not is_finite(SY):
                if math.isfinite(loss):
                    raise FloatingPointError("a batch gradient is not finite where the loss is")
                raise _RunawayError("the loss of a batch is not finite")
            size = len(batch.targets)
            total += loss * size
            g = geometry.gradient(point, _KnownProduct(SY))
            s, length = pace.step(samples), geometry.norm(point, g)
            if length > pace.longest:
                s *= pace.longest / length
            point = geometry.retract(point, -s * g)
            samples, read = samples + size, read + 1
        return point, total, samples, read

    def _pretrained(
        self, problem: OffersStream, geometry: Geometry, start: Any, count: int, passes: int, mean: float
    ) -> tuple[float, float]:
        """The (s, t0) that lowers the loss most within the first `count` batches; ties go to the shorter step.

        The loss of a trial is that of the last half of the batches, or of the last of several passes.
        """
        pairs = list(product(GRID, GRID))
        for share, kept in ROUNDS:
            batches = problem.stream.sample(-(-count // share), self.batch_size)
            sizes = [len(batch.targets) for batch in batches]
            paces = [self._pace(s, t0, passes * sum(sizes), mean) for s, t0 in pairs]
            each, updates = len(sizes), partial(chain.from_iterable, (batches,) * passes)
            before = passes * each - (max(1, each // 2) if passes == 1 else each)
            losses = [self._trial(problem, geometry, start, updates(), before, pace) for pace in paces]
            pairs = [pairs[k] for k in np.argsort(losses, kind="stable")[:kept]]
        return pairs[0]

    def _trial(
        self, problem: OffersStream, geometry: Geometry, start: Any, updates: Iterator[Batch], before: int, pace: Pace
    ) -> float:
        """Loss of all `updates` but those `before`, each before its update; inf if the trial diverges.

        Measuring before each update costs nothing extra. A gradient that is not finite although the loss is finite is
        not the fault of the pace: the error is raised.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                point, _, samples, _ = self.advance(problem, geometry, start, islice(updates, before), pace, 0)
                loss = self.advance(problem, geometry, point, updates, pace, samples)[1]
            except (np.linalg.LinAlgError, InvalidInputError, _RunawayError):
                return math.inf
        return loss if math.isfinite(loss) else math.inf

    def _pace(self, s: float, t0: float, samples: int, mean: float) -> Pace:
        """The pace of (s, t0) for `samples` n and a mean length μ of the batch gradients."""
        return Pace(s / mean if mean > 0.0 else 0.0, samples * t0, self.longest * mean)

    def _pretraining_batches(self, problem: OffersStream) -> int:
        if self.pretraining is not None:
            return int(self.pretraining)
        size = problem.stream.size
        if size is None or not problem.stream.repeatable:
            return TRIAL_UPDATES
        epoch = -(-size // self.batch_size)
        return min(epoch, max(TRIAL_UPDATES, math.ceil(EPOCH_SHARE * epoch)))

    def _batches_per_step(self, problem: OffersStream) -> int:
        if self.report_every is not None:
            return self.report_every
        size = problem.stream.size
        return int(TRIAL_UPDATES / EPOCH_SHARE) if size is None else -(-size // self.batch_size)


class _RunawayError(FloatingPointError):
    """The loss overflowed because steps were too long."""


class _KnownProduct:
    """S for geometries, which use only the product S Y."""

    def __init__(self, product: Array) -> None:
        self.product = product

    def __matmul__(self, Y: Array) -> Array:
        return self.product


def _mean_gradient_norm(
    problem: OffersStream, geometry: Geometry, point: Any, batches: Iterable[Batch]
) -> tuple[float, int]:
    """μ over the batches, and the number of their samples."""
    Y = geometry.factor(point)
    lengths, samples = [], 0
    for batch in batches:
        SY, _ = problem.batch_gradient(batch, Y)
        lengths.append(geometry.norm(point, geometry.gradient(point, _KnownProduct(SY))))
        samples += len(batch.targets)
    return float(np.mean(lengths)) if lengths else 0.0, samples
