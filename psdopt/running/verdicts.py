"""Verdicts on a run: the status that a certificate supports, and the step taken if a certificate refutes optimality."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from psdopt.certificates.bounds import falls_without_end, plane_minimum
from psdopt.certificates.certificate import Certificate
from psdopt.certificates.scales import natural_trace
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.errors import CheckpointError
from psdopt.linalg.arrays import norm
from psdopt.linalg.deadline import OutOfTime
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import MINOR
from psdopt.running.escape import explained
from psdopt.running.result import Status
from psdopt.running.run import Run
from psdopt.running.stopping import MaxTime

Conclusion = tuple[Status, str]
NO_PROGRESS: Conclusion = (Status.NO_PROGRESS, Status.NO_PROGRESS.value)
#: Statuses after which a resumed run does not continue.
FINAL = frozenset(
    {
        Status.OPTIMAL,
        Status.OPTIMAL_WITHIN,
        Status.STATIONARY,
        Status.NO_PROGRESS,
        Status.UNBOUNDED,
        Status.DIVERGED,
        Status.INFEASIBLE,
    }
)
#: Of these, what certificates prove.
PROVEN = frozenset({Status.OPTIMAL, Status.OPTIMAL_WITHIN, Status.INFEASIBLE})
#: Exceptions that may cut a run at any point, and the resulting status.
CUTS: Mapping[type[BaseException], Status] = {
    KeyboardInterrupt: Status.INTERRUPTED,
    MemoryError: Status.OUT_OF_MEMORY,
    OutOfTime: Status.TIME_LIMIT,
}
#: Part of the message about a run that was cut before its first record.
NOT_BEGUN = "F at the start is not known"


def cut_by(error: BaseException, seconds: float = math.inf) -> Conclusion:
    """The verdict on a run that one of CUTS has ended; `seconds` is the run's own time limit."""
    status = next(status for kind, status in CUTS.items() if isinstance(error, kind))
    limit = time_limit(status, seconds)
    if limit is not None:
        return status, limit.reason()
    return status, f"{status.value} ({error})" if str(error) else status.value


def time_limit(status: Status, seconds: float) -> MaxTime | None:
    """The run's own limit, `seconds`, if it has one and that is the reason for the cut."""
    return MaxTime(seconds) if status is Status.TIME_LIMIT and seconds < math.inf else None


def in_short(status: Status) -> str:
    """The reason for the cut, without its consequences."""
    return status.value.partition(";")[0]


def settled(certificate: Certificate, tol: float) -> Conclusion | None:
    """The verdict of a certificate that holds, on the whole set or up to a trace; None if it does not hold."""
    if certificate.proves(tol):
        return Status.OPTIMAL, f"{Status.OPTIMAL.value} (tol = {tol:g})"
    if certificate.holds_within(tol):
        reach, trace = certificate.reach(tol), certificate.trace
        words = f"tol = {tol:g}, traces up to {reach:.3g}; tr M is {trace:.3g}"
        return Status.OPTIMAL_WITHIN, f"{Status.OPTIMAL_WITHIN.value} ({words})"
    return None


def proven_verdict(certificate: Certificate, tol: float) -> Conclusion | None:
    """What is proven of F on its whole set: a minimum, that nothing is feasible, or that F is unbounded; else None."""
    if certificate.proves(tol):
        return settled(certificate, tol)
    if certificate.infeasible:
        return Status.INFEASIBLE, Status.INFEASIBLE.value
    if certificate.unbounded:
        return Status.UNBOUNDED, Status.UNBOUNDED.value
    return None


def proven_again(certificate: Certificate, verdict: Conclusion, tol: float) -> bool:
    """Whether a new certificate of its point proves the `verdict` of an earlier run, or more.

    CheckpointError where it does not to twice `tol` either: on another processor a proof that was just good enough may
    fail by its rounding, and the run then goes on.
    """

    def proves(tol: float) -> bool:
        found = proven_verdict(certificate, tol) or settled(certificate, tol) or NO_PROGRESS
        return found[0] is verdict[0] or (found[0], verdict[0]) == (Status.OPTIMAL, Status.OPTIMAL_WITHIN)

    if not proves(2.0 * tol):
        raise CheckpointError(
            f"the run was resumed with another problem: of its point, F = {certificate.value:.10g} here, "
            f"{verdict[0].label!r} is not proven. Begin anew, for example with start=result.matrix"
        )
    return proves(tol)


def unbounded(certificate: Certificate, run: Run, problem: Problem, tol: float, grown: bool) -> Conclusion:
    """The verdict if a method reports a ray along which F falls without bound, or if tr M has `grown` beyond any scale.

    A certificate that holds overrules the method. Otherwise the report is verified: F is evaluated along the ray of the
    state, along M, and along the least eigenvector of S. If tr M has grown, F must have fallen in proportion, by more
    than a minor share of −λ_min(S) per unit of trace. Under constraints a ray of the certificate is required in both
    cases.
    """
    final = settled(certificate, tol)
    if final is not None:
        return final
    bounded = _bounded(certificate)
    if bounded and (grown or certificate.dual_infeasibility == 0.0):
        return NO_PROGRESS  # the ray is a rounding effect
    if Ability.CONSTRAINTS in problem.abilities and not certificate.unbounded:
        return (Status.DIVERGED, Status.DIVERGED.value) if grown else NO_PROGRESS
    if grown and not certificate.unbounded:
        fallen = run.values[0] - certificate.value
        if fallen >= MINOR * certificate.trace * certificate.omega > 0.0:
            return Status.UNBOUNDED, Status.UNBOUNDED.value
        return Status.DIVERGED, Status.DIVERGED.value
    if certificate.unbounded or (not bounded and _verified_ray(certificate, run, problem)):
        return Status.UNBOUNDED, Status.UNBOUNDED.value
    return (
        Status.NO_PROGRESS,
        f"{Status.NO_PROGRESS.value}; the method reported a ray along which F falls, but evaluation did not confirm it",
    )


