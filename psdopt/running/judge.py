"""When a certificate is computed, and what follows if it fails: a better point, more columns, or a smaller target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.certify import certify
from psdopt.certificates.constrained.costless import costless
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.scales import seems_solved
from psdopt.certificates.scales import reference_value
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability, name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, State
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.deadline import now
from psdopt.linalg.tolerances import MINOR, SLIGHT, tie
from psdopt.methods import LBFGS, TruncatedNewton
from psdopt.running.choose import choose
from psdopt.running.compatibility import fits
from psdopt.running.escape import CLEARLY, clearly_bound, rank_binds, widened
from psdopt.running.result import Status
from psdopt.running.run import Run
from psdopt.running.verdicts import (
    FINAL,
    Conclusion,
    blocked_by_geometry,
    nearer,
    proven_verdict,
    recovered,
    settled,
    whole_set,
    why_stationary,
    without_minimum,
)

#: The next certificate follows after this share of further steps (at least 10), however slowly stationarity falls.
LONGER = 0.25
#: Statuses of runs that might have gone on: their message says how far from min F they are at most.
LIMITS = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)
#: Methods to try where one of first order reached its limit of iterations, best first.
OTHERS: tuple[Method, ...] = (TruncatedNewton(), LBFGS())
#: A method that needs one of these of the problem is not of first order.
SECOND_ORDER = {Ability.HESSIAN, Ability.QUADRATIC_FIT}
Binds = Callable[[], bool]


def what_is_left(problem: Problem, geometry: Geometry, method: Method, given: bool) -> str:
    """What to try after a limit of iterations: another method that fits, or else a larger limit.

    After a method of first order the first of OTHERS that fits; after one of second order that the caller has `given`,
    the method that solve() would have chosen.
    """
    needs = method.requires.get("problem", ())
    used = {name for need in needs for name in ((need,) if isinstance(need, str) else need)}
    if Ability.CONSTRAINTS not in problem.abilities and not used & SECOND_ORDER:
        for other in OTHERS:
            if name_of(other) != name_of(method) and fits(problem, geometry, other):
                return f"{name_of(other)} may need fewer steps"
    elif given and used & SECOND_ORDER:
        own = choose(problem, geometry, None)[1]
        if name_of(own) != name_of(method) and fits(problem, geometry, own):
            return f"without method=, solve() takes {name_of(own)} here"
    return "pass a larger max_iterations or tol"


class Judge:
    """Computes certificates of a run and decides what follows; changes `run` if it continues from another point.

    `certified` : the state to which the current certificate of the run belongs; `ended` : the same, if all bounds were
    sought for it. `seconds` : the seconds that certificates have taken. `given` : whether the caller gave the method.
    """

    def __init__(
        self, problem: Problem, method: Method, run: Run, tol: float, proof: str = "full", given: bool = True
    ) -> None:
        self.problem, self.method, self.run, self.tol, self.proof = problem, method, run, tol, proof
        self.given = given
        self.certified: State | None = None
        self.ended: State | None = None
        self.seconds = 0.0

    def is_due(self, stationarity: float) -> bool:
        """Whether to compute a certificate: stationarity has reached its target, or the last certificate is old."""
        run = self.run
        if run.judged == run.iteration or run.escape.settles(run.iteration, stationarity):
            return False  # the same point is not judged twice, and new columns need steps first
        again = run.judged >= 0 and run.iteration >= run.judged + max(10.0, LONGER * run.judged)
        return stationarity <= (max(run.inner_tol, self.tol) if again else run.inner_tol)

    def verdict(self, stationarity: float, ended: bool) -> Conclusion | None:
        """The verdict on a (nearly) stationary point; None where the run continues, from here or from a better point.

        The questions, in this order: Is a final status proven? Does the failed certificate lead to a better point or to
        more columns? Does the weaker status hold, with no proof worth waiting for? Is the point stationary, so that no
        step of the method improves it? If every answer is no, the target for stationarity is lowered.
        `ended` : the method has no further step.
        """
        run = self.run
        run.judged = run.iteration
        if not ended and stationarity > run.escape.fine:
            self._look_for_columns(stationarity)
            return None
        certificate = self.certify()
        proven = proven_verdict(certificate, self.tol)
        if proven is not None:
            return proven
        binds = cache(self._rank_binds)
        early = run.escape.settles(run.iteration) or run.escape.waits(run.iteration, binds)
        movable = ended or not early
        if movable and self._moved(certificate, stationarity, ended, binds):
            return None
        finest = ended or run.inner_tol <= MINOR * certificate.target(self.tol)
        if run.patience.ends(certificate, run.iteration, self.tol) or finest:
            weaker = settled(certificate, self.tol)
            if weaker is not None:
                return weaker
        if movable and self._stationary(certificate, stationarity, finest, binds):
            return Status.STATIONARY, why_stationary(certificate, run, stationarity, self.tol)
        self._tighten(certificate, stationarity, ended)
        return None

    def of_start(self, y: Array) -> Conclusion | None:
        """The verdict on the start with the multipliers y (m,) of the caller; None where they prove nothing.

        A certificate is computed only where M and y have a small gap and violation.
        """
        state = self.run.state
        if not seems_solved(constrained_of(self.problem).shown, state.evaluation, y, self.tol):
            return None
        self.run.state = replace(state, dual=Multipliers(y))
        verdict = proven_verdict(self.certify(), self.tol)
        if verdict is None:
            self.run.state = state
        return verdict

    def certify(self, ended: bool = False, tol: float | None = None) -> Certificate:
        """The certificate of the current state. The run keeps it, and the best one so far with its state.

        Until the run has `ended`, bounds that would not prove `tol`, by default that of the run, are not sought.
        """
        run, tol = self.run, self.tol if tol is None else max(tol, self.tol)
        begun = now()
        known = run.certificate if self.certified is run.state else None
        start = None if run.certificate is None else run.certificate.eigenvector
        tried = math.inf if ended else run.patience.worth_trying
        proof = "needed" if self.proof == "full" and not ended else self.proof
        run.certificate = self._of_state(tol=tol, start=start, tried=tried, proof=proof, begun=known)
        run.patience.note(run.certificate, tol)
        self.certified, self.ended = run.state, run.state if ended or self.proof == "cheap" else None
        run.history.note("certificate", run.certificate.relative)
        self.seconds += now() - begun
        if run.nearest is None or nearer(run.certificate, run.nearest[1]):
            run.nearest = run.state, replace(run.certificate, _found=None)  # which holds images of the factor
        return run.certificate

    def _of_state(self, **options: Any) -> Certificate:
        # a new seed each time: the probabilistic bound on λ_min assumes an S that does not depend on the seed
        run, at = self.run, self.run.state
        given: dict[str, Any] = {"seed": run.iteration, "dual": at.dual, "geometry": run.geometry, **options}
        return certify(self.problem, at.evaluation, trace=run.geometry.trace, **given)

    def proven_gap(self, awaited: float, near: bool, elapsed: float) -> float:
        """The proven gap of the current point over its unit, inf if none is known.

        It comes from a new certificate at the tolerance `awaited`, if the point may be `near` enough, and if all
        certificates so far took at most a slight share of the `elapsed` seconds.
        """
        run = self.run
        if self.certified is not run.state and near and self.seconds <= SLIGHT * elapsed:
            self.certify(tol=awaited)
        certificate = run.certificate if self.certified is run.state else None
        if certificate is None or not certificate.convex or certificate.misses(self.tol):
            return math.inf
        return math.inf if certificate.gap_relative is None else certificate.gap_relative

    def final_verdict(self, status: Status, message: str) -> Conclusion:
        """The verdict after the returned point is certified.

        An earlier point of the run is returned if its certificate is clearly better, and M = 0 if F is lower there than
        where the method made no progress. A certificate that holds overrules the status with which the loop ended.
        """
        run = self.run
        known = run.certificate if self.certified is run.state else None
        enough = known is not None and (known.proves(self.tol) or self.ended is run.state)
        certificate = known if known is not None and enough else self.certify(ended=True)
        if run.nearest is not None and status in (Status.NO_PROGRESS, Status.UNBOUNDED, Status.DIVERGED):
            state, nearest = run.nearest
            if nearer(nearest, certificate, CLEARLY) and state.geometry == run.state.geometry:
                run.state, run.certificate, self.certified = state, nearest, state
                certificate = nearest
        if not certificate.proves(self.tol) and self._limit_taken(certificate) and run.certificate:
            certificate = run.certificate
        if status is Status.NO_PROGRESS and self._zero_allowed and self._above_zero(certificate):
            self._taken(np.zeros_like(run.state.evaluation.factor), run.state.dual, anyway=True)
            certificate = run.certificate or certificate
        if not math.isfinite(certificate.value):
            return Status.NON_FINITE, f"{Status.NON_FINITE.value} ({message})"
        final = settled(certificate, self.tol)
        if final is not None:
            reason = "" if status in FINAL else f" ({message})"
            return final[0], f"{final[1]}{reason}"
        if status is Status.NO_PROGRESS and without_minimum(certificate, run, self.problem, certificate.trace):
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        found = f"relative {certificate.proof} {certificate.relative:.2g}"
        if status is Status.NO_PROGRESS and certificate.convex:
            if certificate.residual < CLEARLY * certificate.relative:  # a weak bound hides small residuals
                found = f"{found}, relative residuals {certificate.residual:.2g}"
            return status, f"{message}; {found}"
        if status in LIMITS and certificate.convex:
            if certificate.gap_relative is not None:
                found = f"F(M) - min F is proven to be at most {certificate.gap_relative:.2g} of its unit"
            message = f"{message}; {found}" if certificate.relative < math.inf else message
        if status is Status.ITERATION_LIMIT:
            message = f"{message}; {what_is_left(self.problem, run.geometry, self.method, self.given)}"
        return status, message

    def better_at_zero(self) -> bool:
        """Whether M = 0 is certified optimal; tested once, after a step whose value is not below F(0).

        If M = 0 is optimal, the factor shrinks towards zero indefinitely, and no relative error becomes small.
        """
        run = self.run
        if run.zero_tried or run.iteration == 0 or run.geometry.trace is not None:
            return False
        run.zero_tried = Ability.CONSTRAINTS in self.problem.abilities and not constrained_of(self.problem).allows_zero
        at_zero = reference_value(self.problem, 0.0)
        if run.zero_tried or at_zero == math.inf or run.state.evaluation.value < at_zero - tie(at_zero, run.values[0]):
            return False
        if not self._zero_allowed:
            return False
        run.zero_tried = True
        return self._taken(np.zeros_like(run.state.evaluation.factor))

    @property
    def _zero_allowed(self) -> bool:
        """Whether the geometry holds M = 0."""
        return bool({Ability.STRAIGHT, Ability.PROJECTION} & self.run.geometry.abilities)

    def _above_zero(self, certificate: Certificate) -> bool:
        """Whether M = 0 is feasible and better than M, beyond rounding."""
        known = constrained_of(self.problem) if Ability.CONSTRAINTS in self.problem.abilities else None
        return certificate.above_zero if known is None else known.allows_zero and certificate.exceeds_zero

    def _taken(self, Y: Array, dual: Array | None = None, anyway: bool = False) -> bool:
        """Whether M = Y Yᵀ is certified optimal, with the variables `dual`; the run moves there then, or `anyway`."""
        run = self.run
        certificate = certify(self.problem, Y, tol=self.tol, seed=run.iteration, dual=dual)
        if not (anyway or certificate.proves(self.tol)):
            return False
        point, at = run.geometry.from_factor(Y), self.problem.at(Y)
        run.state = State(self.problem, run.geometry, point, at, gradient_norm=0.0, step=run.state.step)
        run.certificate, self.certified = certificate, run.state
        run.history.note("certificate", certificate.relative)
        return True

    def _limit_taken(self, certificate: Certificate) -> bool:
        """Whether a limit of iterates whose unit falls to zero with their gap is proven optimal under constraints; if
        so, the run moves there.

        The limits are M = 0, with the multipliers of the run, and the feasible M that cost nothing, with y = 0.
        """
        problem, run = self.problem, self.run
        if Ability.CONSTRAINTS not in problem.abilities or certificate.infeasible or certificate.gap is None:
            return False
        at_zero, here = reference_value(problem, 0.0), run.state.evaluation
        above = at_zero - certificate.value <= certificate.gap + tie(at_zero, run.values[0])
        if math.isfinite(at_zero) and above and self._taken(np.zeros_like(here.factor), run.state.dual):
            return True
        if certificate.dual_value is None:
            return False
        Y = costless(constrained_of(problem).shown, here, certificate.dual_value, self.tol)
        return Y is not None and self._taken(Y)

    def _moved(self, certificate: Certificate, stationarity: float, ended: bool, binds: Binds) -> bool:
        """Whether the run continues from a better point: after a step that refutes optimality, or with more columns."""
        run = self.run
        if (ended or run.iteration > 0) and recovered(self.problem, self.method, run, self.tol):
            return True
        kept = blocked_by_geometry(certificate, run.geometry, stationarity, self.tol)
        if kept or not certificate.convex:
            return False
        wanted = run.escape.wants(certificate, stationarity, self.tol, (lambda: True) if ended else binds)
        return wanted and self._widen(certificate, stationarity, spare=not binds())

    def _stationary(self, certificate: Certificate, stationarity: float, finest: bool, binds: Binds) -> bool:
        """Whether this is a first-order point that no further step of the method improves on."""
        geometry = self.run.geometry
        if stationarity > self.tol or certificate.misses(self.tol):
            return False
        if blocked_by_geometry(certificate, geometry, stationarity, self.tol):
            return True
        if certificate.convex and whole_set(geometry) and certificate.relative > self.tol:
            return False  # there a first-order point is optimal: the method has stalled
        # with a fixed trace, S Y = s Y at a stationary point; s exceeds the smallest eigenvalue if the rank binds
        if geometry.trace is None and certificate.stationarity_relative > self.tol:
            return False
        if Ability.CONSTRAINTS in self.problem.abilities and certificate.dual_infeasibility_relative <= self.tol:
            return not certificate.convex  # S ⪰ 0, so more columns would not help: only the proof is missing
        if not certificate.convex or finest:
            return True
        return clearly_bound(certificate, stationarity, self.tol) and binds()

    def _tighten(self, certificate: Certificate, stationarity: float, ended: bool) -> None:
        """Lower the target for stationarity by about the factor by which the certificate misses tol, at most by ten.

        It ends at a minor share of tol: if the certificate fails there, it is not for lack of stationarity.
        """
        run = self.run
        if not ended and stationarity <= run.inner_tol:
            target = certificate.target(self.tol)
            factor = min(max(1.5 * certificate.relative / target, 1.5), 1.0 / SLIGHT)
            run.inner_tol = max(run.inner_tol / factor, MINOR * target * 0.99)

    def _look_for_columns(self, stationarity: float) -> None:
        """More columns where the rank is far too small, by the least eigenvalues of S alone; else a lower target."""
        run, found = self.run, self._of_state(tol=stationarity, proof="coarse")
        run.history.note("certificate", found.relative)
        if found.convex and run.escape.wants(found, stationarity, self.tol, self._rank_binds):
            self._widen(found, stationarity, spare=False)
        else:
            run.inner_tol = max(SLIGHT * run.inner_tol, run.escape.fine)

    def _rank_binds(self) -> bool:
        """Whether all columns are in use, and more than before the last widening: else the method dropped some."""
        evaluation, before = self.run.state.evaluation, self.run.escape.columns
        return before < int(evaluation.factor.shape[1]) < self.problem.n and rank_binds(evaluation, self.tol)

    def _widen(self, certificate: Certificate, stationarity: float, spare: bool) -> bool:
        """Add columns along eigenvectors of the least eigenvalues of S; False if the rank limit leaves no room."""
        run, columns = self.run, self.run.state.evaluation.factor.shape[1]
        least, trace = certificate.smallest_eigenvalue, run.geometry.trace
        wider = widened(run.state.evaluation, run.escape.max_rank, least, trace=trace)
        if wider is None:
            return False
        geometry = run.geometry.with_rank(wider.factor.shape[1])
        if not run.go_on(self.method, geometry, geometry.from_factor(wider.factor), wider):
            return False
        run.escape.note(run.iteration, certificate, spare, columns, stationarity)
        run.history.note("widened_to", wider.factor.shape[1])
        return True
