"""KTA and Linearity as scikit-learn transformers; distances of pairs and the metric of every learner."""

import pickle
from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from psdopt import ConjugateGradient, FlatQuotient, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.metric_learning import KTA, LMNN, NCA, DistanceRegression, Linearity, PSDBoost, kta_problem

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
LEARNERS = [KTA(), Linearity(), KTA(rank=2), Linearity(rank=2)]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_components_are_few_and_sorted_and_pickles_hold_no_data(learner):
    many = np.repeat(X, 20, axis=0)
    model = clone(learner).fit(many, np.repeat(Y, 20))
    assert model.components_.shape == (model.result_.rank, X.shape[1])
    assert model.rank is None or model.result_.rank <= model.rank
    assert np.all(np.diff(np.linalg.norm(model.components_, axis=1)) <= 0.0)
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)
    stored = pickle.dumps(model)
    assert len(stored) < many.nbytes
    assert pickle.loads(stored).result_.certificate.relative == model.result_.certificate.relative


def test_pairs_instead_of_labels():
    pairs = ([(0, 1), (60, 61)], [(0, 60), (1, 61)])
    first = Linearity(lam=0.05).fit(X, pairs=pairs)
    second = Linearity(lam=0.05).fit(X, Y, pairs=np.array([(1, 0, 1), (60, 61, 1), (60, 0, -1), (1, 61, -1)]))
    np.testing.assert_allclose(first.components_, second.components_)


@pytest.mark.parametrize("learner", [KTA(), KTA(rank=2), KTA(regularizer="trace", gram=False)], ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_integer_weights_are_repetitions(learner, storage):
    w = np.random.default_rng(0).integers(0, 4, len(X))
    options = {"tol": 1e-10}
    weighted = clone(learner).set_params(solver_options=options).fit(storage(X), Y, sample_weight=w)
    repeated = clone(learner).set_params(solver_options=options).fit(storage(np.repeat(X, w, axis=0)), np.repeat(Y, w))
    M = repeated.get_mahalanobis_matrix()
    assert weighted.result_.value == pytest.approx(repeated.result_.value, rel=1e-9)
    np.testing.assert_allclose(weighted.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))
    plain = clone(learner).set_params(solver_options=options).fit(X, Y).get_mahalanobis_matrix()
    assert np.linalg.norm(plain - M) > 1e-2 * np.linalg.norm(M)  # weights matter


def test_bad_weights():
    for weights, words in ((-np.ones(178), "found -1"), (np.zeros(178), "found only zeros")):
        with pytest.raises(InvalidInputError, match=f"sample_weight must be at least 0, .*; {words}"):
            KTA().fit(X, Y, sample_weight=weights)
    with pytest.raises(InvalidInputError, match=r"sample_weight .*found shape \(3,\)"):
        KTA().fit(X, Y, sample_weight=np.ones(3))
    with pytest.raises(InvalidTypeError, match="weights need an X in memory"):
        kta_problem(aslinearoperator(X), Y, 0.1, weights=np.ones(178))


def test_solver_options_reach_solve():
    options = {"geometry": FlatQuotient(13, 4), "method": ConjugateGradient("FR"), "tol": 1e-4}
    model = KTA(solver_options=options).fit(X, Y)
    assert model.result_.geometry == "FlatQuotient(n=13, r=4)"
    assert model.result_.method == "ConjugateGradient"
    with pytest.warns(ConvergenceWarning, match=r"psdopt\.solve ended before convergence: the limit of 1 iterations"):
        KTA(rank=3, solver_options={"max_iterations": 1}).fit(X, Y)


def test_a_zero_metric_warns_and_is_certified_where_it_is_optimal():
    pairs = ([(i, i + 1) for i in range(0, 170, 2)], [])
    with pytest.warns(UserWarning, match="M = 0: all distances are zero; change lam, or the labels or pairs"):
        model = Linearity(lam=100.0).fit(X, pairs=pairs)
    assert model.transform(X).shape == (178, 1)
    with pytest.warns(UserWarning, match="M = 0: all distances are zero; change lam or the labels$") as caught:
        model = KTA(rank=2, lam=1e-9, regularizer="trace").fit(X, Y)
    assert len(caught) == 1
    assert model.result_.optimal


