"""Minimisation along a line by few values and slopes."""

import math

import numpy as np
import pytest

from psdopt.linalg.interpolation import minimize_by_values, minimize_interpolated
from psdopt.linalg.tolerances import EPS


class Values:
    """The values of a line, counted."""

    def __init__(self, line):
        self.line, self.asked = line, []

    def __call__(self, t):
        self.asked.append(t)
        return float(self.line.value(t))


class Counted:
    """A function of one number with its slope, and the points at which it was asked for."""

    def __init__(self, value, slope, bend):
        self.value, self.slope, self.bend, self.points = value, slope, bend, []

    def __call__(self, t):
        self.points.append(t)
        return float(self.value(t)), float(self.slope(t))

    def minimize(self, upper=math.inf, first=None, known=True, share=0.0):
        start, bend = (float(self.value(0.0)), float(self.slope(0.0))), float(self.bend(0.0))
        first = first or (-start[1] / bend if bend > 0.0 else 1.0)
        return minimize_interpolated(self, start, bend if known else None, first, upper, share)


def polynomial(*coefficients):
    p = np.polynomial.Polynomial(coefficients)
    return Counted(p, p.deriv(), p.deriv(2))


SMOOTH = {
    "logistic": Counted(
        lambda t: np.logaddexp(0.0, t - 3.0) + np.logaddexp(0.0, 1.0 - 2.0 * t),
        lambda t: 1.0 / (1.0 + np.exp(3.0 - t)) - 2.0 / (1.0 + np.exp(2.0 * t - 1.0)),
        lambda t: 1.0 / (4.0 * np.cosh(0.5 * (t - 3.0)) ** 2) + 1.0 / np.cosh(t - 0.5) ** 2,
    ),
    "barrier": Counted(
        lambda t: t * t - np.log(0.1 + t), lambda t: 2 * t - 1 / (0.1 + t), lambda t: 2 + (0.1 + t) ** -2
    ),
    "hinges": Counted(
        lambda t: sum(max(0.0, k / 7.0 - t * t) ** 2 for k in range(9)) + t**4,
        lambda t: sum(-4.0 * t * max(0.0, k / 7.0 - t * t) for k in range(9)) + 4.0 * t**3 - 0.3 * (t == 0.0),
        lambda t: -1.0,
    ),
}


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_quartic_takes_two_points(offset, scale):
    rng, taken = np.random.default_rng(0), []
    for _ in range(50):
        c1, c2, c4 = -rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)
        c3 = rng.uniform(-1.0, 1.0) * math.sqrt(c2 * c4)  # convex: one minimum
        line = polynomial(*(c / scale**k for k, c in enumerate((offset, c1, c2, c3, c4))))
        found = line.minimize()
        taken.append(len(line.points))
        decrease = line.slope(found) ** 2 / line.bend(found) / 2.0
        assert decrease <= 5.0 * EPS * max(abs(line.value(found)), abs(offset))
    assert max(taken) <= 3, taken  # where the first point is far off, rounding costs a third
    assert np.mean(taken) <= 2.5


def test_one_point_is_enough_where_it_is_the_minimiser():
    line = polynomial(3.0, -2.0, 1.0)
    assert line.minimize() == 1.0
    assert line.points == [1.0]


def test_a_parabola_takes_two_points_without_its_second_derivative():
    line = polynomial(3.0, -2.0, 1.0)
    assert line.minimize(first=7.0, known=False) == pytest.approx(1.0, rel=1e-12)
    assert len(line.points) == 2


@pytest.mark.parametrize("name", SMOOTH)
def test_other_functions_take_a_few(name):
    line = SMOOTH[name]
    line.points.clear()
    found = line.minimize()
    assert len(line.points) <= 8
    around = [line.value(found * (1.0 + share)) for share in (-1e-6, 1e-6)]
    assert line.value(found) <= min(line.value(0.0), *around)


@pytest.mark.parametrize("share", [1e-2, 1e-4])
@pytest.mark.parametrize("name", SMOOTH)
def test_a_share_of_the_decrease_may_be_left(name, share):
    """Never more than a few times this share, as the model tells it, and fewer points than to the rounding."""
    line = SMOOTH[name]
    line.points.clear()
    exact = line.minimize()
    most = len(line.points)
    line.points.clear()
    found = line.minimize(share=share)
    assert 2 <= len(line.points) < most
    assert line.value(found) - line.value(exact) <= 4.0 * share * (line.value(0.0) - line.value(exact))


