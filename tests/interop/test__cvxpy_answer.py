"""certify: what is proven of answers of SCS, of Clarabel, and of answers that are wrong on purpose."""

import math

import cvxpy as cp
import numpy as np
import pytest

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.interop._cvxpy_complementary import complementary
from psdopt.interop.cvxpy import PSDOPT, AnswerCertificate, certify

from .cvxpy_claims import program
from .cvxpy_problems import (
    SOLVABLE,
    frobenius_norm,
    largest_eigenvalue,
    matrix_inequality,
    max_cut,
    nearest_correlation,
    nuclear_norm,
    smallest_eigenvalue,
    theta,
    theta_of_the_complement,
    two_matrices_and_scalars,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning"),
    pytest.mark.filterwarnings("ignore:The problem has an expression with dimension greater than 2:UserWarning"),
]
#: Optima away from zero, with all multipliers kept by CVXPY or determined by those it keeps.
PROVABLE = [
    max_cut, nearest_correlation, theta, theta_of_the_complement, smallest_eigenvalue, nuclear_norm,
    two_matrices_and_scalars, matrix_inequality, largest_eigenvalue,
]  # fmt: skip
TIGHT = {"SCS": {"eps": 1e-9, "max_iters": 50_000}, "CLARABEL": {}}


def names(build):
    return build.__name__


def solved(build, solver="CLARABEL", **options):
    problem = build(np.random.default_rng(5))
    problem.solve(solver=solver, **{**TIGHT.get(solver, {}), **options})
    return problem


def beyond(certificate: AnswerCertificate, optimum: float) -> float:
    """By how much the bound would exclude the optimum; at most rounding and the error of the optimum are allowed."""
    side = -1.0 if certificate.maximize else 1.0
    return side * (certificate.bound - optimum)


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
@pytest.mark.parametrize("build", PROVABLE, ids=names)
def test_an_exact_answer_is_proven_by_its_own_multipliers(build, solver):
    problem = solved(build, solver)
    found = certify(problem, 1e-5, own_run=False)
    assert found.optimal
    assert found.proves(1e-5)
    assert not found.proves(1e-17)
    assert found.origin in ("answer", "repaired")
    assert found.value == pytest.approx(problem.value, rel=1e-6)
    assert beyond(found, problem.value) <= 1e-6 * (1.0 + abs(problem.value))
    assert found.gap == abs(found.value - found.bound)
    assert max(found.dimacs.values()) <= 1e-5


@pytest.mark.parametrize("build", SOLVABLE, ids=names)
def test_no_bound_excludes_the_optimum_however_wrong_the_answer(build):
    optimum = solved(build, PSDOPT(tol=1e-9)).value
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-3, 1.0, 30.0):
        problem = solved(build, "SCS")
        for each in [*problem.variables(), *(d for c in problem.constraints for d in c.dual_variables)]:
            noise = size * rng.standard_normal(each.shape)
            square = noise.ndim == 2 and noise.shape[0] == noise.shape[1]
            each.save_value(each.value + (noise + noise.T if square else noise))
        for own_run in (False, True):
            found = certify(problem, 1e-6, own_run=own_run)
            assert beyond(found, optimum) <= 1e-6 * (1.0 + abs(optimum))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_with_scalars_inequalities_and_absolute_values(seed):
    problem = program(seed)
    problem.solve(solver="CLARABEL")
    if problem.status != "optimal":
        return
    found = certify(problem, 1e-5, own_run=False)
    assert found.optimal, str(found)
    assert found.origin in ("answer", "repaired")
    assert found.bound <= problem.value + 1e-6 * (1.0 + abs(problem.value))


