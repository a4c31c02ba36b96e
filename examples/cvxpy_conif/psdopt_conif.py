"""CVXPY's interface to psdopt, in the form that its ``conic_solvers`` folder has."""

import cvxpy.settings as s
import numpy as np
from cvxpy.constraints import SOC, SvecPSD
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.utilities.psd_utils import TriangleKind


class PSDOPT(ConicSolver):
    """Linear and convex quadratic objectives over products of linear, second-order and PSD cones.

    ``optimal``, ``infeasible`` and ``unbounded`` are proven to the tolerance ``tol``, which defaults to 1e-6; other
    options are ``max_iterations``, ``max_time``, ``max_rank``, ``rng`` and ``form``.
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD]
    REQUIRES_CONSTR = True
    PSD_TRIANGLE_KIND = TriangleKind.LOWER
    PSD_SQRT2_SCALING = True

    STATUS_MAP = {
        "optimal": s.OPTIMAL,
        "optimal_within": s.OPTIMAL_INACCURATE,
        "infeasible": s.INFEASIBLE,
        "unbounded": s.UNBOUNDED,
        "iteration_limit": s.USER_LIMIT,
        "time_limit": s.USER_LIMIT,
    }
    #: Options of other solvers that mean the same.
    ALIASES = {"eps": "tol", "max_iters": "max_iterations", "time_limit": "max_time"}

    def name(self):
        return "PSDOPT"

    def import_solver(self) -> None:
        import psdopt.interop.conic  # noqa: F401

    def supports_quad_obj(self) -> bool:
        return True

    def solve_via_data(self, data, warm_start: bool, verbose: bool, solver_opts, solver_cache=None):
        from psdopt.interop.conic import ConicProgram

        dims = data[ConicSolver.DIMS]
        cones = {"zero": dims.zero, "nonneg": dims.nonneg, "second_order": dims.soc, "psd": dims.psd}
        options = {self.ALIASES.get(key, key): value for key, value in solver_opts.items() if key != "use_quad_obj"}
        program = ConicProgram(data[s.C], data[s.A], data[s.B], cones, data.get(s.P))
        return program.solve(verbose=verbose, **options)

    def invert(self, solution, inverse_data):
        """`solution` is a ``psdopt.interop.conic.ConicAnswer``."""
        status = self.STATUS_MAP.get(solution.status.label, s.SOLVER_ERROR)
        attr = {s.EXTRA_STATS: solution}
        if solution.result is not None:
            attr |= {s.SOLVE_TIME: solution.result.seconds, s.NUM_ITERS: solution.result.iterations}
        y = solution.proof if status == s.INFEASIBLE else solution.y
        duals = {} if y is None else self._duals(np.asarray(y), inverse_data)
        if status in s.SOLUTION_PRESENT and solution.x is not None:
            value = solution.value + inverse_data[s.OFFSET]
            return Solution(status, value, {inverse_data[self.VAR_ID]: solution.x}, duals, attr)
        return failure_solution(s.SOLVER_ERROR if status in s.SOLUTION_PRESENT else status, attr, duals)

    def _duals(self, y, inverse_data):
        zero = inverse_data[ConicSolver.DIMS].zero
        of_equations = utilities.get_dual_values(y[:zero], utilities.extract_dual_value, inverse_data[self.EQ_CONSTR])
        of_others = utilities.get_dual_values(y[zero:], utilities.extract_dual_value, inverse_data[self.NEQ_CONSTR])
        return of_equations | of_others

    def cite(self, data):
        return ""
