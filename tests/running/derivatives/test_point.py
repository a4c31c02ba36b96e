"""A zoo of degenerate minimisers, each refused with a number, and their neighbours, which are accepted."""

import re

import numpy as np
import pytest

from psdopt import Adjoint, AutogradProblem, Constrained, LowRankPSD, MarginProblem, QuadraticSDP, constraints, solve
from psdopt.errors import IncompatibleError, NotDifferentiableError
from psdopt.terms import Entries
from tests.running.derivatives.problems import symmetric
from tests.running.derivatives.zoo import ZOO


def solved(name, at):
    problem, options = ZOO[name][0](at)
    return solve(problem, tol=1e-8, **options)


def test_the_zoo_has_at_least_thirty_kinds():
    assert len(ZOO) >= 30


@pytest.mark.parametrize("name", ZOO)
def test_degenerate_minimisers_are_refused_with_a_number(name):
    result = solved(name, 0.0)
    with pytest.raises(NotDifferentiableError) as caught:
        result.vjp(np.eye(result.matrix.n))
    assert re.search(r"\d\.\de[-+]\d\d|is 0, and", str(caught.value))


@pytest.mark.parametrize("name", ZOO)
def test_their_neighbours_are_accepted(name):
    result = solved(name, ZOO[name][1])
    n = result.matrix.n
    dM = symmetric(np.random.default_rng(0), n)
    assert all(np.isfinite(each if np.isscalar(each) else each.sum()) for each in result.vjp(dM).values())


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("name", ["one zero eigenvalue", "cuts of a complete graph of 6", "entries that leave M free"])
def test_an_inaccurate_answer_does_not_hide_degeneracy(name, tol):
    problem, options = ZOO[name][0](0.0)
    result = solve(problem, tol=tol, **options)
    with pytest.raises(NotDifferentiableError):
        result.vjp(np.eye(problem.n))


def test_a_rank_that_is_too_low_within_the_tolerance_is_not_a_limit_of_the_rank():
    """An optimal M that lacks an axis of length 1e-4 in weak directions of F: S has an eigenvalue of −3e-8."""
    rng = np.random.default_rng(3)
    weights = np.geomspace(1.0, 1e-2, 6)
    U, _, V = np.linalg.svd(rng.standard_normal((6, 2)), full_matrices=True)
    Y = (U[:, :2] * [1.0, 1e-2]) @ V
    X = rng.standard_normal((12, 6)) * weights
    A, beyond = X.T @ X / 12.0, U[:, 2:]
    S = (beyond * [1e-4, 0.3, 0.65, 1.0]) @ beyond.T
    M = Y @ Y.T
    problem = QuadraticSDP(A=A, B=1e-4, C=0.5 * (S - 2.0 * A @ M @ A - 2e-4 * M))
    low = LowRankPSD((U[:, :1] * 1.0) @ np.eye(1))
    with pytest.raises(NotDifferentiableError):
        Adjoint(problem, low)
    adjoint, E = solve(problem, tol=1e-8).adjoint, symmetric(rng, 6)
    assert adjoint.matrix.rank == 2
    exact = Adjoint(problem, LowRankPSD(Y)).jvp({"C": E})[0]
    assert np.linalg.norm(adjoint.jvp({"C": E})[0] - exact) <= 1e-6 * np.linalg.norm(exact)


def test_a_zero_minimiser_does_not_move():
    result = solved("M = 0 and a singular S", 0.1)
    assert np.all(result.vjp(np.eye(3))["C"] == 0.0)
    dM, dF = result.jvp({"C": np.eye(3)})
    assert np.all(dM == 0.0)
    assert dF == 0.0


def test_a_matrix_far_from_any_minimiser_is_refused():
    problem = Constrained(QuadraticSDP(C=symmetric(np.random.default_rng(0))), constraints.diagonal(12, 1.0))
    with pytest.raises(NotDifferentiableError):
        Adjoint(problem, LowRankPSD(np.eye(12)), np.zeros(12))


def test_problems_that_offer_too_little_are_refused():
    plain = AutogradProblem(lambda M: ((M - np.eye(3)) ** 2).sum(), 3)
    with pytest.raises(IncompatibleError, match="AutogradProblem declares no data to differentiate by"):
        Adjoint(plain, LowRankPSD(np.eye(3))).vjp(np.eye(3))
    with pytest.raises(IncompatibleError, match="derivatives need the ability hessian; MarginProblem lacks it"):
        Adjoint(MarginProblem(Entries([0], [1], 3)), LowRankPSD(np.eye(3)))
    ball = constraints.norm_bound(Entries([0], [0], 3), 1.0, 0.5)
    with pytest.raises(IncompatibleError, match="derivatives need the ability constrained-fit; Constrained lacks it"):
        Adjoint(Constrained(QuadraticSDP(C=np.eye(3)), ball), LowRankPSD(np.eye(3)))