def test_the_default_answer_of_scs_is_measured():
    problem = solved(max_cut, "SCS", eps=1e-3)
    found = certify(problem, 1e-8)
    exact = solved(max_cut).value
    assert not found.optimal
    assert "not optimal to 1e-08" in found.message
    assert found.bound >= exact - 1e-6
    (constraint, variable) = found.violations
    X = problem.variables()[0].value
    assert constraint[1] == pytest.approx(np.max(np.abs(np.diag(X) - 1.0)))
    assert variable[1] == pytest.approx(max(-np.linalg.eigvalsh(X)[0], 0.0), abs=1e-12)
    assert found.infeasibility == max(constraint[2], variable[2])


@pytest.mark.parametrize("build", PROVABLE, ids=names)
def test_a_better_looking_infeasible_point_is_refused(build):
    problem = solved(build)
    for variable in problem.variables():
        variable.save_value(1.02 * variable.value)
    found = certify(problem, 1e-5)
    assert not found.optimal
    assert max(found.infeasibility, found.gap_relative) > 1e-3
    assert "not optimal to 1e-05" in found.message


def test_a_feasible_point_that_is_not_optimal_is_refused_by_its_gap():
    problem = solved(max_cut)
    problem.variables()[0].save_value(np.eye(12))
    found = certify(problem)
    assert found.infeasibility <= 1e-12
    assert found.gap_relative == pytest.approx(1.0 - found.value / found.bound, rel=0.2)
    assert found.gap_relative > 0.05
    assert not found.optimal


@pytest.mark.parametrize("build", [max_cut, theta, two_matrices_and_scalars], ids=names)
def test_multipliers_of_the_wrong_sign_prove_little_and_psdopt_makes_up_for_it(build):
    problem = solved(build)
    for constraint in problem.constraints:
        for each in constraint.dual_variables:
            each.save_value(-each.value)
    alone = certify(problem, 1e-5, own_run=False)
    assert not alone.optimal
    assert alone.gap_relative > 0.01
    assert beyond(alone, problem.value) <= 0.0
    helped = certify(problem, 1e-5)
    assert helped.optimal
    assert helped.origin == "psdopt"


def test_an_answer_without_any_multipliers_is_certified_by_a_run_of_psdopt():
    problem = solved(max_cut)
    problem.constraints[0].dual_variables[0].save_value(None)
    assert certify(problem).optimal
    assert problem.constraints[0].dual_value is None


def test_an_unbounded_problem_has_no_bound():
    X = cp.Variable((3, 3), PSD=True)
    X.save_value(np.array([[1.0, -9.0, 0.0], [-9.0, 81.0, 0.0], [0.0, 0.0, 0.0]]))
    along_a_ray = cp.Problem(cp.Minimize(X[0, 0] - X[1, 1]), [X[0, 0] == 1])
    without_a_ray = cp.Problem(cp.Minimize(X[0, 1]), [X[0, 0] == 1])
    for problem, reason in ((along_a_ray, "unbounded"), (without_a_ray, "the multipliers give no bound")):
        found = certify(problem)
        assert (found.bound, found.origin, found.optimal) == (-math.inf, "", False)
        assert found.gap == math.inf
        assert found.message.startswith(f"not proven: {reason}")


@pytest.mark.parametrize("maximize", [False, True])
def test_an_infeasible_problem_is_named_so(maximize):
    X = cp.Variable((3, 3), PSD=True)
    objective = cp.Maximize(-cp.sum(X)) if maximize else cp.Minimize(cp.sum(X))
    problem = cp.Problem(objective, [cp.trace(X) == 1, X[0, 0] + X[1, 1] == 2])
    X.save_value(np.eye(3))
    found = certify(problem)
    assert found.bound == (-math.inf if maximize else math.inf)
    assert found.message.startswith("not optimal: infeasible")
    assert not found.optimal
    infinite = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] >= np.inf])
    assert "an infinite bound excludes every number" in certify(infinite).message


def test_a_constant_objective_needs_a_feasible_point_alone():
    X = cp.Variable((3, 3), PSD=True)
    problem = cp.Problem(cp.Minimize(3.0), [cp.trace(X) == 1])
    X.save_value(np.eye(3) / 3.0)
    assert certify(problem).optimal
    X.save_value(np.eye(3))
    found = certify(problem)
    assert (found.bound, found.gap, found.origin) == (3.0, 0.0, "program")
    assert not found.optimal


