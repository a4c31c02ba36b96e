"""The only loop: budgets, stopping, recording, certificate, interruption, checkpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.capability import Ability, compatible, name_of
from psdopt.certificate import Certificate, certify, stationarity_scale
from psdopt.checkpoint import load_checkpoint, save_checkpoint
from psdopt.choose import choose, starting_point
from psdopt.errors import InvalidInputError
from psdopt.escape import rank_binds, widened
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, State
from psdopt.problem import Problem
from psdopt.progress import progress_bar
from psdopt.result import History, Result, Status
from psdopt.stopping import MaxIterations, MaxTime, Progress, Stopping

#: Iterations when the caller sets no limit of any kind.
DEFAULT_ITERATIONS = 20_000
#: With room for more columns, a stationary point is looked at this early: ranks below the last one
#: need no accuracy.
COARSE = 1e-5
#: While the certificate fails although the rank does not bind, stationarity is tightened to tol · this.
FINEST = 1e-3
#: Consecutive steps without a decrease above rounding that count as no progress.
CALM_STEPS = 20
#: tr M beyond this multiple of its start is divergence: along a ray of unboundedness M grows geometrically,
#: so this is reached within a few hundred steps, and no units of data reach it otherwise.
DIVERGED = 1e100


@dataclass
class Run:
    """Everything a checkpoint holds."""

    state: State
    geometry: Geometry
    inner_tol: float
    history: History = field(default_factory=History)
    iteration: int = 0
    seconds: float = 0.0
    calm: int = 0
    first_trace: float = 0.0
    best: State | None = None
    certificate: Certificate | None = None
    counts: dict[str, int] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """What a callback sees after every iteration. Return True from it to stop."""

    iteration: int
    seconds: float
    value: float
    record: dict[str, float]
    state: State
    history: History


def solve(
    problem: Problem,
    geometry: Geometry | None = None,
    method: Method | None = None,
    *,
    start: Any = None,
    tol: float = 1e-6,
    max_iterations: int | None = None,
    max_time: float | None = None,
    stopping: Stopping | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
    escape: bool | None = None,
    max_rank: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: str | Path | None = None,
) -> Result:
    """Minimise F(M) over the geometry's set of PSD matrices.

    Parameters
    ----------
    problem, geometry, method : what, where, how. Left out, geometry and method are chosen (see
        :func:`psdopt.choose.choose`): a closed form where there is one, else conjugate gradient at a
        rank that grows until the certificate holds.
    start : a point of the geometry, a :class:`LowRankPSD`, or None for a random one, scaled best.
    tol : relative certificate at which a point counts as optimal (see :class:`Certificate`).
    max_iterations, max_time : budgets; time in seconds. Default: 20,000 iterations.
    stopping : further criteria (:mod:`psdopt.stopping`), combined with ``|`` and ``&``.
    callback : called with a :class:`Snapshot` after every iteration; a true return value stops.
    rng : a ``numpy.random.Generator`` or a seed; default seed 0, so that runs repeat.
    progress : show a progress bar on standard error.
    escape : when a rank-r stationary point is no global optimum, add columns and go on, up to
        `max_rank` (default n). Default: yes if the geometry was left out, else no.
    checkpoint : file that the run is written to every `checkpoint_seconds` and at its end.
    resume : a checkpoint to go on from; `start` is then not used. Pieces must be those of that run.

    Returns
    -------
    Result. Its status is ``optimal`` only if the certificate, computed from recomputed images with a
    lower bound on λ_min(S), is at most `tol`.

    Raises
    ------
    IncompatibleError, before any work, if the pieces do not fit; InvalidInputError for bad arguments.
    """
    _check_arguments(tol, max_iterations, max_time, max_rank, problem)
    escape = (geometry is None) if escape is None else bool(escape)
    geometry, method, chosen = choose(problem, geometry, method)
    compatible(problem, geometry, method).require()
    generator = np.random.default_rng(0 if rng is None else rng)
    clock = time.perf_counter()
    before = dict(problem.counts())
    if resume is not None:
        run = load_checkpoint(resume, problem)
        clock -= run.seconds
    else:
        point = starting_point(geometry, problem, start, generator)
        escape = escape and hasattr(geometry, "with_rank")
        run = Run(method.init(problem, geometry, point), geometry, max(tol, COARSE) if escape else tol)
        run.first_trace = norm(run.state.evaluation.factor) ** 2
    driver = _Driver(problem, method, run, tol, escape, max_rank or problem.n, clock, before)
    driver.limits = _criteria(stopping, max_iterations, max_time)
    driver.callback = callback
    driver.checkpoint, driver.checkpoint_seconds = checkpoint, checkpoint_seconds
    with progress_bar(progress, name_of(method), run.iteration) as bar:
        driver.bar = bar
        status, message = driver.loop(fresh=resume is None)
    return driver.result(status, message, chosen)


class _Driver:
    """The loop's moving parts, split so that each rule can be read by itself."""

    limits: Stopping
    callback: Callable[[Snapshot], Any] | None = None
    checkpoint: str | Path | None = None
    checkpoint_seconds: float = 60.0
    bar: Any = None

    def __init__(
        self,
        problem: Problem,
        method: Method,
        run: Run,
        tol: float,
        escape: bool,
        max_rank: int,
        clock: float,
        before: dict[str, int],
    ) -> None:
        self.problem, self.method, self.run, self.tol = problem, method, run, tol
        self.escape, self.max_rank, self.clock = escape, max_rank, clock
        self.before = before
        self.earlier = dict(run.counts)
        self.last_saved = time.perf_counter()

    def loop(self, fresh: bool) -> tuple[Status, str]:
        run = self.run
        try:
            if fresh:
                self._record()
            while True:
                verdict = self._verdict()
                if verdict is not None:
                    return verdict
                previous = run.state
                run.state = self.method.step(previous)
                run.iteration += 1
                if not math.isfinite(run.state.evaluation.value):
                    run.state = previous
                    return Status.NON_FINITE, f"{Status.NON_FINITE.value} (iteration {run.iteration})"
                self._record()
                self._keep_best()
                self._save_if_due()
                if self.callback is not None and self.callback(self._snapshot()):
                    return Status.STOPPED, "stopped by the callback"
        except KeyboardInterrupt:
            return Status.INTERRUPTED, Status.INTERRUPTED.value

    def _verdict(self) -> tuple[Status, str] | None:
        run, state = self.run, self.run.state
        if not math.isfinite(state.evaluation.value):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} (at the start)"
        if state.outcome is Outcome.UNBOUNDED or self._diverged():
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        stationarity = run.history.records[-1]["stationarity"]
        ended = state.outcome in (Outcome.STALLED, Outcome.FINISHED)
        if stationarity <= run.inner_tol or ended:
            verdict = self._judge(stationarity, ended)
            if verdict is not None or ended:
                return verdict or self._judge_end()
            if state is not run.state:
                return None
        met = self.limits.met(self._progress(stationarity))
        if met is not None:
            return met.status, f"{met.reason()}"
        if self.method.descends and run.calm >= CALM_STEPS:
            verdict = self._judge(stationarity, True)
            return verdict or (Status.NO_PROGRESS, Status.NO_PROGRESS.value)
        return None

    def _judge(self, stationarity: float, ended: bool) -> tuple[Status, str] | None:
        """Ask the certificate at a (nearly) stationary point; go on, escape, or call it a day."""
        run = self.run
        certificate = self._certify()
        if certificate.proves(self.tol):
            return Status.OPTIMAL, Status.OPTIMAL.value
        stationary = max(stationarity, certificate.stationarity_relative) <= self.tol
        if not certificate.convex:
            if stationary:
                return Status.STATIONARY, f"{Status.STATIONARY.value}; F is not known to be convex"
            return self._tighten(ended)
        clearly_off = certificate.dual_infeasibility_relative > max(self.tol, certificate.stationarity_relative)
        if self.escape and clearly_off and self._widen(certificate):
            return None
        if stationary and (ended or self._rank_binds() or run.inner_tol <= FINEST * self.tol):
            return Status.STATIONARY, _explained(certificate, self._columns(), self.problem.n)
        return self._tighten(ended)

    def _judge_end(self) -> tuple[Status, str]:
        return Status.NO_PROGRESS, Status.NO_PROGRESS.value

    def _tighten(self, ended: bool) -> tuple[Status, str] | None:
        if not ended:
            self.run.inner_tol = max(0.1 * self.run.inner_tol, FINEST * self.tol * 0.99)
        return None

    def _rank_binds(self) -> bool:
        evaluation = self.run.state.evaluation
        return self._columns() < self.problem.n and rank_binds(evaluation, self.tol)

    def _columns(self) -> int:
        return int(self.run.state.evaluation.factor.shape[1])

    def _widen(self, certificate: Certificate) -> bool:
        run = self.run
        wider = widened(run.state.evaluation, self.max_rank, certificate.smallest_eigenvalue)
        if wider is None:
            return False
        run.geometry = run.geometry.with_rank(wider.factor.shape[1])  # type: ignore[attr-defined]
        point = run.geometry.from_factor(wider.factor)
        run.state = self.method.init(self.problem, run.geometry, point, wider)
        run.calm = 0
        run.history.records[-1]["widened_to"] = float(wider.factor.shape[1])
        return True

    def _certify(self) -> Certificate:
        run = self.run
        start = None if run.certificate is None else run.certificate.eigenvector
        run.certificate = certify(
            self.problem, run.state.evaluation, tol=self.tol, trace=run.geometry.trace, start=start
        )
        run.history.records[-1]["certificate"] = run.certificate.relative
        return run.certificate

    def _diverged(self) -> bool:
        run = self.run
        if not self.method.descends or run.iteration == 0 or run.first_trace == 0.0:
            return False
        return norm(run.state.evaluation.factor) ** 2 > DIVERGED * run.first_trace

    def _record(self) -> None:
        run, state = self.run, self.run.state
        run.seconds = time.perf_counter() - self.clock
        value = state.evaluation.value
        counts = self._counts()
        scale = stationarity_scale(self.problem, value, norm(state.evaluation.factor))
        stationarity = 0.5 * state.gradient_norm / scale if scale > 0.0 else (
            0.0 if state.gradient_norm == 0.0 else math.inf
        )  # fmt: skip
        if run.values and self.method.descends:
            small = run.values[-1] - value <= 4 * EPS * max(abs(value), abs(self.problem.value_at_zero() - value))
            run.calm = run.calm + 1 if small else 0
        run.values.append(value)
        record = {
            "iteration": float(run.iteration),
            "value": value,
            "gradient_norm": state.gradient_norm,
            "stationarity": stationarity,
            "step": state.step,
            "seconds": run.seconds,
            "columns": float(self._columns()),
            **{key: float(number) for key, number in counts.items()},
            **state.extras,
        }
        run.history.records.append(record)
        if self.bar is not None:
            self.bar.show(run.iteration, value, stationarity)

    def _counts(self) -> dict[str, int]:
        now = self.problem.counts()
        keys = {**self.earlier, **now}
        return {k: self.earlier.get(k, 0) + now.get(k, 0) - self.before.get(k, 0) for k in keys}

    def _keep_best(self) -> None:
        if self.method.descends:
            return
        run = self.run
        if run.best is None or run.state.evaluation.value < run.best.evaluation.value:
            run.best = run.state

    def _progress(self, stationarity: float) -> Progress:
        run = self.run
        return Progress(
            run.iteration, run.seconds, run.state.evaluation.value, stationarity, run.state.step, run.values
        )

    def _snapshot(self) -> Snapshot:
        run = self.run
        return Snapshot(
            run.iteration, run.seconds, run.state.evaluation.value, run.history.records[-1], run.state, run.history
        )

    def _save_if_due(self) -> None:
        if self.checkpoint is not None and time.perf_counter() - self.last_saved >= self.checkpoint_seconds:
            self._save()

    def _save(self) -> None:
        assert self.checkpoint is not None
        self.run.counts = self._counts()
        save_checkpoint(self.checkpoint, self.run, self.problem)
        self.last_saved = time.perf_counter()

    def result(self, status: Status, message: str, chosen: tuple[str, ...]) -> Result:
        """The certificate is computed at the point that is returned, from recomputed images."""
        run = self.run
        if self.checkpoint is not None:
            self._save()
        state = run.best if run.best is not None and status is not Status.OPTIMAL else run.state
        finite = math.isfinite(state.evaluation.value)
        if finite and run.history.records and "certificate" not in run.history.records[-1]:
            run.state = state
            self._certify()
            assert run.certificate is not None
            if run.certificate.proves(self.tol) and status not in (Status.UNBOUNDED, Status.NON_FINITE):
                status, message = Status.OPTIMAL, f"{Status.OPTIMAL.value} ({message})"
        certificate = run.certificate if finite else None
        matrix = run.geometry.to_matrix(state.point)
        return Result(
            matrix=matrix,
            point=state.point,
            value=certificate.value if certificate is not None else state.evaluation.value,
            status=status,
            message=message,
            certificate=certificate,
            iterations=run.iteration,
            seconds=time.perf_counter() - self.clock,
            history=run.history,
            counts=self._counts(),
            problem=name_of(self.problem),
            geometry=repr(run.geometry),
            method=name_of(self.method),
            chosen=chosen,
            state=state,
        )


