"""One run of psdopt on a form of a cone program, after the cases that need no run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.certify import certify
from psdopt.constraints import Constrained
from psdopt.constraints.limits import FEASIBLE
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.interop._cone_ending import Ending, feasibility, may_fall, proofs, recession, refutation
from psdopt.interop._cone_epigraph import EpigraphForm
from psdopt.interop._cone_forms import DualForm, Point, PrimalForm
from psdopt.interop._cone_log import Log, note
from psdopt.interop._cone_optimal import ConeCertificate, proven_near, slack_violation
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import falls, scaled
from psdopt.interop._cone_repair import MOST_FLOPS, Repair
from psdopt.linalg.arrays import Array
from psdopt.linalg.threads import one_blas_thread
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, ROUNDINGS, SLIGHT
from psdopt.methods import InteriorPoint
from psdopt.running.choose import choose
from psdopt.running.result import Result, Status
from psdopt.running.solve import solve

#: The options of a run.
OPTIONS = ("tol", "max_iterations", "max_time", "max_rank", "rng", "algorithm", "form", "trace_bound")

#: What :meth:`Answer.proven` tells, weakest first.
PROOFS = ("", "within", "loosely", "everywhere")
NO_RAY = "no progress: a direction along which the objective falls is none of this program, to rounding"


@dataclass(frozen=True)
class Answer:
    """How a run ended, and the point of the cone program that its M and multipliers give; None if there is no point.

    `outside` : how far the slacks of x are from the cones, where x are multipliers of the M that is proven; None where
    the slacks are M. `residual` : the largest DIMACS error. `warm` : the factor of M and the multipliers, from which
    the next run starts. `ending` : what is proven of a program without an optimum, else None. `proof` : of an
    infeasible one y (R,) in the dual cones with Aᵀy = 0, bᵀy = −1, or None where a face of the cone shows it and no
    such y was found; else x (N,) with P x = 0, cᵀx = −1 and −A x in the cones. `own_numbers` : the certificate of a
    point that is proven by the program's own numbers, without a form.
    """

    status: Status
    message: str
    point: Point | None = None
    certificate: Certificate | None = None
    result: Result | None = None
    iterations: int = 0
    warm: tuple[Array, Array] | None = None
    ending: Ending | None = None
    proof: Array | None = None
    own_numbers: ConeCertificate | None = None
    outside: float | None = None

    @property
    def errors(self) -> tuple[float, float]:
        """The largest error of x and its value, and that of y: DIMACS errors, and `outside`."""
        known = None if self.certificate is None or self.own_numbers else self.certificate.constraints
        if known is None or self.outside is not None:
            return max(self.residual, self.outside or 0.0), 0.0
        of_y = known.dimacs["dual"]
        return max(error for name, error in known.dimacs.items() if name != "dual"), of_y

    @property
    def residual(self) -> float:
        if self.own_numbers is not None:
            return self.own_numbers.residual
        if self.certificate is None:
            return math.inf
        known = self.certificate.constraints
        return self.certificate.relative if known is None else max(known.dimacs.values())

    def proven(self, tol: float) -> str:
        """What the certificate proves to `tol`: "everywhere", "loosely", "within" or "".

        "everywhere" is the status `optimal` of :func:`psdopt.solve` with no error above 10 tol. Weaker are "loosely",
        that of x and its value alone, or a gap of at most tol (1 + |F(M)| + |bound|) and an infeasibility of at most
        tol (1 + |b|), and "within", such a gap among matrices of up to a thousand times the trace of M.
        """
        c = self.certificate
        if self.status is Status.OPTIMAL:
            of_x, of_y = self.errors
            return "" if SLIGHT * of_x > tol else "everywhere" if SLIGHT * of_y <= tol else "loosely"
        if self.status is Status.OPTIMAL_WITHIN and (c is None or c.constraints is None):
            return "within"
        if c is None or c.constraints is None or not c.convex or self.residual > tol:
            return ""
        if c.dual_value is not None:
            return "loosely"
        # constraints need not bound the trace, so the gap is one among matrices beside which tr M is minor
        lost = -min(c.lower_bound, 0.0) / MINOR * max(c.trace, 1.0)
        return "within" if lost <= tol * (1.0 + abs(c.value)) else ""


@one_blas_thread()
def solved_in_either(
    forms: Iterator[PrimalForm | DualForm], options: dict[str, Any], last: Any, verbose: bool
) -> tuple[PrimalForm | DualForm, Answer]:
    """:func:`solved` for the first form; if that is not proven everywhere and hit no limit, the next if it proves more.

    Of two that prove nothing, the second is kept if it has an ending or smaller errors.
    """
    form, tol = next(forms), options.get("tol", FEASIBLE)
    answer = _own(form, solved(form, options, last, verbose), options)
    limited = answer.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    if not limited and answer.proven(tol) != "everywhere":
        answer = _by_own_numbers(form, answer, tol)
    proven, other = PROOFS.index(answer.proven(tol)), None
    if not limited and answer.ending is None and PROOFS[proven] != "everywhere":
        other = next(forms, None)
    if other is not None:
        if verbose:
            note("the proof is not complete in this form: the other form follows")
        second = _by_own_numbers(other, _own(other, solved(other, options, None, verbose), options), tol)
        further = not proven and (second.ending is not None or second.residual < answer.residual)
        if further or PROOFS.index(second.proven(tol)) > proven:
            form, answer = other, second
    return form, answer


def _by_own_numbers(form: PrimalForm | DualForm, answer: Answer, tol: float) -> Answer:
    """`answer`, or a point near it that the numbers of the program prove optimal without the form.

    Not for constant objectives, nor beyond the size of a dense repair.
    """
    p = form.original if isinstance(form, EpigraphForm) else form.program
    constant = p.P is None and not p.log_dets and not np.any(p.c)
    if answer.ending is not None or answer.point is None or constant or len(p.b) * len(p.c) ** 2 > MOST_FLOPS:
        return answer
    x, y = answer.point.x, answer.point.y
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return answer
    near = proven_near(p, Repair(p), x, y, p.b - p.A @ x, tol)
    if near is None:
        return answer
    message = f"optimal: the program's own numbers prove relative gap and infeasibility of at most {tol:g}"
    x, y, own = near
    better = replace(answer, status=Status.OPTIMAL, message=message, point=Point(x, y), own_numbers=own)
    return better if better.proven(tol) == "everywhere" else answer


def _own(form: PrimalForm | DualForm, answer: Answer, options: dict[str, Any]) -> Answer:
    """`answer` with x, y and proofs of the program that was given, where the form is that of its epigraph."""
    if not isinstance(form, EpigraphForm):
        return answer
    answer = replace(answer, point=None if answer.point is None else form.own_point(answer.point))
    if answer.proof is None or answer.ending is Ending.INFEASIBLE:
        return replace(answer, proof=None if answer.proof is None else form.own_proof(answer.proof))
    x: Array | None = form.own_ray(answer.proof)
    if x is not None and not falls(form.original, x):
        x = _ray(form.original, _limits(options))
    if x is None:
        return replace(answer, status=Status.NO_PROGRESS, message=NO_RAY, ending=None, proof=None)
    return replace(answer, proof=scaled(form.original, x))


def solved(form: PrimalForm | DualForm, options: dict[str, Any], last: Any, verbose: bool) -> Answer:
    """Solve `form`. `last` : (Y, multipliers) of an earlier run; the answer if still optimal, else the start."""
    if form.contradiction is not None:
        known = Answer(Status.INFEASIBLE, "infeasible: equations without unknowns contradict each other")
        return _infeasible(form.program, known, form.contradiction, {})
    chosen = dict(options)
    problem = form.problem(chosen.pop("trace_bound", None))
    tol = chosen.setdefault("tol", FEASIBLE)
    start = dual = None
    if last is not None and last[0].shape[0] == problem.n and last[1].shape == (form.m,):
        start, dual = LowRankPSD(last[0]), last[1] if form.m else None
        first = problem.shown if isinstance(problem, Constrained) else problem  # without a search for faces
        kept = certify(first, start, tol=tol, dual=dual)
        if kept.proves(tol) and (first is problem or (kept := certify(problem, start, tol=tol, dual=dual)).proves(tol)):
            return _proven(form, Answer(Status.OPTIMAL, "optimal: the last solution still is", warm=last), kept)
    limits = _limits(chosen)
    _, method, _ = choose(problem, None, chosen.pop("algorithm", None), chosen.get("max_rank"))
    if isinstance(method, InteriorPoint):
        # two more digits cost a step or two, and M and the multipliers are only as exact as the square root of the gap;
        # the answer is optimal once `tol` is reached
        chosen["tol"] = options.get("tol", ROOT_EPS)
    log = Log(form, method) if verbose else None
    result = solve(problem, method=method, start=start, dual=dual, callback=log, **chosen)
    answer = _answer(form, result, tol)
    if answer.status is Status.OPTIMAL and SLIGHT * max(answer.errors) > tol:
        # F may vary far more between 0 and M than on the feasible set, so a gap that is relatively small may be large;
        # and near the minimum of a strongly convex F errors of M are as large as the root of the gap that was reached
        share, gap = tol / max(answer.errors), result.certificate.gap_relative if result.certificate else None
        reached = tol if gap is None else min(gap * share / SLIGHT**2, tol)
        chosen["tol"] = max(0.5 * share * reached, ROUNDINGS * EPS)
        dual = _multipliers(result.certificate) if form.m and result.certificate is not None else None
        if log is not None:
            above = f"the largest error, {max(answer.errors):.1e}, is above 10 tol"
            note(f"{above}: a finer run follows from there, to tol = {chosen['tol']:.1e}")
        result = solve(problem, method=method, start=result.matrix, dual=dual, callback=log, **chosen)
        finer = _answer(form, result, tol)
        answer = finer if finer.proven(tol) or finer.residual < answer.residual else answer
    if log is not None:
        note(answer.message)
    return answer if answer.proven(tol) else _ended(form, problem, answer, limits, verbose)


def _ended(
    form: PrimalForm | DualForm, problem: Problem, answer: Answer, limits: dict[str, Any], verbose: bool
) -> Answer:
    """`answer` with what its certificate proves of a program without an optimum."""
    y, x, empty = proofs(form, problem, answer.certificate)
    alone = form.feasibility or form.program.P is not None  # a linear objective has a second form, whose M is y
    if alone and not empty and x is None and answer.status in (Status.NO_PROGRESS, Status.OPTIMAL):
        y = _refuted(form.program, limits)
    if empty or y is not None:
        return _infeasible(form.program, answer, y, limits)
    if x is None and np.any(form.program.b) and (answer.status is Status.NO_PROGRESS or may_fall(form, problem)):
        x = _ray(form.program, limits)  # without bounds a program equals its recession program
    if x is None and answer.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        # without multipliers there may be a ray, or an optimum that no multipliers prove
        x = _ray(form.program, limits) if form.swapped else None
        answer = replace(answer, status=Status.NO_PROGRESS, message=NO_RAY)
    return answer if x is None else _unbounded(form, answer, x, limits, verbose)


def _ray(program: ConeProgram, limits: dict[str, Any]) -> Array | None:
    """x (N,) along which the objective falls without end, where it is found."""
    found = solved(PrimalForm(recession(program)), limits, None, False)
    x = found.proof if found.ending is Ending.UNBOUNDED else None
    return x if x is not None and falls(program, x) else None


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    return {"tol": FEASIBLE, **{name: value for name, value in options.items() if name in ("tol", "max_time")}}


def _infeasible(program: ConeProgram, answer: Answer, y: Array | None, limits: dict[str, Any]) -> Answer:
    """`answer` as infeasible, by y or by a face of the cone; in that case y, which may not exist, is searched for."""
    y = _refuted(program, limits) if y is None else y
    return replace(answer, ending=Ending.INFEASIBLE, proof=None if y is None else y / -(program.b @ y))


def _refuted(program: ConeProgram, limits: dict[str, Any]) -> Array | None:
    """y (R,) with Aᵀy = 0, bᵀy < 0, y in the dual cones, where it is found."""
    form = refutation(program)
    found = solved(form, limits, None, False) if form.suits else None
    return None if found is None or found.ending is not Ending.INFEASIBLE else found.proof


def _unbounded(form: PrimalForm | DualForm, answer: Answer, x: Array, limits: dict[str, Any], verbose: bool) -> Answer:
    """`answer`, whose objective falls along the ray x: unbounded with a feasible point, infeasible with a proof."""
    missed = math.inf if answer.result is None else 0.0
    if answer.certificate is not None and answer.certificate.constraints is not None:
        missed = answer.certificate.constraints.primal_infeasibility
    proof = scaled(form.program, x)
    if not form.swapped and missed <= limits["tol"]:
        return replace(answer, ending=Ending.UNBOUNDED, proof=proof)
    if verbose:
        note("the objective falls along a ray: whether there is a feasible point follows")
    point: Answer = solved(feasibility(form.program), limits, None, verbose)
    if point.ending is Ending.INFEASIBLE:
        return replace(answer, message=point.message, ending=Ending.INFEASIBLE, proof=point.proof)
    ending = Ending.UNBOUNDED if point.status is Status.OPTIMAL else Ending.EITHER
    return replace(answer, ending=ending, proof=proof)


def _answer(form: PrimalForm | DualForm, result: Result, tol: float) -> Answer:
    certificate, status = result.certificate, result.status
    if certificate is None:
        return Answer(status, result.message, result=result, iterations=result.iterations)
    message = result.message
    if status is not Status.OPTIMAL and certificate.proves(tol):
        status, message = Status.OPTIMAL, f"optimal: relative gap and infeasibility are at most {tol:g}"
    warm = np.asarray(result.matrix.factor), _multipliers(certificate)
    return _proven(form, Answer(status, message, result=result, iterations=result.iterations, warm=warm), certificate)


def _proven(form: PrimalForm | DualForm, answer: Answer, certificate: Certificate) -> Answer:
    """`answer` with the point of its factor and the multipliers of the `certificate`."""
    known, warm = certificate.constraints, answer.warm
    point = None if warm is None else form.point(warm[0], _multipliers(certificate))
    outside = 0.0 if form.swapped else None
    if form.swapped and point is not None and known is not None and known.dimacs["dual"] > 0.0:
        outside = slack_violation(form.program, point.x)  # else S ⪰ 0 is proven
    return replace(answer, point=point, certificate=certificate, outside=outside)


def _multipliers(certificate: Certificate) -> Array:
    return np.zeros(0) if certificate.constraints is None else certificate.constraints.multipliers