def test_scales_of_units_do_not_decide():
    for unit in (1e-6, 1.0, 1e6):
        X = cp.Variable((4, 4), PSD=True)
        C = np.diag([1.0, -2.0, 0.5, 3.0]) + 0.3
        problem = cp.Problem(cp.Minimize(unit * cp.trace(C @ X)), [cp.trace(X) == unit])
        w, V = np.linalg.eigh(C)
        X.save_value(unit * np.outer(V[:, 0], V[:, 0]))
        problem.constraints[0].dual_variables[0].save_value(-unit * w[0])
        assert certify(problem, 1e-9, own_run=False).optimal
        X.save_value((1.0 + 1e-4) * X.value)
        found = certify(problem, 1e-9, own_run=False)
        assert 1e-5 <= found.infeasibility <= 1e-3
        assert not found.optimal


def test_an_entry_that_must_be_zero_is_measured_against_its_matrix():
    problem = solved(theta)
    assert certify(problem).infeasibility <= 1e-6
    X = problem.variables()[0]
    value = X.value
    value[0, 1] = value[1, 0] = 1e-2
    X.save_value(value)
    assert 1e-3 <= certify(problem).infeasibility <= 1e-1


def cones(rng: np.random.Generator) -> cp.Problem:
    """Second-order cones by rows and by columns, a stack of matrices, a parameter, attributes of variables."""
    x, U = cp.Variable(3), cp.Variable((2, 3))
    S, D = cp.Variable((2, 2, 2), name="stack"), cp.Variable((3, 3), symmetric=True)
    size = cp.Parameter(nonneg=True, value=2.0)
    held = [
        cp.SOC(size, x), cp.SOC(cp.Constant(np.ones(3)), U), cp.SOC(cp.Constant(np.ones(2)), U, axis=1),
        S >> 0, S[0, 0, 0] + S[0, 1, 1] == 1, S[1, 0, 0] + S[1, 1, 1] == 2, D >> -1 * np.eye(3), cp.trace(D) == 0,
        S[:, 0, 1] == S[:, 1, 0],
    ]  # fmt: skip
    cost = rng.standard_normal(3) @ x + cp.sum(cp.multiply(rng.standard_normal((2, 3)), U))
    cost += cp.sum(cp.multiply(rng.standard_normal((2, 2, 2)), S)) + D[0, 0] - 2 * D[1, 1]
    return cp.Problem(cp.Minimize(cost), held)


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
def test_multipliers_of_cones_and_stacks_find_their_rows(solver):
    problem = solved(cones, solver)
    found = certify(problem, 1e-5, own_run=False)
    assert found.optimal, str(found)


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_of_norms_follow_from_complementarity_where_those_of_the_matrix_are_lost_as_well(seed):
    problem = frobenius_norm(np.random.default_rng(seed))
    problem.solve(solver="SCS", **TIGHT["SCS"])
    found = certify(problem, 1e-5, own_run=False)
    assert found.optimal, str(found)
    assert found.origin in ("answer", "repaired")


def test_complementary_multipliers_of_a_cone_and_of_a_matrix():
    V = complementary(np.array([5.0, 3.0, 4.0]))
    assert V.shape == (3, 1)
    assert np.allclose(V[:, 0] / V[0, 0], [1.0, -0.6, -0.8])
    assert complementary(np.array([5.1, 3.0, 4.0])).shape == (3, 0)
    assert complementary(np.zeros(3)).shape == (3, 3)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    S = Q[:, :2] @ np.diag([1.0, 2.0]) @ Q[:, :2].T
    V = complementary(S).T.reshape(-1, 4, 4)
    assert len(V) == 3
    assert np.allclose(np.tensordot(V, V, ([1, 2], [1, 2])), np.eye(3))
    for each in V:
        assert np.allclose(each, each.T)
        assert np.abs(each @ S).max() <= 1e-12
    assert complementary(np.eye(4)).shape == (16, 0)
    assert complementary(np.zeros((200, 200))) is None  # too large


