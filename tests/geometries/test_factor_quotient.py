"""Factors modulo rotations, with a fixed trace and without: horizontal parts, widths, great circles, drift."""

import numpy as np
import pytest

from psdopt import Ability, ConjugateGradient, FixedTrace, FlatQuotient, QuadraticSDP, RiemannianGradient
from psdopt.linalg.tolerances import EPS
from psdopt.testing.gallery import with_spectrum


def test_rank_deficient_points():
    geometry, rng = FlatQuotient(6, 3), np.random.default_rng(0)
    Y = np.zeros((6, 3))
    Y[:, 0] = rng.standard_normal(6)
    Z = rng.standard_normal((6, 3))
    D = geometry.horizontal(Y, Z)
    assert geometry.check_vector(Y, D) is None
    np.testing.assert_allclose(geometry.horizontal(Y, D), D, atol=64 * EPS * np.linalg.norm(Z))
    np.testing.assert_array_equal(geometry.horizontal(np.zeros((6, 3)), Z), Z)


@pytest.mark.parametrize("r", [1, 4, 5])
def test_only_factors_of_full_width_are_the_whole_cone(r):
    offered = FlatQuotient(5, r).abilities
    assert {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN} <= offered
    assert (Ability.FULL_CONE in offered) is (r == 5)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e10])
@pytest.mark.parametrize("geometry", [FlatQuotient(5, 3), FixedTrace(5, 3)], ids=["flat", "fixed-trace"])
def test_the_horizontal_part_does_not_depend_on_the_scale_of_the_factor(geometry, scale):
    rng = np.random.default_rng(10)
    Y, Z = rng.standard_normal((2, 5, 3))
    expected = geometry.horizontal(Y, Z)
    np.testing.assert_allclose(geometry.horizontal(scale * Y, Z), expected, rtol=0.0, atol=1e-13)
    skew = Y.T @ expected
    np.testing.assert_allclose(skew, skew.T, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("trace", [0.04, 1.0, 9.0])
def test_great_circles_of_any_radius(trace):
    """A quarter of a circle of radius √trace is π/2 √trace long and ends at √trace D/|D|."""
    geometry, rng = FixedTrace(5, 2, trace), np.random.default_rng(11)
    p = geometry.random_point(rng)
    D = geometry.random_vector(p, rng)
    D /= np.linalg.norm(D)
    quarter = geometry.exp(p, 0.5 * np.pi * np.sqrt(trace) * D)
    np.testing.assert_allclose(quarter, np.sqrt(trace) * D, atol=1e-14 * np.sqrt(trace))
    for length in (0.1, 0.6):
        v = length * np.sqrt(trace) * D
        np.testing.assert_allclose(geometry.log(p, geometry.exp(p, v)), v, atol=1e-12 * np.sqrt(trace))
        np.testing.assert_allclose(np.linalg.norm(geometry.exp(p, v)) ** 2, trace)
    np.testing.assert_allclose(geometry.exp(p, 0.0 * D), p, atol=0.0)


@pytest.mark.parametrize("method", [ConjugateGradient(), RiemannianGradient()], ids=lambda method: method.name)
def test_a_step_applies_each_map_once_and_drift_is_bounded(method):
    problem = QuadraticSDP(A=with_spectrum(np.linspace(0.5, 2.0, 9), 1), C=with_spectrum(np.linspace(-2.0, 1.0, 9), 2))
    geometry = FixedTrace(9, 3, 2.0)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    spent = []
    for _ in range(12):
        before = problem.counts()["operator_applications"]
        state = method.step(state)
        spent.append(problem.counts()["operator_applications"] - before)
    assert spent == [2] * 12  # one with A and one with C, whatever the search tries
    for _ in range(80):
        state = method.step(state)
    assert geometry.check_point(state.point) is None
    fresh = problem.at(state.point)
    assert abs(fresh.value - state.evaluation.value) <= 1e-12 * abs(fresh.value)


def test_however_long_a_step_is_it_ends_in_the_set():
    geometry, rng = FixedTrace(5, 2, 3.0), np.random.default_rng(1)
    point = geometry.random_point(rng)
    curve = geometry.curve(point, 1e-3 * geometry.random_vector(point, rng))
    T = curve.mixture(curve.longest).frame
    assert geometry.check_point(np.hstack([point, curve.block]) @ T) is None
