"""The Riemannian Hessian against differences along geodesics, and its symmetry."""

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.methods.riemannian_hessian import riemannian_hessian
from psdopt.testing import vectors
from psdopt.testing.gallery import with_spectrum
from psdopt.testing.slopes import derivative
from tests.contracts.test_geometry_groups import GEOMETRIES, drawn


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=repr)
def test_the_hessian_is_the_second_derivative_along_geodesics(geometry):
    rng, point, v = drawn(geometry, 2)
    w, n = geometry.random_vector(point, rng), geometry.n
    A, C = with_spectrum(np.linspace(0.5, 2.0, n), 1), with_spectrum(np.linspace(-2.0, 1.0, n), 2)
    problem = QuadraticSDP(A, 0.5, C)
    at = problem.at(geometry.factor(point))

    def slope(t):
        moved = geometry.exp(point, t * v)
        return (problem.at(geometry.factor(moved)).value - at.value) / t if t else 0.0

    # (F(t) − F(0))/t = F' + t F''/2 + ..., whose derivative at 0 is half the second derivative
    half, error = derivative(slope, 0.1)
    Hv, Hw = (riemannian_hessian(geometry, point, at, x) for x in (v, w))
    assert abs(geometry.inner(point, Hv, v) - 2.0 * float(half)) <= 200.0 * error + 1e-7
    assert abs(geometry.inner(point, Hv, w) - geometry.inner(point, v, Hw)) <= 1e-11 * vectors.size(Hv)
