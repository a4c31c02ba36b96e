"""psdopt as a solver of CVXPY for problems with PSD variables and constraints, and proofs of other solvers' answers.

    import cvxpy as cp
    from psdopt.interop.cvxpy import PSDOPT
    problem.solve(solver=PSDOPT())             # or, once this module is imported:
    problem.solve(solver="PSDOPT", tol=1e-8)
    problem.solve(method="psdopt", tol=1e-8)

    from psdopt.interop.cvxpy import certify
    problem.solve(solver=cp.SCS)
    print(certify(problem))                    # what is proven of this answer

Importing this module needs CVXPY (``pip install psdopt[cvxpy]``), and makes the solver known to it by name.
"""

from __future__ import annotations

import time
from typing import Any

try:
    import cvxpy
except ImportError as error:
    from psdopt.errors import MissingDependencyError

    raise MissingDependencyError("psdopt.interop.cvxpy needs CVXPY: pip install psdopt[cvxpy]") from error

import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.constraints.psd import PSD
from cvxpy.constraints.second_order import SOC
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import defines, utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from psdopt.checks import number
from psdopt.constraints.limits import FEASIBLE
from psdopt.errors import InvalidInputError, InvalidTypeError, PsdoptError
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_forms import Point
from psdopt.interop._cone_small import answered
from psdopt.interop._cone_solve import OPTIONS, Answer
from psdopt.interop._cvxpy_answer import AnswerCertificate, certified
from psdopt.interop._cvxpy_log_det import LOG_DETS, log_dets_of, without_log_det
from psdopt.interop._cvxpy_values import cone_program
from psdopt.linalg.tolerances import MINOR
from psdopt.running.result import Status

__all__ = ["PSDOPT", "AnswerCertificate", "certify", "register"]

#: Supported cones, in CVXPY's names for their sizes.
TAKEN = ("zero", "nonneg", "soc", "psd")
TAKES = "PSDOPT takes equations, inequalities, second-order cones and PSD constraints"
#: Options by the names that they have in other solvers, and here.
USUAL = {"eps": "tol", "max_iters": "max_iterations", "max_iter": "max_iterations", "time_limit": "max_time"}
#: Most letters of a constraint or an objective in errors.
BRIEF = 200
#: Names of CVXPY's cones in errors.
CONES = {"ExpCone": "an exponential cone", "PowCone3D": "a power cone", "PowConeND": "a power cone"}


