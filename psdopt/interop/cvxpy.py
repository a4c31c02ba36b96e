"""psdopt as a solver of CVXPY: problems with PSD variables and constraints, with psdopt's certificates.

    import cvxpy as cp
    from psdopt.interop.cvxpy import PSDOPT
    problem.solve(solver=PSDOPT())             # or, once this module is imported:
    problem.solve(method="psdopt", tol=1e-8)

Importing this module needs CVXPY (``pip install psdopt[cvxpy]``), and adds the solve method "psdopt" to its problems.
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
from cvxpy import settings
from cvxpy.constraints.psd import PSD
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from psdopt.errors import InvalidInputError
from psdopt.interop._cone_forms import Point, form_of
from psdopt.interop._cone_program import ConeProgram, symmetric_parts
from psdopt.interop._cone_solve import OPTIONS, TOL, Answer, solved
from psdopt.result import Status

__all__ = ["PSDOPT", "register"]

#: Residuals up to which an answer without proof is called `optimal_inaccurate`.
INACCURATE = 1e-3
#: Names of CVXPY's cones in errors.
CONES = {"ExpCone": "an exponential cone", "PowCone3D": "a power cone", "PowConeND": "a power cone"}


class PSDOPT(ConicSolver):
    """A solver for ``problem.solve(solver=PSDOPT(**options), **options)``; options of the call come first.

    The solver takes PSD variables and constraints beside scalars, equations, inequalities and second-order cones, with
    linear and convex quadratic objectives. CVXPY's status is ``optimal`` where the status of :func:`psdopt.solve` is:
    gap and infeasibility are proven to `tol`. ``optimal_inaccurate`` stands for weaker proofs, and for residuals of at
    most 1e-3 without a proof; `proven` tells them apart. ``infeasible`` and ``unbounded`` are proven.

    Other Parameters
    ----------------
    tol : relative gap and infeasibility, default 1e-6. max_iterations, max_time, max_rank, rng : as in
        :func:`psdopt.solve`. algorithm : a psdopt method; default, what :func:`psdopt.solve` chooses.
    form : "primal" makes M of the PSD slacks, "dual" of their multipliers; default "auto", the one of fewer
        constraints (linear objectives). trace_bound : of that M, where the caller knows one.

    ``problem.solver_stats.extra_stats`` is a dict: `result`, psdopt's own; `certificate`; `proven`: "everywhere",
    "loosely" (a gap relative to 1 + |value| + |bound|), "within" (such a gap among matrices of up to 1000 times the
    trace of the solution) or ""; `proof` of ``infeasible`` where equations contradict each other (y with Aᵀy = 0 and
    bᵀy < 0) and of ``unbounded`` where a quadratic objective falls along a direction x; `form`, `n`, `m`; `message`.

    Raises
    ------
    cvxpy.SolverError, with the constraint, for cones beyond these; for problems without anything PSD; for options
    that are unknown. MissingDependencyError, on import of the module, without CVXPY.
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, PSD]  # noqa: RUF012

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
        if super().can_solve(problem_form):
            return True
        raise SolverError(self._refusal(problem_form))

    def _refusal(self, problem_form: Any) -> str:
        problem = problem_form._problem
        takes = "PSDOPT takes equations, inequalities, second-order cones and PSD constraints"
        for k, constraint in enumerate(problem.constraints):
            alone = type(problem_form)(cvxpy.Problem(cvxpy.Minimize(0.0), [constraint]))
            if not super().can_solve(alone):
                return f"{takes}; constraint {k}, {constraint}, needs {_cones(alone, False)}"
        return f"{takes}; the objective, {problem.objective}, needs {_cones(problem_form, True)}"

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, inverse = super().apply(problem)  # type: ignore[no-untyped-call]
        if not data[self.DIMS].psd:
            raise SolverError("PSDOPT solves problems with a PSD variable or a PSD constraint; found neither")
        return data, inverse

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> dict[str, Any]:
        options = {**self.options, **_checked(solver_opts)}
        clock = time.perf_counter()
        dims = data[self.DIMS]
        quadratic = data.get(settings.P)
        program = ConeProgram.from_full(
            data[settings.C], quadratic, data[settings.A], data[settings.B], dims.zero, dims.nonneg, dims.psd
        )
        try:
            form = form_of(program, options.pop("form", "auto"))
            setup = time.perf_counter() - clock
            last = solver_cache.get(self.name()) if warm_start and solver_cache is not None else None
            answer = solved(form, options, last, verbose)
        except InvalidInputError as error:
            raise SolverError(f"PSDOPT: {error}") from error
        if solver_cache is not None and answer.status is Status.OPTIMAL:
            solver_cache[self.name()] = answer.warm
        return {
            "program": program,
            "form": form,
            "answer": answer,
            "setup": setup,
            "seconds": time.perf_counter() - clock - setup,
            "proven": answer.proven(options.get("tol", TOL)),
        }

    def invert(self, solution: dict[str, Any], inverse_data: Any) -> Solution:
        program, answer, form = solution["program"], solution["answer"], solution["form"]
        status = _status(answer, solution["proven"], form.swapped)
        stats = {
            settings.SOLVE_TIME: solution["seconds"],
            settings.SETUP_TIME: solution["setup"],
            settings.NUM_ITERS: answer.iterations,
            settings.EXTRA_STATS: _statistics(solution),
        }
        if status not in settings.SOLUTION_PRESENT:
            return failure_solution(status, stats)
        point: Point = answer.point
        value = program.value(point.x) + inverse_data[settings.OFFSET]
        y = symmetric_parts(program.first_psd, program.psd).T @ point.y
        parts = ((y[: program.zero], self.EQ_CONSTR), (y[program.zero :], self.NEQ_CONSTR))
        duals: dict[Any, Any] = {}
        for values, key in parts:
            duals |= utilities.get_dual_values(values, utilities.extract_dual_value, inverse_data[key])
        return Solution(status, value, {inverse_data[self.VAR_ID]: point.x}, duals, stats)


