"""The loop behind solve(): one method for each rule, so that each can be read by itself."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping

import numpy as np

from psdopt.certificates.scales import natural_trace
from psdopt.contracts.abilities import Ability, name_of
from psdopt.contracts.method import Method, Outcome
from psdopt.contracts.problem import Problem
from psdopt.devices import released
from psdopt.errors import CheckpointError, DataFileError
from psdopt.linalg.arrays import Array, finite_value
from psdopt.linalg.deadline import now, unhurried, until
from psdopt.linalg.tolerances import MINOR
from psdopt.running.checkpoint import save_checkpoint
from psdopt.running.judge import Judge
from psdopt.running.patience import PATIENT_STEPS
from psdopt.running.result import Result, Status
from psdopt.running.run import NonFiniteStart, Rules, Run, Snapshot
from psdopt.running.stopping import Progress, Stopping
from psdopt.running.verdicts import (
    CUTS,
    FINAL,
    NO_PROGRESS,
    NOT_BEGUN,
    PROVEN,
    Conclusion,
    cut_by,
    in_short,
    proven_again,
    time_limit,
    unbounded,
    without_minimum,
)

#: Limits that end a run even right after it has moved to a better point.
BUDGETS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
#: Statuses that no certificate changes any more.
DECIDED = (Status.OPTIMAL, Status.NON_FINITE)
#: A run diverges once tr M exceeds its initial value by this factor: no choice of units explains so large a factor.
DIVERGED = 1e100


class Driver:
    """Runs `method` on `problem` from `run` under `rules`.

    `clock` : the reading of :func:`psdopt.linalg.deadline.now` at which the seconds of the run start. `before` : the
    problem's counts when solve() was called. `chosen` : what solve() chose, for the result.

    Ctrl-C, a lack of memory and the deadline may cut a run anywhere. The step or certificate that is cut is undone:
    `kept` is the run before it, and a resumed run continues from there as if there had been no cut. `word` : the
    verdict of the loop, once it is over.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        run: Run,
        rules: Rules,
        clock: float,
        before: Mapping[str, int],
        chosen: tuple[str, ...] = (),
    ) -> None:
        self.problem, self.method, self.run, self.rules = problem, method, run, rules
        self.tol, self.clock, self.chosen = rules.tol, clock, chosen
        self.descends = method.descends
        self.earlier = dict(run.counts)
        self.offset = {k: before.get(k, 0) - self.earlier.get(k, 0) for k in {**before, **self.earlier}}
        self.last_saved = now()
        self.unsaved = ""
        self.judge = Judge(problem, method, run, rules.tol, rules.proof, "method" not in chosen)
        self.calling = False
        self.kept = run.kept()
        self.word: Conclusion | None = None
        self.met: Stopping | None = None

    def loop(self, fresh: bool, dual: Array | None = None) -> Conclusion:
        """The verdict on the run; where it is `fresh`, its start is judged first, with the multipliers `dual`.

        Raises CheckpointError where a finished run is resumed with a problem of which its proof does not hold.
        """
        run = self.run
        ended = run.ended if run.ended is not None and run.ended[0] in FINAL and run.ended[2] <= self.tol else None
        if ended is not None and ended[0] not in PROVEN:
            self.judge.certified = run.state if run.certificate is not None else None
            return ended[:2]
        try:
            with unhurried():  # F may be the same at M in another problem, as at M = 0
                if ended is not None and proven_again(self.judge.certify(ended=True), ended[:2], self.tol):
                    return ended[:2]
            with until(self.clock + self.rules.limits.longest):
                return self._turns(fresh, dual)
        except tuple(CUTS) as cut:
            self._undo()
            return cut_by(cut, self.rules.limits.longest)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            # the value was finite, but the gradient is not; decompositions of NaN raise LinAlgError
            if self.calling:
                raise
            if isinstance(error, np.linalg.LinAlgError) and math.isfinite(run.state.gradient_norm):
                if not run.geometry.closed:
                    edge = f"the run has reached the boundary of {run.geometry!r}, where the formulas fail ({error})"
                    return Status.NO_PROGRESS, f"{Status.NO_PROGRESS.value}: {edge}"
                if not isinstance(error, FloatingPointError):
                    raise
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"

    def _turns(self, fresh: bool, dual: Array | None) -> Conclusion:
        """A verdict on each point and a step to the next, until the run is over."""
        run = self.run
        if fresh:
            self._record()
        self.kept = run.kept()
        known = None if dual is None or run.state.outcome is not Outcome.RUNNING else self.judge.of_start(dual)
        if known is not None:
            self.kept = run.kept()
            return known
        while True:
            verdict = self._verdict()
            if verdict is not None or run.judged == run.iteration:
                self.kept = run.kept()
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
            self.kept = run.kept()
            if now() - self.last_saved >= self.rules.checkpoint_seconds:
                self._save(run)
            if self._stopped():
                return Status.STOPPED, "stopped by the callback"

    def _undo(self) -> None:
        """Back to the last complete step or certificate; a certificate of that point is kept."""
        run, certificate = self.run, self.run.certificate
        run.restore(self.kept)
        if self.judge.certified is run.state:
            run.certificate = certificate

    def _stopped(self) -> bool:
        """Whether the callback asks to stop. Its errors reach the caller of solve(); a cut within it ends the run."""
        if self.rules.callback is None:
            return False
        run = self.run
        value, record = run.state.evaluation.value, run.history.records[-1]
        self.calling = True
        with unhurried():
            stop = self.rules.callback(Snapshot(run.iteration, run.seconds, value, record, run.state, run.history))
        stop = bool(stop)
        self.calling = False
        return stop

    def _verdict(self) -> Conclusion | None:
        run, state = self.run, self.run.state
        if not math.isfinite(state.evaluation.value) or isinstance(state, NonFiniteStart):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} (at the start)"
        grown = self._diverged()
        if grown or state.outcome is Outcome.UNBOUNDED:
            return unbounded(self.judge.certify(), run, self.problem, self.tol, grown)
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
        gap = self._proven_gap(stationarity)
        met = self.rules.limits.met(Progress(run.iteration, run.seconds, value, stationarity, step, run.values, gap))
        moved = state is not run.state
        if met is not None and gap <= self.rules.limits.awaited_gap:
            run.best = None  # the point whose gap is proven is returned
            if self.method.certified_steps:
                self.judge.ended = run.state  # a better bound would cost more than a step
        # a run that has just moved to a better point is stopped by its budgets only
        if met is not None and (not moved or met.status in BUDGETS):
            self.met = met
            return met.status, f"{met.reason()}"
        if not moved and self.descends and run.idle_steps >= PATIENT_STEPS:
            verdict = self.judge.verdict(stationarity, True)
            return verdict if verdict is not None or state is not run.state else NO_PROGRESS
        return None

    def _proven_gap(self, stationarity: float) -> float:
        """The proven gap over its unit, if a criterion waits for one and it is known at this point; else inf."""
        awaited = self.rules.limits.awaited_gap
        if awaited == 0.0:
            return math.inf
        if self.method.certified_steps:
            return self.judge.proven_gap(awaited, self.run.iteration > 0, math.inf)
        near = stationarity <= awaited or self.run.iteration >= PATIENT_STEPS
        return self.judge.proven_gap(awaited, near, now() - self.clock)

    def _diverged(self) -> bool:
        """Whether tr M has grown beyond any scale; where F rises further out, the first M was tiny, and growth counts
        from here on."""
        run, here = self.run, self.run.state.evaluation
        if not self.descends or run.iteration == 0 or run.first_trace == 0.0:
            return False
        if not here.size**2 > DIVERGED * run.first_trace:
            return False
        if here.value < finite_value(lambda: float(self.problem.at(2.0 * here.factor).value)) < math.inf:
            run.first_trace = here.size**2
            return False
        return True

    def _lacks_minimum(self) -> bool:
        """Whether F falls without end: tested for descending methods, whenever tr M has grown a thousandfold.

        Growth is relative to tr M at the start or to the natural trace of F, whichever is larger: a run may start at 0.
        """
        run, trace = self.run, self.run.state.evaluation.size**2
        if not self.descends or not MINOR * trace > max(run.first_trace, run.seen_trace):
            return False
        if run.geometry.trace is not None or Ability.CONSTRAINTS in self.problem.abilities:
            return False
        before = max(run.first_trace, run.seen_trace, natural_trace(self.problem))
        if not MINOR * trace > before > 0.0:
            return False
        run.seen_trace = trace
        return without_minimum(self.judge.certify(), run, self.problem, before)

    def _record(self) -> None:
        run = self.run
        run.seconds = now() - self.clock
        stationarity = run.record(self.problem, self.descends, self._counts())
        known = run.certificate
        self.rules.show(run.iteration, run.values[-1], stationarity, None if known is None else known.gap_relative)

    def _counts(self) -> dict[str, int]:
        return {**self.earlier, **{k: count - self.offset.get(k, 0) for k, count in self.problem.counts().items()}}

    def _keep_best(self) -> None:
        if self.descends or not self.method.ranks_by_value:
            return
        run = self.run
        if run.best is None or run.state.evaluation.value < run.best.evaluation.value:
            run.best = run.state

    def _save(self, run: Run) -> None:
        """Write `run` to the checkpoint, if the caller wants one."""
        if self.rules.checkpoint is None:
            return
        run.counts = self._counts()
        self.last_saved = now()
        try:
            save_checkpoint(self.rules.checkpoint, run, self.problem)
        except (DataFileError, CheckpointError, MemoryError) as error:  # such as a full disk; the run continues
            self.unsaved = f"the checkpoint was not written: {str(error) or type(error).__name__}"
            warnings.warn(f"{self.unsaved}; the run goes on", RuntimeWarning, stacklevel=2)
        else:
            self.unsaved = ""

    def cut_short(self, cut: Conclusion) -> Result:
        """The result if the cut came outside loop() and result(), or in an unguarded part of result()."""
        if self.word is None:
            self._undo()
        return self.result(*(self.word or cut))

    def result(self, status: Status, message: str) -> Result:
        """The certificate is computed at the point that is returned, from recomputed images.

        If a limit ended the run, this certificate is not part of its checkpoint, because an uninterrupted run would not
        compute it. A certificate that is cut becomes None, and the message says why.
        """
        run, settled, begun = self.run, status in FINAL, bool(self.run.history.records)
        if self.word is None and not settled:
            self.kept.history = run.history.copy()
        self.word = status, message
        ended_by = self.met or time_limit(status, self.rules.limits.longest)
        if run.best is not None and status is not Status.OPTIMAL:
            run.state = run.best
        try:
            with until(self.clock + self.rules.end):
                status, message = self._certified(status, message) if begun else (status, f"{message}; {NOT_BEGUN}")
        except tuple(CUTS) as cut:
            settled = False
            if self.judge.certified is not run.state:
                message = f"{message}; no certificate: {in_short(cut_by(cut)[0])}"
        if begun:
            self._save_last(run if settled else self.kept, (status, message, self.tol) if settled else None)
        state = run.state
        certificate = run.certificate if self.judge.certified is state else None
        known = state.evaluation.value if begun else math.nan
        return Result(
            matrix=run.geometry.to_matrix(state.point),
            point=released(state.point),
            value=known if certificate is None else certificate.value,
            status=status,
            message=f"{message}; {self.unsaved}" if self.unsaved else message,
            certificate=certificate,
            iterations=run.iteration,
            seconds=now() - self.clock,
            history=run.history,
            counts=self._counts(),
            problem=name_of(self.problem),
            geometry=repr(run.geometry),
            method=name_of(self.method),
            chosen=self.chosen,
            tol=self.tol,
            state=state,
            ended_by=ended_by,
            solved=self.problem,
        )

    def _certified(self, status: Status, message: str) -> Conclusion:
        """The verdict after the returned point is certified, if F is finite there."""
        if not math.isfinite(self.run.state.evaluation.value):
            return status, message
        if self.judge.certified is not self.run.state:
            try:
                self.judge.certify(ended=status not in DECIDED)
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        return (status, message) if status in DECIDED else self.judge.final_verdict(status, message)

    def _save_last(self, run: Run, ended: tuple[Status, str, float] | None) -> None:
        run.ended = ended
        try:
            self._save(run)
        except KeyboardInterrupt:
            self.unsaved = "the checkpoint was not written: interrupted"
