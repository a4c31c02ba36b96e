"""The second moment of the data as the preconditioner of sums of measured terms."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import ConjugateGradient, FlatQuotient, MomentPreconditioner, TermSum, solve
from psdopt.errors import InvalidInputError
from psdopt.running.choose import SECOND_ORDER
from psdopt.terms import (
    Entries,
    HalfSquaredOneSided,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    ProductTerm,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)

D = 6


def drawn(seed=0, units=0.0, d=D):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((40, d)) * 10.0 ** np.linspace(0.0, units, d)


def triplets(X, rng):
    i, j, k = np.array([rng.choice(len(X), 3, replace=False) for _ in range(200)]).T
    hinge = SquaredHinge(1.0, weights=rng.uniform(0.5, 2.0, 200))
    return MeasuredTerm(TripletDifferences(i, j, k, X), hinge, 1.0 / 200)


def distances(X, rng, loss=LeastSquares):
    i, j = np.array([rng.choice(len(X), 2, replace=False) for _ in range(200)]).T
    return MeasuredTerm(PairDistances(i, j, X), loss(rng.uniform(0.5, 2.0, 200)), 1.0 / 200)


def one_sided(y):
    return HalfSquaredOneSided(y, np.where(np.arange(len(y)) % 2, 1.0, -1.0))


def both(X, rng):
    return [triplets(X, rng), distances(X, rng), LinearTerm(np.diag(np.var(X, axis=0)), 0.01)]


def squares(X, rng):
    i, j, k = np.array([rng.choice(len(X), 3, replace=False) for _ in range(200)]).T
    return MeasuredTerm(TripletDifferences(i, j, k, X), LeastSquares(rng.standard_normal(200)), 1.0 / 200)


def test_it_is_that_of_squares_of_enough_data():
    rng, X = drawn()
    linear = LinearTerm(np.diag(np.var(X, axis=0)), 0.01)
    forms = MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(40)))
    for terms in ([distances(X, rng), linear], [squares(X, rng), distances(X, rng)], [forms]):
        assert isinstance(TermSum(terms).preconditioner, MomentPreconditioner)
        assert TermSum(terms, preconditioner=None).preconditioner is None
    few, sparse = X[: 2 * D - 1], sp.csr_array(X)
    others = [
        triplets(X, rng),  # few may be active
        MeasuredTerm(QuadraticForms(few), LeastSquares(np.ones(2 * D - 1))),
        MeasuredTerm(QuadraticForms(sparse), LeastSquares(np.ones(40))),
        MeasuredTerm(Entries([0, 1], [1, 2], D), LeastSquares(1.0)),
        MeasuredTerm(QuadraticForms(aslinearoperator(X)), LeastSquares(np.ones(40))),
        MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(40)), -1.0),
        ProductTerm(np.eye(D), np.eye(D)),
    ]
    for term in others:
        assert TermSum([forms, term]).preconditioner is None
    assert TermSum([linear]).preconditioner is None
    with pytest.raises(InvalidInputError, match="preconditioner 'moment'; known: auto"):
        TermSum([forms], preconditioner="moment")
    for terms in ([], [linear], [others[4]]):
        with pytest.raises(InvalidInputError, match="terms must be measured terms of positive weight"):
            MomentPreconditioner(terms)


@pytest.mark.parametrize("k", [0, 2])
def test_inactive_hinges_and_few_rows_do_without(k):
    """Where it is not the curvature of F it takes many times the steps."""
    X = np.random.default_rng(0).standard_normal((60, 15)) * 10.0 ** np.linspace(-k, k, 15)
    i, j = np.triu_indices(60, 1)
    terms = [MeasuredTerm(PairDistances(i, j, X), SquaredHinge(3.0)), LinearTerm(np.eye(15))]
    given = solve(TermSum(terms), method=SECOND_ORDER, rng=0)
    forced = TermSum(terms, preconditioner=MomentPreconditioner(terms[:1]))
    slow = solve(forced, method=SECOND_ORDER, rng=0, max_iterations=2 * given.iterations)
    assert given.optimal
    assert not slow.optimal or k == 0


def test_the_moment_is_that_of_all_vectors_by_their_weights():
    rng, X = drawn(1)
    terms = both(X, rng)
    C = np.zeros((D, D))
    triples = terms[0].measurement
    for t, w in enumerate(terms[0].loss.weights):
        for pair in (triples.near[t], triples.far[t]):
            x = X[triples.pairs.i[pair]] - X[triples.pairs.j[pair]]
            C += w / 200 * np.outer(x, x)
    first = C / np.trace(C)
    found = MomentPreconditioner(terms[:1]).moment
    np.testing.assert_allclose(found / np.trace(found), first, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_symmetric_definite_and_turns_with_the_factor(seed):
    rng, X = drawn(seed, 2.0)
    terms = both(X, rng)
    problem = TermSum(terms, preconditioner=MomentPreconditioner(terms[:2]))
    Y, U, V = (rng.standard_normal((D, 3)) for _ in range(3))
    P = problem.at(Y).preconditioner()
    assert np.sum(P(U) * V) == pytest.approx(np.sum(U * P(V)), rel=1e-9)
    assert np.sum(P(U) * U) > 0.0
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(problem.at(Y @ Q).preconditioner()(U @ Q), P(U) @ Q, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("loss", [LeastSquares, one_sided])
def test_steps_do_not_depend_on_the_units_of_features(loss):
    """The same start in each unit; without the preconditioner four units of ten take many times the steps."""
    rng, X = drawn(3)
    scale, Y = 10.0 ** np.linspace(0.0, 3.0, D), rng.standard_normal((D, 3))
    runs = []
    for s in (np.ones(D), scale):
        terms = [distances(X * s, np.random.default_rng(5), loss), LinearTerm(np.diag(s**2), 1e-3)]
        whitened = TermSum(terms, preconditioner=MomentPreconditioner(terms[:1]))
        runs.append(solve(whitened, FlatQuotient(D, 3), ConjugateGradient(), start=Y / s[:, None]))
    plain = TermSum(terms, preconditioner=None)
    slow = solve(plain, FlatQuotient(D, 3), ConjugateGradient(), start=Y / scale[:, None], max_iterations=2000)
    assert runs[1].value == pytest.approx(runs[0].value, rel=1e-6)
    assert abs(runs[1].iterations - runs[0].iterations) <= 0.2 * runs[0].iterations + 3
    assert slow.iterations > 3 * runs[1].iterations
