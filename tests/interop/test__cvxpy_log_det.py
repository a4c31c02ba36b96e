"""log_det in objectives of CVXPY: values and multipliers beside Clarabel's, endings, refusals, copies of blocks."""

import numpy as np
import pytest

cp = pytest.importorskip("cvxpy")

from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS  # noqa: E402

from psdopt.interop._cvxpy_log_det import LOG_DETS, Level, without_log_det  # noqa: E402
from psdopt.interop.cvxpy import PSDOPT, certify  # noqa: E402

N = 4


def covariance(seed=0, n=N):
    X = np.random.default_rng(seed).standard_normal((3 * n, n))
    return X.T @ X / (3 * n)


def precision(seed):
    X = cp.Variable((N, N), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(covariance(seed) @ X) - cp.log_det(X)), [X[0, 1] == 0, X[2, 3] <= -0.1])


def lasso(seed):
    X = cp.Variable((N, N), symmetric=True)
    cost = cp.trace(covariance(seed) @ X) - cp.log_det(X) + 0.1 * cp.sum(cp.abs(X))
    return cp.Problem(cp.Minimize(cost), [X >> 0])


def design(seed):
    A, x = np.random.default_rng(seed).standard_normal((10, 3)), cp.Variable(10, nonneg=True)
    return cp.Problem(cp.Maximize(cp.log_det(A.T @ cp.diag(x) @ A)), [cp.sum(x) == 1])


def ellipsoid(seed):
    B, b = cp.Variable((2, 2), symmetric=True), cp.Variable(2)
    points = np.random.default_rng(seed).standard_normal((12, 2))
    return cp.Problem(cp.Maximize(cp.log_det(B)), [cp.norm(B @ p + b) <= 1 for p in points])


def two_log_dets(seed):
    S = cp.Variable((N, N), symmetric=True)
    gain = 3 * cp.log_det(S) + 0.5 * cp.log_det(5 * np.eye(N) - S) - cp.trace(covariance(seed) @ S)
    return cp.Problem(cp.Maximize(gain), [cp.trace(S) <= 4])


def near(seed):
    X = cp.Variable((N, N), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - covariance(seed)) - cp.log_det(X)), [cp.trace(X) == 2])


def complex_precision(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((6, 3)) + 1j * rng.standard_normal((6, 3))
    H = cp.Variable((3, 3), hermitian=True)
    return cp.Problem(cp.Minimize(cp.real(cp.trace(Z.conj().T @ Z @ H)) - cp.log_det(H)), [H >> 0])


def no_constraint(seed):
    X = cp.Variable((N, N), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(covariance(seed) @ X) - 2 * cp.log_det(X)))


FAMILIES = [precision, lasso, design, ellipsoid, two_log_dets, near, complex_precision, no_constraint]


@pytest.mark.parametrize("make", FAMILIES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_values_and_multipliers_are_those_of_clarabel(make, seed):
    problem = make(seed)
    value = problem.solve(solver=PSDOPT())
    assert problem.status == "optimal"
    assert problem.solver_stats.extra_stats["proven"] == "everywhere"
    assert problem.objective.value == pytest.approx(value, rel=1e-6, abs=1e-6)
    duals = [np.array(constraint.dual_value) for constraint in problem.constraints]
    assert value == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6, abs=1e-6)
    for ours, constraint in zip(duals, problem.constraints, strict=True):
        np.testing.assert_allclose(ours, constraint.dual_value, atol=2e-3)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("make", [precision, design, ellipsoid, two_log_dets])
def test_both_forms_give_one_value(make, form):
    problem = make(2)
    known = problem.solve(solver=cp.CLARABEL)
    assert problem.solve(solver=PSDOPT(form=form)) == pytest.approx(known, rel=1e-6, abs=1e-6)
    assert problem.status == "optimal"


def test_the_solution_is_exact_where_formulas_are_known():
    X = cp.Variable((N, N), PSD=True)
    C = covariance(3)
    cp.Problem(cp.Minimize(cp.trace(C @ X) - 2 * cp.log_det(X))).solve(solver=PSDOPT())
    np.testing.assert_allclose(X.value, 2 * np.linalg.inv(C), atol=1e-4 * np.abs(X.value).max())
    cp.Problem(cp.Maximize(cp.log_det(X)), [cp.trace(X) == 3]).solve(solver=PSDOPT())
    np.testing.assert_allclose(X.value, 0.75 * np.eye(N), atol=1e-4)


