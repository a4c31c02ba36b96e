"""The loss and the problem of neighbourhood components: formulas, slopes, lines; candidates against brute force."""

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from psdopt import AutogradProblem, ConjugateGradient, FlatQuotient, LowRankPSD, Status, solve
from psdopt.errors import InvalidInputError
from psdopt.terms import MeasuredTerm, PairDistances
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.metric_learning import NeighbourhoodComponents, nca_problem
from psdopt_plugins.metric_learning.nca_problem import nearest_candidates

N, D = 30, 5
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) * np.array([3.0, 1.0, 1.0, 0.5, 0.1])
Y = np.arange(N) % 3
ALL = np.array([[i, *(j for j in range(N) if j != i)] for i in range(N)])
FEW = nearest_candidates(X, Y, np.arange(N), 3)
WRONG = (RNG.random((4, 7)) < 0.5).astype(float)


def naive(M, X, y, candidates, lam):
    """The formula, pair by pair."""
    total = 0.0
    for i, *row in candidates:
        differences = X[i] - X[row]
        squares = anp.sum(anp.dot(differences, M) * differences, axis=1)
        chance = anp.exp(anp.min(squares) - squares)
        total = total + anp.sum(chance * (y[row] != y[i])) / anp.sum(chance)
    return total / len(candidates) + lam * anp.trace(M)


def pieces():
    yield NeighbourhoodComponents(WRONG)
    yield NeighbourhoodComponents(np.ones((1, 3)))  # one candidate each: phi is constant
    own, others = FEW[:, 0], FEW[:, 1:].T
    yield MeasuredTerm(PairDistances(np.tile(own, 6), others.ravel(), X), NeighbourhoodComponents(others % 2))
    yield nca_problem(X[:9], Y[:9], nearest_candidates(X[:9], Y[:9], np.arange(9), 2), 0.1)


@parametrize_with_checks([*pieces()])
def test_the_kit_accepts_loss_term_and_problem(check):
    check()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("candidates", [ALL, FEW], ids=["all", "few"])
def test_value_gradient_and_line_are_those_of_the_formula(form, candidates):
    problem = nca_problem(form(X), Y, candidates, 0.01)
    twin = AutogradProblem(lambda M: naive(M, X, Y, candidates, 0.01), D)
    for scale in (0.1, 1.0, 10.0):
        L, V = scale * RNG.standard_normal((D, 3)), RNG.standard_normal((D, 3))
        ours, theirs = problem.at(L), twin.at(L)
        assert ours.value == pytest.approx(theirs.value, rel=1e-12)
        unit = 1.0 + np.abs(theirs.factor_gradient()).max()
        np.testing.assert_allclose(ours.factor_gradient(), theirs.factor_gradient(), atol=1e-11 * unit)
        line = ours.along(V)
        for mu in (-0.7, 0.0, 1e-3, 2.0):
            there = problem.at(L + mu * V)
            assert line.value(mu) == pytest.approx(there.value, rel=1e-11)
            first, second = line.derivatives(mu)
            assert first == pytest.approx(np.sum(there.factor_gradient() * V), rel=1e-9, abs=1e-12)
            step = 1e-5
            slopes = [line.derivatives(mu + shift)[0] for shift in (-step, step)]
            assert second == pytest.approx((slopes[1] - slopes[0]) / (2 * step), rel=1e-4, abs=1e-6)


def test_with_all_candidates_it_is_the_objective_of_scikit_learn():
    theirs = NeighborhoodComponentsAnalysis(D, init="identity", max_iter=1)
    theirs.n_iter_ = 0
    for scale in (0.2, 1.0, 3.0):
        L = scale * RNG.standard_normal((D, D))
        loss, gradient = theirs._loss_grad_lbfgs(L.T.ravel(), X, Y[:, None] == Y, sign=1.0)
        ours = nca_problem(X, Y, ALL, 1e-9).at(L)
        assert ours.value - 1e-9 * np.sum(L**2) == pytest.approx(1.0 - loss / N, abs=1e-12)
        np.testing.assert_allclose((ours.factor_gradient() - 2e-9 * L).T, -gradient.reshape(D, D) / N, atol=1e-12)


