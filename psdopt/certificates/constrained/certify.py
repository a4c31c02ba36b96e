"""What multipliers prove about a constrained problem: dual bound, gap, infeasibility, unboundedness."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate, ConstraintRecord
from psdopt.certificates.constrained.cone_bound import cone_bound
from psdopt.certificates.constrained.dual_bound import Bounded, dual_bound
from psdopt.certificates.constrained.face_multipliers import handed_out
from psdopt.certificates.constrained.least_multipliers import least_multipliers
from psdopt.certificates.constrained.recession import proven_ray, shown_feasible
from psdopt.certificates.constrained.refutation import (
    LEAST,
    contradictory_equations,
    distinct,
    proven_infeasible,
)
from psdopt.certificates.constrained.scales import (
    GapUnits,
    gradient_size,
    row_violations,
    share_of_trace,
    value_rounding,
)
from psdopt.certificates.constrained.slack import slack_eigenpair, slack_operator
from psdopt.certificates.scales import measured_rounding, ratio
from psdopt.certificates.slack_matrix import constrained_slack_matrix
from psdopt.constraints.limits import FEASIBLE, NEGLIGIBLE
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation
from psdopt.devices import on_host, released
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, as_array, beside, inner, norm
from psdopt.linalg.tolerances import MINOR, SLIGHT, rounding

#: If rounding of S spoils the bound, multipliers of homogeneous equations are also tried at these shares of their size.
SHRUNK = SLIGHT, SLIGHT**2


@dataclass(frozen=True)
class Multipliers:
    """What a method hands over to the certificate, which trusts none of it and checks everything.

    `y` (m,) : multipliers at the current point. `best` (m,) : multipliers of the best dual bound so far. `ray` (m,) : a
    candidate for a proof that no M is feasible. `direction` D (n, k) : a candidate for a proof that F is unbounded
    along D Dᵀ. `slack` P (n, q) : S = ∇F(M) + A*(y) is near P Pᵀ. `inside` (n, n) : a candidate for a definite matrix
    near feasible ones, with which no face of the cone is searched for.
    """

    y: Array
    best: Array | None = None
    ray: Array | None = None
    direction: Array | None = None
    slack: Array | None = None
    inside: Array | None = None


def certify_constrained(
    problem: ConstrainedModel,
    evaluation: Evaluation,
    *,
    tol: float = 1e-6,
    start: Array | None = None,
    seed: int = 0,
    dual: Any = None,
    proof: str = "full",
) -> Certificate:
    """Certificate of M and the multipliers `dual`, a :class:`Multipliers` or an array y (m,); None is y = 0.

    `evaluation` : F at M, computed from scratch. `proof` : with "cheap" no bound is sought from a matrix near M, with
    "needed" none sharper than `tol` needs.
    """
    given = as_multipliers(problem, problem.duality.multipliers(evaluation, dual))
    problem.rule_out_face(given.inside)
    Y, value, at_zero = evaluation.factor, evaluation.value, problem.value_at_zero()
    length = float(norm(Y))
    trace = length**2
    a = problem.measured(Y)
    limit = problem.trace_limit
    tau = None if limit is None else limit.value

    unit_of = GapUnits(problem, evaluation)
    unit = min(problem.duality.value_unit(value, trace) or 0.0, unit_of(value))
    GY = evaluation.gradient @ Y
    product = float(inner(GY, Y))
    offset = value - product if problem.conic is None else problem.conic.constant
    reach = tau
    if tau is None and problem.face is None and problem.definite_part > 0.0:
        reach = (value - offset) / problem.definite_part  # no matrix of a larger trace has a lower F

    def bounded(y: Array) -> Bounded:
        P = given.slack if y is given.y else None
        y, allowed, accuracy, sharp = problem.admissible(y), tol * unit, 0.0, True
        if reach is not None:  # without it a negative bound on λ_min(S) proves nothing, however small it is
            # an error of λ_min(S) that is slight beside the tolerance costs the bound little; in a run one factor is
            # enough that proves what the rest of the gap leaves of the tolerance
            taken = value - offset + problem.support(y)
            room = allowed - (taken if P is None else max(taken, 0.0)) if proof == "needed" else 0.0
            accuracy = max(SLIGHT * allowed, (1.0 - SLIGHT) * room) / max(reach, LEAST)
            # if ⟨S, M⟩ = 0, all of the gap is due to λ_min(S), of which a sharper bound tells little about M
            sharp = proof != "needed" or abs(taken) > SLIGHT * allowed or bool(problem.homogeneous.any())
        return dual_bound(problem, evaluation, offset, y, accuracy, start, seed, proof == "full", P, sharp)

    norm_C = gradient_size(problem, evaluation)
    # if ∇F(M) = 0, y = 0 proves without rounding that a feasible M is a solution
    nothing = np.zeros(problem.m) if norm_C == 0.0 else None
    exact = _plain(problem, given.y) if trace == 0.0 else []
    best = max((bounded(y) for y in distinct([given.best, given.y, nothing, *exact])), key=Bounded.rank)
    lost = 0.0 if tau is None else (best.pair.value - best.pair.lower_bound) * tau
    if lost > SLIGHT * tol * unit and problem.homogeneous.any():
        # large multipliers give S large rounding; those of ⟨A_t, M⟩ = 0 do not enter σ(y), so smaller ones may suffice
        shrunk = [bounded(np.where(problem.homogeneous, share * best.y, best.y)) for share in SHRUNK]
        best = max([best, *shrunk], key=Bounded.rank)
    if best.bound is None and proof != "cheap":
        most = 0.5 * tol * unit_of(value) if proof == "needed" else np.inf
        best = replace(best, bound=cone_bound(problem, Y, best.y, most))
    own = problem.duality.dual_bound(evaluation, dual)
    if own is not None and own > (-np.inf if best.bound is None else best.bound):
        best = replace(best, bound=own)
    if best.bound is not None and not math.isfinite(best.bound):
        best = replace(best, bound=None)  # F(M) overflows
    y, S, pair, base, bound = best.y, best.S, best.pair, best.base, best.bound
    Z = on_host(Y) if isinstance(S, np.ndarray) else Y  # S of data on a device is an array up to order 500 only
    SY = as_array(S @ Z)
    dual_infeasibility = max(0.0, -pair.lower_bound)
    stationarity, complementarity = float(norm(SY)), abs(float(inner(SY, Z)))
    estimate = base if bound is None else bound
    gap = None if bound is None else abs(value - bound)
    values = 1.0 + abs(value) + abs(estimate)
    v = problem.violation(a)
    entry = 1.0 + _largest_entry(problem, norm_C)
    dimacs = {
        "primal": norm(v) / (1.0 + float(np.max(problem.allowed.sizes(), initial=0.0))),
        "dual": dual_infeasibility / entry,
        "gap": abs(value - estimate) / values,
        "complementarity": complementarity / values,
    }
    decrease = unit_of(estimate)
    lost = value_rounding(problem, evaluation, norm_C)
    if gap is not None and gap <= lost and lost > max(abs(value), abs(at_zero)):
        # the bound leaves no digit of F(M): rounding that is measured, a sample, counts instead, with room for its tail
        lost = min(lost, share_of_trace(problem, trace) * measured_rounding(problem, evaluation) / MINOR)
    if gap is not None and not math.isfinite(gap + lost):
        gap = None  # F(M) overflows
    gap_relative = None if gap is None else ratio(gap, decrease) if gap > lost else 0.0
    if gap is not None and trace == 0.0 and _zero_to_rounding(problem, best, value, norm_C):
        gap_relative, lost = 0.0, max(lost, gap)
    rows = _violations(problem, a, Y)
    missed = float(np.max(rows, initial=0.0)) > max(tol, FEASIBLE)
    ray = proven_ray(problem, given.direction) if bound is None else None
    if ray is not None and not missed and not shown_feasible(problem, Y):
        ray = None
    rays = [given.ray, contradictory_equations(problem.shown, v) if missed else None]
    if gap_relative is not None and gap_relative <= tol:
        allowed = 0.5 * tol * entry
        y = handed_out(problem, evaluation, y, given.y, pair.lower_bound, allowed)
        y = least_multipliers(problem, y, a, Y)
        if problem.face is not None:  # check S of these multipliers on the whole cone, not only on the face
            whole = slack_eigenpair(slack_operator(problem, evaluation, y), SLIGHT * allowed)
            dimacs["dual"] = max(0.0, -whole.lower_bound) / entry
    return Certificate(
        value=value,
        value_at_zero=at_zero,
        trace=trace,
        stationarity=stationarity,
        smallest_eigenvalue=pair.value,
        lower_bound=pair.lower_bound,
        dual_infeasibility=dual_infeasibility,
        complementarity=complementarity,
        gap=gap,
        stationarity_relative=ratio(stationarity * length, decrease),
        dual_infeasibility_relative=ratio(dual_infeasibility * trace, decrease),
        complementarity_relative=ratio(complementarity, decrease),
        gap_relative=gap_relative,
        convex=Ability.CONVEX in problem.abilities,
        fixed_trace=None,
        eigenvector=released(beside(pair.vector, evaluation.factor)),
        failure_probability=pair.failure_probability,
        products=pair.products,
        unit=decrease,
        dual_value=bound,
        rounding=lost,
        constraints=ConstraintRecord(
            primal_infeasibility=float(np.max(rows, initial=0.0)),
            violations=_by_group(problem, rows),
            dimacs=dimacs,
            multipliers=y,
            trace_bound=tau,
            trace_source="" if limit is None else limit.source,
            on_face=0 if problem.face is None else problem.face.count,
            infeasibility_proof=proven_infeasible(problem, rays, a, trace),
            ray=ray,
            base=base if bound is not None or missed or shown_feasible(problem, Y) else -math.inf,
        ),
        _slack=partial(constrained_slack_matrix, problem, evaluation.factor, y),
    )


def _violations(problem: ConstrainedModel, a: Array, Y: Array) -> Array:
    """The violations (m,) of M, or of its projection P M P to the face of feasible M where these are larger.

    If a row holds only thanks to the part of M off the face, no feasible matrix near M meets it, however small ⟨I − P,
    M⟩ is. On a face that was searched for, whose equations hold to the digits of the data only, what is negligible
    beside all bounds and minor beside its own scale counts as rounding of the data.
    """
    rows, face = row_violations(problem, a, Y), problem.face
    if face is None or problem.only_zero:
        return rows
    on_face = face.onto(Y)
    measured = problem.measured(on_face)
    there = row_violations(problem, measured, on_face)
    off, bounds = problem.violation(measured), problem.allowed.nearest(measured)
    negligible = norm(problem.scale * off) <= NEGLIGIBLE * norm(problem.scale * bounds)
    if face.searched and negligible and float(np.max(there, initial=0.0)) <= MINOR:
        return rows
    return np.maximum(rows, there)


def _largest_entry(problem: ConstrainedModel, gradient: float) -> float:
    """max |C_ij| of a linear F, `gradient` = |∇F(M)| of a curved one."""
    return gradient if problem.conic is None else float(np.max(np.abs(problem.conic.C.data), initial=0.0))


def _by_group(problem: ConstrainedModel, violations: Array) -> tuple[tuple[str, float], ...]:
    """The largest of the `violations` (m,) of each group, with its name."""
    starts = np.cumsum([0, *(group.size for group in problem.constraints)])[:-1]
    largest = np.maximum.reduceat(violations, starts)
    return tuple((group.name, float(v)) for group, v in zip(problem.constraints, largest, strict=True))


def _plain(problem: ConstrainedModel, y: Array) -> list[Array]:
    """Multipliers near y with fewer digits, for M = 0: y without its small entries, also rounded to single precision.

    At M = 0 only a bound equal to F(0) proves optimality, and rounding of y leaves a gap to F(0). With few digits there
    may be no gap: a coefficient cancels exactly, or a multiplier is zero.
    """
    size = np.abs(problem.norms * y)
    kept = np.where(size > MINOR * size.max(initial=0.0), y, 0.0)
    with np.errstate(over="ignore"):
        short = kept.astype(np.float32).astype(np.float64)
    return [each for each in (kept, short) if np.all(np.isfinite(each))]


def _without_overflow(problem: ConstrainedModel, y: Any) -> Any:
    """y (m,) or None; zeros, which prove less, where |y_t A_t|² or σ(y) overflows."""
    if y is None:
        return None
    used = problem.admissible(y)
    bounds = problem.allowed.bound(used)
    bounds = np.where(np.isfinite(bounds), bounds, 0.0)  # those without a bound are 0
    with np.errstate(over="ignore"):
        size = float(np.sum((problem.norms * y) ** 2) + np.abs(used) @ np.abs(bounds))
    return y if math.isfinite(size) else np.zeros_like(y)


def _zero_to_rounding(problem: ConstrainedModel, best: Bounded, value: float, size: float) -> bool:
    """Whether S ⪰ 0 at M = 0 up to the rounding of its terms, and σ(y) <= 0; `size` is |∇F(0)|.

    At M = 0 the range of F is zero, and no gap is small relative to it. As on the cone without constraints, λ_min(S)
    then counts as zero if rounding of ∇F(0) and of the y_t A_t explains it.
    """
    terms = size + norm(problem.norms * best.y)
    return best.base >= value and best.pair.lower_bound >= -rounding(terms, problem.n)


def as_multipliers(problem: ConstrainedModel, dual: Any) -> Multipliers:
    """`dual` as multipliers, or one clear error."""
    if dual is None:
        return Multipliers(np.zeros(problem.m))
    if isinstance(dual, Multipliers):
        given = dual
    else:
        y = np.asarray(dual, dtype=np.float64)
        given = Multipliers(y, ray=y / np.max(np.abs(y), initial=np.finfo(float).tiny))
    for each in (given.y, given.best, given.ray):
        if each is not None and (each.shape != (problem.m,) or not np.all(np.isfinite(each))):
            raise InvalidInputError(f"dual must hold {problem.m} finite multipliers; found shape {each.shape}")
    y, best = (_without_overflow(problem, each) for each in (given.y, given.best))
    return given if y is given.y and best is given.best else replace(given, y=y, best=best)


def multipliers_at_zero(problem: ConstrainedModel) -> Multipliers:
    """y = 0; with a proof of infeasibility where M = 0 is the only candidate and violates a constraint."""
    off = problem.violation(np.zeros(problem.m))
    return Multipliers(np.zeros(problem.m), ray=off if problem.only_zero and np.any(off) else None)
