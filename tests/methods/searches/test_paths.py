"""Paths: rounding at the end of a search, trials that have no point."""

from __future__ import annotations

import math
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, FixedTrace, FlatQuotient, Polar, PositiveDefinite, QuadraticSDP
from psdopt.linalg.tolerances import EPS
from psdopt.methods.searches.paths import REFRESH_STEPS, Path, RetractionPath, locate, path_along, retracted
from psdopt.methods.searches.step_lengths import halved, modelled


class Given(Path):
    """A path of which only values are looked at."""

    def __init__(self, f, longest=math.inf):
        self.value, self.longest = f, longest

    def at(self, s):
        raise AssertionError

    def tangent(self):
        raise AssertionError


def test_halving_takes_a_decrease_below_the_rounding_of_the_value_as_met():
    """Next to a minimiser F rises by a rounding where the slope promises a decrease of a few: that ends the search."""
    assert halved(Given(lambda s: 1.0 + 2.0 * EPS), 1.0, -10.0 * EPS, 1.0, 0.5) == 1.0
    assert halved(Given(lambda s: 1.0 + 40.0 * EPS), 1.0, -10.0 * EPS, 1.0, 0.5) == 0.0
    assert halved(Given(lambda s: 1.0 + 40.0 * EPS), 1.0, -1e6 * EPS, 1.0, 0.5) == 0.0


def test_halving_stays_within_the_longest_step_and_never_goes_uphill():
    assert halved(Given(lambda s: -s, longest=0.3), 0.0, -1.0, 100.0, 0.5) == 0.3
    assert halved(Given(lambda s: s), 0.0, 1.0, 1.0, 0.5) == 0.0
    assert halved(Given(lambda s: (s - 1.0) ** 2), 1.0, -2.0, 100.0, 0.5) == pytest.approx(100.0 / 128.0)


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


class Bent(Given):
    """A path whose tangent line has its minimiser at 1 although F has it elsewhere; counts the trials."""

    exact = False

    def __init__(self, f):
        super().__init__(lambda s: self.tried.append(s) or f(s))
        self.tried = []

    def tangent(self):
        return SimpleNamespace(minimize=lambda: 1.0)


@pytest.mark.parametrize("place", [0.3, 0.85, 1.2, 2.0])
def test_the_step_is_refined_once_by_what_the_curve_shows(place):
    path = Bent(lambda s: (s - place) ** 2)
    assert modelled(path, place**2, -2.0 * place) == pytest.approx(place)
    assert path.tried == pytest.approx([1.0, place])


def test_a_step_that_is_right_is_not_refined_and_rounding_is_no_bend():
    path = Bent(lambda s: (s - 1.05) ** 2)
    assert modelled(path, 1.05**2, -2.1) == 1.0
    assert path.tried == [1.0]
    level = Bent(lambda s: 1.0 - 1e-14 * s)
    assert modelled(level, 1.0, -2e-14) == 1.0  # the decrease is a few roundings of F: no parabola through them
    assert level.tried == [1.0]


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


def test_what_is_known_of_a_point_by_default():
    geometry = PositiveDefinite(3)
    here = locate(QuadraticSDP(None, 1.0, -np.eye(3)), geometry, geometry.from_factor(np.eye(3)))
    assert (here.age, here.frame) == (0, None)


@pytest.mark.parametrize("geometry", [Polar(4, 2), FixedTrace(4, 2), PositiveDefinite(4, "log-euclidean")], ids=str)
def test_a_trial_that_is_asked_for_again_is_kept(geometry):
    path, _, _ = tangent_path(QuadraticSDP(None, 1.0, -np.eye(4)), geometry)
    there = path.at(0.3)
    assert path.at(0.3) is there
    assert path.at(0.2) is not there
    assert path.at(0.2).evaluation.value != there.evaluation.value
