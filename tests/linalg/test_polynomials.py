"""Exact searches: quartics against rational arithmetic, C¹ functions."""

import math

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from psdopt.linalg.polynomials import minimize_quartic, minimize_smooth
from psdopt.linalg.tolerances import EPS

from . import exact

#: Rounding errors in one evaluation of a quartic, with room for the scaling by powers of two.
VALUE_ERROR = 64 * EPS
#: E-L5: F = .01 L⁴ − .02 L² from L = .5 along its gradient has its only positive root at 100/3, far beyond 1.
ERRATUM = np.polynomial.Polynomial([0, 0, -0.02, 0, 0.01])(np.polynomial.Polynomial([0.5, 0.015])).coef[1:]


def spread(low: int, high: int):
    """Signed numbers whose magnitude is uniform in its logarithm, and zero."""
    size = st.floats(low, high).map(lambda e: 10.0**e)
    return st.one_of(st.just(0.0), st.builds(lambda s, x: s * x, st.sampled_from([-1.0, 1.0]), size))


def from_roots(scale: float, roots: tuple[float, float, float]) -> list[float]:
    """A quartic whose derivative is scale·(t − a)(t − b)(t − c), up to rounding of the coefficients."""
    a, b, c = roots
    slope = [-a * b * c, a * b + a * c + b * c, -(a + b + c), 1.0]
    return [0.0, *(scale * x / (k + 1) for k, x in enumerate(slope))]


def assert_minimal(c: list[float], found: float, upper: float = math.inf) -> None:
    assert 0.0 <= found <= upper
    gap, size = exact.excess(c, found, upper)
    assert gap <= VALUE_ERROR * size, f"{found} is worse than {exact.minimize(c, upper)[0]} by {gap}, size {size}"


@settings(max_examples=60, deadline=None)
@given(st.lists(spread(-30, 30), min_size=4, max_size=4), st.one_of(st.just(math.inf), st.floats(1e-12, 1e12)))
@example(list(ERRATUM), math.inf)
@example([0.0, 0.0, -1.0, 1.0], math.inf)  # neither slope nor curvature at 0
@example([3.0, -3.0, 1.0, 0.0], math.inf)  # a stationary inflection at 1
@example([-2.0, 1.0, 0.0, 0.0], 0.0)
@example([-1e-170, 1e-170, 0.0, 0.0], math.inf)  # the product of slopes of both signs underflows
def test_quartic_is_globally_minimal_for_badly_scaled_coefficients(tail, upper):
    c = [1.0, *tail]
    found = minimize_quartic(c, upper)
    best, _ = exact.minimize(c, upper)
    event(
        "unbounded" if math.isinf(best) else "at zero" if best == 0 else "at the bound" if best == upper else "inside"
    )
    if math.isinf(best):
        assert found == math.inf
    else:
        assert_minimal(c, found, upper)


@settings(max_examples=40, deadline=None)
@given(spread(-20, 20).filter(lambda x: x > 0), st.tuples(*[spread(-9, 9)] * 3))
@example(1.0, (1e-9, 1.0, 1e9))
@example(1.0, (1.0, 1.0, 2.0))
@example(1.0, (1.0, 2.0, 2.0))
@example(1.0, (3.0, 3.0, 3.0))
@example(1e-20, (-1e9, 1e-9, 1e9))
def test_quartic_with_given_stationary_points(scale, roots):
    c = from_roots(scale, roots)
    assume(all(map(math.isfinite, c)))
    assert_minimal(c, minimize_quartic(c))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_coefficients_give_nan(bad):
    for k in range(1, 5):
        c = [0.0, -1.0, 1.0, 0.0, 1.0]
        c[k] = bad
        assert math.isnan(minimize_quartic(c))


# ---------------------------------------------------------------------------------------------- minimize_smooth


def counted(derivatives):
    asked = []
    return asked, lambda t: (asked.append(t), derivatives(t))[1]


@settings(max_examples=60, deadline=None)
@given(st.floats(-12, 12), st.floats(-8, 8), st.floats(0.5, 6.0))
def test_smooth_finds_the_minimiser_at_any_scale(log_place, log_size, power):
    """f = size·(|t − place|^(power+1) sort of): f' = size·sign·|t/place − 1|^power, C¹ and convex for power >= 1."""
    place, size = 10.0**log_place, 10.0**log_size
    power = max(power, 1.0)

    def derivatives(t):
        z = t / place - 1.0
        return size * math.copysign(abs(z) ** power, z), size / place * power * abs(z) ** (power - 1.0)

    found = minimize_smooth(derivatives)
    # |f'| <= 1e-12 |f'(0)| means |z|^power <= 1e-12
    assert abs(found / place - 1.0) <= 2.0 * (1e-12) ** (1.0 / power)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_smooth_begins_at_the_newton_step_whatever_the_unit_of_the_function(size):
    """On a parabola that step is the answer: slope and curvature are asked for at 0 and there."""
    asked, f = counted(lambda t: (size * (t - 1e6), size))
    assert minimize_smooth(f) == pytest.approx(1e6)
    assert len(asked) <= 3


