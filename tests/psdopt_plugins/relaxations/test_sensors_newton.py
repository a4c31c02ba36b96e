"""Newton steps for sensors: a right start is proven without a step, a wrong one refuted; counts of steps and ranks."""

import numpy as np
import pytest

from psdopt import PSDCone, solve
from psdopt.errors import InvalidInputError
from psdopt_plugins.relaxations.sensors import localize_sensors
from psdopt_plugins.relaxations.sensors_newton import SensorNewton
from psdopt_plugins.relaxations.sensors_positions import first_positions, refined
from psdopt_plugins.relaxations.sensors_problem import checked_network, sensor_problem
from psdopt_plugins.relaxations.sensors_report import CORNERS as FIVE
from psdopt_plugins.relaxations.sensors_report import sensor_network
from tests.psdopt_plugins.relaxations.graphs import CORNERS, network


def noisy(n=12, noise=0.02):
    P, pairs, lengths = network(n)
    return P, pairs, lengths * (1.0 + noise * np.random.default_rng(1).standard_normal(len(lengths)))


def drawn(n, noise, seed=0, dimensions=2):
    """n sensors with about ten neighbours, five anchors."""
    rng = np.random.default_rng(seed)
    P, at = rng.random((n, dimensions)), np.column_stack([FIVE, rng.random((5, dimensions - 2))])
    nodes = np.concatenate([P, at])
    i, j = np.triu_indices(n + 5, 1)
    i, j = i[i < n], j[i < n]
    lengths = np.linalg.norm(nodes[i] - nodes[j], axis=1)
    kept = lengths <= np.sort(lengths)[5 * n]
    return P, np.stack([i, j], axis=1)[kept], (lengths * (1.0 + noise * rng.standard_normal(len(lengths))))[kept], at


@pytest.mark.parametrize("seed", range(3))
def test_an_exact_start_is_proven_without_a_step(seed):
    P, pairs, lengths = network(seed=seed)
    found = localize_sensors(12, pairs, lengths, CORNERS)
    assert found.result.optimal
    assert found.result.iterations == 0
    assert found.result.matrix.factor.shape[1] == 2
    np.testing.assert_allclose(found.relaxed, P, atol=1e-7)


def test_noise_refutes_the_start_by_a_proven_gap():
    _, pairs, lengths = noisy()
    found = localize_sensors(12, pairs, lengths, CORNERS)
    data = checked_network(12, pairs, lengths, CORNERS, None, None)
    graph = sensor_problem(12, pairs, lengths, CORNERS).graph
    start = np.sum(graph.excess(graph.differences(refined(first_positions(data), data))) ** 2)
    certificate = found.result.certificate
    assert found.result.optimal
    assert 0.0 < certificate.dual_value <= found.result.value < start
    assert found.result.matrix.factor.shape[1] > 2
    assert certificate.constraints.primal_infeasibility < 1e-12


def test_the_value_is_that_of_a_method_that_knows_no_network():
    _, pairs, lengths = noisy(6, 0.1)
    problem = sensor_problem(6, pairs, lengths, CORNERS)
    plain = solve(problem, rng=0)
    found = localize_sensors(6, pairs, lengths, CORNERS).result
    assert (plain.method, found.method) == ("AugmentedLagrangian", "SensorNewton")
    assert plain.optimal
    assert found.value == pytest.approx(plain.value, abs=2e-6 * plain.certificate.unit)
    assert found.certificate.dual_value <= plain.value + 1e-6 * plain.certificate.unit


def test_a_folded_start_unfolds():
    """All sensors mirrored at the centre of the anchors: they have to pass through each other, or around."""
    P, pairs, lengths = network(12, 0.5)
    problem = sensor_problem(12, pairs, lengths, CORNERS)
    folded = 1.0 - P
    result = solve(problem, PSDCone(problem.n), SensorNewton(), start=problem.graph.factor(folded))
    assert result.optimal
    assert result.value < 1e-6 * problem.at(problem.graph.factor(folded)).value
    assert 0 < result.iterations <= 30


def test_dimensions_are_added_where_one_is_not_enough():
    _, pairs, lengths, at = drawn(40, 0.05)
    problem = sensor_problem(40, pairs, lengths, at)
    start = problem.graph.factor(np.full((40, 2), 0.5) + 0.01 * np.random.default_rng(0).standard_normal((40, 2)))
    few = solve(problem, PSDCone(problem.n), SensorNewton(lift=1, patience=3), start=start, max_iterations=200)
    many = solve(problem, PSDCone(problem.n), SensorNewton(), start=start)
    assert few.optimal
    assert many.optimal
    assert 3 < few.matrix.factor.shape[1] <= 20
    assert few.value == pytest.approx(many.value, abs=2e-6 * many.certificate.unit)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_steps_hardly_depend_on_the_network(noise, dimensions):
    _, pairs, lengths, at = drawn(80, noise, dimensions=dimensions)
    result = localize_sensors(80, pairs, lengths, at).result
    assert result.optimal
    assert result.iterations <= 40
    assert result.matrix.factor.shape[1] <= 20


def test_positions_are_those_of_the_better_of_both_starts():
    data = sensor_network()
    half = np.argwhere(np.triu(data.X.toarray()[:60]) > 0.0)
    lengths = data.X.toarray()[half[:, 0], half[:, 1]]
    found = localize_sensors(60, half, lengths, data.anchors)
    own = checked_network(60, half, lengths, data.anchors, None, None)

    def misfit(P):
        nodes = np.concatenate([P, data.anchors])
        return np.sum((np.linalg.norm(nodes[half[:, 0]] - nodes[half[:, 1]], axis=1) - lengths) ** 2)

    both = [misfit(refined(P, own)) for P in (first_positions(own), found.relaxed)]
    assert misfit(found.positions) == pytest.approx(min(both), rel=1e-9)
    assert found.result.optimal
    assert found.result.iterations <= 40


def test_a_limit_says_how_far_from_the_best_it_may_be():
    _, pairs, lengths, at = drawn(80, 0.02)
    with pytest.warns(UserWarning, match="proven to be at most"):
        result = localize_sensors(80, pairs, lengths, at, max_iterations=8).result
    assert not result.converged
    assert 0.0 <= result.certificate.dual_value < result.value


def test_a_run_is_continued_from_its_checkpoint(tmp_path):
    _, pairs, lengths = noisy()
    file = tmp_path / "run.npz"
    with pytest.warns(UserWarning, match="before convergence"):
        first = localize_sensors(12, pairs, lengths, CORNERS, max_iterations=4, checkpoint=file).result
    second = localize_sensors(12, pairs, lengths, CORNERS, resume=file).result
    whole = localize_sensors(12, pairs, lengths, CORNERS).result
    assert (first.iterations, second.iterations) == (4, whole.iterations)
    assert second.optimal
    assert second.value == pytest.approx(whole.value, rel=1e-9)


def test_options_that_choose_another_way_are_followed():
    _, pairs, lengths = network(6)
    assert localize_sensors(6, pairs, lengths, CORNERS, escape=True).result.method == "AugmentedLagrangian"
    bounded = localize_sensors(6, pairs, 0.9 * lengths, CORNERS, 0.95 * lengths, 1.05 * lengths)
    assert bounded.result.method == "AugmentedLagrangian"


@pytest.mark.parametrize("wrong", [{"lift": 0}, {"patience": 0}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidInputError):
        SensorNewton(**wrong)
