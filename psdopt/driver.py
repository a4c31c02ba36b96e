"""The loop behind solve(): one method for each rule, so that each can be read by itself."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from psdopt.capability import Ability, name_of
from psdopt.certificate import Certificate, certify
from psdopt.checkpoint import save_checkpoint
from psdopt.devices import released
from psdopt.errors import CheckpointError, DataFileError
from psdopt.escape import clearly_bound, rank_binds, widened
from psdopt.linalg.tolerances import tie
from psdopt.method import Method, Outcome, State
from psdopt.problem import Problem
from psdopt.result import Result, Status
from psdopt.run import NonFiniteStart, Rules, Run, Snapshot
from psdopt.stopping import Progress
from psdopt.units import reference_value
from psdopt.verdicts import NO_PROGRESS, kept_back, recovered, settled, unbounded, why_stationary

#: While the certificate fails although the rank does not bind, stationarity is tightened to tol · this.
FINEST = 1e-3
#: A certificate that fails by the factor m is asked again at a stationarity smaller by 1.5 m, at most by this.
STRICTEST = 10.0
#: It is also asked again once the run is longer by this share (and 10 steps), however slowly stationarity falls.
LONGER = 0.25
#: Consecutive steps without a decrease above rounding that count as no progress.
IDLE_STEPS = 20
#: tr M beyond this multiple of its start is divergence: no units of data reach it otherwise.
DIVERGED = 1e100
#: Another point's certificate must be this much better for the point to be returned in the place of the last one.
CLEARLY_BETTER = 0.5
#: Verdicts that a resumed run does not go on from.
FINAL = frozenset({
    Status.OPTIMAL, Status.OPTIMAL_WITHIN, Status.STATIONARY, Status.NO_PROGRESS, Status.UNBOUNDED, Status.DIVERGED,
})  # fmt: skip
Binds = Callable[[], bool]


class Driver:
    """Runs `method` on `problem` from `run` under `rules`.

    `clock` is the reading of ``time.perf_counter`` from which seconds count, `before` the problem's counts
    when solve() was entered.
    """

    def __init__(
        self, problem: Problem, method: Method, run: Run, rules: Rules, clock: float, before: Mapping[str, int]
    ) -> None:
        self.problem, self.method, self.run, self.rules = problem, method, run, rules
        self.tol, self.clock, self.before = rules.tol, clock, dict(before)
        self.earlier = dict(run.counts)
        self.last_saved = time.perf_counter()
        self.unsaved = ""
        self.certified: State | None = None
        self.calling = False

    def loop(self, fresh: bool) -> tuple[Status, str]:
        run = self.run
        if run.ended is not None and run.ended[0] in FINAL and run.ended[2] <= self.tol:
            self.certified = run.state if run.certificate is not None else None
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
                self._save_if_due()
                if self._stopped():
                    return Status.STOPPED, "stopped by the callback"
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            # a finite value whose gradient is not; decompositions of NaN raise errors of their own
            if self.calling:
                raise
            if isinstance(error, np.linalg.LinAlgError) and math.isfinite(run.state.gradient_norm):
                if run.geometry.closed:
                    raise
                edge = f"the run has come to the edge of {run.geometry!r}, where its formulas break down ({error})"
                return Status.NO_PROGRESS, f"{Status.NO_PROGRESS.value}: {edge}"
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        except KeyboardInterrupt:
            return Status.INTERRUPTED, Status.INTERRUPTED.value

    def _stopped(self) -> bool:
        """Whether the callback says stop. Its exceptions are its caller's; only Ctrl-C within it ends the run."""
        if self.rules.callback is None:
            return False
        self.calling = True
        stop = bool(self.rules.callback(self._snapshot()))
        self.calling = False
        return stop

    def _verdict(self) -> tuple[Status, str] | None:
        run, state = self.run, self.run.state
        if not math.isfinite(state.evaluation.value) or isinstance(state, NonFiniteStart):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} (at the start)"
        if state.outcome is Outcome.UNBOUNDED or self._diverged():
            return unbounded(self._certify(), run, self.problem, self.tol, grown=self._diverged())
        if state.outcome is Outcome.DIVERGED:
            return Status.DIVERGED, Status.DIVERGED.value
        if self._better_at_zero():
            return Status.OPTIMAL, f"{Status.OPTIMAL.value}: M = 0"
        stationarity = run.history.records[-1]["stationarity"]
        ended = state.outcome in (Outcome.STALLED, Outcome.FINISHED)
        if ended or self._is_due(stationarity):
            verdict = self._judge(stationarity, ended)
            if verdict is not None or state is not run.state:
                return verdict
            if ended:
                return NO_PROGRESS
        met = self.rules.limits.met(self._progress(stationarity))
        if met is not None:
            return met.status, f"{met.reason()}"
        if self.method.descends and run.idle_steps >= IDLE_STEPS:
            verdict = self._judge(stationarity, True)
            return verdict if verdict is not None or state is not run.state else NO_PROGRESS
        return None

    def _is_due(self, stationarity: float) -> bool:
        """Whether the certificate is to be asked: at the stationarity aimed at, or when it may hold by now."""
        run = self.run
        if run.judged == run.iteration or run.escape.settles(run.iteration):
            return False  # the same point is not judged twice, and new columns need steps first
        again = run.judged >= 0 and run.iteration >= run.judged + max(10.0, LONGER * run.judged)
        return stationarity <= (max(run.inner_tol, self.tol) if again else run.inner_tol)

    def _judge(self, stationarity: float, ended: bool) -> tuple[Status, str] | None:
        """Ask the certificate at a (nearly) stationary point; go on, step where it fails, or call it a day."""
        run = self.run
        run.judged = run.iteration
        certificate = self._certify()
        if certificate.proves(self.tol):
            return settled(certificate, self.tol)
        if certificate.infeasible:
            return Status.INFEASIBLE, Status.INFEASIBLE.value
        if certificate.unbounded:
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        binds = cache(self._rank_binds)
        waits = run.escape.waits(run.iteration, binds) and not ended
        if not waits and (ended or run.iteration > 0) and recovered(self.problem, self.method, run, self.tol):
            return None
        if not waits and self._escaped(certificate, stationarity, ended, binds):
            return None
        finest = ended or run.inner_tol <= FINEST * self.tol
        enough = run.patience.ends(certificate, run.iteration, self.tol)
        if (finest or enough) and certificate.holds_within(self.tol):
            return settled(certificate, self.tol)
        if not waits and self._stationary(certificate, stationarity, finest, binds):
            return Status.STATIONARY, why_stationary(certificate, run, stationarity, self.tol)
        return self._tighten(certificate, stationarity, ended)

    def _stationary(self, certificate: Certificate, stationarity: float, finest: bool, binds: Binds) -> bool:
        """Whether this is a first-order point that no further step of the method improves on."""
        geometry = self.run.geometry
        if stationarity > self.tol:
            return False
        if kept_back(certificate, geometry, stationarity, self.tol):
            return True
        # with a fixed trace S Y = s Y at a stationary point, with s above the smallest eigenvalue where the rank binds
        if geometry.trace is None and certificate.stationarity_relative > self.tol:
            return False
        if not certificate.convex or finest:
            return True
        return clearly_bound(certificate, stationarity, self.tol) and binds()

    def _escaped(self, certificate: Certificate, stationarity: float, ended: bool, binds: Binds) -> bool:
        """Add columns where the rank is what the certificate fails by."""
        run = self.run
        free = run.geometry.trace is None
        kept = kept_back(certificate, run.geometry, stationarity, self.tol)
        if kept or not free or not certificate.convex:
            return False
        wanted = run.escape.wants(certificate, stationarity, self.tol, (lambda: True) if ended else binds)
        return wanted and self._widen(certificate, spare=not binds())

    def _tighten(self, certificate: Certificate, stationarity: float, ended: bool) -> tuple[Status, str] | None:
        """Aim at a stationarity smaller by about as much as the certificate misses."""
        run = self.run
        if not ended and stationarity <= run.inner_tol:
            factor = min(max(1.5 * certificate.relative / self.tol, 1.5), STRICTEST)
            run.inner_tol = max(run.inner_tol / factor, FINEST * self.tol * 0.99)
        return None

    def _rank_binds(self) -> bool:
        evaluation = self.run.state.evaluation
        return self._columns() < self.problem.n and rank_binds(evaluation, self.tol)

    def _columns(self) -> int:
        return int(self.run.state.evaluation.factor.shape[1])

    def _widen(self, certificate: Certificate, spare: bool) -> bool:
        run = self.run
        wider = widened(run.state.evaluation, run.escape.max_rank, certificate.smallest_eigenvalue)
        if wider is None:
            return False
        run.geometry = run.geometry.with_rank(wider.factor.shape[1])
        point = run.geometry.from_factor(wider.factor)
        run.state = self.method.widened(run.state, run.geometry, point, wider)
        run.idle_steps, run.best_stationarity = 0, math.inf
        run.escape.note(run.iteration, certificate, spare)
        self._note("widened_to", wider.factor.shape[1])
        return True

    def _certify(self) -> Certificate:
        run = self.run
        start = None if run.certificate is None else run.certificate.eigenvector
        # a fresh seed each time: the bound on λ_min holds for an S chosen without knowledge of the seed
        run.certificate = certify(
            self.problem,
            run.state.evaluation,
            tol=self.tol,
            trace=run.geometry.trace,
            start=start,
            seed=run.iteration,
            dual=run.state.dual,
            geometry=run.geometry,
        )
        self.certified = run.state
        self._note("certificate", run.certificate.relative)
        if run.nearest is None or run.certificate.relative < run.nearest[1].relative:
            run.nearest = run.state, run.certificate
        return run.certificate

    def _note(self, column: str, number: float) -> None:
        if self.run.history.records:
            self.run.history.records[-1][column] = float(number)

    def _better_at_zero(self) -> bool:
        """Whether M = 0 is certified optimal; asked once, when a step has led no lower than F(0).

        There the factor shrinks towards zero for ever, and no relative measure of it becomes small.
        """
        run, state = self.run, self.run.state
        at_zero = reference_value(self.problem, 0.0)
        slack = tie(at_zero, run.values[0])
        excluded = (
            not math.isfinite(at_zero)
            or run.zero_tried
            or run.iteration == 0
            or Ability.STRAIGHT not in run.geometry.abilities
        )
        if excluded or run.geometry.trace is not None or state.evaluation.value < at_zero - slack:
            return False
        run.zero_tried = True
        zero = np.zeros_like(state.evaluation.factor)
        certificate = certify(self.problem, zero, tol=self.tol, seed=run.iteration)
        if not certificate.proves(self.tol):
            return False
        run.state = State(
            self.problem, run.geometry, run.geometry.from_factor(zero), self.problem.at(zero), 0.0, state.step
        )
        run.certificate, self.certified = certificate, run.state
        self._note("certificate", certificate.relative)
        return True

    def _diverged(self) -> bool:
        run = self.run
        if not self.method.descends or run.iteration == 0 or run.first_trace == 0.0:
            return False
        return run.state.evaluation.size**2 > DIVERGED * run.first_trace

    def _record(self) -> None:
        run = self.run
        run.seconds = time.perf_counter() - self.clock
        stationarity = run.record(self.problem, self.method.descends, self._counts())
        if self.rules.bar is not None:
            self.rules.bar.show(run.iteration, run.values[-1], stationarity)

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
        if self.rules.checkpoint is not None and time.perf_counter() - self.last_saved >= self.rules.checkpoint_seconds:
            self._save()

    def _save(self) -> None:
        assert self.rules.checkpoint is not None
        self.run.counts = self._counts()
        self.last_saved = time.perf_counter()
        try:
            save_checkpoint(self.rules.checkpoint, self.run, self.problem)
        except (DataFileError, CheckpointError) as error:  # a full disk, say: the run is worth more than its checkpoint
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
        if finite and self.certified is not run.state:
            try:
                self._certify()
            except (FloatingPointError, np.linalg.LinAlgError) as error:
                finite, status, message = False, Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        if finite and status not in (Status.OPTIMAL, Status.NON_FINITE):
            status, message = self._last_word(status, message)
        run.ended = status, message, self.tol
        if self.rules.checkpoint is not None:
            returned = run.state
            if status not in FINAL:
                run.state = last  # a run that was cut goes on from where it was, not from its best point
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

    def _last_word(self, status: Status, message: str) -> tuple[Status, str]:
        """Status and message once the returned point is certified: the nearest point passed on the way is taken where
        its certificate is clearly better, and a certificate that holds overrules what the loop ended with."""
        run, certificate = self.run, self.run.certificate
        assert certificate is not None
        if run.nearest is not None and status in (Status.NO_PROGRESS, Status.UNBOUNDED, Status.DIVERGED):
            state, nearest = run.nearest
            if nearest.relative < CLEARLY_BETTER * certificate.relative and state.geometry == run.state.geometry:
                run.state, run.certificate, self.certified = state, nearest, state
                certificate = nearest
        final = settled(certificate, self.tol)
        if final is not None:
            reason = "" if status in FINAL else f" ({message})"
            return final[0], f"{final[1]}{reason}"
        if status is Status.NO_PROGRESS and certificate.convex:
            return status, f"{message}; relative {certificate.proof} {certificate.relative:.2g}"
        return status, message
