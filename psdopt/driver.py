"""The loop behind solve(): one method for each rule, so that each can be read by itself."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from functools import cache

import numpy as np

from psdopt.capability import Ability, name_of
from psdopt.certificate import Certificate, certify
from psdopt.checkpoint import save_checkpoint
from psdopt.errors import CheckpointError, DataFileError
from psdopt.escape import explained, rank_binds, widened
from psdopt.linalg.tolerances import tie
from psdopt.method import Method, Outcome, State
from psdopt.problem import Problem
from psdopt.result import Result, Status
from psdopt.run import NonFiniteStart, Rules, Run, Snapshot
from psdopt.stopping import Progress

#: While the certificate fails although the rank does not bind, stationarity is tightened to tol · this.
FINEST = 1e-3
#: A certificate that fails by the factor m is asked again at a stationarity smaller by 1.5 m, at most by this.
STRICTEST = 10.0
#: It is also asked again once the run is longer by this share (and 10 steps), however slowly stationarity falls.
LONGER = 0.25
#: Steps after a widening before the certificate is asked again: new columns are short at first, so that stationarity is
#: as small as before, and the method's memory is that of a fresh start.
SETTLING = 10
#: Where columns of the last widening are hardly in use and more than this share of the infeasibility is left, they need
#: time, not company: each widening takes the method's memory away, so the next one waits twice as long. The certificate
#: does not wait: it may hold meanwhile.
STUCK = 0.5
#: A dual infeasibility this many times above tolerance and stationarity asks for more columns,
CLEARLY_OFF = 3.0
#: and one this many times above them is the rank's doing for certain.
FAR_OFF = 100.0
#: Consecutive steps without a decrease above rounding that count as no progress.
CALM_STEPS = 20
#: tr M beyond this multiple of its start is divergence: along a ray of unboundedness M grows geometrically,
#: so this is reached within a few hundred steps, and no units of data reach it otherwise.
DIVERGED = 1e100


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
                if self.rules.callback is not None and self.rules.callback(self._snapshot()):
                    return Status.STOPPED, "stopped by the callback"
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            # a finite value whose gradient is not; decompositions of NaN raise errors of their own
            if isinstance(error, np.linalg.LinAlgError) and math.isfinite(run.state.gradient_norm):
                if run.geometry.closed:
                    raise
                edge = f"the run has come to the edge of {run.geometry!r}, where its formulas break down ({error})"
                return Status.NO_PROGRESS, f"{Status.NO_PROGRESS.value}: {edge}"
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
        except KeyboardInterrupt:
            return Status.INTERRUPTED, Status.INTERRUPTED.value

    def _verdict(self) -> tuple[Status, str] | None:
        run, state = self.run, self.run.state
        if not math.isfinite(state.evaluation.value) or isinstance(state, NonFiniteStart):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} (at the start)"
        if state.outcome is Outcome.UNBOUNDED or self._diverged():
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        if state.outcome is Outcome.DIVERGED:
            return Status.DIVERGED, Status.DIVERGED.value
        if self._better_at_zero():
            return Status.OPTIMAL, f"{Status.OPTIMAL.value}: M = 0"
        stationarity = run.history.records[-1]["stationarity"]
        ended = state.outcome in (Outcome.STALLED, Outcome.FINISHED)
        if ended or self._is_due(stationarity):
            verdict = self._judge(stationarity, ended)
            if verdict is not None or ended:
                return verdict or (Status.NO_PROGRESS, Status.NO_PROGRESS.value)
            if state is not run.state:
                return None
        met = self.rules.limits.met(self._progress(stationarity))
        if met is not None:
            return met.status, f"{met.reason()}"
        if self.method.descends and run.calm >= CALM_STEPS:
            verdict = self._judge(stationarity, True)
            return verdict or (Status.NO_PROGRESS, Status.NO_PROGRESS.value)
        return None

    def _is_due(self, stationarity: float) -> bool:
        """Whether the certificate is to be asked: at the stationarity aimed at, or when it may hold by now."""
        run = self.run
        if run.judged == run.iteration:
            return False  # after a resume: the same point is not judged twice
        if run.iteration < run.widened + min(run.settling, SETTLING):
            return False
        again = run.judged >= 0 and run.iteration >= run.judged + max(10.0, LONGER * run.judged)
        return stationarity <= (max(run.inner_tol, self.tol) if again else run.inner_tol)

    def _judge(self, stationarity: float, ended: bool) -> tuple[Status, str] | None:
        """Ask the certificate at a (nearly) stationary point; go on, escape, or call it a day."""
        run = self.run
        run.judged = run.iteration
        certificate = self._certify()
        if certificate.proves(self.tol):
            return Status.OPTIMAL, Status.OPTIMAL.value
        if certificate.infeasible:
            return Status.INFEASIBLE, Status.INFEASIBLE.value
        if certificate.unbounded:
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        geometry, own = run.geometry, stationarity <= self.tol
        if geometry.restricted and certificate.stationarity_relative > 2.0 * max(self.tol, stationarity):
            # what is left of S Y lies where the geometry cannot move
            kept = f"keeps {geometry.invariant}" if geometry.invariant else "allows no move that decreases F"
            message = f"{Status.STATIONARY.value}; {geometry!r} {kept}"
            return (Status.STATIONARY, message) if own else self._tighten(certificate, stationarity, ended)
        # with a fixed trace S Y = s Y at a stationary point, with s above the smallest eigenvalue where the rank binds
        free = geometry.trace is None
        stationary = own and (not free or certificate.stationarity_relative <= self.tol)
        if not certificate.convex:
            if stationary:
                return Status.STATIONARY, f"{Status.STATIONARY.value}; F is not known to be convex"
            return self._tighten(certificate, stationarity, ended)
        infeasible = certificate.dual_infeasibility_relative if free else certificate.relative
        binds = cache(self._rank_binds)
        waits = run.iteration < run.widened + run.settling and not ended and not binds()
        if self.rules.escape and free and infeasible > max(self.tol, certificate.stationarity_relative) and not waits:
            # columns to spare that are still on their way out, or in, need steps and no company
            needed = ended or infeasible > CLEARLY_OFF * max(self.tol, stationarity) or binds()
            if needed and self._widen(certificate, spare=not binds()):
                return None
        far_off = infeasible > FAR_OFF * max(self.tol, stationarity)
        if stationary and (ended or (far_off and binds()) or run.inner_tol <= FINEST * self.tol) and not waits:
            return Status.STATIONARY, explained(certificate, self._columns(), self.problem.n)
        return self._tighten(certificate, stationarity, ended)

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
        wider = widened(run.state.evaluation, self.rules.max_rank, certificate.smallest_eigenvalue)
        if wider is None:
            return False
        run.geometry = run.geometry.with_rank(wider.factor.shape[1])
        point = run.geometry.from_factor(wider.factor)
        run.state = self.method.widened(run.state, run.geometry, point, wider)
        run.calm, run.best_stationarity = 0, math.inf
        infeasible = certificate.dual_infeasibility_relative
        stuck = spare and infeasible > STUCK * run.missed
        run.settling = 2 * run.settling if stuck else SETTLING
        run.missed, run.widened = infeasible, run.iteration
        run.history.records[-1]["widened_to"] = float(wider.factor.shape[1])
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
            dual=getattr(run.state, "dual", None),
        )
        self.certified = run.state
        run.history.records[-1]["certificate"] = run.certificate.relative
        return run.certificate

    def _better_at_zero(self) -> bool:
        """Whether M = 0 is certified optimal; asked once, when a step has led no lower than F(0).

        There the factor shrinks towards zero for ever, and no relative measure of it becomes small.
        """
        run, state = self.run, self.run.state
        at_zero = self.problem.value_at_zero()
        slack = tie(at_zero, run.values[0])
        excluded = run.zero_tried or run.iteration == 0 or Ability.STRAIGHT not in run.geometry.abilities
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
        run.history.records[-1]["certificate"] = certificate.relative
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
        if self.rules.checkpoint is not None:
            self._save()
        state = run.best if run.best is not None and status is not Status.OPTIMAL else run.state
        finite = math.isfinite(state.evaluation.value)
        if finite and self.certified is not state:
            run.state = state
            try:
                certified = self._certify().proves(self.tol)
            except FloatingPointError as error:
                finite, certified = False, False
                status, message = Status.NON_FINITE, f"{Status.NON_FINITE.value} ({error})"
            if certified and status not in (Status.UNBOUNDED, Status.NON_FINITE):
                status, message = Status.OPTIMAL, f"{Status.OPTIMAL.value} ({message})"
        certificate = run.certificate if finite else None
        matrix = run.geometry.to_matrix(state.point)
        return Result(
            matrix=matrix,
            point=state.point,
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