def test_smooth_on_a_piecewise_quadratic_with_a_flat_start():
    """Squared hinge: zero curvature beyond the kink, generalised second derivative in it."""

    def derivatives(t):
        h = max(0.0, 3.0 - t)
        return -2.0 * h + 0.5 * t, (2.0 if h > 0 else 0.0) + 0.5

    assert minimize_smooth(derivatives) == pytest.approx(6.0 / 2.5, rel=1e-11)
    assert minimize_smooth(derivatives, upper=1.0) == 1.0


@pytest.mark.parametrize("place", [1.1, 2.6, 2.9, 2.999])
def test_a_minimiser_next_to_a_wall_is_found(place):
    """F' is not finite from 3 on; trial steps that meet the wall are halved back, and the search goes on below it."""

    def derivatives(t):
        return (t**3 - place**3, 3.0 * t * t) if t < 3.0 else (math.nan, math.nan)

    assert minimize_smooth(derivatives, tol=1e-12) == pytest.approx(place, rel=1e-9)


def test_rounding_of_the_derivative_is_not_bisected():
    """f' = 1e-13 (t − 1), known to 1e-14 only, beside f = 1: below that no root is sought, and above it is found."""
    asked, f = counted(lambda t: (1e-13 * (t - 1.3) + 1e-14 * math.copysign(1.0, math.sin(1e9 * t)), 1e-15))
    found = minimize_smooth(f, value=lambda t: 1.0 + 0.5e-13 * (t - 1.3) ** 2)
    assert abs(1e-13 * (found - 1.3)) <= 3e-14
    assert len(asked) <= 20


@pytest.mark.parametrize(
    ("slope", "bend", "value"),
    [(1e-6, 1e8, lambda t: 1.0 - 1e-6 * t), (1e-20, 1e-8, None), (1.0, 1e12, None), (1e20, 1e32, None)],
)
def test_a_sharp_kink_is_found_beside_a_large_value_and_in_any_unit(slope, bend, value):
    """A wall behind a gentle slope takes bisection: far from the rounding of F, and, without values, of none."""

    def derivatives(t):
        return (-slope, 0.0) if t < 0.7 else (-slope + bend * (t - 0.7), bend)

    assert minimize_smooth(derivatives, value=value) == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("first", [1.0, 0.5, 0.25])
def test_a_smooth_minimiser_is_no_maximum_at_which_the_slope_vanishes(first):
    """log(1 + (1e8 (1 − t)² − 1)²) is largest at t = 1 between its minima 1 ∓ 1e-4."""

    def value(t):
        return math.log1p((1e8 * (1.0 - t) ** 2 - 1.0) ** 2)

    def derivatives(t):
        u, slope = 1e8 * (1.0 - t) ** 2 - 1.0, -2e8 * (1.0 - t)
        outer = 2.0 * u / (1.0 + u * u)
        return outer * slope, 2.0 * (1.0 - u * u) / (1.0 + u * u) ** 2 * slope**2 + 2e8 * outer

    assert derivatives(1.0)[0] == 0.0
    assert derivatives(1.0)[1] < 0.0
    found = minimize_smooth(derivatives, first=first, value=value)
    assert abs(abs(found - 1.0) - 1e-4) < 1e-9


def test_smooth_newton_steps_are_few_and_a_first_step_is_taken_also_where_f_bends_down():
    asked, f = counted(lambda t: (t - 3.0 + 0.1 * (t - 3.0) ** 3, 1.0 + 0.3 * (t - 3.0) ** 2))
    assert minimize_smooth(f) == pytest.approx(3.0, rel=1e-12)
    assert len(asked) <= 12
    for derivatives, minimum in (
        (lambda t: (2.0 * (t - 3.0), 2.0), 3.0),
        (lambda t: (-1.0 - t + t**3, -1.0 + 3.0 * t * t), 1.324717957244746),
    ):
        asked, f = counted(derivatives)
        assert minimize_smooth(f, first=0.01) == pytest.approx(minimum, rel=1e-9)
        assert asked[:2] == [0.0, 0.01]


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
    for level in (0.0, 5.0, -1e9):  # values that tie with the start send for no nearer minimum
        assert minimize_smooth(lambda t: (t - 3.0, 1.0), value=lambda t, level=level: level) == pytest.approx(3.0)
