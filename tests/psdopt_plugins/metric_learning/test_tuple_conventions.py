"""Learners from tuples against scikit-learn's conventions: its checks that need no table, and the others on tuples.

Its data checks hand over a table X (m, d), which is no array of tuples: ``check_estimator`` leaves them out for
estimators whose tags ask for three dimensions. What they look at is looked at here, on tuples.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from psdopt.errors import InvalidInputError
from psdopt_plugins.metric_learning import PairsClassifier, TripletsClassifier
from psdopt_plugins.pair_sampling import nearest_triplets

X, LABELS = load_iris(return_X_y=True)
ENDS = np.random.default_rng(0).choice(150, (120, 2))
ENDS = ENDS[ENDS[:, 0] != ENDS[:, 1]]
CASES = [
    (PairsClassifier(), X[ENDS], np.where(LABELS[ENDS[:, 0]] == LABELS[ENDS[:, 1]], 1, -1)),
    (TripletsClassifier(), X[nearest_triplets(X, LABELS)[::2]], None),
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


class TablesToo:
    """Tags that let scikit-learn hand over tables: its list of checks is then the whole one."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        return tags


@pytest.mark.parametrize("learner", [PairsClassifier, TripletsClassifier])
def test_checks_of_scikit_learn_that_need_no_table(learner):
    estimator = type(learner.__name__, (TablesToo, learner), {"__init__": learner.__init__})()
    ran = set()
    for instance, check in estimator_checks_generator(estimator, legacy=True):
        name = check.func.__name__
        if name in WITHOUT_TABLES:
            check(instance)
            ran.add(name)
    assert ran == WITHOUT_TABLES


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
    for bad in (0.5 * signs, np.where(signs == 1, 1, 0), LABELS[: len(pairs)]):
        with pytest.raises(InvalidInputError, match="must be \\+1 \\(similar\\) or -1"):
            clone(estimator).fit(pairs, bad)
    with pytest.raises(InvalidInputError, match="one per pair"):
        clone(estimator).fit(pairs, signs[1:])
