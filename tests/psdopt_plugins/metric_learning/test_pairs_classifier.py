"""PairsClassifier: the metric of the learner within, the best threshold, scikit-learn's selection of models."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt_plugins.metric_learning import KTA, DistanceRegression, Linearity, PairsClassifier
from psdopt_plugins.metric_learning.pairs_classifier import best_threshold

X, LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(150, 2, replace=False) for _ in range(200)])
PAIRS = RNG.permutation(np.unique(np.sort(PAIRS, axis=1), axis=0))
Y = np.where(LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]], 1, -1)


@pytest.mark.parametrize("learner", [Linearity(lam=1e-2), DistanceRegression(rank=2)], ids=repr)
def test_the_metric_is_that_of_the_learner_within(learner):
    touched, rows = np.unique(PAIRS, return_inverse=True)
    plain = clone(learner).fit(X[touched], pairs=np.column_stack([rows.reshape(PAIRS.shape), Y]))
    by_index = PairsClassifier(learner, preprocessor=X).fit(PAIRS, Y)
    np.testing.assert_array_equal(by_index.components_, plain.components_)
    assert by_index.result_ is by_index.estimator_.result_
    np.testing.assert_allclose(by_index.transform(X), plain.transform(X))
    np.testing.assert_array_equal(by_index.transform(np.arange(5)), by_index.transform(X[:5]))
    np.testing.assert_array_equal(by_index.pair_distance(PAIRS), by_index.pair_distance(X[PAIRS]))
    assert not hasattr(learner, "components_")  # a clone is fitted


def test_points_and_indices_are_the_same_problem_where_nothing_depends_on_other_samples():
    learner = Linearity(lam=1e-2)
    points = PairsClassifier(learner).fit(X[PAIRS], Y)
    by_index = PairsClassifier(learner, preprocessor=lambda i: X[i]).fit(PAIRS, Y)
    np.testing.assert_allclose(points.get_mahalanobis_matrix(), by_index.get_mahalanobis_matrix(), atol=1e-9)
    assert points.threshold_ == pytest.approx(by_index.threshold_)


def test_predictions_follow_from_the_threshold():
    model = PairsClassifier().fit(X[PAIRS], Y)
    distances = model.pair_distance(X[PAIRS])
    np.testing.assert_array_equal(model.decision_function(X[PAIRS]), -distances)
    np.testing.assert_array_equal(model.predict(X[PAIRS]), np.where(distances <= model.threshold_, 1, -1))
    assert model.score(X[PAIRS], Y) == roc_auc_score(Y, -distances) > 0.97
    assert np.all(model.set_threshold(0).predict(X[PAIRS]) == -1)
    model.calibrate_threshold(X[PAIRS], Y, strategy="max_tpr", min_rate=1.0)
    assert np.all(model.predict(X[PAIRS][Y == -1]) == -1)
    assert np.mean(model.predict(X[PAIRS][Y == 1]) == 1) > 0.5
    strict = PairsClassifier().fit(X[PAIRS], Y, calibration_params={"strategy": "max_tpr", "min_rate": 1.0})
    assert strict.threshold_ == model.threshold_


def test_one_kind_of_pairs_leaves_a_threshold_that_keeps_them():
    similar = X[PAIRS[Y == 1]]
    assert np.all(PairsClassifier(Linearity(lam=1e-4)).fit(similar, np.ones(len(similar))).predict(similar) == 1)
    dissimilar = X[PAIRS[Y == -1]]
    apart = PairsClassifier(Linearity(lam=1e-4)).fit(dissimilar, -np.ones(len(dissimilar)))
    assert np.all(apart.predict(dissimilar) == -1)


def test_selection_of_models_and_storage():
    model = PairsClassifier(Linearity(), preprocessor=X)
    assert cross_val_score(model, PAIRS, Y, cv=3).min() > 0.9
    search = GridSearchCV(PairsClassifier(Linearity()), {"estimator__lam": [1e-4, 1e-2]}, cv=2, scoring="roc_auc")
    assert search.fit(X[PAIRS], Y).best_score_ > 0.9
    fitted = model.fit(PAIRS, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(PAIRS), fitted.predict(PAIRS))
    assert next(iter(fitted.get_feature_names_out())) == "pairsclassifier0"
    pandas = pytest.importorskip("pandas")
    assert isinstance(clone(model).set_output(transform="pandas").fit(PAIRS, Y).transform(X), pandas.DataFrame)


def test_bad_input():
    with pytest.raises(InvalidInputError, match=r"y must be \+1 \(similar\) or -1 \(dissimilar\); found 0"):
        PairsClassifier().fit(X[PAIRS], np.zeros(len(PAIRS)))
    with pytest.raises(InvalidInputError, match=r"have shape \(\d+,\), one per pair; found shape"):
        PairsClassifier().fit(X[PAIRS], Y[:-1])
    with pytest.raises(InvalidTypeError, match=r"estimator must be .* as those of DistanceRegression .* do; found KTA"):
        PairsClassifier(KTA()).fit(X[PAIRS], Y)
    with pytest.raises(InvalidTypeError, match="found int"):
        PairsClassifier(3).fit(X[PAIRS], Y)


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


def test_bad_strategies():
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
