"""NCA as a scikit-learn transformer: what it learns, what its status claims, units, limits, memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt import Status, solve
from psdopt.errors import InvalidInputError
from psdopt_plugins.metric_learning import KTA, NCA, nca_problem
from psdopt_plugins.metric_learning.nca_problem import nearest_candidates

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


def quarters(m, noise=6, seed=0):
    """Two classes at opposite corners of a square, which no linear boundary separates, among features of noise."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(2, size=(m, 2))
    signal = 6.0 * corner - 3.0 + rng.standard_normal((m, 2))
    rows = np.column_stack([signal, 3.0 * rng.standard_normal((m, noise))])
    return StandardScaler().fit_transform(rows), np.bitwise_xor(*corner.T)


def error(L, rows, y):
    """Of 3 neighbours on the second half, learned from the first."""
    half = len(y) // 2
    Z = rows @ L
    return 1.0 - KNeighborsClassifier(3).fit(Z[:half], y[:half]).score(Z[half:], y[half:])


def test_it_finds_the_features_that_matter_where_a_linear_boundary_does_not_exist():
    rows, y = quarters(800, noise=12)
    half = NCA().fit(rows[:400], y[:400])
    learned = error(half.components_.T, rows, y)
    aligned = error(KTA().fit(rows[:400], y[:400]).components_.T, rows, y)
    assert learned <= 0.03
    assert min(error(np.eye(14), rows, y), aligned) >= 0.1
    M = half.get_mahalanobis_matrix()
    assert np.trace(M[:2, :2]) > 0.5 * np.trace(M)


def test_the_status_is_stationary_and_the_slope_vanishes():
    model = NCA(max_rounds=1, solver_options={"tol": 1e-7}).fit(X, Y)
    assert model.result_.status is Status.STATIONARY
    assert not model.result_.optimal
    assert (model.n_rounds_, model.n_iter_) == (1, model.result_.iterations)
    start = np.sqrt(10.0 / mean_distance(X)) * np.eye(13)
    candidates = nearest_candidates(X, Y, np.arange(len(Y)), 10)
    problem = nca_problem(X, Y, candidates, model.lam / np.sum(start**2))
    L = model.components_.T
    assert problem.at(L).value == pytest.approx(model.result_.value, rel=1e-9)
    assert problem.at(L).value < 0.2 * problem.at(start).value
    assert np.linalg.norm(problem.at(L).factor_gradient()) <= 1e-5


def mean_distance(rows):
    candidates = nearest_candidates(rows, Y, np.arange(len(Y)), 10)
    return float(np.mean(np.sum((rows[:, None] - rows[candidates[:, 1:]]) ** 2, axis=2)))


def test_the_scale_and_the_origin_of_the_samples_do_not_matter():
    M = NCA().fit(X, Y).get_mahalanobis_matrix()
    for moved, factor in ((1e3 * X, 1e-6), (X + 1e4, 1.0), (1e-3 * X - 5.0, 1e6)):
        np.testing.assert_allclose(
            NCA().fit(moved, Y).get_mahalanobis_matrix() / factor, M, atol=1e-3 * np.linalg.norm(M)
        )


def test_sparse_samples_give_the_metric_of_dense_ones():
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, 0.0)
    M, N = (NCA().fit(form(rows), Y).get_mahalanobis_matrix() for form in (np.asarray, sp.csr_array))
    np.testing.assert_allclose(N, M, atol=1e-3 * np.linalg.norm(M))


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_the_rank_is_limited(rank):
    model = NCA(rank=rank).fit(X, Y)
    assert model.transform(X).shape == (len(X), model.result_.rank)
    assert model.result_.rank <= rank
    assert rank == 1 or error(model.components_.T, X[(order := np.argsort(np.arange(len(Y)) % 2))], Y[order]) <= 0.05


def test_the_default_rank_is_at_most_60():
    rows = np.random.default_rng(0).standard_normal((90, 70))
    assert NCA().fit(rows, np.arange(90) % 3).result_.matrix.factor.shape == (70, 60)


def test_few_samples_stand_for_many():
    rows, y = quarters(2000)
    whole, part = NCA().fit(rows, y), NCA(max_samples=300).fit(rows, y)
    assert error(part.components_.T, rows, y) <= error(whole.components_.T, rows, y) + 0.01
    again = NCA(max_samples=300).fit(rows, y)
    np.testing.assert_array_equal(again.components_, part.components_)


def test_small_classes_and_few_samples():
    y = np.array([0] * 20 + [1] * 3 + [2])
    assert np.all(np.isfinite(NCA().fit(X[:24], y).components_))
    assert np.all(np.isfinite(NCA().fit(X[:3], [0, 0, 1]).components_))
    assert np.all(np.isfinite(NCA().fit(np.repeat(X[:2], 5, axis=0), [0] * 5 + [1] * 5).components_))
    with pytest.raises(InvalidInputError, match="y must hold a class with at least 2 samples; found none"):
        NCA().fit(X[:3], [0, 1, 2])
    with pytest.raises(InvalidInputError, match="solver_options must not hold 'start'"):
        NCA(solver_options={"start": np.eye(X.shape[1])}).fit(X, Y)


def test_equal_samples_are_told():
    with pytest.warns(UserWarning, match="M = 0: all distances are zero; lower lam, or give features"):
        assert NCA().fit(np.ones((8, 3)), np.arange(8) % 2).components_.shape == (1, 3)


def test_rounds_end_when_no_candidate_changes_and_a_limit_warns():
    assert NCA(n_neighbors=200, max_rounds=5).fit(X, Y).n_rounds_ == 1  # all samples are candidates
    assert NCA(max_rounds=3).fit(X, Y).n_rounds_ >= 2
    for limit, status in (({"max_iterations": 1}, Status.ITERATION_LIMIT), ({"max_time": 0.0}, Status.TIME_LIMIT)):
        with pytest.warns(ConvergenceWarning, match="ended before convergence"):
            model = NCA(solver_options=limit | {"tol": 1e-9}).fit(*quarters(300))
        assert model.result_.status is status
    assert model.n_rounds_ == 1  # out of time


def test_the_limit_of_time_is_that_of_all_rounds_together(monkeypatch):
    """The second round is cut before its first step; its value is F at the end of the first, on new candidates."""
    runs = []

    def cut(problem, **options):
        runs.append((problem, solve(problem, **{**options, "max_time": 0.0 if runs else 100.0})))
        return runs[-1][1]

    monkeypatch.setattr("psdopt_plugins.metric_learning.nca.solve", cut)
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 50 s was reached$"):
        result = NCA(solver_options={"max_time": 50.0}).fit(X, Y).result_
    (_, first), (problem, second) = runs
    assert np.isnan(second.value)
    assert result.value == pytest.approx(problem.at(first.matrix.factor).value, rel=1e-12)


def test_what_is_given_is_left_alone():
    rows, y = X.copy(), Y.copy()
    learner = NCA(rank=3)
    clone(learner).fit(rows, y)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)
    assert clone(learner).get_params() == learner.get_params()


def test_memory_holds_no_array_over_pairs_of_samples():
    m = 5000
    rows, y = quarters(m, noise=18)
    tracemalloc.start()
    NCA().fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.35 * 8 * m * m


@pytest.mark.parametrize("size", [1e-160, 1e-170])
def test_samples_whose_squared_distances_underflow_are_refused_by_name(size):
    y = np.arange(24) % 2
    with pytest.raises(InvalidInputError, match=r"X must not be so small that .* underflow; found .* Scale the data"):
        NCA().fit(size * X[:24], y)
