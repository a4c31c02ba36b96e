"""Tests of the interface: CVXPY's own small programs, and what each status carries."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.tests import solver_test_helpers as helpers

from psdopt_conif import PSDOPT

PLACES = 2  # the values in CVXPY's programs have so many
#: With a PSD or second-order cone and multipliers that are unique; linear programs go to other solvers.
PROGRAMS = {
    "sdp_1, least": lambda: helpers.sdp_1("min"),
    "sdp_1, greatest": lambda: helpers.sdp_1("max"),
    "sdp_2": helpers.sdp_2,
    "socp_1": helpers.socp_1,
    "socp_2": helpers.socp_2,
    "socp_3, columns": lambda: helpers.socp_3(0),
    "socp_3, rows": lambda: helpers.socp_3(1),
}


def checked(made):
    made.solve(solver=PSDOPT(), eps=1e-8)
    made.verify_objective(PLACES)
    made.verify_primal_values(PLACES)
    made.check_primal_feasibility(PLACES)
    made.check_complementarity(PLACES)
    made.check_dual_domains(PLACES)
    made.check_stationary_lagrangian(PLACES)


@pytest.mark.parametrize("program", PROGRAMS)
def test_primal_and_dual_answers_of_cvxpys_programs(program):
    checked(PROGRAMS[program]())


def test_a_quadratic_objective_is_handed_over_as_it_is():
    X, A = cp.Variable((3, 3), PSD=True), np.diag([1.0, -2.0, 3.0])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X - A)), [cp.trace(X) == 3])
    data, _, _ = problem.get_problem_data(PSDOPT())
    assert data["P"].nnz > 0
    assert problem.solve(solver=PSDOPT()) == pytest.approx(4.5, rel=1e-5)
    assert problem.solver_stats.extra_stats.optimal


def test_infeasible_and_unbounded_programs_have_their_proofs():
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] == 2, cp.trace(X) <= 1])
    problem.solve(solver=PSDOPT())
    assert problem.status == cp.INFEASIBLE
    assert problem.solver_stats.extra_stats.proof is not None
    problem = cp.Problem(cp.Maximize(cp.trace(X)), [X[0, 0] == 2])
    problem.solve(solver=PSDOPT())
    assert problem.status == cp.UNBOUNDED


def test_a_limit_gives_the_last_point_with_a_warning():
    X = cp.Variable((6, 6), PSD=True)
    C = np.random.default_rng(0).standard_normal((6, 6))
    problem = cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [cp.diag(X) == 1, X[0, 1] >= 0.1])
    with pytest.warns(UserWarning, match="inaccurate"):
        problem.solve(solver=PSDOPT(), max_iterations=1)
    assert problem.status == cp.settings.USER_LIMIT
    with pytest.raises(Exception, match="no argument 'colour'"):
        problem.solve(solver=PSDOPT(), colour="red")
