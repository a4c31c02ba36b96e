"""Every learner of Mahalanobis metrics gives distances of pairs and the metric as a function."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt.errors import InvalidInputError
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, Linearity, PSDBoost

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
PAIRS = np.array([(0, 1), (3, 100), (7, 7)])


@pytest.fixture(
    scope="module", params=[KTA(rank=2), Linearity(), LMNN(), PSDBoost(), DistanceRegression(random_state=0)],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
def model(request):
    return request.param.fit(X, Y)


def test_distances_of_pairs_are_those_of_the_metric(model):
    M = model.get_mahalanobis_matrix()
    D = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
    wanted = np.sqrt(np.einsum("pi,ij,pj->p", D, M, D))
    np.testing.assert_allclose(model.pair_distance(X[PAIRS]), wanted, rtol=1e-9)
    np.testing.assert_allclose(model.pair_distance(1e9 + X[PAIRS]), wanted, rtol=1e-5)  # of differences, not of images
    np.testing.assert_array_equal(model.pair_score(X[PAIRS]), -model.pair_distance(X[PAIRS]))


def test_the_metric_is_a_function_that_outlives_the_model(model):
    metric = pickle.loads(pickle.dumps(model.get_metric()))
    assert metric(X[0], X[9]) == pytest.approx(model.pair_distance(X[[[0, 9]]])[0])
    assert metric(X[0], X[9], squared=True) == pytest.approx(metric(X[0], X[9]) ** 2)
    near = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(X[::4], Y[::4])
    plain = KNeighborsClassifier(1).fit(model.transform(X[::4]), Y[::4])
    np.testing.assert_array_equal(near.predict(X[1::4]), plain.predict(model.transform(X[1::4])))
    with pytest.raises(InvalidInputError, match=r"u and v must have shape \(13,\); found \(13,\) and \(2,\)"):
        metric(X[0], [1.0, 2.0])


def test_a_metric_does_not_change_with_its_estimator():
    model = Linearity().fit(X, Y)
    metric = model.get_metric()
    before = metric(X[0], X[9])
    model.components_ *= 2.0
    assert metric(X[0], X[9]) == before


def test_pairs_of_other_features_are_refused(model):
    with pytest.raises(InvalidInputError, match="samples must have 13 features; found 2"):
        model.pair_distance(X[PAIRS][..., :2])
    with pytest.raises(InvalidInputError, match=r"indices \(p, 2\) need a preprocessor"):
        model.pair_distance(PAIRS)
