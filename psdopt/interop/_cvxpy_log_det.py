"""log_det in the objective of a CVXPY problem: kept as it is for PSDOPT, and not made of exponential cones."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.atoms.log_det import log_det
from cvxpy.constraints.psd import PSD
from cvxpy.error import SolverError
from cvxpy.problems.problem_form import ProblemForm
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS

#: The name of the solver whose programs keep log_det, and of :func:`log_dets_of` in their data.
SOLVER, LOG_DETS = "PSDOPT", "log_dets"


class Level(cvxpy.Variable):
    """t, which stands for log det A with A ⪰ 0 in the constraint `cone`, in CVXPY's program."""

    cone: PSD


def _canonical(expr: Any, args: list[Any], solver_context: Any = None) -> tuple[Any, list[Any]]:
    """t and A ⪰ 0 for PSDOPT, CVXPY's own form for others."""
    if getattr(solver_context, "solver_name", None) != SOLVER:
        found: tuple[Any, list[Any]] = _before(expr, args, solver_context=solver_context)
        return found
    level = Level()
    level.cone = PSD(args[0])
    return level, [level.cone]


_before: Any = CANON_METHODS[log_det]
if _before.__name__ != _canonical.__name__:
    CANON_METHODS[log_det] = _canonical


def without_log_det(problem_form: Any) -> Any:
    """The form of the problem with variables in the place of log_det in the objective; itself without any."""
    problem = problem_form._problem
    if log_det not in problem.objective.atoms():
        return problem_form
    objective = type(problem.objective)(_replaced(problem.objective.expr))
    return ProblemForm(cvxpy.Problem(objective, problem.constraints))


def _replaced(expr: Any) -> Any:
    if isinstance(expr, log_det):
        return cvxpy.Variable()
    return expr.copy([_replaced(each) for each in expr.args]) if log_det in expr.atoms() else expr


def log_dets_of(data: Any) -> list[tuple[int, float]]:
    """(k, ν) of each −ν log det of the k-th PSD block in CVXPY's program `data`, from the costs −ν of its levels.

    These costs are set to zero in `data`. Raises SolverError where a level is more than a summand of the objective.
    """
    program, found = data[settings.PARAM_PROB], []
    first, number = {}, 0
    for constraint in program.constr_map[PSD]:
        first[constraint.id] = number
        shape = constraint.args[0].shape
        number += int(np.prod(shape[:-2]))
    A, P, c = sp.csc_array(data[settings.A]), data.get(settings.P), np.array(data[settings.C])
    for variable in program.variables:
        if isinstance(variable, Level):
            column = program.var_id_to_col[variable.id]
            nested = A[:, [column]].nnz or (P is not None and sp.csc_array(P)[:, [column]].nnz)
            if nested or c[column] > 0.0:
                raise SolverError("PSDOPT takes log_det as a summand of the objective, not within another function")
            if c[column] < 0.0:
                found.append((first[variable.cone.id], -float(c[column])))
            c[column] = 0.0
    data[settings.C] = c
    return found
