"""PSDRegressor as a scikit-learn estimator."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from psdopt_plugins.regression import PSDRegressor

SHORT = {"max_iterations": 30}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PSDRegressor(1, geometry="polar", solver_options=SHORT)])
def test_scikit_learn(estimator, check):
    if "sample_weight_equivalence" in str(check):
        # 15 samples of 30 features: the moment is singular but for a ridge of 1e-8, whose inverse magnifies rounding
        pytest.skip("equal to 1e-6, and 1e-7 is asked: rounding decides")
    check(estimator)


def data(noise=0.05):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((600, 6)), rng.standard_normal((6, 2))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(600))


@pytest.mark.parametrize("geometry", ["flat", "polar"])
@pytest.mark.parametrize("case", ["plain", "intercept", "bounds"])
def test_integer_weights_are_repetitions(geometry, case):
    X, y = data()
    X, y = X[:80], y[:80] - (5.0 if case == "intercept" else 0.0)
    w = np.random.default_rng(1).integers(0, 4, 80)
    direction = np.where(np.arange(80) % 2, 1, -1) if case == "bounds" else None
    again = None if direction is None else np.repeat(direction, w)
    options = {"tol": 1e-10, "max_iterations": 500}
    model = PSDRegressor(2, geometry=geometry, random_state=0, solver_options=options)
    weighted = clone(model).fit(X, y, w, direction=direction)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w), direction=again)
    assert weighted.result_.value == pytest.approx(repeated.result_.value, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4, atol=1e-4 * np.abs(y).max())
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-4)
    assert (weighted.intercept_ != 0.0) == (case == "intercept")


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_recovers_the_form_at_once_and_batch_by_batch(geometry):
    X, y = data()
    model = PSDRegressor(2, geometry=geometry).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.98
    assert model.components_.shape == (2, 6)
    assert model.result_.converged
    model, losses = PSDRegressor(2, geometry=geometry), []
    for _ in range(6):
        for k in range(0, 480, 96):
            model.partial_fit(X[k : k + 96], y[k : k + 96])
        losses.append(model.loss_)
    assert losses[-1] < 0.7 * losses[0]
    assert model.score(X[480:], y[480:]) > 0.9


def tabular(name):
    """Targets that are no quadratic form, so that batches disagree."""
    X, y = {"diabetes": load_diabetes, "iris": load_iris}[name](return_X_y=True)
    if name == "diabetes":
        X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    return X, y.astype(float)


@pytest.mark.parametrize(("name", "rank", "rows"), [("diabetes", 2, 32), ("iris", None, 10), ("iris", 2, 10)])
def test_partial_fit_on_few_rows_keeps_a_good_model_good(name, rank, rows):
    X, y = tabular(name)
    model = PSDRegressor(rank, random_state=0).fit(X, y)
    before = model.score(X, y)
    assert model.partial_fit(X[:rows], y[:rows]).score(X, y) > before - 0.1
    for k in range(0, len(X), rows):
        model.partial_fit(X[k : k + rows], y[k : k + rows])
    assert model.score(X, y) > before - 0.1


def test_partial_fit_lowers_the_loss_of_each_batch():
    X, y = tabular("diabetes")
    model = PSDRegressor(2, random_state=0).fit(X[:200], y[:200])
    for k in range(200, 400, 25):
        rows, targets = X[k : k + 25], y[k : k + 25]
        before = np.mean((model.predict(rows) - targets) ** 2)
        model.partial_fit(rows, targets)
        assert np.mean((model.predict(rows) - targets) ** 2) <= before


def test_partial_fit_warns_where_batches_contradict_each_other():
    """As here, where the mean of the iterates is at 100 and the last iterate at 1e4, as if pulled there."""
    X, y = np.ones((40, 1)), np.repeat([100.0, 1.0], [36, 4])
    model = PSDRegressor(batch_size=4).partial_fit(X, np.full(40, 100.0))
    model._online.ahead, model._online.point = np.full((1, 1), 90.0), np.full((1, 1), 100.0)
    with pytest.warns(ConvergenceWarning, match="partial_fit raised the mean loss of its rows from"):
        model.partial_fit(X, y)


def test_a_few_wild_rows_neither_move_a_model_far_nor_stop_it():
    """Four targets a million times too large among 100,000; they have a third of the weight of the mean at the end."""
    X, y = np.ones((40, 1)), np.repeat([100.0, 1e8], [36, 4])
    model = PSDRegressor(batch_size=4)
    model.partial_fit(X, np.full(40, 100.0)).partial_fit(X, y)
    assert 100.0 < model.predict(X)[0] < 400.0  # the factor, at most doubled
    assert model.partial_fit(X, np.full(40, 100.0)).predict(X)[0] == pytest.approx(100.0, rel=0.5)


def test_a_result_is_that_of_the_last_fit_alone():
    X, y = data()
    model = PSDRegressor(2).fit(X, y).partial_fit(X[:64], y[:64])
    assert not hasattr(model, "result_")
    assert model.loss_ >= 0.0
    assert not hasattr(model.fit(X, y), "loss_")


def test_an_intercept_is_learned_where_targets_are_negative():
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (200, 1))
    y = x[:, 0] ** 2 - 3.0
    model = PSDRegressor().fit(x, y)
    assert model.result_.optimal
    assert model.intercept_ == pytest.approx(-3.0)
    assert model.score(x, y) > 1.0 - 1e-9
    with pytest.warns(UserWarning, match="every prediction is the same"):
        assert PSDRegressor(fit_intercept=False).fit(x, y).score(x, y) < 0.0
    assert PSDRegressor().fit(x, x[:, 0] ** 2).intercept_ == 0.0
    assert PSDRegressor(fit_intercept=True).fit(x, x[:, 0] ** 2 + 5.0).intercept_ == pytest.approx(5.0)
    online = PSDRegressor()
    for _ in range(20):
        online.partial_fit(x, y)
    assert online.score(x, y) > 0.999


def affine(shift):
    """A linear target, some entries negative, of features of which the last is constant."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    return np.column_stack([X, np.ones(200)]), X @ [1.0, 2.0, 0.0, -1.0] + shift + 0.5 * rng.standard_normal(200)


