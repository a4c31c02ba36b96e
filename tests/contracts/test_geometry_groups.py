"""Geodesics: exp and log invert each other, speed is constant, energy stationary, Hessians are those along exp."""

import numpy as np
import pytest

from psdopt import FlatQuotient, Polar, PositiveDefinite
from psdopt.geometries.fixed_trace import FixedTrace

GEOMETRIES = [
    FlatQuotient(5, 2), Polar(5, 2), Polar(5, 3, 0.8), Polar(4, 2, 0.3), Polar(5, 2, 0.0), Polar(5, 2, 1.0),
    Polar(3, 3), PositiveDefinite(3), PositiveDefinite(3, "log-euclidean"), PositiveDefinite(2, "von-neumann"),
    FixedTrace(5, 2, 2.0),
]  # fmt: skip
#: What the integration of the von Neumann geodesics leaves, and the rounds of log.
ACCURACY = 1e-10


def drawn(geometry, seed=0):
    rng = np.random.default_rng(seed)
    point = geometry.random_point(rng)
    point = geometry.retract(point, 0.5 * geometry.random_vector(point, rng))
    return rng, point, geometry.random_vector(point, rng)


def dense(geometry, point):
    return geometry.to_matrix(point).to_dense()


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=repr)
def test_log_inverts_exp_and_speed_is_constant(geometry):
    _, point, v = drawn(geometry)
    end, middle = geometry.exp(point, 0.4 * v), geometry.exp(point, 0.2 * v)
    assert geometry.check_point(end) is None
    back = geometry.log(point, end)
    assert geometry.norm(point, back - 0.4 * v) <= ACCURACY
    halves = geometry.norm(point, geometry.log(point, middle)) + geometry.norm(middle, geometry.log(middle, end))
    assert abs(halves - 0.4) <= ACCURACY
    assert abs(geometry.norm(end, geometry.log(end, point)) - 0.4) <= ACCURACY
    assert np.linalg.norm(dense(geometry, geometry.exp(point, 0.0 * v)) - dense(geometry, point)) <= ACCURACY


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=repr)
def test_no_detour_is_shorter(geometry):
    """The energy d(x, m)² + d(m, y)² is stationary, and least, at the geodesic's midpoint m."""
    rng, point, v = drawn(geometry, 1)
    middle, end = geometry.exp(point, 0.2 * v), geometry.exp(point, 0.4 * v)

    def energy(t, w):
        m = geometry.exp(middle, t * w)
        return geometry.norm(m, geometry.log(m, point)) ** 2 + geometry.norm(m, geometry.log(m, end)) ** 2

    for _ in range(3):
        w = geometry.random_vector(middle, rng)
        slope = (energy(1e-3, w) - energy(-1e-3, w)) / 2e-3
        assert abs(slope) <= 1e-6
        assert energy(0.05, w) > energy(0.0, w)
