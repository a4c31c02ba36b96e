"""Learning from batches: excess over the batch fit, the update by plain NumPy, what is kept, what stops it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from psdopt import FlatQuotient, Polar
from psdopt_plugins.metric_learning import LMNN, DistanceRegression
from psdopt_plugins.online import OnlineModel
from psdopt_plugins.regression import PSDRegressor
from psdopt_plugins.regression.online import half_squares


def data(d, r, m, condition=1.0, white=False, noise=0.1, seed=0):
    """Training and test samples with moments of the given condition², targets of raw or of whitened samples."""
    rng = np.random.default_rng(seed)
    Z, W = rng.standard_normal((m + 2000, d)), rng.standard_normal((d, r))
    turn, back = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    X = Z if condition == 1.0 else Z @ (turn * np.geomspace(1.0, condition, d)) @ back
    y = (((Z if white else X) @ W) ** 2).sum(axis=1) * (1.0 + noise * rng.standard_normal(m + 2000))
    return X[:m], y[:m], X[m:], y[m:]


def loss_of(model, X, y):
    return 0.5 * np.mean((model.predict(X) - y) ** 2)


@pytest.mark.parametrize(("condition", "white"), [(1.0, False), (100.0, False), (100.0, True)])
@pytest.mark.parametrize("shape", [(10, 2, 5000), (20, 5, 6000)])
@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_four_passes_end_five_per_cent_above_the_batch_fit_with_one_evaluation_per_batch(
    shape, condition, white, geometry, monkeypatch
):
    d, r, m = shape
    X, y, *test = data(d, r, m, condition, white)
    best = loss_of(PSDRegressor(r, random_state=0).fit(X, y), *test)
    evaluations = []

    def counted(targets, direction):
        loss = half_squares(targets, direction)
        return lambda part, a: evaluations.append(part) or loss(part, a)

    monkeypatch.setattr("psdopt_plugins.regression.estimator.half_squares", counted)
    model = PSDRegressor(r, geometry=geometry, random_state=1)
    for _ in range(4):
        model.partial_fit(X, y)
    assert loss_of(model, *test) <= 1.05 * best
    assert len(evaluations) == 4 * (-(-m // model.batch_size) + 2)  # and two for the warning


@pytest.mark.parametrize("batch_size", [4, 256])
@pytest.mark.parametrize("rank", [3, None])
def test_neither_the_batch_size_nor_the_rank_has_to_be_right(rank, batch_size):
    X, y, *test = data(10, 2, 5000)
    best = loss_of(PSDRegressor(rank, random_state=0).fit(X, y), *test)
    model = PSDRegressor(rank, batch_size=batch_size, random_state=0)
    for _ in range(4):
        model.partial_fit(X, y)
    assert loss_of(model, *test) <= 1.05 * best


@pytest.mark.parametrize(("condition", "geometry"), [(1.0, "flat"), (100.0, "flat"), (1.0, "polar")])
def test_distance_bounds_from_a_stream_are_as_good_as_all_at_once(condition, geometry):
    Z = data(10, 2, 0)[2]
    X = data(10, 2, 0, condition)[2]
    rng = np.random.default_rng(1)
    i = rng.integers(2000, size=12_000)
    j = (i + rng.integers(1, 2000, size=12_000)) % 2000
    distances = (((Z[i] - Z[j]) @ rng.standard_normal((10, 2))) ** 2).sum(axis=1) * rng.lognormal(0.0, 0.3, 12_000)
    pairs = np.column_stack([i, j, np.where(distances < np.median(distances), 1, -1)])
    pairs = pairs[np.unique(np.sort(pairs[:, :2], axis=1), axis=0, return_index=True)[1]]
    pairs = rng.permutation(pairs)
    bounds = upper, lower = tuple(np.percentile(distances, [25, 75]))

    def value(model):
        rest = pairs[5000:]
        D = model.pair_distance(X[rest[:, :2]]) ** 2
        return np.mean(np.where(rest[:, 2] == 1, np.maximum(0.0, D - upper), np.maximum(0.0, lower - D)) ** 2)

    best = value(DistanceRegression(2, bounds=bounds, solver_options={"tol": 1e-3}).fit(X, pairs=pairs[:5000]))
    model = DistanceRegression(2, geometry=geometry, bounds=bounds)
    for _ in range(4):
        model.partial_fit(X, pairs=pairs[:5000])
    assert value(model) <= 1.05 * best
    assert not hasattr(model, "result_")
    assert np.linalg.matrix_rank(model.components_) <= 2


def begun(seed=0, d=6, r=2):
    Y = np.random.default_rng(seed).standard_normal((d, r))
    return OnlineModel.begun(FlatQuotient(d, r), Y), Y


@pytest.mark.parametrize(("p", "r"), [(8, 2), (3, 5)])
def test_the_first_update_is_the_formula(p, r):
    X, y, *_ = data(6, 2, p)
    model, Y = begun(r=r)
    returned = model.learn(X.__getitem__, half_squares(y, None), p, p)
    Z = X @ Y
    residual = (Z**2).sum(axis=1) - y
    assert returned == pytest.approx(0.5 * np.mean(residual**2))
    scatter = X.T @ X
    raised = np.diagonal(scatter) + np.diagonal(scatter).mean() / 2.0**p
    C = (scatter + np.diag((1.0 + max(1.0, 6.0 - p) / p) * raised - np.diagonal(scatter))) / p
    Q = Y.T @ scatter @ Y / p
    D = np.linalg.inv(C) @ X.T @ (residual[:, None] * Z) @ np.linalg.inv(Q + 0.1 * np.trace(Q) * np.eye(r))
    along = (Z * (X @ D)).sum(axis=1)
    step = (residual @ along) / (2.0 * along @ along) / np.sqrt(1.0 + p / (50 * Y.size))
    if 2.0 * 0.5 * residual @ residual > p * np.trace(Q) ** 2:
        step = min(step, np.linalg.norm(Z) / np.linalg.norm(X @ D))
    np.testing.assert_allclose(model.point, Y - step * D, rtol=1e-9)
    np.testing.assert_array_equal(model.factor, model.point)  # the first iterate has all the weight


def test_the_mean_weights_iterates_like_cubes():
    X, y, *_ = data(6, 2, 320)
    model, _ = begun()
    iterates = []
    for k in range(10):
        part = slice(32 * k, 32 * k + 32)
        model.learn(X[part].__getitem__, half_squares(y[part], None), 32)
        iterates.append(model.point)
    k = np.arange(1.0, 11.0)
    weights = k * (k + 1.0) * (k + 2.0)
    np.testing.assert_allclose(model.factor, np.average(iterates, axis=0, weights=weights), rtol=1e-10)


@pytest.mark.parametrize("geometry", ["flat", "polar"])
@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_calls_and_saving_in_between_do_not_change_the_iterates(geometry, weight):
    X, y, *_ = data(6, 2, 320)
    whole, parts = (PSDRegressor(2, geometry=geometry, weight=weight, random_state=0) for _ in range(2))
    whole.partial_fit(X, y)
    for k in range(0, 320, 64):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[k : k + 64], y[k : k + 64])))
    np.testing.assert_array_equal(parts.components_, whole.components_)


def test_components_that_were_returned_stay_as_they_are():
    X, y, *_ = data(1, 1, 64)
    model = PSDRegressor(1).partial_fit(X, y)
    before, copy = model.components_, model.components_.copy()
    model.partial_fit(X, y)
    np.testing.assert_array_equal(before, copy)


def test_units_of_features_do_not_matter():
    X, y, *_ = data(6, 2, 320)
    units = 2.0 ** np.array([0, 3, 1, 7, 9, 10])
    model, Y = begun()
    other = OnlineModel.begun(FlatQuotient(6, 2), Y / units[:, None])
    for found, rows in ((model, X), (other, X * units)):
        found.learn(rows.__getitem__, half_squares(y, None), 320)
    np.testing.assert_allclose(other.factor * units[:, None], model.factor, rtol=1e-2)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_a_geometry_keeps_is_kept(weight):
    X, y, *_ = data(6, 2, 640)
    Y = np.random.default_rng(1).standard_normal((6, 2))
    geometry = Polar(6, 2, weight)
    start, loss = geometry.from_factor(Y), half_squares(y, None)
    model = OnlineModel.begun(geometry, start)
    losses = [model.learn(X.__getitem__, loss, 640) for _ in range(4)]
    assert losses[-1] < losses[0]
    M = model.factor @ model.factor.T
    if weight == 0.0:
        P = Y @ np.linalg.pinv(Y)
        np.testing.assert_allclose(P @ M, M, atol=1e-10 * np.linalg.norm(M))
    else:
        spectra = [np.linalg.eigvalsh(A.T @ A) for A in (model.factor, Y)]
        np.testing.assert_allclose(spectra[0], spectra[1], rtol=1e-9)


def test_sparse_rows_are_dense_ones():
    X, y, *_ = data(8, 2, 320, noise=0.0)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.3)
    y = y * (X != 0.0).any(axis=1)
    dense, sparse = (
        PSDRegressor(2, random_state=0).partial_fit(storage(X), y) for storage in (np.asarray, sp.csr_array)
    )
    np.testing.assert_allclose(sparse.components_, dense.components_, rtol=1e-8)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_memory_stays_linear_where_features_are_many(storage):
    rng = np.random.default_rng(0)
    d = 1600
    X = rng.standard_normal((600, d)) * (rng.random((600, d)) < 0.01)
    y = (X[:, :800].sum(axis=1)) ** 2
    model = PSDRegressor(1, random_state=0)
    losses = [model.partial_fit(storage(X), y).loss_ for _ in range(6)]
    assert losses[-1] < 0.5 * losses[0]
    assert max(np.size(value) for value in vars(model._online).values()) == d


def test_a_fit_is_continued_from_where_it_is_and_needs_no_columns_of_full_length():
    X, y, *test = data(20, 5, 6000, 100.0, True)
    best = loss_of(PSDRegressor(5, random_state=0).fit(X, y), *test)
    model = PSDRegressor(5, random_state=0).fit(X[:500], y[:500])
    before = loss_of(model, *test)
    assert loss_of(model.partial_fit(X[:32], y[:32]), *test) < 1.01 * before
    for _ in range(4):
        model.partial_fit(X, y)
    assert loss_of(model, *test) <= 1.05 * best


def test_losses_without_end_are_reported_and_the_model_stays():
    X, y, *_ = data(6, 2, 64)
    model = PSDRegressor(2, random_state=0).partial_fit(X, y)
    before = model._online.factor
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(FloatingPointError, match="not finite"):
        model._online.learn(X.__getitem__, half_squares(np.full(64, 1e200), None), 64)
    np.testing.assert_array_equal(model._online.factor, before)


def test_nothing_to_learn_moves_nothing():
    model, Y = begun()
    X = np.zeros((64, 6))
    assert model.learn(X.__getitem__, half_squares(np.ones(64), None), 64) == 0.5
    np.testing.assert_array_equal(model.factor, Y)


@pytest.mark.parametrize("learner", [PSDRegressor(random_state=0), DistanceRegression(), LMNN()])
def test_batches_may_be_sparse_matrices_as_well_as_sparse_arrays(learner):
    X = np.random.default_rng(0).poisson(0.7, (40, 3)).astype(float)
    y = (X[:, 0] > 0.0) * 1.0
    known, other = (clone(learner).partial_fit(kind(X), y) for kind in (sp.csr_array, sp.csr_matrix))
    assert np.array_equal(known.components_, other.components_)