def on_disk(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("form", [lambda X, _: X, lambda X, _: scipy.sparse.csr_array(X), on_disk])
def test_beside_a_constant_feature_the_intercept_is_the_least_target(form, tmp_path):
    """With both, F has no minimum for a linear target: W grows without bound."""
    X, y = affine(5.0)
    model = PSDRegressor().fit(form(X, tmp_path), y)
    assert model.result_.optimal
    assert model.result_.iterations <= 30
    assert model.intercept_ == y.min() < 0.0
    assert np.sum(model.components_**2) < 10.0
    assert model.score(X, y) > 0.9


def test_beside_a_constant_feature_a_fit_follows_a_shift_of_the_targets():
    (X, y), (_, low) = affine(0.0), affine(-50.0)
    high, shifted = PSDRegressor().fit(X, y), PSDRegressor().fit(X, low)
    np.testing.assert_allclose(shifted.predict(X), high.predict(X) - 50.0, atol=1e-2)
    online = shifted.partial_fit(X, low)
    assert online.intercept_ == low.min()
    assert online.score(X, low) > 0.9
    first = PSDRegressor().partial_fit(X, low)
    assert first.intercept_ == low.min()
    features = np.column_stack([X[:, :4], np.zeros(200)])
    other = PSDRegressor(solver_options=SHORT).fit(features, X[:, 0] ** 2 - 3.0)
    assert other.intercept_ == pytest.approx(-3.0, rel=1e-2)


def test_an_offset_goes_with_no_bounds():
    X, y = data()
    with pytest.raises(ValueError, match="offset must be False where directions are given"):
        PSDRegressor(fit_intercept=True).fit(X, y, direction=np.ones(len(y)))


@pytest.mark.filterwarnings("ignore:psdopt.solve ended")
@pytest.mark.parametrize("offset", [1e8, -1e10])
def test_an_offset_is_named_with_what_to_do(offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X @ [1.0, 2.0, -1.0]) ** 2
    shifted = X + np.array([0.0, offset, 0.0])
    model = PSDRegressor(solver_options={"max_iterations": 50})
    with pytest.warns(UserWarning, match=r"X should be centred .*; found one, number 1, of 1e\+\d+ times"):
        model.fit(shifted, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither once centred, nor for a constant feature
        centred = shifted - shifted.mean(axis=0)
        assert PSDRegressor().fit(np.column_stack([centred, np.ones(60)]), y).result_.optimal
