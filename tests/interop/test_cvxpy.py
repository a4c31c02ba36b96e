"""psdopt as a solver of CVXPY, against Clarabel and SCS: values, multipliers with their signs, statuses, refusals."""

import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

from psdopt import LBFGS, AugmentedLagrangian, Status
from psdopt.interop.cvxpy import PSDOPT, register

from .cvxpy_problems import QUADRATIC, SOLVABLE, UNIQUE, max_cut, nearest_correlation, squares_beside_a_free_slack

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")


def made(build):
    return build(np.random.default_rng(5))


def names(build):
    return build.__name__


@pytest.mark.parametrize("peer", ["CLARABEL", "SCS"])
@pytest.mark.parametrize("build", SOLVABLE, ids=names)
def test_the_value_is_that_of_other_solvers(build, peer):
    problem, other = made(build), made(build)
    value = problem.solve(solver=PSDOPT(), tol=1e-7)
    expected = other.solve(solver=peer, **({"eps": 1e-9} if peer == "SCS" else {}))
    proven = problem.solver_stats.extra_stats["proven"]
    assert (problem.status, proven) == ("optimal", "everywhere")
    assert value == pytest.approx(expected, rel=2e-6, abs=2e-6)
    assert problem.objective.value == pytest.approx(value, rel=1e-9, abs=1e-9)
    for constraint in problem.constraints:
        assert np.max(constraint.violation()) <= 1e-5


FORMS = [(build, form) for build in UNIQUE for form in ("auto", "primal", "dual")[: 1 if build in QUADRATIC else 3]]


@pytest.mark.parametrize(("build", "form"), FORMS, ids=lambda each: each if isinstance(each, str) else names(each))
def test_values_and_multipliers_are_those_of_clarabel_with_their_signs_in_every_form(build, form):
    problem, other = made(build), made(build)
    tol, allowed = (1e-9, 2e-4) if form == "auto" else (1e-8, 2e-3)
    value = problem.solve(solver=PSDOPT(), form=form, tol=tol)
    assert form in ("auto", problem.solver_stats.extra_stats["form"])
    assert problem.status == "optimal"
    expected = other.solve(solver="CLARABEL", tol_gap_rel=1e-12, tol_gap_abs=1e-12, tol_feas=1e-12)
    assert value == pytest.approx(expected, rel=1e-6)
    for ours, theirs in zip(problem.constraints, other.constraints, strict=True):
        expected = np.asarray(theirs.dual_value)
        assert np.max(np.abs(ours.dual_value - expected)) <= allowed * (1.0 + np.max(np.abs(expected)))


def test_cvxpy_knows_the_solver_by_name_and_takes_it_only_when_it_is_asked_for():
    assert "PSDOPT" in cp.installed_solvers()
    register("certified")
    other = made(max_cut)
    other.solve()
    assert other.solver_stats.solver_name != "PSDOPT"
    expected = other.solve(solver="CLARABEL")
    for named in ({"solver": "PSDOPT"}, {"method": "psdopt"}, {"method": "certified"}):
        problem = made(max_cut)
        assert problem.solve(**named, tol=1e-8) == pytest.approx(expected, rel=1e-7)
        assert problem.solver_stats.solver_name == "PSDOPT"


def test_perspectives_of_functions_look_the_solver_up_by_name():
    """s f(X/s) for f = λ_max, which is λ_max(X) again: CVXPY compiles f for the solver of the problem."""
    X, s = cp.Variable((2, 2), symmetric=True), cp.Variable(nonneg=True)
    x = cp.Variable(2)
    lifted = cp.perspective(cp.lambda_max(X), s) + cp.perspective(cp.norm(x), s)
    problem = cp.Problem(cp.Minimize(lifted), [X[0, 0] == 1, X[0, 1] == 2, X[1, 1] == 1, x == [3, 4], s == 2])
    assert problem.solve(solver="PSDOPT") == pytest.approx(3.0 + 5.0, rel=1e-5)
    assert problem.solve(solver=PSDOPT()) == pytest.approx(3.0 + 5.0, rel=1e-5)


def test_statistics_hold_the_certificate():
    problem = made(max_cut)
    problem.solve(solver=PSDOPT(), tol=1e-5)
    stats = problem.solver_stats
    extra = stats.extra_stats
    assert stats.solver_name == "PSDOPT"
    assert stats.num_iters == extra["result"].iterations > 0
    assert stats.solve_time > 0.0
    assert extra["result"].status is Status.OPTIMAL
    assert extra["certificate"].proves(1e-5)
    assert (extra["form"], extra["n"], extra["m"]) == ("primal", 12, 12)


def test_what_is_proven_within_a_trace_alone_says_so():
    problem = made(squares_beside_a_free_slack)
    problem.solve(solver=PSDOPT())
    extra = problem.solver_stats.extra_stats
    assert problem.status == ("optimal" if extra["result"].status is Status.OPTIMAL else "optimal_inaccurate")
    assert extra["proven"] == ("everywhere" if problem.status == "optimal" else "within")
    problem = made(max_cut)
    problem.solve(solver=PSDOPT())
    assert problem.solver_stats.extra_stats["proven"] == "everywhere"
    problem.solve(solver=PSDOPT(), max_iterations=1, warm_start=False)
    assert problem.solver_stats.extra_stats["proven"] == ""


