"""DistanceRegression: bounds, weights of pairs, the term towards the start. (More in ../regression.)"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from psdopt import Adjoint, Status, TermSum
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms import HalfSquaredOneSided, MeasuredTerm
from psdopt_plugins.metric_learning import DistanceRegression, Linearity, PairsClassifier
from psdopt_plugins.metric_learning.distance_regression import pair_distance_problem
from psdopt_plugins.pairs import signed_pairs

X, LABELS = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
ENDS = np.unique(np.array([np.sort(RNG.choice(150, 2, replace=False)) for _ in range(80)]), axis=0)
PAIRS = np.column_stack([ENDS, np.where(LABELS[ENDS[:, 0]] == LABELS[ENDS[:, 1]], 1, -1)])
EXACT = DistanceRegression(bounds=(1.0, 4.0), solver_options={"tol": 1e-6})


def test_bounds_are_of_squared_distances():
    model = clone(EXACT).fit(X, pairs=PAIRS)
    assert model.bounds_ == (1.0, 4.0)
    d = model.pair_distance(X[ENDS]) ** 2
    lack = np.where(PAIRS[:, 2] == 1, np.maximum(0.0, d - 1.0), np.maximum(0.0, 4.0 - d))
    rows = np.unique(X[np.unique(ENDS)], axis=0)
    a, b = np.triu_indices(len(rows), 1)
    distinct = np.sum((rows[a] - rows[b]) ** 2, axis=1)
    c = 4.0 / np.percentile(distinct, 95)  # the start is c I, at which the 95th percentile is the lower bound
    near = c * np.mean(np.sum((X[ENDS[:, 0]] - X[ENDS[:, 1]]) ** 2, axis=1))
    gap = np.linalg.norm(model.get_mahalanobis_matrix() - c * np.eye(4)) / (2.0 * c)
    expected = np.sum(lack**2) / (2 * len(PAIRS)) + 0.5 * model.lam * (near * gap) ** 2
    assert model.result_.value == pytest.approx(expected, rel=1e-6)
    left = DistanceRegression(percentiles=(10, 90)).fit(X, pairs=PAIRS)
    again = DistanceRegression(percentiles=(10, 90), bounds=left.bounds_).fit(X, pairs=PAIRS)
    np.testing.assert_array_equal(again.components_, left.components_)
    np.testing.assert_allclose(left.bounds_, np.percentile(distinct, (10, 90)))


@pytest.mark.parametrize("storage", [np.asarray, list], ids=["array", "list"])
def test_integer_weights_are_repetitions(storage):
    w = RNG.integers(0, 4, len(PAIRS))
    repeated = RNG.permutation(np.repeat(PAIRS, w, axis=0))  # in any order
    one = clone(EXACT).fit(X, pairs=PAIRS, pair_weight=storage(w))
    other = clone(EXACT).fit(X, pairs=repeated, pair_weight=np.ones(len(repeated)))
    assert one.result_.value == pytest.approx(other.result_.value, rel=1e-6)
    M = one.get_mahalanobis_matrix()
    np.testing.assert_allclose(other.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))
    plain = clone(EXACT).fit(X, pairs=PAIRS)
    assert np.linalg.norm(plain.get_mahalanobis_matrix() - M) > 1e-3 * np.linalg.norm(M)


def test_weights_of_pairs_of_points():
    w = RNG.integers(1, 4, len(PAIRS))
    one = PairsClassifier(EXACT).fit(X[ENDS], PAIRS[:, 2], sample_weight=w)
    two = PairsClassifier(EXACT).fit(np.repeat(X[ENDS], w, axis=0), np.repeat(PAIRS[:, 2], w))
    M = one.get_mahalanobis_matrix()
    np.testing.assert_allclose(two.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))
    with pytest.raises(InvalidTypeError, match=r"takes pair_weight=, as those of Dist.*; found Linearity"):
        PairsClassifier(Linearity()).fit(X[ENDS], PAIRS[:, 2], sample_weight=w)


@pytest.mark.parametrize(("options", "bounds"), [({}, (0.0, 0.0)), ({"bounds": (1.0, 2.0)}, (1.0, 2.0))])
def test_equal_samples_keep_the_start(options, bounds):
    X, y = np.ones((6, 3)), [0, 1, 0, 1, 0, 1]
    model = DistanceRegression(**options).fit(X, y)
    assert model.result_.optimal
    assert model.bounds_ == bounds
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.eye(3), atol=1e-12)
    model = DistanceRegression(**options).partial_fit(X, y)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.eye(3), atol=1e-12)


def test_weights_need_pairs():
    with pytest.raises(InvalidInputError, match="pair_weight must be None unless pairs are given"):
        DistanceRegression().fit(X, LABELS, pair_weight=np.ones(150))


@pytest.mark.parametrize("bounds", [(1.0, 3.0), (0.5, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_a_fine_tolerance_is_reached_where_the_minimum_has_lower_rank(bounds, seed):
    """A column that shrinks to nothing is damped by its own curvature, so that no step is ruled by it."""
    fitted = DistanceRegression(bounds=bounds, random_state=seed, solver_options={"tol": 1e-8}).fit(X, LABELS)
    assert fitted.result_.status is Status.OPTIMAL
    assert fitted.result_.iterations <= 250


def test_two_fits_agree_unless_other_pairs_are_asked_for():
    pairs = [DistanceRegression().fit(X, LABELS).pairs_ for _ in range(2)]
    np.testing.assert_array_equal(*pairs)
    rng = np.random.default_rng(0)
    drawn = [DistanceRegression(random_state=rng).fit(X, LABELS).pairs_ for _ in range(2)]
    assert drawn[0].tolist() != drawn[1].tolist()
    assert len(pairs[0]) == 20 * len(X)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
@pytest.mark.parametrize("rank", [None, 2])
def test_the_term_towards_the_start_does_not_depend_on_units(unit, rank):
    fine = {"solver_options": {"tol": 1e-8}}
    M = DistanceRegression(rank, **fine).fit(X, LABELS).get_mahalanobis_matrix()
    other = DistanceRegression(rank, **fine).fit(unit * X, LABELS).get_mahalanobis_matrix()
    np.testing.assert_allclose(other, M, atol=1e-3 * np.linalg.norm(M))
    given = DistanceRegression(rank, bounds=(1.0, 4.0), **fine)
    M = clone(given).fit(X, pairs=PAIRS).get_mahalanobis_matrix()
    other = clone(given).fit(unit * X, pairs=PAIRS).get_mahalanobis_matrix() * unit**2
    np.testing.assert_allclose(other, M, atol=1e-3 * np.linalg.norm(M))


def test_a_large_weight_keeps_the_start():
    M = DistanceRegression(lam=1e6).fit(X, LABELS).get_mahalanobis_matrix()
    np.testing.assert_allclose(M, np.eye(4), atol=1e-4)
    with pytest.raises(InvalidInputError, match="lam"):
        DistanceRegression(lam=-1.0).fit(X, LABELS)


def test_the_problem_adds_the_weighted_term_to_the_loss():
    w = RNG.integers(0, 3, len(PAIRS)).astype(float)
    given = {"upper": 1.0, "lower": 4.0, "weights": w}
    L = RNG.standard_normal((4, 4))
    D = np.average(np.sum((X[ENDS[:, 0]] - X[ENDS[:, 1]]) ** 2, axis=1), weights=w)
    term = 0.5 * 0.3 * D**2 * np.sum((L @ L.T - np.eye(4)) ** 2) / 4.0
    plain, both = (pair_distance_problem(X, PAIRS, **given, lam=lam).at(L).value for lam in (0.0, 0.3))
    assert both == pytest.approx(plain + term)


@pytest.mark.parametrize("rank", [None, 2])
def test_pairs_of_points_and_of_indices_teach_the_same_metric(rank):
    learner = DistanceRegression(rank, solver_options={"tol": 1e-8})
    points = PairsClassifier(learner).fit(X[ENDS], PAIRS[:, 2])
    listed = PairsClassifier(learner, preprocessor=X).fit(ENDS, PAIRS[:, 2])
    M = listed.get_mahalanobis_matrix()
    np.testing.assert_allclose(points.get_mahalanobis_matrix(), M, atol=1e-4 * np.linalg.norm(M))


@pytest.mark.parametrize("outlier", [1.0, 1e3])
def test_few_steps_suffice_with_a_collinear_feature_and_outliers(outlier):
    """Without the term M has eigenvalues up to 1e11 along a feature that hardly varies, and takes seconds."""
    wide = np.column_stack([X, X[:, 0] + 1e-6 * RNG.standard_normal(150)])
    wide[::50] *= outlier
    fitted = DistanceRegression().fit(wide, LABELS)
    assert fitted.result_.status is Status.OPTIMAL
    assert fitted.result_.iterations <= 60
    assert np.linalg.eigvalsh(fitted.get_mahalanobis_matrix())[-1] < 100.0


def test_the_influence_of_a_pair_is_a_derivative_by_its_weight():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 150, (2, 90))
    pairs = np.column_stack([i, j, np.where(y[i] == y[j], 1, -1)])[i != j]
    pairs = np.vstack([pairs, pairs[:1]])
    weights = np.append(0.0, rng.uniform(0.5, 1.5, len(pairs) - 1))
    weights[-1] = 0.0
    learner = DistanceRegression(solver_options={"tol": 1e-9}).fit(X, pairs=pairs, pair_weight=weights)
    G = np.arange(16.0).reshape(4, 4)
    influence = learner.influence(X, G, pair_weight=weights)
    assert np.isnan(influence[[0, -1]]).all()
    ends = signed_pairs(pairs, len(X))
    problem = pair_distance_problem(
        X, ends, upper=learner.bounds_[0], lower=learner.bounds_[1], weights=weights, lam=learner.lam
    )
    term, *others = problem.terms
    places = np.cumsum(ends.summed(weights) > 0.0) - 1
    for t in np.argsort(-np.abs(np.nan_to_num(influence)))[:3]:
        values = []
        for h in (1e-4, -1e-4):
            w = term.loss.weights.copy()
            w[places[ends.places[t]]] += h
            loss = HalfSquaredOneSided(term.loss.target, term.loss.direction, w)
            moved = TermSum([MeasuredTerm(term.measurement, loss, term.weight), *others])
            values.append(np.sum(G * Adjoint(moved, learner.result_.matrix).matrix.to_dense()))
        assert influence[t] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-6)


def test_influence_needs_a_fit_to_all_pairs():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        DistanceRegression().partial_fit(X, y).influence(X, np.eye(4))