def register(name: str = "psdopt") -> None:
    """Make ``problem.solve(method=name, **options)`` solve by psdopt."""
    cvxpy.Problem.register_solve(name, _solve)


def _solve(problem: Any, **options: Any) -> Any:
    return problem.solve(solver=PSDOPT(), **options)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name != "use_quad_obj"}  # CVXPY's own
    unknown = sorted(set(kept) - set(OPTIONS))
    if unknown:
        raise SolverError(f"PSDOPT has no option {unknown[0]!r}; it has {', '.join(OPTIONS)}")
    if kept.get("form", "auto") not in ("auto", "primal", "dual"):
        raise SolverError(f"form must be 'auto', 'primal' or 'dual'; found {kept['form']!r}")
    return kept


def _cones(problem_form: Any, quadratic: bool) -> str:
    wanted = problem_form.cones(quad_obj=quadratic and problem_form.has_quadratic_objective())
    names = sorted(cone.__name__ for cone in wanted)
    return next((CONES[name] for name in names if name in CONES), f"a cone of another kind ({', '.join(names)})")


def _status(answer: Answer, proven: str, swapped: bool) -> str:
    """CVXPY's name of the status. In the dual form an unbounded run means an infeasible program, and the reverse."""
    infeasible, unbounded = settings.INFEASIBLE, settings.UNBOUNDED
    if proven == "everywhere":
        return str(settings.OPTIMAL)
    known = {
        Status.INFEASIBLE: unbounded if swapped else infeasible,
        Status.UNBOUNDED: infeasible if swapped else unbounded,
    }
    if answer.status in known:
        return str(known[answer.status])
    if answer.point is None or not np.all(np.isfinite(answer.point.x)):
        return str(settings.SOLVER_ERROR)
    if proven or answer.residual <= INACCURATE:
        return str(settings.OPTIMAL_INACCURATE)
    limited = answer.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    return str(settings.USER_LIMIT if limited else settings.SOLVER_ERROR)


def _statistics(solution: dict[str, Any]) -> dict[str, Any]:
    answer, form = solution["answer"], solution["form"]
    return {
        "result": answer.result,
        "certificate": answer.certificate,
        "message": answer.message,
        "proven": solution["proven"],
        "proof": answer.proof,
        "form": "dual" if form.swapped else "primal",
        "n": form.n,
        "m": form.m,
    }


register()
