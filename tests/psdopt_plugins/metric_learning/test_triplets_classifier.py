"""TripletsClassifier: the metric of the learner within, what it says of triplets, selection of models."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from psdopt.errors import InvalidTypeError
from psdopt_plugins.metric_learning import Linearity, PSDBoost, TripletsClassifier
from psdopt_plugins.pair_sampling import nearest_triplets

X, LABELS = load_iris(return_X_y=True)
TRIPLETS = nearest_triplets(X, LABELS)


def test_the_metric_is_that_of_the_learner_within():
    model = TripletsClassifier().fit(X[TRIPLETS])
    by_index = TripletsClassifier(PSDBoost(), preprocessor=X).fit(TRIPLETS)
    scale = np.linalg.norm(model.get_mahalanobis_matrix())
    np.testing.assert_allclose(
        by_index.get_mahalanobis_matrix(), model.get_mahalanobis_matrix(), atol=5e-2 * scale
    )  # two solves to the solver's tolerance
    assert by_index.result_.value == pytest.approx(model.result_.value, rel=1e-3)
    near, far = (model.pair_distance(X[TRIPLETS[:, [0, end]]]) for end in (1, 2))
    np.testing.assert_allclose(model.decision_function(X[TRIPLETS]), far - near)
    np.testing.assert_array_equal(model.predict(X[TRIPLETS]), np.where(far > near, 1, -1))
    assert model.score(X[TRIPLETS]) == np.mean(far > near) > 0.95


def test_selection_of_models():
    assert cross_val_score(TripletsClassifier(preprocessor=X), TRIPLETS, cv=3).min() > 0.9
    model = clone(TripletsClassifier(PSDBoost(nu=0.2))).set_params(estimator__nu=0.3).fit(X[TRIPLETS])
    assert model.estimator_.nu == 0.3
    with pytest.raises(InvalidTypeError, match=r"takes triplets=, as those of LMNN .*; found Linearity"):
        TripletsClassifier(Linearity()).fit(X[TRIPLETS])
