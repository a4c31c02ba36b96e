"""Sensors: exact distances give the planted positions back, noise moves them by its own size, bounds are kept."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt.errors import InvalidInputError
from psdopt_plugins.relaxations.sensors import localize_sensors, sensor_problem

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def network(n: int = 12, reach: float = 0.75, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    P = np.random.default_rng(seed).random((n, 2))
    points = np.concatenate([P, CORNERS])
    i, j = np.triu_indices(n + 4, 1)
    lengths = np.linalg.norm(points[i] - points[j], axis=1)
    kept = (lengths < reach) & (i < n)
    return P, np.stack([i, j], axis=1)[kept], lengths[kept]


@pytest.mark.parametrize("seed", range(3))
def test_exact_distances_give_the_positions(seed):
    P, pairs, lengths = network(seed=seed)
    found = localize_sensors(12, pairs, lengths, CORNERS)
    np.testing.assert_allclose(found.positions, P, atol=1e-5)
    np.testing.assert_allclose(found.relaxed, P, atol=0.05)
    assert found.result.converged


def test_noise_moves_positions_by_its_own_size():
    P, pairs, lengths = network()
    noisy = lengths * (1.0 + 0.01 * np.random.default_rng(1).standard_normal(len(lengths)))
    found = localize_sensors(12, pairs, noisy, CORNERS)
    assert np.sqrt(np.mean((found.positions - P) ** 2)) < 0.01


def test_bounds_are_kept_by_the_relaxation():
    _, pairs, lengths = network(6)
    wrong = 1.2 * lengths
    free = sensor_problem(6, pairs, wrong, CORNERS)
    bounded = sensor_problem(6, pairs, wrong, CORNERS, lower=0.95 * lengths, upper=1.05 * lengths)
    assert bounded.m == free.m + len(pairs)
    found = localize_sensors(6, pairs, wrong, CORNERS, 0.95 * lengths, 1.05 * lengths)
    measured = bounded.measured(found.result.matrix.factor)
    assert np.all(measured <= bounded.upper + 1e-5)
    assert np.all(measured >= bounded.lower - 1e-5)


@pytest.mark.parametrize(
    ("pairs", "distances", "options", "text"),
    [
        ([(0, 0)], [1.0], {}, "different"),
        ([(2, 3)], [1.0], {}, "sensor"),
        ([(0, 9)], [1.0], {}, "pairs"),
        ([(0, 1)], [0.0], {}, "above 0"),
        ([(0, 1)], [1.0, 2.0], {}, "distances"),
        ([(0, 1)], [1.0], {"lower": [2.0], "upper": [1.0]}, "lower"),
        ([(0, 1)], [1.0], {"upper": [1.0, 2.0]}, "upper"),
        ([], [], {}, "pairs"),
    ],
)
def test_bad_input_is_refused(pairs, distances, options, text):
    with pytest.raises(InvalidInputError, match=text):
        sensor_problem(2, pairs, distances, CORNERS, **options)
