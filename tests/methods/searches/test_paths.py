"""Paths: rounding at the end of a search, trials that have no point."""

import math

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, FixedTrace, FlatQuotient, Polar, PositiveDefinite, QuadraticSDP
from psdopt.methods.searches.paths import REFRESH_STEPS, RetractionPath, locate, path_along, retracted
from psdopt.methods.searches.step_lengths import modelled


@pytest.mark.parametrize("metric", ["log-euclidean", "von-neumann"])
def test_where_a_retraction_has_no_point_the_value_is_infinite(metric):
    geometry, problem = PositiveDefinite(3, metric), QuadraticSDP(C=-np.eye(3))
    here = locate(problem, geometry, geometry.from_factor(np.eye(3)))
    path = RetractionPath(problem, geometry, here, np.eye(3))
    assert retracted(geometry, here.point, 1e4 * np.eye(3)) is None
    assert path.value(1e4) == math.inf
    assert path.value(1.0) == pytest.approx(math.e * here.evaluation.value)
    s = modelled(path, here.evaluation.value, -3.0)
    assert 0.0 < s < math.inf
    assert path.value(s) < here.evaluation.value


def tangent_path(problem, geometry, seed=0):
    rng = np.random.default_rng(seed)
    here = locate(problem, geometry, geometry.random_point(rng))
    vector = geometry.random_vector(here.point, rng)
    return (
        path_along(problem, geometry, here, vector),
        geometry.factor(here.point),
        geometry.velocity(here.point, vector),
    )


@pytest.mark.parametrize("geometry", [FlatQuotient(4, 2), PositiveDefinite(4)])
def test_slopes_along_a_path_are_those_of_its_values(geometry):
    path, _, _ = tangent_path(QuadraticSDP(None, 3.0, np.eye(4)), geometry)
    s, h = 0.3, 1e-5
    assert path.slope(s) == pytest.approx((path.value(s + h) - path.value(s - h)) / (2.0 * h), rel=1e-6)


def test_the_curvature_along_a_curve_is_the_one_of_f():
    """Quadratic F: ⟨N, ∇²F[N]⟩ / |N|² with N = ẎẎᵀ. Else the second derivative along Y + s Ẏ over |Ṁ|²."""
    quadratic, _, _ = tangent_path(QuadraticSDP(None, 3.0, np.eye(4)), Polar(4, 2))  # F = 3 |M|² + 2 tr M
    assert quadratic.curvature(0.3) == pytest.approx(6.0)
    curved = AutogradProblem(lambda M: anp.sum(anp.exp(M)), 4)
    path, Y, T = tangent_path(curved, Polar(4, 2))
    s, h = 0.3, 1e-4
    left, middle, right = (curved.at(Y + t * T).value for t in (s - h, s, s + h))
    moved = T @ (Y + s * T).T + (Y + s * T) @ T.T
    assert path.curvature(s) == pytest.approx((left - 2.0 * middle + right) / h**2 / np.sum(moved**2), rel=1e-5)
    assert tangent_path(curved, FixedTrace(4, 2))[0].curvature(s) is None  # Y is no orthonormal basis


def test_combined_images_are_computed_anew_after_fifty_steps():
    """The rounding of combinations grows with their number: the start of the 51st step comes from the map itself."""
    problem, geometry = QuadraticSDP(None, 1.0, -np.eye(5)), Polar(5, 2)
    rng = np.random.default_rng(0)
    here, refreshed = locate(problem, geometry, geometry.random_point(rng)), []
    for k in range(2 * REFRESH_STEPS + 1):
        path = path_along(problem, geometry, here, 1e-3 * geometry.random_vector(here.point, rng))
        if k and path.here.age == 0:
            refreshed.append(k)
        here = path.at(1.0)
        assert here.evaluation.value == pytest.approx(problem.at(geometry.factor(here.point)).value, rel=1e-12)
    assert refreshed == [REFRESH_STEPS, 2 * REFRESH_STEPS]


def test_direction_and_gradient_are_carried_each_by_its_own_transport():
    geometry, problem = PositiveDefinite(3), QuadraticSDP(None, 1.0, -np.eye(3))
    rng = np.random.default_rng(0)
    here = locate(problem, geometry, geometry.random_point(rng))
    vector, gradient = (geometry.random_vector(here.point, rng) for _ in range(2))
    path = RetractionPath(problem, geometry, here, vector)
    carried = path.carried(0.3, vector, gradient, -0.7)
    end = geometry.retract(here.point, 0.3 * vector)
    for found, moved in ((carried.direction, vector), (carried.gradient, gradient)):
        np.testing.assert_allclose(found, geometry.transport(here.point, end, moved), rtol=1e-12)
    assert (carried.slope, carried.on_factors) == (-0.7, False)
    other = geometry.random_vector(end, rng)
    assert carried.pair(geometry, end, other) == pytest.approx(geometry.inner(end, carried.gradient, other))


@pytest.mark.parametrize("geometry", [Polar(4, 2), FixedTrace(4, 2), PositiveDefinite(4, "log-euclidean")], ids=str)
def test_a_trial_that_is_asked_for_again_is_kept(geometry):
    path, _, _ = tangent_path(QuadraticSDP(None, 1.0, -np.eye(4)), geometry)
    there = path.at(0.3)
    assert path.at(0.3) is there
    assert path.at(0.2) is not there
    assert path.at(0.2).evaluation.value != there.evaluation.value