def test_a_constraint_that_log_det_implies_has_the_multiplier_zero():
    X = cp.Variable((N, N), symmetric=True)
    implied = X >> 0
    problem = cp.Problem(cp.Minimize(cp.trace(covariance(4) @ X) - cp.log_det(X)), [implied, X[0, 1] == 0])
    problem.solve(solver=PSDOPT())
    assert problem.solver_stats.extra_stats["n"] <= 2 * N  # one block, not two
    np.testing.assert_array_equal(implied.dual_value, np.zeros((N, N)))


def test_equal_log_dets_are_one_and_a_weight_of_zero_is_none():
    X, p = cp.Variable((N, N), PSD=True), cp.Parameter(nonneg=True)
    C = covariance(5)
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X) - p * cp.log_det(X) - cp.log_det(X)), [cp.trace(X) <= 100])
    for p.value in (0.0, 1.0, 3.0):
        problem.solve(solver=PSDOPT())
        assert problem.status == "optimal"
        np.testing.assert_allclose(X.value, (1 + p.value) * np.linalg.inv(C), atol=1e-3 * np.abs(X.value).max())
        assert sum(nu for _, nu in problem.get_problem_data(PSDOPT())[0][LOG_DETS]) == pytest.approx(1.0 + p.value)
    none = cp.Problem(cp.Minimize(cp.trace(C @ X) - p * cp.log_det(X)), [cp.trace(X) == 1])
    p.value = 0.0
    none.solve(solver=PSDOPT())
    assert none.get_problem_data(PSDOPT())[0][LOG_DETS] == []
    assert np.trace(C @ X.value) == pytest.approx(np.linalg.eigvalsh(C)[0], rel=1e-5)


def test_unbounded_and_infeasible_problems_have_proofs():
    X = cp.Variable((N, N), PSD=True)
    for constraints, cost in (([X[0, 0] <= 1], 0.0), ([X[0, 0] <= 1], cp.trace(X))):
        problem = cp.Problem(cp.Maximize(cp.log_det(X) + cost), constraints)
        assert problem.solve(solver=PSDOPT()) == np.inf
        assert problem.status == "unbounded"
        assert problem.solver_stats.extra_stats["proof"] is not None
    for constraints in ([X[0, 0] <= -1], [cp.trace(X) <= 1, X[0, 0] + X[1, 1] >= 2]):
        problem = cp.Problem(cp.Maximize(cp.log_det(X)), constraints)
        assert problem.solve(solver=PSDOPT()) == -np.inf
        assert problem.status == "infeasible"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: cp.Problem(cp.Minimize(cp.trace(X)), [cp.log_det(X) >= 1]), r"constraint 0, .*log_det.*exponential"),
        (lambda X: cp.Problem(cp.Minimize(cp.exp(-cp.log_det(X)))), r"objective, minimize exp.*log_det.*exponential"),
        (lambda X: cp.Problem(cp.Minimize(cp.inv_pos(cp.log_det(X))), [cp.trace(X) <= 9]), "summand of the objective"),
        (lambda X: cp.Problem(cp.Minimize(cp.square(cp.neg(cp.log_det(X))))), "summand of the objective"),
    ],
    ids=["constraint", "exp", "inv_pos", "square"],
)
def test_other_places_of_log_det_are_refused(make, words):
    with pytest.raises(cp.SolverError, match=words):
        make(cp.Variable((3, 3), PSD=True)).solve(solver=PSDOPT())


def test_other_solvers_get_cvxpys_own_form():
    data = precision(0).get_problem_data(cp.CLARABEL)[0]
    assert data["dims"].exp == N
    assert not any(isinstance(variable, Level) for variable in data["param_prob"].variables)
    assert CANON_METHODS[cp.log_det].__module__ == "psdopt.interop._cvxpy_log_det"


def test_a_problem_without_log_det_is_left_as_it_is():
    from cvxpy.problems.problem_form import ProblemForm

    form = ProblemForm(cp.Problem(cp.Minimize(cp.trace(cp.Variable((2, 2), PSD=True)))))
    assert without_log_det(form) is form


def test_answers_of_other_solvers_are_certified():
    problem = precision(1)
    problem.solve(solver=cp.SCS, eps=1e-8)
    found = certify(problem, 1e-6)
    assert found.optimal
    assert found.origin == "answer"
    problem.variables()[0].value = 1.1 * problem.variables()[0].value
    assert not certify(problem, 1e-6).optimal
