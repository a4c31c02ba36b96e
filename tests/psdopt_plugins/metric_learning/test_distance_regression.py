"""DistanceRegression: bounds that are given, weights of pairs. (More of it in tests/psdopt_plugins/regression.)"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from psdopt import Status
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.metric_learning import DistanceRegression, Linearity, PairsClassifier

X, LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
ENDS = np.unique(np.array([np.sort(RNG.choice(150, 2, replace=False)) for _ in range(80)]), axis=0)
PAIRS = np.column_stack([ENDS, np.where(LABELS[ENDS[:, 0]] == LABELS[ENDS[:, 1]], 1, -1)])
EXACT = DistanceRegression(bounds=(1.0, 4.0), solver_options={"tol": 1e-6})


def test_bounds_are_of_squared_distances():
    model = clone(EXACT).fit(X, pairs=PAIRS)
    assert model.bounds_ == (1.0, 4.0)
    d = model.pair_distance(X[ENDS]) ** 2
    lack = np.where(PAIRS[:, 2] == 1, np.maximum(0.0, d - 1.0), np.maximum(0.0, 4.0 - d))
    assert model.result_.value == pytest.approx(np.sum(lack**2) / (2 * len(PAIRS)))
    left = DistanceRegression(percentiles=(10, 90)).fit(X, pairs=PAIRS)
    again = DistanceRegression(bounds=left.bounds_).fit(X, pairs=PAIRS)
    np.testing.assert_array_equal(again.components_, left.components_)
    i, j = np.triu_indices(150, 1)
    squared = np.sum((X[i] - X[j]) ** 2, axis=1)
    np.testing.assert_allclose(left.bounds_, np.percentile(squared, (10, 90)))


@pytest.mark.parametrize("storage", [np.asarray, list], ids=["array", "list"])
def test_integer_weights_are_repetitions(storage):
    w = RNG.integers(0, 4, len(PAIRS))
    repeated = RNG.permutation(np.repeat(PAIRS, w, axis=0))  # in any order
    one = clone(EXACT).fit(X, pairs=PAIRS, pair_weight=storage(w))
    other = clone(EXACT).fit(X, pairs=repeated, pair_weight=np.ones(len(repeated)))
    assert one.result_.value == pytest.approx(other.result_.value, rel=1e-6)
    M = one.get_mahalanobis_matrix()
    np.testing.assert_allclose(other.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))
    plain = clone(EXACT).fit(X, pairs=PAIRS)
    assert np.linalg.norm(plain.get_mahalanobis_matrix() - M) > 1e-3 * np.linalg.norm(M)


def test_weights_of_pairs_of_points():
    w = RNG.integers(1, 4, len(PAIRS))
    one = PairsClassifier(EXACT).fit(X[ENDS], PAIRS[:, 2], sample_weight=w)
    two = PairsClassifier(EXACT).fit(np.repeat(X[ENDS], w, axis=0), np.repeat(PAIRS[:, 2], w))
    M = one.get_mahalanobis_matrix()
    np.testing.assert_allclose(two.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))
    with pytest.raises(InvalidTypeError, match=r"takes pair_weight=, as those of Dist.*; found Linearity"):
        PairsClassifier(Linearity()).fit(X[ENDS], PAIRS[:, 2], sample_weight=w)


def test_weights_need_pairs():
    with pytest.raises(InvalidInputError, match="pair_weight must be None unless pairs are given"):
        DistanceRegression().fit(X, LABELS, pair_weight=np.ones(150))


@pytest.mark.parametrize("bounds", [(1.0, 3.0), (0.5, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_a_fine_tolerance_is_reached_where_the_minimum_has_lower_rank(bounds, seed):
    """A column that shrinks to nothing is damped by its own curvature, so that no step is ruled by it."""
    fitted = DistanceRegression(bounds=bounds, random_state=seed, solver_options={"tol": 1e-8}).fit(X, LABELS)
    assert fitted.result_.status is Status.OPTIMAL
    assert fitted.result_.iterations <= 250
