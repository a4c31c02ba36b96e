"""Sensors: noise moves them by its own size, bounds are kept, and without anchors they are known up to a motion."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from psdopt import solve
from psdopt.methods import AugmentedLagrangian
from psdopt_plugins.relaxations.sensors import SensorLocalization, localize_sensors
from psdopt_plugins.relaxations.sensors_problem import sensor_problem
from tests.psdopt_plugins.relaxations.graphs import CORNERS, distances, network


def test_noise_moves_positions_by_its_own_size():
    P, pairs, lengths = network()
    noisy = lengths * (1.0 + 0.01 * np.random.default_rng(1).standard_normal(len(lengths)))
    found = localize_sensors(12, pairs, noisy, CORNERS)
    assert np.sqrt(np.mean((found.positions - P) ** 2)) < 0.01


@pytest.mark.parametrize("factor", [1.2, 0.9])
def test_bounds_are_kept_by_the_relaxation(factor):
    """The multipliers are large where the distances contradict the bounds."""
    _, pairs, lengths = network(6)
    wrong = factor * lengths
    free = sensor_problem(6, pairs, wrong, CORNERS)
    bounded = sensor_problem(6, pairs, wrong, CORNERS, lower=0.95 * lengths, upper=1.05 * lengths)
    assert bounded.m == free.m + len(pairs)
    found = localize_sensors(6, pairs, wrong, CORNERS, 0.95 * lengths, 1.05 * lengths)
    measured = bounded.measured(found.result.matrix.factor)
    assert np.all(measured <= bounded.upper + 1e-5)
    assert np.all(measured >= bounded.lower - 1e-5)


@pytest.mark.parametrize("dense", [False, True])
def test_the_estimator_finds_what_the_function_finds(dense):
    P, pairs, lengths = network()
    D = distances(P, pairs, lengths)
    found = SensorLocalization(CORNERS + 5.0).fit(D.toarray() if dense else D)
    np.testing.assert_allclose(found.positions_, P + 5.0, atol=1e-5)
    assert found.result_.optimal
    assert found.misfit_ < 1e-12
    assert 0.0 <= found.misfit_bound_ <= found.misfit_ + 1e-8
    np.testing.assert_allclose(found.uncertainty_, 0.0, atol=1e-4)
    assert len(found.edges_) == len(pairs)


def test_noise_is_proven_to_be_there():
    P, pairs, lengths = network()
    noisy = lengths * (1.0 + 0.02 * np.random.default_rng(1).standard_normal(len(lengths)))
    found = SensorLocalization(CORNERS).fit(distances(P, pairs, noisy))
    assert found.result_.optimal
    assert 0.0 < found.misfit_bound_ <= found.misfit_
    rough = SensorLocalization(CORNERS, refine=False).fit(distances(P, pairs, noisy))
    np.testing.assert_array_equal(rough.positions_, rough.relaxed_)

    def error(places):
        i, j = pairs.T
        points = np.concatenate([places, CORNERS])
        return np.sum((np.linalg.norm(points[i] - points[j], axis=1) - noisy) ** 2)

    assert error(found.positions_) < error(found.relaxed_)


@pytest.mark.parametrize("unit", [1e11, 1e-9])
def test_bounds_hold_in_any_unit_of_length(unit):
    P, pairs, lengths = network(6)
    noisy = lengths * np.where(np.arange(len(lengths)) % 2, 1.01, 0.99)
    found, other = (
        SensorLocalization(scale * CORNERS, error=0.05).fit(distances(P, pairs, scale * noisy)) for scale in (1.0, unit)
    )
    assert other.result_.optimal
    np.testing.assert_allclose(other.misfit_bound_ / unit**4, found.misfit_bound_, rtol=1e-3)
    assert np.abs(other.relaxed_ / unit - P).max() < 0.2


def test_a_largest_error_is_a_hard_constraint_of_the_relaxation():
    P, pairs, lengths = network(6)
    signs = np.where(np.arange(len(lengths)) % 2, 1.04, 0.96)
    found = SensorLocalization(CORNERS, error=0.05).fit(distances(P, pairs, signs * lengths))
    measured = found.unit_**2 * found.result_.matrix.to_dense()
    E = np.zeros((len(pairs), 2 + 6))
    centred = CORNERS - CORNERS.mean(axis=0)
    for t, (i, j) in enumerate(found.edges_):
        E[t, 2 + i] = 1.0
        if j < 6:
            E[t, 2 + j] = -1.0
        else:
            E[t, :2] = -centred[j - 6] / found.unit_
    squares = np.einsum("ti,ij,tj->t", E, measured, E)
    assert np.all(squares <= (1.05 * found.distances_) ** 2 + 1e-5)
    assert np.all(squares >= (0.95 * found.distances_) ** 2 - 1e-5)


def test_pairs_may_have_bounds_and_no_distance():
    """A sensor between two anchors on a line has two places beside it; that it is far from a third picks one."""
    anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, -1.0]])
    D, lower = np.zeros((4, 4)), np.zeros((4, 4))
    D[0, 1] = D[1, 0] = D[0, 2] = D[2, 0] = np.sqrt(0.5)
    lower[0, 3] = lower[3, 0] = 1.49
    found = SensorLocalization(anchors).fit(D, lower=lower)
    np.testing.assert_allclose(found.positions_, [[0.5, 0.5]], atol=1e-5)
    assert len(found.edges_) == 2


def test_the_proven_reach_holds_every_solution():
    _, pairs, lengths = network()
    problem = sensor_problem(12, pairs, 1.3 * lengths, CORNERS)
    result = solve(problem, rng=0)
    assert result.certificate.trace <= problem.trace_limit.value
    assert sensor_problem(14, [(0, 14), (12, 13)], 0.5, CORNERS).trace_limit is None


def test_sensors_without_a_path_to_an_anchor_have_no_position():
    P, pairs, lengths = network()
    D = distances(P, pairs, lengths).toarray()
    lost = np.array([3, 5])
    kept = np.delete(np.arange(16), lost)
    D[np.ix_(lost, kept)] = D[np.ix_(kept, lost)] = 0.0
    D[3, 5] = D[5, 3] = 1.0
    with pytest.warns(UserWarning, match="3, 5"):
        found = SensorLocalization(CORNERS).fit(D)
    assert found.result_.optimal
    assert np.all(np.isnan(found.positions_[lost]))
    assert np.all(np.isinf(found.uncertainty_[lost]))
    seen = np.delete(np.arange(12), lost)
    i, j = found.edges_.T
    points = np.concatenate([found.positions_, CORNERS])
    assert np.abs(np.linalg.norm(points[i] - points[j], axis=1) - found.distances_).max() < 1e-5
    assert np.all(np.isfinite(found.positions_[seen]))


@pytest.mark.filterwarnings("ignore:no path of distances")
@parametrize_with_checks([SensorLocalization(solver_options={"tol": 0.1})])
def test_conventions_of_scikit_learn_hold_without_anchors(estimator, check):
    check(estimator)


def scattered(N, d, reach, noise=0.0, seed=0):
    """Nodes (N, d) and the distances up to `reach`, each off by `noise`, relative."""
    rng = np.random.default_rng(seed)
    P = rng.random((N, d))
    true = np.linalg.norm(P[:, None] - P, axis=2)
    off = np.triu(1.0 + noise * rng.standard_normal((N, N)), 1)
    return true, np.where(true < reach, true * (off + off.T), 0.0)


def between(P):
    return np.linalg.norm(P[:, None] - P, axis=2)


@pytest.mark.parametrize(("N", "d", "reach"), [(2, 2, 9.0), (5, 3, 9.0), (30, 2, 0.5), (40, 3, 0.7)])
def test_without_anchors_distances_give_positions_up_to_a_motion(N, d, reach):
    true, D = scattered(N, d, reach)
    found = SensorLocalization(None if d == 2 else np.empty((0, d))).fit(D)
    assert found.positions_.shape == found.relaxed_.shape == (N, d)
    np.testing.assert_allclose(between(found.positions_), true, atol=1e-6)
    np.testing.assert_allclose(found.positions_.mean(axis=0), 0.0, atol=1e-12)
    scatter = found.positions_.T @ found.positions_
    np.testing.assert_allclose(scatter, np.diag(np.sort(np.diag(scatter))[::-1]), atol=1e-10)
    assert found.result_.optimal
    np.testing.assert_allclose(found.uncertainty_, 0.0, atol=1e-6)
    i, j = found.edges_.T
    np.testing.assert_array_equal(D[i, j], found.distances_)


@pytest.mark.parametrize("d", [2, 3])
def test_without_anchors_noise_is_proven_and_the_order_of_nodes_does_not_matter(d):
    true, D = scattered(30, d, 0.6 + 0.2 * (d == 3), noise=0.02)
    model = SensorLocalization(np.empty((0, d)), solver_options={"tol": 1e-8})
    found = model.fit(D)
    first, rest = found.positions_, found.uncertainty_
    assert found.result_.optimal
    assert 0.0 < found.misfit_bound_ <= found.misfit_
    assert np.abs(between(first) - true).max() < 0.06
    order = np.random.default_rng(1).permutation(30)
    model.fit(D[np.ix_(order, order)])
    np.testing.assert_allclose(model.positions_, first[order], atol=1e-6)
    np.testing.assert_allclose(model.uncertainty_, rest[order], atol=1e-3)


def test_without_anchors_bounds_are_hard_and_general_methods_find_the_same():
    true, D = scattered(8, 2, 9.0, noise=0.02)
    free = SensorLocalization().fit(D)
    other = SensorLocalization(solver_options={"method": AugmentedLagrangian()}).fit(D)
    np.testing.assert_allclose(other.positions_, free.positions_, atol=1e-5)
    np.testing.assert_allclose(between(other.relaxed_), between(free.relaxed_), atol=1e-3)
    bounded = SensorLocalization(error=0.05).fit(D)
    assert np.abs(between(bounded.positions_) - true).max() < 0.1


def test_without_anchors_the_largest_part_is_located():
    true, D = scattered(12, 2, 9.0)
    small, large = np.array([1, 10, 11]), np.array([0, 2, 3, 4, 5, 6, 7, 8])  # 9 is in no pair
    cut = np.zeros_like(D)
    for part in (small, large):
        cut[np.ix_(part, part)] = D[np.ix_(part, part)]
    with pytest.warns(UserWarning, match="largest connected part; their positions are NaN: 1, 9, 10, 11"):
        found = SensorLocalization().fit(cut)
    np.testing.assert_allclose(between(found.positions_[large]), true[np.ix_(large, large)], atol=1e-6)
    lost = np.setdiff1d(np.arange(12), large)
    assert np.all(np.isnan(found.positions_[lost]))
    assert np.all(np.isinf(found.uncertainty_[lost]))
    assert set(found.edges_.ravel()) == set(large)
    np.testing.assert_allclose(found.positions_[large].mean(axis=0), 0.0, atol=1e-12)