def test_a_limit_of_time_is_that_of_all_runs_together(monkeypatch):
    """With every time spent in the first run M = 0 is not tried in a second one."""
    runs = []

    @wraps(solve)
    def spent(problem, **options):
        runs.append(options)
        return replace(solve(problem, **{**options, "max_iterations": 0, "max_time": None}), seconds=0.75)

    monkeypatch.setattr("psdopt_plugins.estimators.solve", spent)
    for limit, expected in ((0.5, [0.5]), (1.0, [1.0, 0.25]), (None, [None, None])):
        runs.clear()
        with pytest.warns(ConvergenceWarning):
            KTA(lam=1e-3, solver_options={"max_time": limit, "start": 10.0 * np.eye(X.shape[1])}).fit(X, Y)
        assert [options.get("max_time") for options in runs] == expected


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
    assert metric(X[:1], X[9:10]) == metric(X[0], X[9])  # rows, as metric-learn takes them
    near = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(X[::4], Y[::4])
    plain = KNeighborsClassifier(1).fit(model.transform(X[::4]), Y[::4])
    np.testing.assert_array_equal(near.predict(X[1::4]), plain.predict(model.transform(X[1::4])))
    before, learned = metric(X[0], X[9]), model.get_metric()
    model.components_ *= 2.0
    assert learned(X[0], X[9]) == before  # a metric does not change with its estimator
    model.components_ /= 2.0
    with pytest.raises(
        InvalidInputError, match=r"u and v must have shape \(13,\) or \(1, 13\); found \(13,\) and \(2,\)"
    ):
        metric(X[0], [1.0, 2.0])
    line = type(learned)([3.0])  # one feature: numbers will do
    assert line(5.0, 6.5) == line([5.0], [[6.5]]) == pytest.approx(4.5)


def test_pairs_of_other_features_are_refused(model):
    with pytest.raises(InvalidInputError, match="samples must have 13 features; found 2"):
        model.pair_distance(X[PAIRS][..., :2])
    with pytest.raises(InvalidInputError, match=r"indices \(p, 2\) need a preprocessor"):
        model.pair_distance(PAIRS)


#: Every supervised learner, with limits that keep the fits of these tests short.
SUPERVISED = [
    KTA(), Linearity(), LMNN(max_rounds=2), NCA(max_rounds=1), PSDBoost(), DistanceRegression(n_constraints=200),
]  # fmt: skip
supervised = pytest.mark.parametrize("learner", SUPERVISED, ids=lambda learner: type(learner).__name__)
#: Indices in any order, one of them twice.
LISTED = np.append(np.random.default_rng(0).permutation(len(X))[:90], 5)


@supervised
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("preprocessor", [X, X.tolist(), lambda listed: X[listed]], ids=["array", "list", "function"])
def test_indices_stand_for_rows(learner, preprocessor):
    plain = clone(learner).fit(X[LISTED], Y[LISTED])
    by_index = clone(learner).set_params(preprocessor=preprocessor)
    assert clone(by_index).preprocessor is not None
    np.testing.assert_array_equal(by_index.fit(LISTED, Y[LISTED]).components_, plain.components_)
    assert by_index.n_features_in_ == X.shape[1]
    for listed in (LISTED, LISTED.tolist(), np.uint8(LISTED)):
        np.testing.assert_array_equal(by_index.transform(listed), plain.transform(X[LISTED]))
    np.testing.assert_array_equal(by_index.transform(X), plain.transform(X))  # rows are still rows
    np.testing.assert_array_equal(by_index.pair_distance(PAIRS), plain.pair_distance(X[PAIRS]))
    np.testing.assert_array_equal(by_index.fit(X[LISTED], Y[LISTED]).components_, plain.components_)


@pytest.mark.parametrize("learner", [KTA(), NCA(max_rounds=1)], ids=lambda learner: type(learner).__name__)
def test_indices_into_a_sparse_array(learner):
    plain = clone(learner).fit(sp.csr_array(X)[LISTED], Y[LISTED])
    by_index = clone(learner).set_params(preprocessor=sp.coo_array(X)).fit(LISTED, Y[LISTED])
    np.testing.assert_array_equal(by_index.components_, plain.components_)


