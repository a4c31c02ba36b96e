"""Quadratic fits of terms: recognised for what they are, their members against direct evaluation."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Ability, EntryFit, QuadraticSDP, TermSum
from psdopt.errors import InvalidTypeError
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm

N = 9


def symmetric(rng, n=N):
    A = rng.standard_normal((n, n))
    return A + A.T


def entries(rng):
    i, j = np.triu_indices(N)
    chosen = rng.choice(len(i), 14, replace=False)
    L = sp.csr_array(symmetric(rng))
    return EntryFit(L, i[chosen], j[chosen], rng.standard_normal(14), rng.uniform(0.5, 2.0, 14), constant=3.0)


def with_diagonal(rng):
    """The whole diagonal is among the entries: the system is made for distances."""
    i, j = np.triu_indices(N, 1)
    chosen = rng.choice(len(i), 11, replace=False)
    order = rng.permutation(N + 11)
    i, j = (np.concatenate([np.arange(N), ends[chosen]])[order] for ends in (i, j))
    return EntryFit(symmetric(rng), i, j, rng.standard_normal(N + 11), rng.uniform(0.5, 2.0, N + 11))


def forms(rng):
    X = LinearMap(rng.standard_normal((12, N)))
    loss = HalfSquaredOneSided(rng.standard_normal(12), 0.0, rng.uniform(0.5, 2.0, 12))
    return TermSum(
        [LinearTerm(GramForm(X), 0.3), MeasuredTerm(QuadraticForms(X), loss, 2.0), LinearTerm(IdentityForm(N))]
    )


def distances(rng):
    return TermSum([MeasuredTerm(PairDistances([0, 3, 5, 1], [1, 4, 2, 8], n=N), LeastSquares([1.0, 2.0, 0.5, 3.0]))])


def triplets(rng):
    C = LinearTerm(MatrixForm(symmetric_map(symmetric(rng), "C", N)), -0.5)
    measurement = TripletDifferences([0, 3, 5], [1, 4, 2], [7, 8, 6], n=N)
    return TermSum([C, MeasuredTerm(measurement, LeastSquares(1.0, 0.7))])


FITS = [entries, with_diagonal, forms, distances, triplets]


@pytest.mark.parametrize("kind", FITS)
def test_gradient_at_the_multipliers_of_a_point_is_that_of_the_problem(kind):
    rng = np.random.default_rng(1)
    problem = kind(rng)
    fit = problem.quadratic_fit()
    assert Ability.QUADRATIC_FIT in problem.abilities
    evaluation = problem.at(rng.standard_normal((N, 3)))
    block, measured = fit.at(evaluation)
    assert block is evaluation.images
    S = fit.gradient(fit.multipliers(measured))
    expected = evaluation.gradient @ np.eye(N)
    np.testing.assert_allclose(S, expected, rtol=0, atol=1e3 * EPS * np.abs(expected).max())
    again = fit.gradient(np.zeros(fit.size))
    S[:] = np.nan  # what is handed out is the caller's own
    np.testing.assert_array_equal(fit.gradient(np.zeros(fit.size)), again)


@pytest.mark.parametrize("kind", FITS)
def test_members_are_what_the_protocol_says(kind):
    """Against S(w), which the test above compares with the problem's own gradient."""
    rng = np.random.default_rng(3)
    fit = kind(rng).quadratic_fit()
    C = fit.gradient(np.zeros(fit.size))
    A = np.array([fit.gradient(e) - C for e in np.eye(fit.size)])
    U, V, w, q = (rng.standard_normal(shape) for shape in ((N, 2), (N, 2), fit.size, fit.size))
    P, Q = (X @ X.T for X in rng.standard_normal((2, N, N)))
    blocks, allowed = (fit.block(U), fit.block(V)), 1e3 * EPS * np.abs(A).max() * N**2
    np.testing.assert_allclose(fit.pair(*blocks), np.einsum("tij,ik,jk->t", A, U, V), rtol=0, atol=10 * allowed)
    for found, expected in zip(
        fit.along(*blocks), (2.0 * fit.pair(*blocks), fit.pair(blocks[1], blocks[1])), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=10 * allowed)
    np.testing.assert_allclose(fit.force(w, blocks[1]), np.einsum("t,tij,jk->ik", w, A, V), rtol=0, atol=10 * allowed)
    assert fit.linear(*blocks) == pytest.approx(np.sum(U * (C @ V)), rel=1e-12, abs=1e-11)
    K = np.einsum("sij,jk,tkl,li->st", A, P, A, Q, optimize=True) + np.diag(0.5 / fit.curvatures)
    v = fit.solver(P, Q, np.full((fit.size, fit.size), np.nan))(q)
    np.testing.assert_allclose(K @ v, q, rtol=0, atol=64 * fit.size * EPS * np.linalg.cond(K) * np.abs(q).max())


def test_the_factor_of_an_evaluation_of_another_object_is_measured_anew():
    rng = np.random.default_rng(0)
    problem, other = forms(rng), QuadraticSDP(A=np.eye(N), C=np.eye(N))
    Y = rng.standard_normal((N, 2))
    fit = problem.quadratic_fit()
    np.testing.assert_allclose(fit.at(other.at(Y))[1], fit.at(problem.at(Y))[1], rtol=1e-13)


def nothing_else(rng):
    measured = MeasuredTerm(Entries([0, 1], [1, 1], N), LeastSquares(1.0))
    identity = IdentityForm(N)

    class Uncoupled(Entries):
        couples = False

    return {
        "a quadratic form": QuadraticSDP(A=np.eye(N), C=np.eye(N)),
        "no loss": TermSum([LinearTerm(identity)]),
        "two losses": TermSum([measured, MeasuredTerm(Entries([2], [2], N), LeastSquares(0.0))]),
        "another term": TermSum([measured, ProductTerm(identity, identity)]),
        "a linear loss": TermSum([MeasuredTerm(Entries([0], [1], N), Linear())]),
        "a hinge": TermSum([MeasuredTerm(Entries([0], [1], N), SquaredHinge())]),
        "a bound": TermSum([MeasuredTerm(Entries([0], [1], N), HalfSquaredOneSided(1.0, 1.0))]),
        "a weight of zero": TermSum([MeasuredTerm(Entries([0, 1], [1, 2], N), LeastSquares(0.0, [1.0, 0.0]))]),
        "a concave loss": TermSum([MeasuredTerm(Entries([0], [1], N), LeastSquares(0.0), -1.0)]),
        "no coupling": TermSum([MeasuredTerm(Uncoupled([0], [1], N), LeastSquares(0.0))]),
    }


@pytest.mark.parametrize("name", nothing_else(np.random.default_rng(0)))
def test_what_is_no_quadratic_fit_does_not_pass_for_one(name):
    problem = nothing_else(np.random.default_rng(0))[name]
    assert Ability.QUADRATIC_FIT not in problem.abilities
    with pytest.raises(InvalidTypeError, match="lacks the ability quadratic-fit"):
        problem.quadratic_fit()


def test_a_pickle_holds_nothing_that_can_be_made_again():
    n = 60
    problem = EntryFit(np.eye(n), np.arange(n), np.arange(n), 1.0)
    before = len(pickle.dumps(problem))
    fit = problem.quadratic_fit()
    fit.solver(np.eye(n), np.eye(n), np.empty((n, n)))
    S = fit.gradient(np.ones(n))
    assert len(pickle.dumps(problem)) - before < 8 * n**2
    twin = pickle.loads(pickle.dumps(problem)).quadratic_fit()
    np.testing.assert_array_equal(twin.gradient(np.ones(n)), S)
