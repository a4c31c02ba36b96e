"""What multipliers prove about a constrained problem: dual bound, gap, infeasibility, unboundedness."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate, ConstraintRecord
from psdopt.certificates.constrained.best_bound import BoundSearch, near_at_zero
from psdopt.certificates.constrained.dual_bound import Bounded
from psdopt.certificates.constrained.face_multipliers import handed_out
from psdopt.certificates.constrained.least_multipliers import least_multipliers
from psdopt.certificates.constrained.multipliers import as_multipliers
from psdopt.certificates.constrained.recession import proven_ray, shown_feasible
from psdopt.certificates.constrained.refutation import contradictory_equations, proven_infeasible
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
from psdopt.linalg.arrays import Array, as_array, beside, inner, norm
from psdopt.linalg.tolerances import MINOR, SLIGHT, rounding


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
    """Certificate of M and the multipliers `dual`, an array y (m,) or a
    :class:`~psdopt.certificates.constrained.multipliers.Multipliers`; None is y = 0.

    `evaluation` : F at M, computed from scratch. `proof` : with "cheap" no bound is sought from a matrix near M, with
    "needed" none sharper than `tol` needs.
    """
    given = as_multipliers(problem, problem.duality.multipliers(evaluation, dual))
    problem.rule_out_face(given.inside)
    Y, value, length = evaluation.factor, evaluation.value, float(norm(evaluation.factor))
    trace, size, unit_of = length**2, gradient_size(problem, evaluation), GapUnits(problem, evaluation)
    allowed = tol * min(problem.duality.value_unit(value, trace) or 0.0, unit_of(value))
    # if ∇F(M) = 0, y = 0 proves without rounding that a feasible M is a solution
    others = [np.zeros(problem.m)] if size == 0.0 else []
    others += near_at_zero(problem, evaluation, given.y) if trace == 0.0 else []
    search = BoundSearch(problem, evaluation, allowed, start, seed, proof)
    best = search.best(given, others, dual, 0.5 * tol * unit_of(value) if proof == "needed" else math.inf)
    limit = problem.trace_limit
    y, S, pair, base, bound = best.y, best.S, best.pair, best.base, best.bound
    Z = on_host(Y) if isinstance(S, np.ndarray) else Y  # S of data on a device is an array up to order 500 only
    SY = as_array(S @ Z)
    dual_infeasibility = max(0.0, -pair.lower_bound)
    stationarity, complementarity = float(norm(SY)), abs(float(inner(SY, Z)))
    estimate = base if bound is None else bound
    unit = unit_of(estimate)
    gap, gap_relative, lost = _gap(problem, evaluation, best, size, trace, unit)
    a = problem.measured(Y)
    v, rows, values = problem.violation(a), _violations(problem, a, Y), 1.0 + abs(value) + abs(estimate)
    entry = 1.0 + _largest_entry(problem, size)
    dimacs = {
        "primal": norm(v) / (1.0 + float(np.max(problem.allowed.sizes(), initial=0.0))),
        "dual": dual_infeasibility / entry,
        "gap": abs(value - estimate) / values,
        "complementarity": complementarity / values,
    }
    missed = float(np.max(rows, initial=0.0)) > max(tol, FEASIBLE)
    ray = proven_ray(problem, given.direction) if bound is None else None
    if ray is not None and not missed and not shown_feasible(problem, Y):
        ray = None
    rays = [given.ray, contradictory_equations(problem.shown, v) if missed else None]
    if gap_relative is not None and gap_relative <= tol:
        room = 0.5 * tol * entry
        y = handed_out(problem, evaluation, y, given.y, pair.lower_bound, room)
        y = least_multipliers(problem, y, a, Y)
        if problem.face is not None:  # check S of these multipliers on the whole cone, not only on the face
            whole = slack_eigenpair(slack_operator(problem, evaluation, y), SLIGHT * room)
            dimacs["dual"] = max(0.0, -whole.lower_bound) / entry
    return Certificate(
        value=value,
        value_at_zero=problem.value_at_zero(),
        trace=trace,
        stationarity=stationarity,
        smallest_eigenvalue=pair.value,
        lower_bound=pair.lower_bound,
        dual_infeasibility=dual_infeasibility,
        complementarity=complementarity,
        gap=gap,
        stationarity_relative=ratio(stationarity * length, unit),
        dual_infeasibility_relative=ratio(dual_infeasibility * trace, unit),
        complementarity_relative=ratio(complementarity, unit),
        gap_relative=gap_relative,
        convex=Ability.CONVEX in problem.abilities,
        fixed_trace=None,
        eigenvector=released(beside(pair.vector, evaluation.factor)),
        failure_probability=pair.failure_probability,
        products=pair.products,
        unit=unit,
        dual_value=bound,
        rounding=lost,
        constraints=ConstraintRecord(
            primal_infeasibility=float(np.max(rows, initial=0.0)),
            violations=_by_group(problem, rows),
            dimacs=dimacs,
            multipliers=y,
            trace_bound=None if limit is None else limit.value,
            trace_source="" if limit is None else limit.source,
            on_face=0 if problem.face is None else problem.face.count,
            infeasibility_proof=proven_infeasible(problem, rays, a, trace),
            ray=ray,
            base=base if bound is not None or missed or shown_feasible(problem, Y) else -math.inf,
        ),
        _slack=partial(constrained_slack_matrix, problem, evaluation.factor, y),
    )


def _gap(
    problem: ConstrainedModel, evaluation: Evaluation, best: Bounded, size: float, trace: float, unit: float
) -> tuple[float | None, float | None, float]:
    """(|F(M) − bound|, the same by `unit`, the rounding of F(M)); None without a bound and where F(M) overflows.

    `size` is |∇F(M)|. A gap within the rounding is 0 by the unit.
    """
    value, lost = evaluation.value, value_rounding(problem, evaluation, size)
    if best.bound is None:
        return None, None, lost
    gap = abs(value - best.bound)
    if gap <= lost and lost > max(abs(value), abs(problem.value_at_zero())):
        # the bound leaves no digit of F(M): rounding that is measured, a sample, counts instead, with room for its tail
        lost = min(lost, share_of_trace(problem, trace) * measured_rounding(problem, evaluation) / MINOR)
    if not math.isfinite(gap + lost):
        return None, None, lost
    if trace == 0.0 and _zero_to_rounding(problem, best, value, size):
        return gap, 0.0, max(lost, gap)
    return gap, ratio(gap, unit) if gap > lost else 0.0, lost


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


def _zero_to_rounding(problem: ConstrainedModel, best: Bounded, value: float, size: float) -> bool:
    """Whether S ⪰ 0 at M = 0 up to the rounding of its terms, and σ(y) <= 0; `size` is |∇F(0)|.

    At M = 0 the range of F is zero, and no gap is small relative to it. As on the cone without constraints, λ_min(S)
    then counts as zero if rounding of ∇F(0) and of the y_t A_t explains it.
    """
    terms = size + norm(problem.norms * best.y)
    return best.base >= value and best.pair.lower_bound >= -rounding(terms, problem.n)