class PSDOPT(ConicSolver):
    """A solver for ``problem.solve(solver=PSDOPT(**options), **options)``; options of the call come first.

    The solver takes PSD variables and constraints beside scalars, equations, inequalities and second-order cones, with
    linear and convex quadratic objectives, from which any multiples of log_det may be subtracted. CVXPY's status is
    ``optimal`` if that of :func:`psdopt.solve` is: gap and infeasibility are proven to `tol`. ``optimal_inaccurate``
    stands for weaker proofs, and for residuals of at most 1e-3 without a proof; `proven` tells them apart.
    ``infeasible`` is proven by the multipliers that the constraints get, ``unbounded`` by a ray and a feasible point;
    ``infeasible_or_unbounded`` has the ray alone.

    Other Parameters
    ----------------
    tol : relative gap and infeasibility, default 1e-6. max_iterations, max_time, max_rank, rng : as in
        :func:`psdopt.solve`. Other solvers' names are known for three of them: eps; max_iters, max_iter; time_limit.
        algorithm : a psdopt method; default, the choice of :func:`psdopt.solve`.
    form : "primal" makes M of the PSD slacks, "dual" of their multipliers; default "auto", the form with fewer
        constraints (linear objectives), then the other if the first is not proven optimal, unless a limit ended it;
        the answer that proves more is kept. trace_bound : a bound on tr M for this M, if known. clarabel : whether,
        with no further options than tol and max_time, a small program goes to Clarabel where that is installed
        (default True). Its answer is taken if it is proven here to `tol`, by multipliers moved onto the dual's
        equations; else psdopt runs.

    ``problem.solver_stats.extra_stats`` is a dict: `result`, psdopt's own or None; `certificate`; `proven`:
    "everywhere", "loosely" (a gap relative to 1 + |value| + |bound|), "within" (such a gap among matrices of up to
    1000 times the trace of the solution) or ""; `proof`, in CVXPY's cone program A x + s = b, of ``infeasible`` (y in
    the dual cones with Aᵀy = 0, bᵀy = −1) and of ``unbounded`` (x with P x = 0, cᵀx = −1, −A x in the cones; or
    cᵀx = 0 and |x| = 1 where only log_det grows); `form`, or "given" where Clarabel's answer is proven; `n`, `m`;
    `message`.

    Raises
    ------
    cvxpy.SolverError, with the constraint, for cones beyond these; for problems without a matrix or a second-order
    cone; for options that are unknown; with psdopt's sentence and the last gap, for runs without an answer.
    MissingDependencyError, on import of the module, without CVXPY.
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS: list[Any] = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, PSD]  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = _checked(options)

    def name(self) -> str:
        return "PSDOPT"

    def import_solver(self) -> None:
        """Nothing to import: the solver is this library."""

    def supports_quad_obj(self) -> bool:
        return True

    def cite(self, data: Any) -> str:
        return ""

    def can_solve(self, problem_form: Any) -> bool:
        """Whether CVXPY can bring all cones to PSD ones; else SolverError with the first constraint that it cannot."""
        if problem_form.is_mixed_integer():
            raise SolverError("PSDOPT takes no integer or boolean variables")
        plain = without_log_det(problem_form)
        if super().can_solve(plain):
            return True
        raise SolverError(self._refusal(problem_form, plain))

    def _refusal(self, given: Any, problem_form: Any) -> str:
        """Why CVXPY's `problem_form` is refused, which is `given` without log_det in the objective."""
        problem = given._problem
        for k, constraint in enumerate(problem.constraints):
            alone = type(problem_form)(cvxpy.Problem(cvxpy.Minimize(0.0), [constraint]))
            if not super().can_solve(alone):
                return f"{TAKES}; constraint {k}, {_brief(constraint)}, needs {_cones(alone, False)}"
        return f"{TAKES}; the objective, {_brief(problem.objective)}, needs {_cones(problem_form, True)}"

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, inverse = super().apply(problem)  # type: ignore[no-untyped-call]
        dims = data[self.DIMS]
        strange = sorted(name for name, size in vars(dims).items() if name not in TAKEN and size)
        if strange:
            raise SolverError(f"{TAKES}; CVXPY's program has cones of other kinds: {', '.join(strange)}")
        if not (dims.psd or dims.soc):
            raise SolverError("PSDOPT solves problems with a PSD variable or a PSD constraint; found neither")
        data[LOG_DETS] = log_dets_of(data)
        return data, inverse

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> dict[str, Any]:
        options = {**self.options, **_checked(solver_opts)}
        clock = time.perf_counter()
        try:
            program, H, impossible = cone_program(data)
            setup = time.perf_counter() - clock
            last = solver_cache.get(self.name()) if warm_start and solver_cache is not None else None
            if impossible:
                message = "infeasible: an infinite bound excludes every number"
                form, answer = None, Answer(Status.INFEASIBLE, message, ending=Ending.INFEASIBLE)
            else:
                form, answer = answered(program, options, last, verbose)
        except PsdoptError as error:
            raise SolverError(f"PSDOPT: {error}") from error
        if solver_cache is not None and answer.status is Status.OPTIMAL and answer.warm is not None:
            solver_cache[self.name()] = answer.warm
        return {
            "program": program,
            "rows": H,
            "form": form,
            "answer": answer,
            "setup": setup,
            "seconds": time.perf_counter() - clock - setup,
            "proven": answer.proven(options.get("tol", FEASIBLE)),
        }

    def invert(self, solution: dict[str, Any], inverse_data: Any) -> Solution:
        program, answer = solution["program"], solution["answer"]
        status = _status(answer, solution["proven"])
        stats = {
            settings.SOLVE_TIME: solution["seconds"],
            settings.SETUP_TIME: solution["setup"],
            settings.NUM_ITERS: answer.iterations,
            settings.EXTRA_STATS: _statistics(solution),
        }
        point: Point | None = answer.point
        if status == settings.INFEASIBLE:
            return Solution(status, np.inf, {}, self._duals(solution, answer.proof, inverse_data), stats)
        if status in settings.INF_OR_UNB:
            return failure_solution(status, stats)
        if point is None or status == settings.SOLVER_ERROR:
            raise SolverError(_failure(answer))
        value = program.value(point.x) + inverse_data[settings.OFFSET]
        duals = self._duals(solution, point.y, inverse_data)
        return Solution(status, value, {inverse_data[self.VAR_ID]: point.x}, duals, stats)

    def _duals(self, solution: dict[str, Any], y: Any, inverse_data: Any) -> dict[Any, Any]:
        """Multipliers by constraint; empty without y."""
        if y is None:
            return {}
        values, zero = solution["rows"].T @ y, solution["program"].zero
        duals: dict[Any, Any] = {}
        for part, key in ((values[:zero], self.EQ_CONSTR), (values[zero:], self.NEQ_CONSTR)):
            duals |= utilities.get_dual_values(part, _dual_value, inverse_data[key])
        return duals


