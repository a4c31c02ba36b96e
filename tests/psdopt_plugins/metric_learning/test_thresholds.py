"""best_threshold against all thresholds, one by one."""

import numpy as np
import pytest
from sklearn.metrics import fbeta_score

from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt_plugins.metric_learning.pairs_classifier import best_threshold


def rates(t, distances, y):
    similar = distances <= t
    return np.mean(similar[y == 1]), np.mean(~similar[y == -1])


GAINS = {
    "accuracy": lambda t, d, y: np.mean(np.where(d <= t, 1, -1) == y),
    "f_beta": lambda t, d, y: fbeta_score(y, np.where(d <= t, 1, -1), beta=0.5, zero_division=0.0),
    "max_tpr": lambda t, d, y: rates(t, d, y)[0] if rates(t, d, y)[1] >= 0.7 else -1.0,
    "max_tnr": lambda t, d, y: rates(t, d, y)[1] if rates(t, d, y)[0] >= 0.7 else -1.0,
}


@pytest.mark.parametrize("strategy", GAINS)
@pytest.mark.parametrize("seed", range(8))
def test_no_threshold_is_better(strategy, seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(30) < 11, 1, -1))
    distances = np.round(np.abs(rng.standard_normal(30)) + (y == -1) * (seed % 3), 1)  # with ties
    gain = GAINS[strategy]
    found = best_threshold(distances, y, strategy, 0.7, 0.5)
    every = [gain(t, distances, y) for t in [-1.0, *distances]]
    assert gain(found, distances, y) == pytest.approx(max(every))
    assert found not in distances[distances < distances.max()]  # between two of them


def test_extremes():
    assert best_threshold(np.array([1.0, 2.0]), np.array([-1, 1]), "max_tnr", 0.0) < 1.0
    assert best_threshold(np.array([0.0, 2.0]), np.array([-1, 1]), "max_tnr", 0.0) < 0.0
    assert best_threshold(np.array([1.0, 2.0]), np.array([-1, 1]), "max_tpr", 0.0) == 2.0


def test_bad_input():
    d, y = np.arange(4.0), np.array([1, 1, -1, -1])
    with pytest.raises(UnknownNameError, match="unknown strategy 'acuracy'; did you mean 'accuracy'"):
        best_threshold(d, y, "acuracy")
    with pytest.raises(InvalidInputError, match="min_rate must be given with strategy 'max_tpr'"):
        best_threshold(d, y, "max_tpr")
    with pytest.raises(InvalidInputError, match=r"min_rate must be .*found 2"):
        best_threshold(d, y, "max_tnr", 2.0)
    with pytest.raises(InvalidInputError, match="beta must be a finite number above 0"):
        best_threshold(d, y, "f_beta", beta=0.0)
    with pytest.raises(InvalidInputError, match="found only one kind"):
        best_threshold(d, np.ones(4))
