"""Closed forms of every manifold against what defines them: energy, velocities, dimension, scale."""

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PositiveDefinite
from psdopt.geometries import polar_geodesics
from psdopt.geometries.definite_geodesics import von_neumann_exp, von_neumann_log
from psdopt.geometries.polar import PolarPoint, PolarVector
from psdopt.geometries.positive_definite import _exp_inverse
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import EPS

MANIFOLDS = {
    "flat": FlatQuotient(4, 2),
    "fixed-trace": FixedTrace(4, 2, 3.0),
    "polar": Polar(4, 2),
    "polar-range": Polar(4, 2, 1.0),
    "polar-low": Polar(4, 2, 0.3),
    "polar-high": Polar(4, 2, 0.8),
    "polar-within": Polar(4, 2, 0.0),
    "affine-invariant": PositiveDefinite(3),
    "log-euclidean": PositiveDefinite(3, "log-euclidean"),
    "von-neumann": PositiveDefinite(3, "von-neumann"),
}


def matrix(geometry, point):
    Y = geometry.factor(point)
    return np.asarray(Y @ Y.T)


def drawn_point(geometry, rng):
    """A point of no special position: its factor has unequal singular values and a rotated basis."""
    point = geometry.random_point(rng)
    if isinstance(geometry, Polar):
        R = rng.standard_normal((geometry.r, geometry.r)) + 2.0 * np.eye(geometry.r)
        return PolarPoint(orthonormal_columns(rng, geometry.n, geometry.r), R)
    return geometry.from_factor(geometry.factor(point) + 0.4 * rng.standard_normal(geometry.factor(point).shape))


def rates(geometry, point, vectors):
    """dM/ds (n², k) along the retractions with these velocities."""
    Y = geometry.factor(point)
    moved = [geometry.velocity(point, v) @ Y.T for v in vectors]
    return np.column_stack([(D + D.T).ravel() for D in moved])


def squared_speed(geometry, point, rate, rng):
    """|v|² of the vector v that moves M at this rate, from the inner products of random vectors."""
    count = geometry.n * geometry.n
    vectors = [geometry.random_vector(point, rng) for _ in range(count)]
    coefficients = np.linalg.lstsq(rates(geometry, point, vectors), rate.ravel(), rcond=1e-9)[0]
    gram = np.array([[geometry.inner(point, u, v) for v in vectors] for u in vectors])
    return coefficients @ gram @ coefficients


@pytest.mark.parametrize("name", sorted(set(MANIFOLDS) - {"von-neumann"}))
def test_geodesics_are_stationary_points_of_the_energy(name):
    """dE/dε = 0 for p(t) moved by ε sin(πt) w(t), E the integral of the squared speed: this is what a geodesic is."""
    geometry, rng = MANIFOLDS[name], np.random.default_rng(5)
    p = drawn_point(geometry, rng)
    v, ambient = 0.8 * geometry.random_vector(p, rng), geometry.random_vector(p, rng)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    nodes, weights, h = 0.5 * (nodes + 1.0), 0.5 * weights, 1e-4

    def moved(t, epsilon):
        q = geometry.exp(p, t * v)
        w = geometry.horizontal(q, ambient)
        return geometry.retract(q, (epsilon * np.sin(np.pi * t)) * w)

    def energy(epsilon):
        total = 0.0
        for t, weight in zip(nodes, weights, strict=True):
            ahead, behind = (matrix(geometry, moved(t + s, epsilon)) for s in (h, -h))
            at = moved(t, epsilon)
            total += weight * squared_speed(geometry, at, (ahead - behind) / (2.0 * h), np.random.default_rng(0))
        return total

    slope = (energy(1e-3) - energy(-1e-3)) / 2e-3
    assert abs(slope) <= 2e-5 * energy(0.0)
    np.testing.assert_allclose(energy(0.0), geometry.inner(p, v, v), rtol=1e-6)


def test_von_neumann_geodesics_have_constant_speed():
    geometry, rng = MANIFOLDS["von-neumann"], np.random.default_rng(6)
    p = drawn_point(geometry, rng)
    v, h = 0.8 * geometry.random_vector(p, rng), 1e-3
    for t in (0.4, 0.9):
        ahead, behind = (matrix(geometry, geometry.exp(p, (t + s) * v)) for s in (h, -h))
        speed = squared_speed(geometry, geometry.exp(p, t * v), (ahead - behind) / (2.0 * h), rng)
        np.testing.assert_allclose(speed, geometry.inner(p, v, v), rtol=1e-5)


@pytest.mark.parametrize("weight", [0.3, 0.8])
def test_the_logarithm_is_corrected_in_both_parts_and_stops_at_rounding(weight):
    """Without rounds the answer is off by a percent."""
    geometry, rng = Polar(5, 2, weight), np.random.default_rng(8)
    p = drawn_point(geometry, rng)
    v = 0.3 * geometry.random_vector(p, rng)
    end = geometry.exp(p, v)
    error = geometry.norm(p, geometry.log(p, end) - v)
    assert error <= 256 * EPS * geometry.norm(p, v) * np.linalg.cond(p.R)
    D, K = polar_geodesics.inverse_retraction(p.U, p.R, end.U, end.R)
    assert geometry.norm(p, PolarVector(D, K) - v) > 1e3 * error


def test_von_neumann_geodesics_can_be_driven_in_two_legs():
    """The speed at half time leads on to the same end, from an A that is no multiple of I."""
    rng = np.random.default_rng(12)
    A, L = (0.5 * (X + X.T) for X in rng.standard_normal((2, 3, 3)))
    L *= 0.3
    at = lambda t: von_neumann_exp(A, t * L, _exp_inverse)  # noqa: E731
    h = 1e-4
    half, speed = at(0.5), (at(0.5 + h) - at(0.5 - h)) / (2.0 * h)
    np.testing.assert_allclose(von_neumann_exp(half, 0.5 * speed, _exp_inverse), at(1.0), atol=1e-8)
    assert np.linalg.norm(at(1.0) - A - L) > 1e-3  # it bends
    np.testing.assert_allclose(von_neumann_log(A, at(1.0), _exp_inverse), L, atol=1e-10)
