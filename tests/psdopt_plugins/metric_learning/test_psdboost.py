"""triplet_margin_problem and PSDBoost: the loss against brute force, its smoothing, choices, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from psdopt import Status, solve
from psdopt.errors import InvalidInputError
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.linalg import RowSource
from psdopt.margins.column_generation import ColumnGeneration
from psdopt_plugins.metric_learning.psdboost import PSDBoost, triplet_margin_problem
from psdopt_plugins.pair_sampling import nearest_triplets


def data(seed=0, N=20, d=4, m=30):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)), np.array([rng.choice(N, 3, replace=False) for _ in range(m)])


def test_a_smoothing_makes_the_smoothed_problem():
    X, t = data(4, d=3)
    built = triplet_margin_problem(X, t, 0.2, smoothing=0.5)
    assert built.at(np.eye(3)).value == triplet_margin_problem(X, t, 0.2).smoothed(0.5).at(np.eye(3)).value


def test_left_to_itself_solve_takes_column_generation_over_the_spectraplex():
    X, t = data(4, d=3)
    problem = triplet_margin_problem(X, t, 0.2)
    result = solve(problem, tol=1e-6)
    assert result.optimal
    assert result.chosen == ("geometry", "method")
    assert (result.method, result.geometry) == ("ColumnGeneration", "Spectraplex(n=3, trace=1)")
    assert solve(problem, Spectraplex(3, 2.0), tol=1e-6).value == pytest.approx(2.0 * result.value, rel=1e-5)
    assert solve(problem, method=ColumnGeneration(columns=2), tol=1e-2).chosen == ("geometry",)


def test_duplicated_samples_do_not_keep_a_run_from_a_fine_tolerance():
    X, y = load_iris(return_X_y=True)  # with duplicates
    assert len(np.unique(X, axis=0)) < len(X)
    model = PSDBoost(solver_options={"tol": 1e-6}).fit(X, y)
    assert model.result_.optimal
    assert model.result_.certificate.relative <= 1e-6


def test_the_metric_does_not_depend_on_units_or_origin():
    X, t = data(6)
    base = solve(triplet_margin_problem(X, t, 0.2), Spectraplex(4), ColumnGeneration(), tol=1e-6)
    for scale, offset in ((1e-4, 0.0), (1e5, 0.0), (1.0, 50.0)):
        other = solve(triplet_margin_problem(scale * X + offset, t, 0.2), Spectraplex(4), ColumnGeneration(), tol=1e-6)
        assert other.optimal
        assert np.isclose(other.value, scale**2 * base.value, rtol=1e-5)


def test_nearest_triplets_are_what_they_say():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 3, 30)
    y[0] = 9  # a class of one sample
    for k in (1, 3):
        t = nearest_triplets(X, y, k)
        assert len(t) == 29 * k * k
        assert not np.any(t[:, 0] == 0)
        assert np.all(y[t[:, 0]] == y[t[:, 1]])
        assert np.all(y[t[:, 0]] != y[t[:, 2]])
        assert len(np.unique(t, axis=0)) == len(t)
    i, j, k = nearest_triplets(X, y, 1)[7]
    d = np.linalg.norm(X - X[i], axis=1)
    same, other = (y == y[i]) & (np.arange(30) != i), y != y[i]
    assert d[j] == d[same].min()
    assert d[k] == d[other].min()


@pytest.mark.parametrize(
    ("triplets", "changed", "text"),
    [
        ([], {}, "at least one row of 3 indices"),
        ([(0, 1)], {}, "shape"),
        ([(0.0, 1.0, 2.0)], {}, "integers"),
        ([(0, 1, 99)], {}, "between 0 and"),
        ([(0, 1, -1)], {}, "between 0 and"),
        ([(0, 0, 2)], {}, "three different samples"),
        ([(0, 2, 0)], {}, "three different samples"),
        ([(0, 1, 1)], {}, "three different samples"),
        ([(0, 1, 2), (1, 0, 2)], {"C": 0.49}, "C must be at least 1/m"),
        ([(0, 1, 2)], {"C": 0.0}, "C must be"),
        ([(0, 1, 2)], {"C": -1.0}, "C must be"),
        ([(0, 1, 2)], {"C": np.nan}, "C must be"),
        ([(0, 1, 2)], {"C": True}, "C must be"),
        ([(0, 1, 2)], {"X": np.full((20, 4), np.nan)}, "X must be finite"),
        ([(0, 1, 2)], {"X": None}, "must be an integer of at least 1"),
        ([(0, 1, 2)], {"smoothing": -1.0}, "smoothing"),
    ],
)
def test_bad_triplets_costs_and_data_are_named(triplets, changed, text):
    with pytest.raises((InvalidInputError, TypeError), match=text):
        triplet_margin_problem(**{"X": data()[0], "triplets": triplets, **changed})


def test_estimator_learns_a_certified_metric():
    X, y = load_iris(return_X_y=True)
    model = PSDBoost(n_neighbors=2).fit(X, y)
    M = model.get_mahalanobis_matrix()
    assert model.result_.optimal
    assert model.result_.state is None
    assert np.isclose(np.trace(M), 1.0)
    assert model.margin_ == -model.result_.value
    assert np.allclose(model.transform(X), X @ model.components_.T)
    again = PSDBoost().fit(X, triplets=model.triplets_)
    assert np.isclose(again.margin_, model.margin_, rtol=1e-3)
    hard = PSDBoost(nu=1e-9).fit(X, y)
    assert hard.margin_ <= PSDBoost(nu=0.2).fit(X, y).margin_
    costed = PSDBoost(C=1.0 / (0.1 * len(model.triplets_)), n_neighbors=2).fit(X, y)
    assert np.isclose(costed.margin_, model.margin_, rtol=1e-3)


def test_labels_without_triplets_are_refused():
    X = np.random.default_rng(0).random((4, 2))
    with pytest.raises(InvalidInputError, match="2 classes"):
        PSDBoost().fit(X, [1, 1, 1, 1])
    with pytest.raises(InvalidInputError, match="2 samples"):
        PSDBoost().fit(X, [0, 1, 2, 3])


def test_a_stalled_run_over_the_whole_spectraplex_is_not_called_stationary():
    """With a feature of 1e9 times the others' units the duals run out of digits; the convex problem has no such end."""
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, 1e9 * np.random.default_rng(0).standard_normal(150)])
    result = solve(triplet_margin_problem(X, nearest_triplets(X, y), 1.0 / 15.0), Spectraplex(5), ColumnGeneration())
    assert result.status is Status.NO_PROGRESS
    assert not result.converged
    assert result.certificate.relative > 1.0
    # an earlier point has a gap that is small beside its F only, and a value of 85
    assert result.value == pytest.approx(result.history["value"].min(), rel=1e-3)


