"""Derivatives of minimisers against differences of minimisers, and the two directions against each other."""

import pickle

import autograd.numpy as anp
import numpy as np
import pytest

import psdopt
from psdopt import Adjoint, Constrained, FixedTrace, FunctionProblem, QuadraticSDP, TermSum, constraints, solve
from psdopt.errors import (
    IncompatibleError,
    InvalidInputError,
    InvalidTypeError,
    NotDifferentiableError,
    UnknownNameError,
)
from psdopt.terms import Entries, HalfSquaredOneSided, LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms
from tests.running.derivatives.problems import N, cases, paired, symmetric

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_derivatives_agree_with_differences_of_minimisers(name):
    case = CASES[name]
    result = case.solved()
    adjoint = result.adjoint
    assert set(case.data) <= set(adjoint.data)
    G, tangents, h = symmetric(np.random.default_rng(1)), case.tangents(2), 2e-4
    M = {k: case.moved(tangents, k * h, adjoint) for k in (-2, -1, 1, 2)}
    slope = [(8.0 * (M[1][k] - M[-1][k]) - (M[2][k] - M[-2][k])) / (12.0 * h) for k in (0, 1)]
    dM, dF = result.jvp(tangents)
    assert np.linalg.norm(dM - slope[0]) <= 1e-6 * np.linalg.norm(slope[0])
    assert dF == pytest.approx(slope[1], rel=1e-6)
    assert paired(result.vjp(G), tangents) == pytest.approx(float(np.sum(G * slope[0])), rel=1e-6)
    assert paired(result.vjp(value=1.0), tangents) == pytest.approx(dF, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_the_two_directions_are_adjoint(name, seed):
    adjoint = adjoint_of(name)
    rng = np.random.default_rng(seed)
    G, tangents = rng.standard_normal((N, N)), CASES[name].tangents(seed)
    dM, dF = adjoint.jvp(tangents)
    forth = float(np.sum(G * dM)) + 0.3 * dF
    assert paired(adjoint.vjp(G, 0.3), tangents) == pytest.approx(forth, rel=1e-8, abs=1e-10)


def adjoint_of(name, kept={}):  # noqa: B006
    if name not in kept:
        kept[name] = CASES[name].solved().adjoint
    return kept[name]


def test_derivatives_by_the_constraints_agree_with_differences():
    """By the numbers of the A_t, and by both bounds of inequalities."""
    rng = np.random.default_rng(3)
    forms = [symmetric(rng) for _ in range(3)]
    forms[0] = np.eye(N)
    C = symmetric(rng)

    def made(B, bound):
        measurement = psdopt.constraints.SparseForms(problem.forms.i, problem.forms.j, B, N)
        return psdopt.Constrained(QuadraticSDP(C=C), psdopt.constraints.Constraint(measurement, bound, bound))

    problem = psdopt.Constrained(QuadraticSDP(C=C), psdopt.constraints.sparse_forms(forms, equals=[2.0, 0.3, 0.4]))
    adjoint = solve(problem, tol=1e-9).adjoint
    tangent = {"forms": adjoint.data["forms"].copy(), "bounds": rng.standard_normal(3)}
    tangent["forms"].data = rng.standard_normal(tangent["forms"].nnz)
    h, M = 1e-4, {}
    for k in (-2, -1, 1, 2):
        B = adjoint.data["forms"] + k * h * tangent["forms"]
        there = made(B, adjoint.data["bounds"] + k * h * tangent["bounds"])
        M[k] = Adjoint(there, adjoint.matrix, adjoint.multipliers).matrix.to_dense()
    slope = (8.0 * (M[1] - M[-1]) - (M[2] - M[-2])) / (12.0 * h)
    dM, _ = adjoint.jvp(tangent)
    assert np.linalg.norm(dM - slope) <= 1e-6 * np.linalg.norm(slope)
    G = symmetric(rng)
    assert paired(adjoint.vjp(G), tangent) == pytest.approx(float(np.sum(G * dM)), rel=1e-8)


def test_a_geometry_of_fixed_trace_counts_as_a_constraint():
    rng = np.random.default_rng(0)
    A, C = np.eye(N) + 0.1 * symmetric(rng) @ symmetric(rng).T, symmetric(rng)
    result = solve(QuadraticSDP(A=A @ A.T, C=C), FixedTrace(N, 4, 2.0), tol=1e-8)
    dM, _ = result.jvp({"C": symmetric(rng)})
    assert abs(np.trace(dM)) <= 1e-10 * np.linalg.norm(dM)


def test_the_result_is_not_changed():
    result = CASES["max-cut"].solved()
    before = result.matrix.factor.copy()
    result.vjp(np.eye(N))
    assert np.array_equal(result.matrix.factor, before)


def test_multipliers_may_be_left_out():
    case = CASES["max-cut"]
    result = case.solved()
    G = np.diag(np.arange(float(N))) + 1.0
    found = Adjoint(case.make(case.data), result.matrix).vjp(G)["C"]
    np.testing.assert_allclose(found, result.vjp(G)["C"], rtol=0, atol=1e-9 * np.abs(found).max())


def test_runs_that_have_not_converged_are_refused():
    case = CASES["alignment"]
    result = solve(
        case.make(case.data), method=psdopt.ConjugateGradient(), geometry=psdopt.FlatQuotient(N, N), max_iterations=2
    )
    with pytest.raises(NotDifferentiableError, match=r"has not converged \(iteration_limit\)"):
        result.vjp(np.eye(N))


def test_a_result_from_a_file_needs_the_problem(tmp_path):
    case = CASES["alignment"]
    result = case.solved()
    result.save(tmp_path / "result.npz")
    with pytest.raises(IncompatibleError, match="a result of an estimator or from a file has no problem"):
        psdopt.Result.load(tmp_path / "result.npz").vjp(np.eye(N))


def test_bad_arguments_are_refused():
    adjoint = adjoint_of("alignment")
    with pytest.raises(InvalidInputError, match=r"dM must have shape \(12, 12\); found \(3, 3\)"):
        adjoint.vjp(np.eye(3))
    with pytest.raises(InvalidInputError, match="dM must be finite"):
        adjoint.vjp(np.full((N, N), np.nan))
    with pytest.raises(UnknownNameError, match="unknown datum 'D'"):
        adjoint.jvp({"D": np.eye(N)})
    with pytest.raises(InvalidInputError, match=r"the tangent of C must have shape \(12, 12\); found \(2, 2\)"):
        adjoint.jvp({"C": np.eye(2)})
    with pytest.raises(InvalidInputError, match="dM must be real"):
        adjoint.vjp(1j * np.eye(N))
    with pytest.raises(InvalidInputError, match="the tangent of C must be finite"):
        adjoint.jvp({"C": np.full((N, N), np.nan)})


def test_what_does_not_move_M_has_derivatives_zero():
    """dM = 0, dM beyond the range of M, and no tangents at all."""
    adjoint = solve(QuadraticSDP(B=0.5, C=-0.5 * np.diag([3.0, 2.0, -1.0]))).adjoint
    for dM in (np.zeros((3, 3)), np.diag([0.0, 0.0, 1.0])):
        assert not adjoint.vjp(dM)["C"].any()
    for tangents in ({}, {"C": np.zeros((3, 3))}):
        moved, slope = adjoint.jvp(tangents)
        assert not moved.any()
        assert slope == 0.0


def test_tangents_may_be_lists():
    adjoint, E = adjoint_of("nearest matrix"), symmetric(np.random.default_rng(0))
    np.testing.assert_array_equal(adjoint.jvp({"C": E.tolist()})[0], adjoint.jvp({"C": E})[0])


@pytest.mark.parametrize("name", ["alignment", "max-cut"])
def test_results_are_pickled_after_a_derivative(name):
    problem = QuadraticSDP(B=0.5, C=CASES[name].data["C"])
    if name == "max-cut":
        problem = psdopt.Constrained(QuadraticSDP(C=CASES[name].data["C"]), psdopt.constraints.diagonal(N, 1.0))
    result = solve(problem)
    found = result.vjp(np.eye(N)[::-1])["C"]
    np.testing.assert_allclose(pickle.loads(pickle.dumps(result)).vjp(np.eye(N)[::-1])["C"], found, rtol=1e-12)


@pytest.mark.parametrize("corner", [1.0, 1.01, 2.0])
def test_corners_of_functions_are_refused(corner):
    """½ (m − p)² + ½ 9 max(0, m − corner)² at p = 1: dm/dp is 1/10 on one side of the corner, and 1 on the other."""

    def squared_hinge(M, p):
        m = M[0, 0]
        return 0.5 * (m - p) ** 2 + 4.5 * anp.maximum(0.0, m - corner) ** 2

    result = solve(FunctionProblem(squared_hinge, 1, convex=True, parameters=1.0), tol=1e-9)
    if corner == 1.0:
        with pytest.raises(NotDifferentiableError, match="a loss is at a corner of its derivative"):
            result.vjp(np.eye(1))
    else:
        assert result.vjp(np.eye(1))["parameters"] == pytest.approx(1.0)


@pytest.mark.parametrize(("seed", "n"), [(102, 15), (120, 8), (128, 8), (114, 15)])
def test_answers_from_which_newton_fails_come_nearer_first(seed, n):
    """Bounds of measurements, few of which are active, and a nearly flat F: the signs of S are not yet settled."""
    rng = np.random.default_rng(seed)
    rng.standard_normal((n, n))
    X = rng.standard_normal((6 * n, n))
    target = np.sum(X**2, axis=1) * rng.uniform(0.5, 1.5, 6 * n)
    loss = HalfSquaredOneSided(target, rng.choice([-1.0, 0.0, 1.0], 6 * n), rng.uniform(0.1, 2.0, 6 * n))
    problem = TermSum([MeasuredTerm(QuadraticForms(X), loss), LinearTerm(0.01 * np.eye(n))])
    result = solve(problem, tol=1e-6)
    with pytest.raises(NotDifferentiableError, match="a run with a smaller tol may help"):
        Adjoint(problem, result.matrix)
    found, expected = (each.vjp(np.eye(n))["target"] for each in (result, solve(problem, tol=1e-10)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_the_only_matrix_of_order_one_is_differentiable_by_its_bound():
    """S = 0 there, and no axis of M is left out beside it."""
    problem = Constrained(QuadraticSDP(C=np.array([[0.0]])), constraints.diagonal(1, 2.0))
    assert np.isclose(solve(problem).vjp(np.ones((1, 1)))["bounds"][0], 1.0)


def test_products_of_its_system_use_the_array_of_s():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(12)
    term = MeasuredTerm(Entries(i, j, 12), LeastSquares(rng.standard_normal(len(i)), np.ones(len(i))))
    at = solve(TermSum([term])).adjoint._system.at
    X, S, before = rng.standard_normal(at.Y.shape), at.slack, term.tally.number
    found, taken = at.product(X), term.tally.number - before
    bend = 0.5 * at.evaluation.hessian_vector(X) - at.evaluation.gradient @ X
    np.testing.assert_allclose(found, S @ X + bend, rtol=0.0, atol=1e-12 * np.abs(found).max())
    assert taken == 2 * len(i)  # those of the curvature, none for S


@pytest.mark.parametrize("n", [30, 90])
def test_a_cut_takes_its_preconditioner_twice(n):
    rng, used = np.random.default_rng(n), []
    system = solve(Constrained(QuadraticSDP(C=symmetric(rng, n)), constraints.diagonal(n, 1.0))).adjoint._system
    inverse, at = system.inverse, system.at
    system.inverse = lambda R, q: used.append(1) or inverse(R, q)
    R = at.horizontal(rng.standard_normal(at.Y.shape))
    X, v = system.solve(R, np.zeros(n))
    assert len(used) == 2
    assert np.linalg.norm(at.horizontal(at.product(X) + at.force(v, at.Y) - R)) <= 1e-10 * np.linalg.norm(R)
    assert np.linalg.norm(at.values(at.Y, X)) <= 1e-10 * np.linalg.norm(X)


def test_numbers_that_are_none_are_named():
    result = solve(QuadraticSDP(B=0.5, C=-0.5 * np.diag([3.0, 1.0, -1.0])))
    with pytest.raises(InvalidTypeError, match="tangent of C must hold real numbers; found dtype complex128"):
        result.jvp({"C": 1j * np.eye(3)})
    with pytest.raises(InvalidTypeError, match="tangents must be a Mapping"):
        result.jvp([np.eye(3)])
    with pytest.raises(InvalidTypeError, match="dM must hold real numbers"):
        result.vjp("a")
    for value in ("a", np.nan, 1j):
        with pytest.raises(InvalidInputError, match="value must be a finite number"):
            result.vjp(value=value)
