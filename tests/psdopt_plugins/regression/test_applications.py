"""Distances: metric learning from bounds, kernels from distances, scaling."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from psdopt import LowRankPSD
from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel, distance_kernel_problem
from psdopt_plugins.manifold_learning.sstress import SSTRESS, sstress_problem
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression, pair_distance_problem
from tests.psdopt_plugins.instances import distances, share_within


def test_thresholds_are_percentiles_of_the_baseline():
    X = np.arange(12.0)[:, None] * np.ones((1, 2))
    baseline = LowRankPSD(np.array([[1.0], [0.0]]))
    d = [(i - j) ** 2 for i in range(12) for j in range(i)]
    problem = pair_distance_problem(X, ([(0, 1)], [(0, 5)]), baseline=baseline, percentiles=(10, 90))
    np.testing.assert_allclose(problem.terms[0].loss.target, np.percentile(d, [10, 90]))


@pytest.mark.parametrize("geometry", ["flat", "polar"])
@pytest.mark.parametrize("rank", [None, 2])
def test_distance_regression_meets_its_constraints(geometry, rank):
    X, y = load_iris(return_X_y=True)
    learner = DistanceRegression(rank, geometry=geometry, random_state=0, solver_options={"tol": 1e-3}).fit(X, y)
    history = learner.result_.history["value"]
    assert learner.result_.value < 0.9 * history[0]
    assert len(learner.pairs_) == 20 * 150
    assert learner.components_.shape[0] <= (rank or 4)


def test_distance_kernel_separates_classes():
    X, y = load_iris(return_X_y=True)
    plain, learned = DistanceKernel(3, random_state=0).fit(X), DistanceKernel(3, alpha=0.5, random_state=0).fit(X, y)
    assert share_within(learned.embedding_, y) < share_within(plain.embedding_, y)
    assert learned.embedding_.shape == (150, 3)


def test_sstress_recovers_a_plane_from_part_of_the_distances():
    rng = np.random.default_rng(0)
    D = distances(rng.standard_normal((40, 2)))
    true = D.copy()
    hidden = np.triu(rng.random((40, 40)) < 0.4, 1)
    D[hidden | hidden.T] = np.nan
    model = SSTRESS(dissimilarity="precomputed").fit(D)
    full = distances(model.embedding_)
    np.testing.assert_allclose(full, true, atol=1e-2)
    known = ~np.isnan(D) & np.triu(np.ones((40, 40), bool), 1)
    assert model.stress_ == pytest.approx(((full[known] ** 2 - D[known] ** 2) ** 2).sum(), abs=1e-6)


def test_sstress_warm_restart_is_short_and_keeps_the_picture():
    D = distances(np.random.default_rng(1).standard_normal((30, 3)))
    model = SSTRESS(dissimilarity="precomputed", warm_start=True).fit(D)
    before, cold = model.embedding_, model.result_.iterations
    D[0, 1] = D[1, 0] = 1.05 * D[0, 1]
    model.fit(D)
    assert model.result_.iterations < cold
    assert np.linalg.norm(model.embedding_ - before) < 0.1 * np.linalg.norm(before)


def test_bad_input():
    with pytest.raises(ValueError, match="thresholds must satisfy"):
        pair_distance_problem(np.eye(6), ([(0, 1)], [(0, 5)]), upper=2.0, lower=1.0)
    with pytest.raises(ValueError, match="at least 0"):
        sstress_problem(-np.ones(3), np.array([[0, 1], [2, 5], [3, 4]]), n=6)
    with pytest.raises(ValueError, match="alpha needs same"):
        distance_kernel_problem(4, [[0, 1]], [2.0], alpha=0.1)


@pytest.mark.parametrize(("similar", "dissimilar"), [(3, 2), (2, 2), (1, 4), (0, 3)])
def test_distance_regression_takes_two_lists_of_any_lengths(similar, dissimilar):
    X, _ = load_iris(return_X_y=True)
    near, far = [(0, 1), (50, 51), (2, 3)][:similar], [(0, 50), (1, 51), (2, 52), (3, 53)][:dissimilar]
    model = DistanceRegression().fit(X, pairs=(near, far))
    np.testing.assert_array_equal(model.pairs_[:, :2], [*near, *far])
    assert model.pairs_[:, 2].tolist() == [1] * similar + [-1] * dissimilar