def _bounded(certificate: Certificate) -> bool:
    """Whether F is convex with a proven bound: S ⪰ 0, so that F(N) >= F(M) − ⟨S, M⟩ for all N, or any other gap.

    A gap of many units counts if no multipliers prove it: at a trace of 1e60 theirs may be what rounding leaves.
    """
    gap = math.inf if certificate.gap_relative is None else certificate.gap_relative
    near = gap < math.inf if certificate.dual_value is None else gap <= 1.0
    return certificate.convex and (certificate.dual_infeasibility == 0.0 or near)


def without_minimum(certificate: Certificate, run: Run, problem: Problem, before: float) -> bool:
    """Whether F falls without end along M or the least eigenvector of S, as evaluation far out shows.

    Rays start at M and at the multiple of M whose trace is the larger of `before` and the natural trace of F. A ray
    from a much smaller matrix would only show the slope at M = 0. A ray from a matrix 1e16 times as large may show a
    curvature that is only rounding. False if the certificate settles the run, if a bound of a convex F is proven, at a
    fixed trace, and under constraints. Cost: F at three points of each ray.
    """
    if _bounded(certificate) or settled(certificate, run.inner_tol):
        return False
    if run.geometry.trace is not None or Ability.CONSTRAINTS in problem.abilities:
        return False
    Y = run.state.evaluation.factor
    least, trace = max(before, natural_trace(problem)), norm(Y) ** 2
    if not (0.0 < least < math.inf and trace > 0.0):
        return False
    if trace >= least and _verified_ray(certificate, run, problem):
        return True
    return falls_without_end(problem, Y * math.sqrt(least / trace), Y)


def _verified_ray(certificate: Certificate, run: Run, problem: Problem) -> bool:
    """Whether F falls without end along a ray of the state, or else along M or an atom of the least eigenvector."""
    if Ability.CONSTRAINTS in problem.abilities:
        return False
    Y = run.state.evaluation.factor
    atom = np.column_stack([np.zeros_like(Y), certificate.eigenvector])
    rays = [ray for ray in (run.state.ray, Y, atom) if ray is not None]
    return any(falls_without_end(problem, Y, ray) for ray in rays)


def blocked_by_geometry(certificate: Certificate, geometry: Geometry, stationarity: float, tol: float) -> bool:
    """Whether the remaining gradient S Y is normal to the set, so that the geometry cannot move along it."""
    return geometry.restricted and certificate.stationarity_relative > 2.0 * max(tol, stationarity)


def nearer(certificate: Certificate, other: Certificate, share: float = 1.0) -> bool:
    """Whether `certificate` proves less than this `share` of the error of `other`, a certificate of the same run.

    Gaps are compared where both are proven: the units by which they become relative differ from point to point.
    """
    if certificate.gap is None or other.gap is None or certificate.constraints is not None:
        return certificate.relative < share * other.relative
    return certificate.gap < share * other.gap


def whole_set(geometry: Geometry) -> bool:
    """Whether the points of the geometry are all matrices of its set, whatever their rank."""
    return not (geometry.restricted or geometry.can_grow or Ability.FACTOR in geometry.abilities)


def why_stationary(certificate: Certificate, run: Run, stationarity: float, tol: float) -> str:
    """The message for a first-order point that is not certified optimal."""
    geometry, factor = run.geometry, run.state.evaluation.factor
    if blocked_by_geometry(certificate, geometry, stationarity, tol):
        kept = f"keeps {geometry.invariant}" if geometry.invariant else "allows no move that decreases F"
        return f"{Status.STATIONARY.value}; {geometry!r} {kept}"
    if certificate.negative_curvature < 0.0:
        found = f"its curvature along a segment of the cone is {certificate.negative_curvature:.3g}"
        return f"{Status.STATIONARY.value}; F is not convex: {found}"
    if not certificate.convex:
        return f"{Status.STATIONARY.value}; F is not known to be convex"
    n, columns = factor.shape
    return explained(certificate, columns, n, not whole_set(geometry), tol)


def recovered(problem: Problem, method: Method, run: Run, tol: float) -> bool:
    """Take the step by which the certificate refutes a (nearly) stationary point, if the geometry has room for it.

    The run continues from the new point as after a widening. If there is no such step, nothing changes: False.
    """
    certificate = run.certificate
    if certificate is None or certificate.descent is None or run.recoveries >= MOST_STEPS:
        return False
    if not certificate.decrease > tol * certificate.unit:
        return False
    better = plane_minimum(run.state.evaluation.refresh(), certificate.descent)
    if better is None:
        return False
    geometry = _with_room(run, better.factor.shape[1], problem.n)
    if geometry is None:
        return False
    point = geometry.from_factor(better.factor)
    evaluation = problem.at(geometry.factor(point))
    if not evaluation.value < run.state.evaluation.value:
        return False
    run.recoveries += 1
    return run.go_on(method, geometry, point, evaluation)


def _with_room(run: Run, columns: int, n: int) -> Geometry | None:
    """The geometry of the run for factors with this many columns; None if the caller limits the rank to fewer."""
    geometry, abilities = run.geometry, run.geometry.abilities
    if Ability.FACTOR in abilities and Ability.STRAIGHT in abilities:
        if run.state.evaluation.factor.shape[1] >= n:
            return geometry
        return geometry.with_rank(columns) if run.escape.allowed and columns <= run.escape.max_rank else None
    full = Ability.FULL_CONE in abilities and not {Ability.FACTOR, Ability.RIEMANNIAN} & abilities
    return geometry if full else None