def _explained(certificate: Certificate, columns: int, n: int) -> str:
    return (
        f"{Status.STATIONARY.value}: at rank {columns} of {n} the relative dual infeasibility is "
        f"{certificate.dual_infeasibility_relative:.2g}. If the rank is not a limit you want, "
        "pass escape=True or a larger rank"
    )


def _criteria(stopping: Stopping | None, max_iterations: int | None, max_time: float | None) -> Stopping:
    limits: list[Stopping] = []
    if stopping is not None:
        limits.append(stopping)
    if max_time is not None:
        limits.append(MaxTime(max_time))
    limits.append(MaxIterations(DEFAULT_ITERATIONS if max_iterations is None else int(max_iterations)))
    combined = limits[0]
    for limit in limits[1:]:
        combined = combined | limit
    return combined


def _check_arguments(
    tol: float, max_iterations: int | None, max_time: float | None, max_rank: int | None, problem: Any
) -> None:
    if not 0.0 < tol < 1.0:
        raise InvalidInputError(f"tol must lie between 0 and 1; found {tol!r}")
    if max_iterations is not None and max_iterations < 0:
        raise InvalidInputError(f"max_iterations must be at least 0; found {max_iterations!r}")
    if max_time is not None and not max_time >= 0.0:
        raise InvalidInputError(f"max_time (seconds) must be at least 0; found {max_time!r}")
    n = getattr(problem, "n", None)
    if max_rank is not None and n is not None and not 1 <= max_rank <= n:
        raise InvalidInputError(f"max_rank must lie between 1 and n = {n}; found {max_rank!r}")
