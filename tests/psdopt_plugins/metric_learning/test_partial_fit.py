"""Metric learners on streams of pairs and triplets: safe steps, the limit of the batch problem, what is forgotten."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import row_dots
from psdopt_plugins.metric_learning import (
    LMNN,
    DistanceRegression,
    Linearity,
    PairsClassifier,
    PSDBoost,
    TripletsClassifier,
)
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem, triplet_loss, triplet_rows
from psdopt_plugins.pair_sampling import nearest_triplets
from psdopt_plugins.pairs import checked_triplets

X, LABELS = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
RNG = np.random.default_rng(0)
ENDS = RNG.permutation(np.unique(np.array([np.sort(RNG.choice(178, 2, replace=False)) for _ in range(700)]), axis=0))
PAIRS = np.column_stack([ENDS, np.where(LABELS[ENDS[:, 0]] == LABELS[ENDS[:, 1]], 1, -1)])
TRIPLETS = RNG.permutation(nearest_triplets(X, LABELS, 3))


def parts(rows, count):
    return np.array_split(rows, count)


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_linearity_in_parts_is_linearity_at_once(rank, storage):
    model = Linearity(rank, lam=1e-2, solver_options={"tol": 1e-8})
    whole = model.fit(storage(X), pairs=PAIRS).get_mahalanobis_matrix()
    for part in parts(PAIRS, 5):
        model.partial_fit(storage(X), pairs=part)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), whole, atol=1e-3 * np.linalg.norm(whole))
    assert model.result_.converged
    model.fit(storage(X), pairs=PAIRS[:10]).partial_fit(storage(X), pairs=PAIRS[:10])
    alone = Linearity(rank, lam=1e-2, solver_options={"tol": 1e-8}).partial_fit(X, pairs=PAIRS[:10])
    M = alone.get_mahalanobis_matrix()
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), M, atol=1e-3 * np.linalg.norm(M))  # fit begins anew


def loss_of_pairs(model):
    d = model.pair_distance(X[ENDS]) ** 2
    upper, lower = model.bounds_
    return np.mean(np.where(PAIRS[:, 2] == 1, np.maximum(0, d - upper), np.maximum(0, lower - d)) ** 2) / 2


def test_a_fitted_metric_is_not_wrecked_by_a_few_pairs():
    model = DistanceRegression(bounds=(5.0, 20.0)).fit(X, pairs=PAIRS)
    before = loss_of_pairs(model)
    for part in parts(PAIRS[:64], 4):
        model.partial_fit(X, pairs=part)
        assert loss_of_pairs(model) < 1.5 * before


def test_the_gradient_of_a_batch_of_triplets():
    Y, D = 0.3 * RNG.standard_normal((2, 13, 2))
    for data in (X, sp.csr_array(X)):
        rows, loss = triplet_rows(data, checked_triplets(TRIPLETS, len(X)))(slice(50)), triplet_loss(0.7)
        Z, V = rows @ Y, rows @ D
        value, slopes, curvature = loss(slice(50), row_dots(Z, Z))
        whole = lmnn_problem(X, TRIPLETS[:50, :2], TRIPLETS[:50], 0.7)
        assert value == pytest.approx(whole.at(Y).value, rel=1e-12)
        SY = rows.T @ (slopes[:, None] * Z)
        np.testing.assert_allclose(SY, whole.at(Y).gradient @ Y, atol=1e-12 * np.abs(SY).max())
        line = [whole.at(Y + h * D).value for h in (-1e-4, 0.0, 1e-4)]
        second = (line[0] - 2.0 * line[1] + line[2]) / 1e-8
        assert second > 0.0
        # F'' along D with φ = 2 z·v; the curvature is that of φ = z·v
        assert 4.0 * curvature(row_dots(Z, V), V) == pytest.approx(second, rel=1e-4)


@pytest.mark.parametrize("units", [1.0, 1e3])
def test_margins_from_a_stream_come_near_the_batch_problem(units):
    data = X * np.where(np.arange(13) % 2, units, 1.0)
    whole = LMNN(lam=1.0).fit(data, triplets=TRIPLETS)

    def value(model):
        lmnn = lmnn_problem(data, TRIPLETS[:, :2], TRIPLETS, 1.0)
        return lmnn.at(np.ascontiguousarray(model.components_.T)).value

    # targets count once per triplet here, and once in all there
    model = LMNN(lam=1.0)
    values = []
    for part in parts(TRIPLETS, 5) * 6:
        model.partial_fit(data, triplets=part)
        values.append(value(model))
    assert values[-1] < 0.9 * values[0]
    assert values[-1] < 1.2 * value(whole)
    before = value(whole)
    whole.partial_fit(data, triplets=TRIPLETS[:32])
    assert value(whole) < 1.2 * before


def test_constant_features_have_no_part():
    data = np.column_stack([X, np.ones(178)])
    model = LMNN().partial_fit(data, triplets=TRIPLETS)
    assert np.all(np.isfinite(model.components_))
    model = LMNN().fit(data, triplets=TRIPLETS).partial_fit(data, triplets=TRIPLETS)
    assert np.all(np.isfinite(model.components_))


def test_learners_on_tuples_go_on():
    data, labels = load_iris(return_X_y=True)
    triplets = RNG.permutation(nearest_triplets(data, labels))
    model = TripletsClassifier(LMNN())
    for part in parts(triplets, 3) * 3:
        model.partial_fit(data[part])
    assert model.score(data[triplets]) > 0.9
    pairs = PairsClassifier(Linearity(lam=1e-2), preprocessor=X)
    for part in parts(PAIRS, 3):
        pairs.partial_fit(part[:, :2], part[:, 2])
    whole = PairsClassifier(Linearity(lam=1e-2), preprocessor=X).fit(ENDS, PAIRS[:, 2])
    M = whole.get_mahalanobis_matrix()
    np.testing.assert_allclose(pairs.get_mahalanobis_matrix(), M, atol=1e-3 * np.linalg.norm(M))
    with pytest.raises(InvalidTypeError, match="partial_fit takes triplets="):
        TripletsClassifier(PSDBoost()).partial_fit(data[triplets])


def test_bad_streams():
    with pytest.raises(InvalidInputError, match="both similar and dissimilar"):
        DistanceRegression().partial_fit(X, pairs=[(0, 1, 1), (1, 0, -1), (2, 3, 1)])
    with pytest.raises(InvalidInputError, match="triplets must hold at least one"):
        LMNN().partial_fit(X, triplets=[])
    model = Linearity().partial_fit(X, pairs=PAIRS)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], pairs=PAIRS)
