"""One-variable models against dense grids: end points, several minima, walls, and the number of trials."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psdopt.linalg.polynomials import (
    _quadratic_roots,
    _root,
    minimize_quartic,
    minimize_smooth,
    quartic,
    quartic_derivatives,
)
from psdopt.linalg.tolerances import EPS


@pytest.mark.parametrize("mu", [0.0, 0.5, -1.3, 2.0])
def test_values_and_derivatives_of_a_quartic(mu):
    c = [0.3, -1.7, 2.5, 0.9, -0.4]
    p = np.polynomial.Polynomial(c)
    assert quartic(c, mu) == pytest.approx(p(mu))
    assert quartic_derivatives(c, mu) == pytest.approx((p.deriv()(mu), p.deriv(2)(mu)))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e5])
def test_quartics_of_every_shape_on_a_grid(unit):
    """Random coefficients of every degree, on intervals that end before, between and beyond the stationary points."""
    rng = np.random.default_rng(0)
    for k in range(150):
        degree = 1 + k % 4
        c = np.zeros(5)
        c[: degree + 1] = rng.integers(-3, 4, degree + 1) if k % 2 else rng.standard_normal(degree + 1)
        upper = unit * rng.choice([0.3, 1.0, 4.0])
        scaled = c / unit ** np.arange(5)
        found = minimize_quartic(scaled, upper)
        assert 0.0 <= found <= upper * (1 + 4 * EPS)
        grid = np.linspace(0.0, upper, 2001)
        values = np.polynomial.Polynomial(scaled)(grid)
        assert quartic(scaled, found) <= values.min() + 64 * EPS * np.abs(c).sum() * max(1.0, (upper / unit) ** 4)
        if quartic(scaled, found) == scaled[0]:
            assert found == 0.0
        unlimited = minimize_quartic(scaled)
        leading = next((x for x in c[:0:-1] if x != 0.0), 0.0)
        assert math.isinf(unlimited) is bool(leading < 0.0)


def test_roots_of_quadratics():
    rng = np.random.default_rng(1)
    for a0, a1, a2 in [
        *rng.standard_normal((60, 3)),
        (0, 1, 1),
        (1, 0, -1),
        (1, 2, 1),
        (-1, 3, 0),
        (0, 0, 1),
        (2, 0, 1),
    ]:
        expected = np.roots([a2, a1, a0])
        expected = np.sort(expected[np.isreal(expected)].real)
        found = np.sort(_quadratic_roots(a0, a1, a2))
        np.testing.assert_allclose(np.unique(found), np.unique(expected), rtol=1e-9, atol=1e-12)
    assert _quadratic_roots(1.0, 0.0, 0.0) == []
    small, large = sorted(_quadratic_roots(1.0, -1e9, 1.0))  # the small one without cancellation
    assert small == pytest.approx(1e-9, rel=4 * EPS)
    assert large == pytest.approx(1e9, rel=4 * EPS)


class Counted(float):
    """A coefficient that counts the products with it: two for each trial of a cubic."""

    products = 0

    def __rmul__(self, other):
        type(self).products += 1
        return float(other) * float(self)

    __mul__ = __rmul__


@pytest.mark.parametrize(
    ("cubic", "left", "right", "most"),
    [
        ((-1.0, 1.0, 0.0, 1.0), 0.0, 2.0, 8),
        ((-1.0, 0.0, 0.0, 1.0), 0.0, 5.0, 12),  # no slope at the left end
        ((-1e-6, 1.0, 1.0, 1.0), 0.0, 4.0, 6),
        ((-50.0, 1.0, 1.0, 1.0), 0.0, 60.0, 23),  # Newton steps of a cubic far out shrink by a third only
        ((2.0, -1.0, 0.0, -1.0), 0.0, 4.0, 10),  # falls
        ((-8.0, 12.0, -6.0, 1.0), 0.0, 5.0, 90),  # a triple root: halving
    ],
)
def test_roots_of_cubics_take_few_trials(cubic, left, right, most):
    a0, a1, a2, a3 = cubic
    Counted.products = 0
    found = _root((a0, a1, a2, Counted(a3)), left, right, a0 + left * (a1 + left * (a2 + left * a3)))
    exact = [t.real for t in np.roots(cubic[::-1]) if abs(t.imag) < 1e-3 and left < t.real < right]
    accuracy = 1e-4 if most == 90 else 8 * EPS
    assert min(abs(found - t) for t in exact) <= accuracy * max(1.0, abs(found))
    assert Counted.products <= 2 * most


def counted(derivatives):
    asked = []
    return asked, lambda t: (asked.append(t), derivatives(t))[1]


@pytest.mark.parametrize("place", [1e-6, 0.3, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("upper", [math.inf, 2.0])
def test_smooth_minima_and_ends(place, upper):
    """F = √(1 + (t − p)²): the minimiser, or the end of the interval before it."""
    expected = min(place, upper)
    asked, f = counted(lambda t: ((t - place) / math.hypot(1.0, t - place), math.hypot(1.0, t - place) ** -3))
    assert minimize_smooth(f, upper) == pytest.approx(expected, rel=1e-9)
    assert len(asked) <= 60
    assert max(asked) <= upper


def test_smooth_newton_steps_are_few():
    asked, f = counted(lambda t: (t - 3.0 + 0.1 * (t - 3.0) ** 3, 1.0 + 0.3 * (t - 3.0) ** 2))
    assert minimize_smooth(f) == pytest.approx(3.0, rel=1e-12)
    assert len(asked) <= 12
    asked, f = counted(lambda t: (2.0 * (t - 3.0), 2.0))
    assert minimize_smooth(f) == 3.0
    assert len(asked) <= 3
    asked, f = counted(lambda t: (2.0 * (t - 3.0), 2.0))
    assert minimize_smooth(f, first=0.01) == pytest.approx(3.0)
    assert asked[1] == 0.01


def test_smooth_without_descent_and_without_end():
    assert minimize_smooth(lambda t: (1.0, 1.0)) == 0.0
    assert minimize_smooth(lambda t: (0.0, 1.0)) == 0.0
    assert minimize_smooth(lambda t: (t, 1.0)) == 0.0
    assert math.isnan(minimize_smooth(lambda t: (math.nan, 1.0)))
    assert minimize_smooth(lambda t: (-1.0, 0.0)) == math.inf
    assert minimize_smooth(lambda t: (-1.0, 0.0), upper=5.0) == 5.0
    assert math.isnan(minimize_smooth(lambda t: (-1.0, 0.0) if t == 0.0 else (math.nan, math.nan)))
    # a ridge: the slope at 0 vanishes, and beyond it falls
    assert minimize_smooth(lambda t: (4 * t**3 - 2 * t, 12 * t**2 - 2)) == pytest.approx(math.sqrt(0.5))
    assert minimize_smooth(lambda t: (4 * t**3 - 1e-9 * t, 12 * t**2 - 1e-9)) == pytest.approx(math.sqrt(2.5e-10))


@pytest.mark.parametrize("wall", [0.2, 1.5, 3.0, 1000.0])
def test_smooth_stays_below_a_wall(wall):
    """−log(w − t) + ... is not finite from w on: a minimum before it is found, a fall up to it ends next to it."""

    def barrier(t):
        return (1.0 / (wall - t) - 2.0 / wall, 1.0 / (wall - t) ** 2) if t < wall else (math.nan, math.nan)

    assert minimize_smooth(barrier) == pytest.approx(0.5 * wall, rel=1e-9)
    falls = minimize_smooth(lambda t: (-1.0, 0.0) if t < wall else (math.inf, math.nan))
    assert 0.999 * wall <= falls < wall


@pytest.mark.parametrize("depth", [0.5, 0.01])
def test_smooth_seeks_a_nearer_minimum_than_one_above_the_start(depth):
    """F has a minimum at 1 below F(0), a maximum at 2 and a minimum at 10 above F(0)."""
    p = np.polynomial.Polynomial
    slope = p([-1.0, 1.0]) * p([-2.0, 1.0]) * p([-10.0, 1.0]) * depth
    F = slope.integ()
    assert F(1.0) < 0.0
    high = lambda t: float(F(t)) + (1e4 if t > 2.0 else 0.0)  # noqa: E731
    found = minimize_smooth(lambda t: (float(slope(t)), float(slope.deriv()(t))), first=8.0, value=high)
    assert found == pytest.approx(1.0, rel=1e-9)
    low = minimize_smooth(lambda t: (float(slope(t)), float(slope.deriv()(t))), first=8.0, value=lambda t: float(F(t)))
    assert low == pytest.approx(10.0, rel=1e-9)


def test_a_first_step_that_is_given_is_taken_also_where_f_bends_down():
    asked, f = counted(lambda t: (-1.0 - t + t**3, -1.0 + 3.0 * t * t))
    assert minimize_smooth(f, first=0.01) == pytest.approx(1.324717957244746, rel=1e-9)
    assert asked[:2] == [0.0, 0.01]


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_without_values_no_rounding_is_assumed(size):
    """A wall behind a gentle slope takes bisection: it goes on to the accuracy asked for in every unit of f."""

    def derivatives(t):
        return (-size, 0.0) if t < 0.7 else (size * (-1.0 + 1e12 * (t - 0.7)), size * 1e12)

    assert minimize_smooth(derivatives) == pytest.approx(0.7, abs=1e-9)


def test_values_that_tie_with_the_start_send_for_no_nearer_minimum():
    def derivatives(t):
        return t - 3.0, 1.0

    for level in (0.0, 5.0, -1e9):
        assert minimize_smooth(derivatives, value=lambda t, level=level: level) == pytest.approx(3.0)