@pytest.mark.parametrize(("a", "most"), [(0.2, 4), (0.5, 4), (1.0, 3)])
def test_where_the_second_derivative_at_0_misleads_the_cubic_leads(a, most):
    """Hinges begin beyond 0, and the quartic with that second derivative has no minimiser in the bracket."""
    starts = np.linspace(0.0, 3.0, 40)
    line = Counted(
        lambda t: a * t * t - t + 0.02 * np.sum(np.maximum(t - starts, 0.0) ** 2),
        lambda t: 2.0 * a * t - 1.0 + 0.04 * np.sum(np.maximum(t - starts, 0.0)),
        lambda t: 2.0 * a,
    )
    assert abs(line.slope(line.minimize())) <= 1e-6
    assert len(line.points) <= most, line.points


def test_the_limit_is_kept():
    line = polynomial(0.0, -2.0, 1.0)
    assert line.minimize(upper=0.25) == 0.25
    assert line.points == [0.25]
    assert line.minimize(upper=4.0) == 1.0


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("known", [True, False])
def test_values_alone_find_most_of_the_decrease(known, offset):
    """Of convex quartics, from a first point that is up to ten times too far, or too near."""
    rng, taken, left = np.random.default_rng(1), [], []
    for _ in range(200):
        c1, c2, c4 = -rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)
        line = polynomial(offset, c1, c2, rng.uniform(-1.0, 1.0) * math.sqrt(c2 * c4), c4)
        exact, values = line.minimize(), Values(line)
        first = -0.5 * c1 / c2 if known else exact * 10.0 ** rng.uniform(-1.0, 1.0)
        bend = 2.0 * c2 if known else None
        found = minimize_by_values(values, (offset, c1), bend, first, share=0.01)
        taken.append(len(values.asked))
        left.append((line.value(found) - line.value(exact)) / (offset - line.value(exact)))
    assert max(left) <= 0.2
    assert np.mean(left) <= 0.02
    assert np.mean(taken) <= (2.5 if known else 4.0)
    assert max(taken) <= (4 if known else 8)


def test_values_alone_take_one_where_the_first_is_the_minimiser_and_two_on_a_parabola():
    for first, most in ((1.0, 1), (30.0, 2), (0.2, 2)):
        values = Values(polynomial(3.0, -2.0, 1.0))
        found = minimize_by_values(values, (3.0, -2.0), None, first)
        assert found == pytest.approx(1.0)
        assert len(values.asked) <= most


def test_values_that_are_rounding_or_not_finite_decide_nothing():
    assert minimize_by_values(lambda t: 1e17 - t, (1e17, -1.0), None, 1.0) is None
    assert minimize_by_values(lambda t: math.inf, (0.0, -1.0), None, 1.0) is None
    assert minimize_by_values(lambda t: t, (0.0, 1.0), None, 1.0) is None
    falls = minimize_by_values(lambda t: -t, (0.0, -1.0), None, 1.0)
    assert falls is None
    steep = minimize_by_values(lambda t: 1.0 + 50.0 * t * t - 1e-9 * t, (1.0, -1e-9), None, 1.0)
    assert steep == pytest.approx(1e-11, rel=1e-2, abs=0.0)


def test_a_maximum_is_left_by_the_quartic_through_it():
    line = polynomial(5.0, 0.0, -1.0, 0.0, 1.0)
    assert line.minimize(first=1.0) == pytest.approx(0.5**0.5, rel=1e-12)
    assert len(line.points) == 2


def test_large_values_are_not_trusted():
    """Beside 1e17 the values are rounding, and the slopes decide."""
    line = polynomial(1e17, -2.0, 1.0, 0.1, 0.1)
    found = line.minimize()
    assert abs(line.slope(found)) <= 0.1 * abs(line.slope(0.0))


@pytest.mark.parametrize(
    "line",
    [
        polynomial(0.0, 1.0, 1.0),  # rises
        polynomial(0.0, 0.0, 1.0),  # a minimum
        polynomial(0.0, -1.0),  # falls without end
        Counted(lambda t: math.nan, lambda t: -1.0, lambda t: 1.0),
        Counted(lambda t: -t if t < 1.0 else math.inf, lambda t: -1.0, lambda t: 0.0),  # ends
    ],
)
def test_what_it_cannot_find_it_leaves(line):
    assert line.minimize() is None
    assert len(line.points) <= 8


def test_a_higher_minimum_beyond_a_maximum_is_not_taken():
    wave = Counted(
        lambda t: t - 0.5 * np.sin(6 * t), lambda t: 1.0 - 3.0 * np.cos(6 * t), lambda t: 18.0 * np.sin(6 * t)
    )
    found = wave.minimize(first=1.2)
    assert found is None or wave.value(found) <= 0.0