def test_far_candidates_neither_overflow_nor_lose_the_slope_of_the_near_ones():
    loss = NeighbourhoodComponents([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    a = np.array([0.0, 1e6, 1.0, 1e6 + 1.0, 1e300, 1e300])
    p = 1.0 / (1.0 + np.e)
    assert loss.value(a) == pytest.approx((p + 1.0 - p) / 2)
    slopes = loss.derivative(a).reshape(3, 2)
    np.testing.assert_allclose(slopes[:2, 0], [p * (1 - p) / 2, -p * (1 - p) / 2], rtol=1e-12)
    assert np.all(slopes[2] == 0.0)


def test_a_run_ends_as_stationary_and_never_as_optimal():
    problem = nca_problem(X, Y, FEW, 1e-3)
    for start in (0.1 * np.eye(D), np.eye(D), RNG.standard_normal((D, 2))):
        result = solve(problem, FlatQuotient(*start.shape), ConjugateGradient(), start=start, escape=False)
        assert result.status is Status.STATIONARY
        slope = problem.at(result.matrix.factor).factor_gradient()
        assert np.linalg.norm(slope) <= 1e-5
    assert not solve(problem, start=LowRankPSD(np.zeros((D, 1)))).optimal


def brute_force(Z, y, i, n_neighbors):
    distance = np.sum((Z - Z[i]) ** 2, axis=1)
    distance[i] = np.inf
    alike, others = (np.flatnonzero(mask) for mask in (y == y[i], y != y[i]))
    k = min(2 * n_neighbors, len(y) - 1)
    own = max(min(n_neighbors, len(alike) - 1), k - len(others))
    nearest = [part[np.argsort(distance[part], kind="stable")] for part in (alike, others)]
    return {*nearest[0][:own], *nearest[1][: k - own]}


@pytest.mark.parametrize("n_neighbors", [1, 4, 10, 100])
def test_candidates_are_the_nearest_of_both_kinds(n_neighbors):
    y = np.repeat([0, 1, 2, 3], [20, 7, 2, 1])
    for samples in (np.arange(N), np.array([1, 5, 22, 29])):
        table = nearest_candidates(X, y, samples, n_neighbors)
        assert table.shape == (len(samples), 1 + min(2 * n_neighbors, N - 1))
        np.testing.assert_array_equal(table[:, 0], samples)
        for i, *row in table:
            assert {*row} == brute_force(X, y, i, n_neighbors)
            assert len({*row}) == len(row)


def test_a_sample_with_many_copies_is_not_its_own_candidate():
    Z = np.vstack([np.zeros((12, 2)), X[:8, :2]])
    table = nearest_candidates(Z, np.arange(20) // 10, np.arange(20), 3)
    assert all(len({*row}) == 7 for row in table)


@pytest.mark.parametrize(("changed", "text"), [
    ({"candidates": FEW[:, :1]}, r"candidates must have shape \(n, 1 \+ k\), n, k >= 1; found \(30, 1\)"),
    ({"candidates": FEW[:0]}, "candidates must have shape"),
    ({"candidates": np.zeros((N, 2), dtype=int)}, "candidates of a sample must be other samples; found 0 among"),
    ({"candidates": FEW + N}, "candidates"), ({"lam": 0.0}, "lam"), ({"y": np.zeros(N)}, "y must hold at least 2"),
])  # fmt: skip
def test_bad_input_is_named(changed, text):
    given = {"X": X, "y": Y, "candidates": FEW, "lam": 0.1} | changed
    with pytest.raises(InvalidInputError, match=text):
        nca_problem(**given)


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((0, 3)), [[0.5, 1.0]]], ids=["flat", "empty", "half"])
def test_a_table_that_is_none_is_named(wrong):
    with pytest.raises(InvalidInputError, match=r"wrong must be an array \(k, n\) of 0 and 1"):
        NeighbourhoodComponents(wrong)
