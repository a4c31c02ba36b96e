"""Hessians of every manifold: d²/ds² F along geodesics, and along retractions, by differences of a cubic F."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem
from psdopt.geometries.fixed_trace import FixedTrace
from psdopt.geometries.polar import Polar
from tests.geometries.test_closed_forms import MANIFOLDS, drawn_point


def problem(n):
    """½ |A M|² + tr(C M) + tr(M³) / 6: no derivative vanishes."""
    rng = np.random.default_rng(0)
    A, C = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    return AutogradProblem(
        lambda M: 0.5 * anp.sum(anp.dot(A, M) ** 2) + anp.sum(C * M) + anp.trace(anp.dot(M, anp.dot(M, M))) / 6.0, n
    )


def second_difference(F, h=2e-3):
    """F''(0) to O(h⁴)."""
    return (-F(2 * h) + 16 * F(h) - 30 * F(0.0) + 16 * F(-h) - F(-2 * h)) / (12 * h * h)


@pytest.mark.parametrize("name", sorted(name for name in MANIFOLDS if isinstance(MANIFOLDS[name], Polar)))
def test_the_hessian_along_retractions_of_the_polar_metric(name):
    geometry, rng = MANIFOLDS[name], np.random.default_rng(2)
    objective = problem(geometry.n)
    p = drawn_point(geometry, rng)
    here, v = objective.at(geometry.factor(p)), geometry.random_vector(p, rng)
    curvature = geometry.inner(p, geometry.hessian(p, here.gradient, here.hessian_vector, v), v)
    along = lambda s: objective.at(geometry.factor(geometry.retract(p, s * v))).value  # noqa: E731
    np.testing.assert_allclose(curvature, second_difference(along), rtol=1e-5)


@pytest.mark.parametrize("trace", [0.5, 1.0, 4.0])
def test_the_hessian_on_a_sphere_of_any_radius(trace):
    geometry, rng = FixedTrace(4, 2, trace), np.random.default_rng(3)
    objective = problem(4)
    Y = geometry.random_point(rng)
    here, v = objective.at(Y), geometry.random_vector(Y, rng)
    H = geometry.euclidean_to_riemannian_hessian(Y, here.factor_gradient(), here.hessian_vector(v), v)
    along = lambda s: objective.at(geometry.exp(Y, s * v)).value  # noqa: E731
    np.testing.assert_allclose(np.sum(H * v), second_difference(along), rtol=1e-5)