@pytest.mark.parametrize(
    ("learner", "given"),
    [
        (Linearity(), {"pairs": np.column_stack([np.arange(20), np.arange(20, 40), np.resize([1, -1], 20)])}),
        (DistanceRegression(), {"y": True}),
        (LMNN(), {"triplets": np.column_stack([np.arange(20), np.arange(20, 40), np.arange(40, 60)])}),
    ],
    ids=["pairs", "labels", "triplets"],
)
def test_indices_stand_for_rows_of_a_stream(learner, given):
    given = {name: Y[LISTED] if name == "y" else value for name, value in given.items()}
    plain = clone(learner).partial_fit(X[LISTED], **given).partial_fit(X[LISTED], **given)
    by_index = clone(learner).set_params(preprocessor=X)
    by_index.partial_fit(LISTED, **given).partial_fit(LISTED, **given)
    np.testing.assert_array_equal(by_index.components_, plain.components_)


def test_indices_pass_through_selection_and_storage():
    model = make_pipeline(KTA(preprocessor=X), KNeighborsClassifier(3))
    plain = make_pipeline(KTA(), KNeighborsClassifier(3))
    scores = cross_val_score(model, np.arange(len(X)), Y, cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(plain, X, Y, cv=3))
    stored = pickle.loads(pickle.dumps(KTA(preprocessor=X).fit(LISTED, Y[LISTED])))
    np.testing.assert_array_equal(stored.transform([0, 3]), stored.transform(X[[0, 3]]))


@supervised
@pytest.mark.parametrize(
    ("listed", "preprocessor", "error", "words"),
    [
        ([0, 178], X, InvalidInputError, "X must hold indices between 0 and 177; found 178"),
        ([0, -1], X, InvalidInputError, "X must hold indices between 0 and 177; found -1"),
        ([0.0, 100.0], X, InvalidTypeError, "X must hold integers; found dtype float64"),
        ([], X, InvalidInputError, "X must hold at least one index; found none"),
        ([0, 100], X[0], InvalidTypeError, r"preprocessor must be an array \(N, d\) of samples or a function"),
        ([0, 100], "wine", InvalidTypeError, "preprocessor must"),
        ([0, 100], lambda listed: X, InvalidInputError, "preprocessor must return 2 rows, one per index; found 178"),
        ([0, 100], lambda listed: X[0], InvalidInputError, "samples of the preprocessor must hold finite numbers"),
        ([0, 100], np.full((178, 13), np.nan), InvalidInputError, "preprocessor must hold finite numbers"),
        ([0, 100, 101], X, ValueError, "inconsistent numbers of samples"),
        ([[0, 1], [2]], X, ValueError, "inhomogeneous"),
        (np.zeros((2, 2, 2)), X, ValueError, "dim 3"),
        ([0, 100], None, ValueError, "Expected 2D array, got 1D array instead"),
    ],
)
def test_what_stands_for_no_rows_is_refused(learner, listed, preprocessor, error, words):
    with pytest.raises(error, match=words):
        clone(learner).set_params(preprocessor=preprocessor).fit(listed, [0, 1])


def test_indices_of_samples_with_other_features_are_refused():
    model = KTA(preprocessor=X).fit(LISTED, Y[LISTED])
    with pytest.raises(ValueError, match="X has 2 features, but KTA is expecting 13"):
        model.set_params(preprocessor=X[:, :2]).transform(LISTED)


@supervised
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn_with_a_preprocessor(learner):
    """Just those fail that hand over numbers (m,), which are then no indices."""
    estimator = clone(learner).set_params(preprocessor=X)
    expected = getattr(learner, "expected_failed_checks", {})
    ran = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=expected)
    failed = {r["check_name"]: str(r["exception"]) for r in ran if r["status"] == "failed"}
    refused = "X must hold integers; found dtype float64"
    assert failed == {"check_fit1d": refused, "check_fit2d_predict1d": refused}