def _dual_value(values: Any, first: int, constraint: Any) -> tuple[Any, int]:
    """The multipliers of `constraint`, from position `first`, in CVXPY's shape, which it does not give to stacks."""
    value, end = utilities.extract_dual_value(values, first, constraint)  # type: ignore[no-untyped-call]
    stacked = isinstance(constraint, PSD) and len(constraint.args[0].shape) > 2
    return (np.reshape(value, constraint.args[0].shape, order="F") if stacked else value), end


def certify(problem: Any, tol: float = 1e-6, *, own_run: bool = True) -> AnswerCertificate:
    """What the answer in a solved CVXPY problem is worth, whichever solver it is from.

        problem.solve(solver=cvxpy.SCS)
        print(certify(problem))

    The values of the variables and the `dual_value` of the constraints are taken as they are, and neither they nor the
    problem are changed. The bound on the optimal value is that of the multipliers alone: −bᵀy for a y that is moved
    onto the dual's equations, up to rounding; or σ(y) and a lower bound on λ_min(S), proven by a factor
    (:class:`~psdopt.certificates.certificate.ConstraintRecord`). Multipliers that CVXPY does not keep are completed
    from those that it keeps.

    Parameters
    ----------
    problem : a `cvxpy.Problem` whose variables have values. tol : the relative gap and infeasibility to be proven.
    own_run : where the multipliers are missing or prove less than `tol`, psdopt solves the program, and the better
        bound is given. False leaves this out; the cost is then CVXPY's compilation, a dense system of the unknowns or,
        for larger programs, sparse least squares, and factors of S.

    Raises
    ------
    InvalidTypeError for an object of another kind; InvalidInputError for variables without finite values;
    cvxpy.SolverError and DCPError for problems that PSDOPT does not take: integers, exponential cones, no matrix.
    """
    if not isinstance(problem, cvxpy.Problem):
        raise InvalidTypeError(f"problem must be a cvxpy.Problem; found {type(problem).__name__}")
    tol = number(tol, "tol", above=0.0)
    for variable in problem.variables():
        value = variable.value
        if value is None or not np.all(np.isfinite(getattr(value, "data", value) if sp.issparse(value) else value)):
            what = "none" if value is None else "nan or inf"
            raise InvalidInputError(
                f"problem must have finite values of its variables; found {what} for {variable.name()}: "
                "solve it, or set their values, before certify"
            )
    # a problem of its own keeps what CVXPY has cached for the next solve
    same = cvxpy.Problem(problem.objective, problem.constraints)
    data, _, inverse = same.get_problem_data(PSDOPT())
    try:
        return certified(same, data, inverse, tol, bool(own_run))
    except PsdoptError as error:
        raise SolverError(f"PSDOPT: {error}") from error


