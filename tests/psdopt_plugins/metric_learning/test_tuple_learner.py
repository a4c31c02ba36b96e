"""PairsClassifier and TripletsClassifier: the metric of the learner within, thresholds, scikit-learn's conventions.

scikit-learn's data checks hand over a table X (m, d), which is no array of tuples: ``check_estimator`` leaves them out
for estimators whose tags ask for three dimensions, and they are declared as expected failures where a preprocessor
allows two. What they look at is looked at here, on tuples.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt_plugins.metric_learning import (
    KTA,
    DistanceRegression,
    Linearity,
    PairsClassifier,
    PSDBoost,
    TripletsClassifier,
)
from psdopt_plugins.metric_learning.pairs_classifier import best_threshold
from psdopt_plugins.pair_sampling import nearest_triplets

X, LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
PAIRS = np.array([RNG.choice(150, 2, replace=False) for _ in range(200)])
PAIRS = RNG.permutation(np.unique(np.sort(PAIRS, axis=1), axis=0))
TRIPLETS = nearest_triplets(X, LABELS)
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
    for listed, error in (([0, 150], InvalidInputError), ([-1], InvalidInputError), ([0.5], InvalidTypeError)):
        with pytest.raises(error, match="X must hold in"):
            by_index.transform(listed)


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
    assert next(iter(fitted.get_feature_names_out())) == "pairsclassifier0"
    pandas = pytest.importorskip("pandas")
    assert isinstance(clone(model).set_output(transform="pandas").fit(PAIRS, Y).transform(X), pandas.DataFrame)


@pytest.mark.parametrize("learner", [KTA(), 3])
def test_a_learner_of_no_pairs_is_refused(learner):
    words = f"estimator must be .* as those of DistanceRegression .* do; found {type(learner).__name__}"
    with pytest.raises(InvalidTypeError, match=words):
        PairsClassifier(learner).fit(X[PAIRS], Y)


def rates(t, distances, y):
    similar = distances <= t
    return np.mean(similar[y == 1]), np.mean(~similar[y == -1])


GAINS = {
    "accuracy": lambda t, d, y: np.mean(np.where(d <= t, 1, -1) == y),
    "f_beta": lambda t, d, y, beta=0.5: fbeta_score(y, np.where(d <= t, 1, -1), beta=beta, zero_division=0.0),
    "precision": lambda t, d, y: GAINS["f_beta"](t, d, y, beta=0.0),
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
    named = ("f_beta", 0.7, 0.0) if strategy == "precision" else (strategy, 0.7, 0.5)
    found = best_threshold(distances, y, *named)
    every = [gain(t, distances, y) for t in [-1.0, *distances]]
    assert gain(found, distances, y) == pytest.approx(max(every))
    assert found not in distances[distances < distances.max()]  # between two of them


def test_extremes():
    assert best_threshold(np.array([1.0, 2.0]), np.array([-1, 1]), "max_tnr", 0.0) < 1.0
    assert best_threshold(np.array([0.0, 2.0]), np.array([-1, 1]), "max_tnr", 0.0) < 0.0
    assert best_threshold(np.array([1.0, 2.0]), np.array([-1, 1]), "max_tpr", 0.0) == 2.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("acuracy",), "unknown strategy 'acuracy'; did you mean 'accuracy'"),
        (("max_tpr",), "min_rate must be given with strategy 'max_tpr'"),
        (("max_tnr", 2.0), "min_rate must be .*found 2"),
        (("f_beta", None, -1.0), "beta must be a finite number of at least 0"),
    ],
)
def test_bad_strategies(arguments, text):
    with pytest.raises(UnknownNameError if "unknown" in text else InvalidInputError, match=text):
        best_threshold(np.arange(4.0), np.array([1, 1, -1, -1]), *arguments)
    with pytest.raises(InvalidInputError, match="found only one kind"):
        best_threshold(np.arange(4.0), np.ones(4))


def test_the_metric_of_triplets_is_that_of_the_learner_within():
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


def test_selection_of_models_of_triplets():
    assert cross_val_score(TripletsClassifier(preprocessor=X), TRIPLETS, cv=3).min() > 0.9
    model = clone(TripletsClassifier(PSDBoost(nu=0.2))).set_params(estimator__nu=0.3).fit(X[TRIPLETS])
    assert model.estimator_.nu == 0.3
    with pytest.raises(InvalidTypeError, match=r"takes triplets=, as those of LMNN .*; found Linearity"):
        TripletsClassifier(Linearity()).fit(X[TRIPLETS])


CASES = [
    (PairsClassifier(), X[PAIRS], Y),
    (TripletsClassifier(), X[TRIPLETS[::2]], None),
]
cases = pytest.mark.parametrize(("estimator", "tuples", "y"), CASES, ids=lambda v: type(v).__name__)
#: Checks that hand over no data, or data that no estimator takes.
WITHOUT_TABLES = {
    "check_decision_proba_consistency", "check_do_not_raise_errors_in_init_or_set_params", "check_estimator_cloneable",
    "check_estimator_repr", "check_estimator_tags_renamed", "check_estimators_unfitted", "check_fit1d",
    "check_get_params_invariance", "check_mixin_order", "check_no_attributes_set_in_init",
    "check_parameters_default_constructible", "check_set_params", "check_supervised_y_no_nan",
    "check_transformers_unfitted", "check_valid_tag_types",
}  # fmt: skip


@pytest.mark.parametrize("learner", [PairsClassifier, TripletsClassifier])
def test_checks_of_scikit_learn(learner):
    """With a preprocessor scikit-learn runs its whole list; just the declared checks fail, each with its reason."""
    expected = learner.expected_failed_checks
    estimator = learner(preprocessor=X)
    ran = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=expected)
    named = {
        status: {r["check_name"] for r in ran if r["status"] == status} for status in ("passed", "failed", "xfail")
    }
    assert not named["failed"]
    assert named["passed"] >= WITHOUT_TABLES
    assert not named["passed"] & set(expected)
    assert "check_fit_idempotent" in named["xfail"]


@parametrize_with_checks(
    [PairsClassifier(preprocessor=np.eye(2)), TripletsClassifier(preprocessor=np.eye(2))],
    expected_failed_checks=lambda estimator: estimator.expected_failed_checks,
)
def test_checks_of_scikit_learn_one_by_one(estimator, check):
    check(estimator)


@cases
def test_fits_repeat_and_survive_pickle_and_clone(estimator, tuples, y):
    model = clone(estimator).fit(tuples, y)
    np.testing.assert_array_equal(clone(model).fit(tuples, y).components_, model.components_)
    first = model.decision_function(tuples)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(tuples), first)
    np.testing.assert_array_equal(model.fit(tuples, y).decision_function(tuples), first)
    assert model.n_features_in_ == 4
    assert clone(estimator).get_params() == estimator.get_params()


@cases
def test_answers_leave_model_and_data_as_they_were_and_go_row_by_row(estimator, tuples, y):
    frozen = tuples.copy()
    frozen.setflags(write=False)
    model = clone(estimator).fit(frozen, y)
    before = dict(vars(model))
    answers = [getattr(model, name)(frozen) for name in ("decision_function", "predict")]
    assert vars(model) == before
    for name, answer in zip(("decision_function", "predict"), answers, strict=True):
        rows = np.concatenate([getattr(model, name)(frozen[[t]]) for t in range(9)])
        np.testing.assert_allclose(rows, answer[:9], rtol=1e-12)
    assert set(answers[1]) <= set(model.classes_)
    np.testing.assert_allclose(clone(estimator).fit(frozen.tolist(), y).components_, model.components_)


@cases
def test_what_cannot_be_learned_from_is_refused(estimator, tuples, y):
    with pytest.raises(NotFittedError):
        estimator.decision_function(tuples)
    for bad, text in (
        (np.where(np.arange(4) == 2, np.nan, tuples), "NaN"),
        (tuples[0], "must have shape"),
        (tuples[:0], "must have shape"),
        (tuples[..., :0], "must have shape"),
        (sp.csr_array(tuples[:, 0]), "must have shape"),
        (tuples + 1j, "Complex data not supported"),
        (tuples.astype(str) + "x", "finite numbers"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            clone(estimator).fit(bad, y)
    with pytest.raises(InvalidInputError, match="4 features; found 3"):
        clone(estimator).fit(tuples, y).predict(tuples[..., :3])


def test_labels_of_pairs_are_signs():
    estimator, pairs, signs = CASES[0]
    for bad in (0.5 * signs, np.where(signs == 1, 1, 0), np.resize(LABELS, len(pairs))):
        with pytest.raises(InvalidInputError, match="must be \\+1 \\(similar\\) or -1"):
            clone(estimator).fit(pairs, bad)
    with pytest.raises(InvalidInputError, match="one per pair"):
        clone(estimator).fit(pairs, signs[1:])