def test_where_one_form_proves_less_the_other_is_tried():
    """Bounds on the diagonal meet, so the slacks that the dual form begins with have no interior."""
    X = cp.Variable((2, 2), PSD=True)
    within = cp.abs(X - np.array([[2.0, 0.5], [0.5, 1.0]])) <= np.array([[0.0, 0.2], [0.2, 0.0]])
    problem = cp.Problem(cp.Maximize(cp.sum(X)), [within])
    problem.solve(solver=PSDOPT(), form="dual")
    assert problem.status == "optimal_inaccurate"
    for form in ("primal", "auto"):
        problem.solve(solver=PSDOPT(), form=form)
        assert problem.status == "optimal"
        assert problem.value == pytest.approx(4.4, rel=1e-6)
        assert problem.solver_stats.extra_stats["form"] == "primal"


def test_a_face_of_three_stages_is_proven_once_the_run_begins_anew_on_it():
    """The six-hump camel as a sum of squares: no y⁶ in it excludes y³, hence xy², hence x²y, from the squares."""
    monomials = [(i, j) for i in range(4) for j in range(4 - i)]
    camel = {(2, 0): 4.0, (4, 0): -2.1, (6, 0): 1.0 / 3.0, (1, 1): 1.0, (0, 2): -4.0, (0, 4): 4.0}
    gram, least, sums = cp.Variable((10, 10), PSD=True), cp.Variable(), {}
    for r, (i, j) in enumerate(monomials):
        for s, (k, m) in enumerate(monomials):
            sums.setdefault((i + k, j + m), []).append(gram[r, s])
    rows = [sum(e) == camel.get(d, 0.0) - (least if d == (0, 0) else 0.0) for d, e in sums.items()]
    problem = cp.Problem(cp.Maximize(least), rows)
    problem.solve(solver=PSDOPT(), form="primal")
    assert problem.status == "optimal"
    assert problem.value == pytest.approx(-1.0316284535, rel=1e-6)


def test_options_come_from_the_solver_and_from_the_call():
    problem = made(max_cut)
    problem.solve(solver=PSDOPT(tol=1e-3, algorithm=AugmentedLagrangian()), tol=1e-7)
    extra = problem.solver_stats.extra_stats
    assert extra["result"].tol == 1e-7
    assert extra["result"].method.startswith("AugmentedLagrangian")
    with pytest.raises(cp.SolverError, match=r"no option 'epsilon'; it has tol, max_iterations"):
        problem.solve(solver=PSDOPT(), epsilon=1e-3)
    problem.solve(solver=PSDOPT(eps=1e-5), max_iters=300, time_limit=20.0)
    assert problem.solver_stats.extra_stats["result"].tol == 1e-5
    with pytest.raises(cp.SolverError, match="one of 'tol' and its other names; found 'eps' as well"):
        problem.solve(solver=PSDOPT(), tol=1e-5, eps=1e-5)
    with pytest.raises(cp.SolverError, match="form must be"):
        PSDOPT(form="both")
    with pytest.raises(cp.SolverError, match="tol must be a finite number above 0 and below 1; found 2"):
        problem.solve(solver=PSDOPT(), tol=2)


def test_a_run_cut_short_is_not_called_optimal():
    problem = made(nearest_correlation)
    problem.solve(solver=PSDOPT(), tol=1e-10, max_iterations=1)
    assert problem.status in ("user_limit", "optimal_inaccurate")
    assert problem.solver_stats.extra_stats["result"].status is Status.ITERATION_LIMIT
    assert problem.variables()[0].value is not None


def test_the_last_solution_is_kept_where_it_is_still_optimal_and_begun_from_where_it_is_not():
    rng = np.random.default_rng(0)
    n = 8
    C, X = cp.Parameter((n, n), symmetric=True), cp.Variable((n, n), PSD=True)
    first = rng.standard_normal((n, n))
    first = first + first.T
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), [cp.diag(X) == 1])
    solver = PSDOPT(algorithm=AugmentedLagrangian())
    C.value = first
    value = problem.solve(solver=solver)
    cold = problem.solver_stats.num_iters
    assert problem.solve(solver=solver, warm_start=True) == pytest.approx(value, rel=1e-9)
    assert problem.solver_stats.num_iters == 0
    problem.solve(solver=solver, warm_start=False)
    assert problem.solver_stats.num_iters == cold
    C.value = first + 1e-3 * np.diag(np.arange(n))
    problem.solve(solver=solver, warm_start=True)
    assert problem.status == "optimal"
    assert problem.value == pytest.approx(problem.solve(solver="CLARABEL"), rel=2e-6)


def test_a_matrix_without_symmetry_is_asked_for_its_symmetric_part():
    W = cp.Variable((2, 2))
    problem = cp.Problem(
        cp.Minimize(cp.trace(W)), [W - np.array([[1.0, 3.0], [0.0, 1.0]]) >> 0, W[0, 1] + W[1, 0] == 1]
    )
    assert problem.solve(solver=PSDOPT()) == pytest.approx(2.0 + 2.0, abs=1e-5)