def test_complex_variables_are_certified_with_psdopts_multipliers():
    rng = np.random.default_rng(0)
    G = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    H = cp.Variable((3, 3), hermitian=True)
    problem = cp.Problem(cp.Minimize(cp.real(cp.trace((G + G.conj().T) @ H))), [H >> 0, cp.real(cp.trace(H)) == 1])
    problem.solve(solver="CLARABEL")
    found = certify(problem, 1e-5)
    assert found.optimal, str(found)
    assert found.bound == pytest.approx(np.linalg.eigvalsh(G + G.conj().T)[0], rel=1e-5)


def test_neither_the_problem_nor_its_numbers_change():
    problem = solved(two_matrices_and_scalars, "SCS")
    values = [variable.value.copy() for variable in problem.variables()]
    duals = [np.copy(constraint.dual_value) for constraint in problem.constraints]
    status, value, stats = problem.status, problem.value, problem.solver_stats
    certify(problem)
    assert all(np.array_equal(v.value, old) for v, old in zip(problem.variables(), values, strict=True))
    assert all(np.array_equal(c.dual_value, old) for c, old in zip(problem.constraints, duals, strict=True))
    assert (problem.status, problem.value, problem.solver_stats) == (status, value, stats)


def test_it_prints_a_table_with_what_is_violated():
    problem = solved(max_cut, "SCS", eps=1e-3)
    text = str(certify(problem, 1e-12))
    assert text.splitlines()[0].startswith("not optimal to 1e-12: ")
    assert text.splitlines()[1].startswith("bound from ")
    for word in ("value", "proven upper bound", "relative gap", "infeasibility", "  constraint 0: ", "DIMACS primal"):
        assert any(line.startswith(word) for line in text.splitlines()[2:])
    assert "certificate=" not in repr(certify(problem))


def test_wrong_arguments_are_named():
    X = cp.Variable((2, 2), PSD=True, name="X")
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 1])
    with pytest.raises(InvalidTypeError, match=r"problem must be a cvxpy\.Problem; found int"):
        certify(3)
    with pytest.raises(InvalidInputError, match="finite values of its variables; found none for X: solve it"):
        certify(problem)
    X.save_value(np.full((2, 2), np.nan))
    with pytest.raises(InvalidInputError, match="found nan or inf for X"):
        certify(problem)
    X.save_value(np.eye(2))
    with pytest.raises(InvalidInputError, match="tol must be"):
        certify(problem, 0.0)
    with pytest.raises(cp.SolverError, match="needs an exponential cone"):
        certify(cp.Problem(cp.Minimize(cp.trace(X)), [cp.log_det(X) >= 0]))
    y = cp.Variable(value=1.0)
    with pytest.raises(cp.SolverError, match="PSD variable or a PSD constraint; found neither"):
        certify(cp.Problem(cp.Minimize(y), [y >= 1]))


def test_violations_of_complex_and_of_fixed_entries_are_relative_to_entries_too():
    H, x = cp.Variable((3, 3), hermitian=True), cp.Variable((3, 3), PSD=True)
    fixed = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    least = cp.Problem(cp.Minimize(cp.real(cp.trace(H))), [H >> 0, H[0, 1] == 1 + 1j])
    held = cp.Problem(cp.Minimize(cp.sum(x)), [cp.abs(x - fixed) <= np.zeros((3, 3))])
    for problem, off in ((least, H), (held, x)):
        problem.solve(solver=cp.CLARABEL)
        off.value = off.value + 1e-9 * np.eye(3)
        assert certify(problem, own_run=False).infeasibility < 1e-6
        off.value = off.value - 1e-2 * np.eye(3)
        assert 1e-4 < certify(problem, own_run=False).infeasibility < 1.0