def register(name: str = "psdopt") -> None:
    """Make ``problem.solve(method=name, **options)`` and ``problem.solve(solver="PSDOPT", **options)`` solve by psdopt.

    CVXPY then lists PSDOPT behind its own conic solvers, so problems that went to another solver before still do.
    """
    cvxpy.Problem.register_solve(name, lambda problem, **options: problem.solve(solver=PSDOPT(), **options))
    solver = PSDOPT()
    defines.SOLVER_MAP_CONIC[solver.name()] = solver
    for known in (defines.CONIC_SOLVERS, defines.INSTALLED_SOLVERS, defines.INSTALLED_CONIC_SOLVERS):
        if solver.name() not in known:
            known.append(solver.name())


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in options.items():
        own = USUAL.get(name, name)
        if own in kept:
            raise SolverError(f"PSDOPT takes one of {own!r} and its other names; found {name!r} as well")
        if own != "use_quad_obj":  # CVXPY's own
            kept[own] = value
    unknown = sorted(set(kept) - {*OPTIONS, "clarabel"})
    if unknown:
        raise SolverError(f"PSDOPT has no option {unknown[0]!r}; it has {', '.join(OPTIONS)}, clarabel")
    if not isinstance(kept.get("clarabel", True), bool):
        raise SolverError(f"clarabel must be True or False; found {kept['clarabel']!r}")
    if kept.get("form", "auto") not in ("auto", "primal", "dual"):
        raise SolverError(f"form must be 'auto', 'primal' or 'dual'; found {kept['form']!r}")
    return kept


def _brief(part: Any) -> str:
    """A constraint or an objective in one line; the numbers of large constants are left out."""
    text = " ".join(str(part).split())
    return text if len(text) <= BRIEF else f"{text[:BRIEF]} ..."


def _cones(problem_form: Any, quadratic: bool) -> str:
    wanted = problem_form.cones(quad_obj=quadratic and problem_form.has_quadratic_objective())
    names = sorted(cone.__name__ for cone in wanted)
    return next((CONES[name] for name in names if name in CONES), f"a cone of another kind ({', '.join(names)})")


def _status(answer: Answer, proven: str) -> str:
    """CVXPY's name of the status."""
    if answer.ending is not None:
        return answer.ending.value
    if proven == "everywhere":
        return str(settings.OPTIMAL)
    if answer.point is None or not np.all(np.isfinite(answer.point.x)):
        return str(settings.SOLVER_ERROR)
    if proven or answer.residual <= MINOR:
        return str(settings.OPTIMAL_INACCURATE)
    limited = answer.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    return str(settings.USER_LIMIT if limited else settings.SOLVER_ERROR)


def _failure(answer: Answer) -> str:
    """Why there is no solution: psdopt's sentence, and how far the last point is from a solution."""
    c = answer.certificate
    known = [] if c is None else [("relative gap", c.gap_relative)]
    if c is not None and c.constraints is not None:
        known += [
            ("primal infeasibility", c.constraints.primal_infeasibility),
            ("largest DIMACS error", answer.residual),
        ]
    found = ", ".join(f"{name} {value:.1e}" for name, value in known if value is not None)
    return f"PSDOPT found no solution: {answer.message}" + (f" ({found})" if found else "")


def _statistics(solution: dict[str, Any]) -> dict[str, Any]:
    answer, form, proof, program = solution["answer"], solution["form"], solution["answer"].proof, solution["program"]
    if proof is not None and answer.ending is Ending.INFEASIBLE:
        proof = solution["rows"].T @ proof
    return {
        "result": answer.result,
        "certificate": answer.own_numbers or answer.certificate,
        "message": answer.message,
        "proven": solution["proven"],
        "proof": proof,
        "form": "given" if form is None else "dual" if form.swapped else "primal",
        "n": sum(program.psd) if form is None else form.n,
        "m": len(program.c) if form is None else form.m,
    }


register()
