"""Closed forms of every manifold against what defines them: energy, velocities, dimension, scale."""

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PositiveDefinite
from psdopt.errors import InvalidInputError
from psdopt.geometries import polar_geodesics
from psdopt.geometries.definite_geodesics import von_neumann_exp, von_neumann_log
from psdopt.geometries.polar import GRAM_DAMPING, PolarPoint, PolarVector
from psdopt.geometries.positive_definite import _exp_inverse
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import EPS

MANIFOLDS = {
    "flat": FlatQuotient(4, 2),
    "fixed-trace": FixedTrace(4, 2, 3.0),
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

    def moved(t, epsilon, curved):
        q = geometry.exp(p, t * v) if curved else geometry.retract(p, t * v)
        w = geometry.horizontal(q, ambient)
        return geometry.retract(q, (epsilon * np.sin(np.pi * t)) * w)

    def energy(epsilon, curved=True):
        total = 0.0
        for t, weight in zip(nodes, weights, strict=True):
            ahead, behind = (matrix(geometry, moved(t + s, epsilon, curved)) for s in (h, -h))
            at = moved(t, epsilon, curved)
            total += weight * squared_speed(geometry, at, (ahead - behind) / (2.0 * h), np.random.default_rng(0))
        return total

    slope = (energy(1e-3) - energy(-1e-3)) / 2e-3
    assert abs(slope) <= 2e-5 * energy(0.0)
    np.testing.assert_allclose(energy(0.0), geometry.inner(p, v, v), rtol=1e-6)


@pytest.mark.parametrize("metric", ["affine-invariant", "log-euclidean", "von-neumann"])
def test_definite_geodesics_have_constant_speed(metric):
    geometry, rng = PositiveDefinite(3, metric), np.random.default_rng(6)
    p = drawn_point(geometry, rng)
    v, h = 0.8 * geometry.random_vector(p, rng), 1e-3
    for t in (0.4, 0.9):
        ahead, behind = (matrix(geometry, geometry.exp(p, (t + s) * v)) for s in (h, -h))
        speed = squared_speed(geometry, geometry.exp(p, t * v), (ahead - behind) / (2.0 * h), rng)
        np.testing.assert_allclose(speed, geometry.inner(p, v, v), rtol=1e-5)


@pytest.mark.parametrize("weight", [0.3, 0.8])
def test_the_logarithm_is_corrected_in_both_parts_and_stops_at_rounding(weight, monkeypatch):
    """One round is one geodesic: a dozen are enough here, and without rounds the answer is off by a percent."""
    geometry, rng = Polar(5, 2, weight), np.random.default_rng(8)
    p = drawn_point(geometry, rng)
    v = 0.3 * geometry.random_vector(p, rng)
    end, calls, whole = geometry.exp(p, v), [], polar_geodesics.exp
    monkeypatch.setattr(polar_geodesics, "exp", lambda *given: (calls.append(1), whole(*given))[1])
    found = geometry.log(p, end)
    error = geometry.norm(p, found - v)
    assert error <= 256 * EPS * geometry.norm(p, v) * np.linalg.cond(p.R)
    assert 3 <= len(calls) <= 30
    D, K = polar_geodesics.inverse_retraction(p.U, p.R, end.U, end.R)
    assert geometry.norm(p, PolarVector(D, K) - v) > 1e3 * error


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


def reported(geometry, given, vector=None):
    return geometry.check_point(given) if vector is None else geometry.check_vector(given, vector)


def test_what_is_no_polar_point_or_vector_is_told_with_its_size():
    geometry, rng = Polar(4, 2), np.random.default_rng(13)
    U, R = orthonormal_columns(rng, 4, 2), np.diag([2.0, 0.5])
    hole = np.full_like(U, np.nan)
    assert geometry.check_point((U, R)) is None
    assert geometry.check_point((U, 1e-3 * R)) is None
    at = PolarPoint(U, R)
    vector = geometry.horizontal(at, (rng.standard_normal((4, 2)), np.eye(2)))
    D, K = vector.U, vector.K
    assert geometry.check_vector(at, (D, K)) is None
    bad = [
        (reported(geometry, 3.0), "a pair", 1.0),
        (reported(geometry, (U[:3], R)), "shapes", 6.0),
        (reported(geometry, (U, R[:1])), "shapes", 8.0),
        (reported(geometry, (U, R * np.nan)), "non-finite", 4.0),
        (reported(geometry, (hole, R * [[np.nan, 1.0], [1.0, 1.0]])), "non-finite", 9.0),
        (reported(geometry, (U, np.diag([1.0, 0.0]))), "invertible", 0.0),
        (reported(geometry, at, (D[:3], K)), "shaped like", 6.0),
        (reported(geometry, at, (D, K[:1])), "shaped like", 8.0),
        (reported(geometry, at, (hole, K * [[np.nan, 1.0], [1.0, 1.0]])), "non-finite", 9.0),
    ]
    for defect, text, size in bad:
        assert text in defect.reason
        assert (defect.magnitude, defect.allowed) == (size, 0.0)
    off = geometry.check_point((U * (1.0 + 1e-6), R))
    assert "orthonormal" in off.reason
    assert 1e-6 < off.magnitude < 1e-5
    for n in (4, 400):  # what is allowed grows with the order
        wide = Polar(n, 1)
        u = np.full((n, 1), n**-0.5)
        assert reported(wide, (u * (1.0 + 100 * EPS), np.eye(1))) is None
        defect = reported(wide, (2.0 * u, np.eye(1)))
        np.testing.assert_allclose(defect.allowed, 1024 * EPS * np.sqrt(n))
        across = np.zeros((n, 1))
        defect = reported(wide, PolarPoint(u, np.eye(1)), (across + 2.0 * u, np.zeros((1, 1))))
        np.testing.assert_allclose((defect.magnitude, defect.allowed), (2.0, 2048 * EPS * np.sqrt(n)))


@pytest.mark.parametrize("geometry", [FlatQuotient(4, 2), FixedTrace(4, 2, 3.0)], ids=["flat", "fixed-trace"])
def test_what_is_no_factor_is_told_with_its_size(geometry):
    p = geometry.random_point(np.random.default_rng(14))
    hole = p.copy()
    hole[0, 0] = hole[2, 1] = np.nan
    for check in (geometry.check_point, lambda given: geometry.check_vector(p, given)):
        for given, text, size in ((p[:3], "shape", 6.0), (hole, "non-finite", 2.0)):
            defect = check(given)
            assert text in defect.reason
            assert (defect.magnitude, defect.allowed) == (size, 0.0)


def test_a_factor_of_fewer_or_more_columns_becomes_a_polar_point():
    rng = np.random.default_rng(15)
    for columns in (0, 1, 2, 3, 5):
        Y = rng.standard_normal((5, columns))
        found = Polar(5, 3).from_factor(Y)
        assert Polar(5, 3).check_point(found) is None
        W, s, _ = np.linalg.svd(Y, full_matrices=False)
        best = (W[:, :3] * s[:3] ** 2) @ W[:, :3].T
        np.testing.assert_allclose(found.factor @ found.factor.T, best, atol=4 * EPS * max(1.0, (s**2).max(initial=0)))
    assert np.linalg.norm(Polar(5, 3).from_factor(np.zeros((5, 3))).factor) <= 4 * np.sqrt(EPS)
    tiny = Polar(5, 3).from_factor(1e-30 * rng.standard_normal((5, 2)))
    assert np.linalg.norm(tiny.factor) <= 1e-28
    with pytest.raises(InvalidInputError):
        FixedTrace(5, 3).from_factor(np.zeros((5, 3)))


@pytest.mark.parametrize("weight", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("curvature", [None, 0.0, 0.01, 1.0, 50.0])
def test_the_polar_preconditioner_in_the_eigenbasis_of_the_matrix(weight, curvature):
    """U̇ᵢ / (bᵢ (bᵢ + η)) and Kᵢⱼ (1 / (bᵢ (bⱼ + η)) + 1 / (bⱼ (bᵢ + η))), from any representative."""
    geometry, rng = Polar(5, 3, weight), np.random.default_rng(16)
    b = np.array([9.0, 1.0, 0.2])
    p = PolarPoint(orthonormal_columns(rng, 5, 3), np.diag(np.sqrt(b)))
    g = geometry.random_vector(p, rng)
    g = PolarVector(g.U, g.K + (weight < 1.0) * 3.0 * np.eye(3))
    eta = GRAM_DAMPING * b.mean()
    if curvature and weight < 1.0:
        eta = max(eta, (np.diag(g.K) / b).max() / ((1.0 - weight) * curvature))
    found = geometry.gram_preconditioned(p, g, curvature)
    np.testing.assert_allclose(found.U, g.U / (b * (b + eta)), rtol=1e-10, atol=1e-12)
    one_way = 1.0 / np.outer(b, b + eta)
    np.testing.assert_allclose(found.K, g.K * (one_way + one_way.T), rtol=1e-10, atol=1e-12)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turned = geometry.gram_preconditioned(geometry.move_along_fibre(p, Q), geometry.move_along_fibre(g, Q), curvature)
    back = geometry.move_along_fibre(turned, Q.T)
    np.testing.assert_allclose(back.U, found.U, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back.K, found.K, rtol=1e-9, atol=1e-10)
