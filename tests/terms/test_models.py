"""Curves and surfaces of a term that are polynomials: values, derivatives, features."""

import numpy as np
import pytest

from psdopt.terms import PolynomialCurve, QuadraticSurface


@pytest.mark.parametrize("degree", range(5))
def test_a_curve_of_any_degree_up_to_four(degree):
    c = np.random.default_rng(degree).standard_normal(degree + 1)
    curve = PolynomialCurve(c)
    assert curve.coefficients == [*c, *np.zeros(4 - degree)]
    for mu in (0.0, -0.7, 3.0):
        p = np.polynomial.Polynomial(c)
        assert curve.value(mu) == pytest.approx(p(mu), rel=1e-13)
        assert curve.derivatives(mu) == pytest.approx((p.deriv()(mu), p.deriv(2)(mu)), rel=1e-12, abs=1e-12)
    assert curve.features_at(1.0) is None
    assert PolynomialCurve(c, lambda mu: 2.0 * mu).features_at(1.5) == 3.0


def test_a_surface_is_its_quadratic():
    g, H = np.array([1.0, -2.0]), np.array([[3.0, 0.5], [0.5, 1.0]])
    surface = QuadraticSurface(4.0, g, H)
    x = np.array([0.3, 1.7])
    assert surface.value(*x) == pytest.approx(4.0 + g @ x + 0.5 * x @ H @ x, rel=1e-14)
    slope, bend = surface.derivatives(*x)
    np.testing.assert_allclose(slope, g + H @ x, rtol=1e-14)
    np.testing.assert_array_equal(bend, H)
    assert surface.features_at(1.0, 2.0) is None
    assert QuadraticSurface(0.0, g, H, lambda a, b: a + b).features_at(1.0, 2.0) == 3.0
