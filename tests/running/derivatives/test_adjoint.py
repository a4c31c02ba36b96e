"""Derivatives of minimisers against differences of minimisers, and the two directions against each other."""

import numpy as np
import pytest
import scipy.sparse as sp

import psdopt
from psdopt import Adjoint, FixedTrace, QuadraticSDP, solve
from psdopt.errors import IncompatibleError, InvalidInputError, NotDifferentiableError, UnknownNameError
from tests.running.derivatives.problems import N, cases, symmetric

CASES = cases()


def paired(gradients, tangents):
    """Σ ⟨gradient, tangent⟩."""
    return sum(float(np.sum(dense(gradients[name]) * dense(each))) for name, each in tangents.items())


def dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


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
    found = Adjoint(case.make(case.data), result.matrix).vjp(G)
    np.testing.assert_allclose(found["C"], result.vjp(G)["C"], rtol=0, atol=1e-9)


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
