"""The loop behind solve(): one method for each rule, so that each can be read by itself."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping

import numpy as np

from psdopt.capability import Ability, name_of
from psdopt.checkpoint import save_checkpoint
from psdopt.devices import released
from psdopt.errors import CheckpointError, DataFileError
from psdopt.judge import Judge
from psdopt.method import Method, Outcome
from psdopt.problem import Problem
from psdopt.result import Result, Status
from psdopt.run import NonFiniteStart, Rules, Run, Snapshot
from psdopt.stopping import Progress
from psdopt.units import natural_trace
from psdopt.verdicts import FINAL, NO_PROGRESS, Verdict, unbounded, without_minimum

#: Limits that end a run even right after it has moved to a better point.
BUDGETS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
#: A run makes no progress after this many consecutive steps whose decrease of F is only rounding.
IDLE_STEPS = 20
#: Whenever tr M has grown by this factor, the driver tests whether F has a minimum at all.
GROWN = 1e3
#: A run diverges once tr M exceeds its initial value by this factor: no choice of units explains so large a factor.
DIVERGED = 1e100


class Driver:
    """Runs `method` on `problem` from `run` under `rules`.

    `clock` : the reading of ``time.perf_counter`` at which the seconds of the run start. `before` : the problem's
    counts when solve() was called.
    """

    def __init__(
        self, problem: Problem, method: Method, run: Run, rules: Rules, clock: float, before: Mapping[str, int]
    ) -> None:
        self.problem, self.method, self.run, self.rules = problem, method, run, rules
        self.tol, self.clock, self.before = rules.tol, clock, dict(before)
        self.earlier = dict(run.counts)
        self.last_saved = time.perf_counter()
        self.unsaved = ""
        self.judge = Judge(problem, method, run, rules.tol)
        self.calling = False

    def loop(self, fresh: bool) -> Verdict:
        run = self.run
        if run.ended is not None and run.ended[0] in FINAL and run.ended[2] <= self.tol:
            self.judge.certified = run.state if run.certificate is not None else None
            return run.ended[:2]
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
                if time.perf_counter() - self.last_saved >= self.rules.checkpoint_seconds:
                    self._save()
                if self._stopped():
                    return Status.STOPPED, "stopped by the callback"
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            # the value was finite, but the gradient is not; decompositions of NaN raise LinAlgError
            if self.calling:
                raise
            if isinstance(error, np.linalg.LinAlgError) and math.isfinite(run.state.gradient_norm):
                if run.geometry.closed:
                    raise
                edge = f"the run has reached the boundary of {run.geometry!r}, where the formulas fail ({error})"
                return Status.NO_PROGRESS, f"{Status.NO_PROGRESS.value}: {edge}"
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        except KeyboardInterrupt:
            return Status.INTERRUPTED, Status.INTERRUPTED.value

    def _stopped(self) -> bool:
        """Whether the callback asks to stop. Its exceptions reach the caller of solve(); only Ctrl-C ends the run."""
        if self.rules.callback is None:
            return False
        run = self.run
        value, record = run.state.evaluation.value, run.history.records[-1]
        self.calling = True
        stop = bool(self.rules.callback(Snapshot(run.iteration, run.seconds, value, record, run.state, run.history)))
        self.calling = False
        return stop

    def _verdict(self) -> Verdict | None:
        run, state = self.run, self.run.state
        if not math.isfinite(state.evaluation.value) or isinstance(state, NonFiniteStart):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} (at the start)"
        if state.outcome is Outcome.UNBOUNDED or self._diverged():
            return unbounded(self.judge.certify(), run, self.problem, self.tol, grown=self._diverged())
        if state.outcome is Outcome.DIVERGED:
            return Status.DIVERGED, Status.DIVERGED.value
        ended = state.outcome in (Outcome.STALLED, Outcome.FINISHED)
        if not ended and self._lacks_minimum():
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        if self.judge.better_at_zero():
            return Status.OPTIMAL, f"{Status.OPTIMAL.value}: M = 0"
        stationarity = run.history.records[-1]["stationarity"]
        if ended or self.judge.is_due(stationarity):
            verdict = self.judge.verdict(stationarity, ended)
            if verdict is not None:
                return verdict
            if ended and state is run.state:
                return NO_PROGRESS
        value, step = run.state.evaluation.value, run.state.step
        met = self.rules.limits.met(Progress(run.iteration, run.seconds, value, stationarity, step, run.values))
        moved = state is not run.state
        # a run that has just moved to a better point is stopped by its budgets only
        if met is not None and (not moved or met.status in BUDGETS):
            return met.status, f"{met.reason()}"
        if not moved and self.method.descends and run.idle_steps >= IDLE_STEPS:
            verdict = self.judge.verdict(stationarity, True)
            return verdict if verdict is not None or state is not run.state else NO_PROGRESS
        return None

    def _diverged(self) -> bool:
        run = self.run
        if not self.method.descends or run.iteration == 0 or run.first_trace == 0.0:
            return False
        return run.state.evaluation.size**2 > DIVERGED * run.first_trace

    def _lacks_minimum(self) -> bool:
        """Whether F falls without end; for methods that descend, tested whenever tr M has grown by the factor GROWN.

        Growth is relative to tr M at the start or to the natural trace of F, whichever is larger: a run may start at 0.
        """
        run, trace = self.run, self.run.state.evaluation.size**2
        constrained = run.geometry.trace is not None or Ability.CONSTRAINTS in self.problem.abilities
        if constrained or not self.method.descends or not trace > GROWN * max(run.first_trace, run.seen_trace):
            return False
        before = max(run.first_trace, run.seen_trace, natural_trace(self.problem))
        if not trace > GROWN * before > 0.0:
            return False
        run.seen_trace = trace
        return without_minimum(self.judge.certify(), run, self.problem, before)

    def _record(self) -> None:
        run = self.run
        run.seconds = time.perf_counter() - self.clock
        stationarity = run.record(self.problem, self.method.descends, self._counts())
        self.rules.show(run.iteration, run.values[-1], stationarity)

    def _counts(self) -> dict[str, int]:
        now = self.problem.counts()
        keys = {**self.earlier, **now}
        return {k: self.earlier.get(k, 0) + now.get(k, 0) - self.before.get(k, 0) for k in keys}

    def _keep_best(self) -> None:
        if self.method.descends or not self.method.ranks_by_value:
            return
        run = self.run
        if run.best is None or run.state.evaluation.value < run.best.evaluation.value:
            run.best = run.state

    def _save(self) -> None:
        """Write the checkpoint, if the caller wants one."""
        if self.rules.checkpoint is None:
            return
        self.run.counts = self._counts()
        self.last_saved = time.perf_counter()
        try:
            save_checkpoint(self.rules.checkpoint, self.run, self.problem)
        except (DataFileError, CheckpointError) as error:  # such as a full disk; the run continues
            self.unsaved = f"the checkpoint was not written: {error}"
            warnings.warn(f"{self.unsaved}; the run goes on", RuntimeWarning, stacklevel=2)
        else:
            self.unsaved = ""

    def result(self, status: Status, message: str, chosen: tuple[str, ...]) -> Result:
        """The certificate is computed at the point that is returned, from recomputed images."""
        run = self.run
        last = run.state
        run.state = run.best if run.best is not None and status is not Status.OPTIMAL else run.state
        finite = math.isfinite(run.state.evaluation.value)
        if finite and self.judge.certified is not run.state:
            try:
                self.judge.certify()
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                finite, status, message = False, Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        if finite and status not in (Status.OPTIMAL, Status.NON_FINITE):
            status, message = self.judge.last_word(status, message)
        run.ended = status, message, self.tol
        returned = run.state
        if status not in FINAL:
            run.state = last  # a run ended by a limit resumes from its last state, not from its best one
        self._save()
        run.state = returned
        certificate, state = run.certificate if finite else None, run.state
        return Result(
            matrix=run.geometry.to_matrix(state.point),
            point=released(state.point),
            value=certificate.value if certificate is not None else state.evaluation.value,
            status=status,
            message=f"{message}; {self.unsaved}" if self.unsaved else message,
            certificate=certificate,
            iterations=run.iteration,
            seconds=time.perf_counter() - self.clock,
            history=run.history,
            counts=self._counts(),
            problem=name_of(self.problem),
            geometry=repr(run.geometry),
            method=name_of(self.method),
            chosen=chosen,
            tol=self.tol,
            state=state,
        )
