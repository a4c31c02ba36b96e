"""Truncated conjugate gradient: the minimiser of a quadratic model, within a radius."""

import numpy as np
import pytest

from psdopt import FlatQuotient
from psdopt.methods.trust_regions import truncated_cg

N = 5
GEOMETRY = FlatQuotient(N, 1)  # of rank 1 every vector is horizontal, and the metric is that of R^N
POINT = np.ones((N, 1))


def model(values, radius, kappa=1e-10, most=50, seed=0):
    """(H, g, d, H d, cut) for a random H of the given eigenvalues."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((N, N)))[0]
    H, g = Q @ np.diag(values) @ Q.T, rng.standard_normal((N, 1))
    d, image, cut = truncated_cg(GEOMETRY, POINT, g, lambda v: H @ v, radius, kappa, 1.0, most)
    np.testing.assert_allclose(image, H @ d, atol=1e-12 * np.abs(values).max())
    return H, g, d, cut


def value(H, g, d):
    return float(np.sum(g * d) + 0.5 * np.sum(d * (H @ d)))


def test_within_the_radius_it_is_newtons_step():
    H, g, d, cut = model([1.0, 2.0, 3.0, 5.0, 8.0], 100.0)
    np.testing.assert_allclose(d, -np.linalg.solve(H, g), rtol=1e-8)
    assert not cut


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 5.0, 8.0], [-1.0, 2.0, 3.0, 5.0, 8.0], [-1.0] * N, [0.0] * N])
def test_a_step_that_is_cut_short_ends_on_the_boundary_below_the_cauchy_point(values):
    for seed in range(5):
        H, g, d, cut = model(values, 0.1, seed=seed)
        assert cut
        assert np.linalg.norm(d) == pytest.approx(0.1, rel=1e-12)
        slope = np.linalg.norm(g)
        curvature = float(np.sum(g * (H @ g))) / slope**2
        length = 0.1 if curvature <= 0.0 else min(0.1, slope / curvature)
        assert value(H, g, d) <= value(H, g, -length * g / slope) * (1.0 - 1e-12)


def test_residual_products_and_a_rising_model_end_the_solve():
    values = np.logspace(0, 3, N)
    H, g, d, _ = model(values, 1e6, kappa=0.5)
    assert 1e-6 < np.linalg.norm(H @ d + g) / np.linalg.norm(g) <= 0.5
    asked = []
    for most in (1, 3):
        asked.clear()
        truncated_cg(GEOMETRY, POINT, g, lambda v: asked.append(v) or H @ v, 1e6, 1e-10, 1.0, most)
        assert len(asked) == most
    # products that are no linear map: the model would rise, and the last point before that is returned
    d, _, cut = truncated_cg(GEOMETRY, POINT, g, lambda v: H @ v + 50.0 * np.sign(v), 1e6, 1e-10, 1.0, 50)
    assert not cut
    assert np.sum(g * d) <= 0.0


def test_products_that_are_not_finite_end_on_the_boundary():
    d, _, cut = truncated_cg(GEOMETRY, POINT, POINT, lambda v: np.nan * v, 2.0, 0.1, 1.0, 9)
    np.testing.assert_allclose(d, -2.0 * POINT / np.sqrt(N))
    assert cut


def test_an_exact_first_step_ends_the_solve():
    """H = 2 I: the residual is zero, and so is the next direction."""
    g = np.array([[1.0], [-2.0], [0.5], [0.0], [4.0]])
    d, image, cut = truncated_cg(GEOMETRY, POINT, g, lambda v: 2.0 * v, 100.0, 0.1, 1.0, 50)
    assert not cut
    np.testing.assert_array_equal(d, -0.5 * g)
    np.testing.assert_array_equal(image, -g)