def noise(seed=1):
    """60 samples of three classes that the five features do not tell apart: the optimal margin is negative."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((60, 5)), rng.integers(0, 3, 60)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_constant_features_take_no_part_of_the_trace(kind):
    X, y = noise()
    base = PSDBoost().fit(X, y)
    assert base.margin_ < 0.0
    wide = PSDBoost().fit(kind(np.column_stack([np.full(60, 7.0), X, np.full(60, 0.1)])), y)
    assert wide.result_.optimal
    np.testing.assert_allclose(wide.margin_, base.margin_, rtol=1e-3)
    np.testing.assert_array_equal(wide.components_[:, [0, 6]], 0.0)
    assert np.isclose(np.trace(wide.get_mahalanobis_matrix()), 1.0)


def test_a_metric_that_is_zero_on_all_samples_is_named():
    X, y = noise()
    for wide in (np.column_stack([X, X[:, 0] + X[:, 1]]) + 100.0, np.ones((60, 3))):
        with pytest.warns(UserWarning, match="all distances between the samples are zero"):
            assert PSDBoost().fit(wide, y).transform(wide).std(axis=0).max() < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSDBoost().fit(X, y)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_features_of_unlike_units_give_the_metric_of_standardised_ones(kind):
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X * [1e-9, 1e9, 1.0, 1e4], 1e9 * np.random.default_rng(0).standard_normal(150)])
    Z = X / X.std(axis=0)
    model, other = PSDBoost().fit(kind(X), y), PSDBoost().fit(kind(Z), y)
    assert model.result_.optimal
    np.testing.assert_array_equal(model.triplets_, other.triplets_)
    np.testing.assert_allclose(model.margin_, other.margin_, rtol=1e-3)
    np.testing.assert_allclose(model.transform(X) @ model.transform(X).T, other.transform(Z) @ other.transform(Z).T)
    given = PSDBoost().fit(kind(X), triplets=model.triplets_)
    np.testing.assert_allclose(given.margin_, model.margin_, rtol=1e-3)


def test_rows_read_in_blocks_give_the_same_metric(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([np.full(150, 7.0), X * [1e-3, 1e3, 1.0, 10.0]])

    class Stored:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, rows):
            return X[rows]

    monkeypatch.setattr(RowSource, "block", 40)
    inside, blocks = PSDBoost().fit(X, y), PSDBoost().fit(Stored(), y)
    np.testing.assert_array_equal(X[blocks.triplets_], X[inside.triplets_])  # some irises are equal
    np.testing.assert_allclose(blocks.margin_, inside.margin_, rtol=1e-6)
    np.testing.assert_allclose(blocks.transform(X), inside.transform(X), rtol=1e-3, atol=1e-3)