def test_bounds_on_all_entries_are_constraints_on_half_of_them():
    rng = np.random.default_rng(1)
    C = rng.standard_normal((5, 5))
    X = cp.Variable((5, 5), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), [cp.trace(X) == 1, X >= 0, X <= 0.3])
    problem.solve(solver=PSDOPT(), form="primal", tol=1e-8)
    assert problem.solver_stats.extra_stats["m"] == 31
    y, low, high = (constraint.dual_value for constraint in problem.constraints)
    assert min(low.min(), high.min()) >= 0.0
    assert np.array_equal(low, low.T)
    S = (C + C.T) / 2 + y * np.eye(5) - low + high
    assert np.linalg.eigvalsh(S)[0] >= -1e-7
    assert -y - 0.3 * high.sum() == pytest.approx(problem.value, rel=1e-7)
    assert problem.value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-6)


X = cp.Variable((3, 3), PSD=True, name="X")
y = cp.Variable(2, name="y")


@pytest.mark.parametrize(("problem", "words"), [
    (cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 1, cp.log_det(X) >= 1]),
     r"constraint 1, 1\.0 <= log_det\(X\), needs an exponential cone"),
    (cp.Problem(cp.Minimize(cp.trace(X) - cp.log(X[0, 0]))), r"the objective, minimize .*log.*, needs an exponential"),
    (cp.Problem(cp.Minimize(cp.sum(y)), [y >= 1]), "a PSD variable or a PSD constraint; found neither"),
    (cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] >= cp.Variable(integer=True)]), "integer"),
], ids=["log_det", "log", "no matrix", "integer"])  # fmt: skip
def test_what_it_cannot_take_it_refuses_by_name(problem, words):
    with pytest.raises(cp.SolverError, match=words):
        problem.solve(solver=PSDOPT())


def test_long_objectives_are_quoted_in_brief():
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(np.arange(1.0, 1000.0) @ (np.ones((999, 3)) @ X)))))
    with pytest.raises(cp.SolverError, match=r"the objective, maximize .* \.\.\., needs an exponential cone") as found:
        problem.solve(solver=PSDOPT())
    assert len(str(found.value)) < 400
    assert "\n" not in str(found.value)


def test_psdopt_does_not_import_cvxpy_and_says_what_is_missing():
    code = (
        "import sys, psdopt; assert 'cvxpy' not in sys.modules; sys.modules['cvxpy'] = None\n"
        "try: import psdopt.interop.cvxpy\n"
        "except psdopt.errors.MissingDependencyError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "psdopt.interop.cvxpy needs CVXPY: pip install psdopt[cvxpy]"


def test_infinite_bounds_hold_for_every_matrix_or_for_none():
    upper, least = np.full((3, 3), np.inf), cp.Minimize(cp.trace(np.diag([-1.0, -2.0, 1.0]) @ X))
    upper[0, 0], upper[1, 1] = 1.0, 1.5
    problem = cp.Problem(least, [upper >= X, cp.trace(X) <= 4])
    assert problem.solve(solver=PSDOPT()) == pytest.approx(-4.0, abs=1e-5)
    assert problem.constraints[0].dual_value == pytest.approx(np.diag([1.0, 2.0, 0.0]), abs=1e-4)
    for impossible in (X[0, 0] <= -np.inf, X[1, 2] >= np.inf, X[0, 2] == np.inf):
        problem = cp.Problem(least, [impossible, cp.trace(X) <= 4])
        problem.solve(solver=PSDOPT())
        assert problem.status == "infeasible"
    with pytest.raises(cp.SolverError, match="must hold finite constants"):
        cp.Problem(least, [np.diag([np.inf, 1.0, 1.0]) - X >> 0]).solve(solver=PSDOPT())


@pytest.mark.parametrize(("options", "words"), [
    ({"algorithm": "InteriorPoint"}, "must be a Method; found 'InteriorPoint'"),
    ({"algorithm": LBFGS()}, "LBFGS do not work together"),
    ({"rng": "x"}, "rng must be"),
])  # fmt: skip
def test_what_psdopt_refuses_is_an_error_of_the_solver(options, words):
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 1, X[0, 1] >= 0.5])
    with pytest.raises(cp.SolverError, match=words):
        problem.solve(solver=PSDOPT(**options))


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["symmetric", "hermitian"])
def test_a_smallest_value_of_zero_at_a_zero_block_is_optimal(kind, constant):
    X = cp.Variable((3, 3), **{kind: True})
    value = cp.trace(np.diag([1.0, 2.0, 3.0]) @ X)
    value = cp.real(value) if kind == "hermitian" else value
    problem = cp.Problem(cp.Minimize(value + constant), [X >> 0, np.eye(3) - X >> 0])
    problem.solve(solver=PSDOPT())
    assert (problem.status, problem.value) == (cp.OPTIMAL, constant)
    np.testing.assert_array_equal(X.value, np.zeros((3, 3)))
