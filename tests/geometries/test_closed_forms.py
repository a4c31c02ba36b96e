"""Logarithms that are corrected until they are exact, and geodesics without a closed form."""

import numpy as np
import pytest

from psdopt import Polar
from psdopt.geometries import polar_geodesics
from psdopt.geometries.definite_geodesics import von_neumann_exp, von_neumann_log
from psdopt.geometries.polar import PolarPoint, PolarVector
from psdopt.geometries.positive_definite import _exp_inverse
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import EPS


@pytest.mark.parametrize("weight", [0.3, 0.8])
def test_the_logarithm_is_corrected_in_both_parts_and_stops_at_rounding(weight):
    """Without rounds the answer is off by a percent."""
    geometry, rng = Polar(5, 2, weight), np.random.default_rng(8)
    p = PolarPoint(orthonormal_columns(rng, 5, 2), rng.standard_normal((2, 2)) + 2.0 * np.eye(2))
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
