"""Exact searches: quartics against rational arithmetic, C¹ functions, convex quadratics in a box."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from psdopt.linalg.polynomials import minimize_quadratic_in_box, minimize_quartic, minimize_smooth
from psdopt.linalg.tolerances import EPS

from . import exact

#: Rounding errors in one evaluation of a quartic, with room for the scaling by powers of two.
VALUE_ERROR = 64 * EPS


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
@given(
    spread(-20, 20).filter(lambda x: x > 0),
    st.tuples(*[spread(-9, 9)] * 3),
)
@example(1.0, (1e-9, 1.0, 1e9))
@example(1.0, (1.0, 1.0, 2.0))
@example(1.0, (1.0, 2.0, 2.0))
@example(1.0, (3.0, 3.0, 3.0))
@example(1e-20, (-1e9, 1e-9, 1e9))
def test_quartic_with_given_stationary_points(scale, roots):
    c = from_roots(scale, roots)
    assume(all(map(math.isfinite, c)))
    assert_minimal(c, minimize_quartic(c))


def test_the_check_rejects_a_local_minimiser_and_the_printed_restriction():
    """The oracle is not vacuous: the worse of two minima, and the start that 0 < mu < 1 would return, fail it."""
    c = from_roots(1.0, (1.0, 2.0, 4.0))  # minima at 1 and 4, the second is deeper
    assert minimize_quartic(c) == pytest.approx(4.0, rel=1e3 * EPS)
    for wrong in (1.0, 2.0, 0.0, 4.001):
        with pytest.raises(AssertionError):
            assert_minimal(c, wrong)


def test_step_beyond_one_of_the_erratum():
    """E-L5: F = .01 L⁴ − .02 L² from L = .5 has its only positive root far beyond 1."""
    slope = 4 * 0.01 * 0.5**3 - 2 * 0.02 * 0.5
    y, d = 0.5, -slope
    F = np.polynomial.Polynomial([0, 0, -0.02, 0, 0.01])(np.polynomial.Polynomial([y, d]))
    mu = minimize_quartic(F.coef)
    assert y + mu * d == pytest.approx(1.0, rel=1e3 * EPS)
    assert mu == pytest.approx(0.5 / 0.015, rel=1e3 * EPS)
    assert mu > 33.0


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 100.0), spread(-5, 5), spread(-5, 5), spread(-5, 5))
def test_a_descent_direction_always_has_a_positive_root(slope, c2, c3, c4):
    """E-L6: for c4 > 0 and c1 < 0 the cubic always has a positive root, which is found."""
    assume(c4 != 0.0)
    c = [0.0, -slope, c2, c3, abs(c4)]
    found = minimize_quartic(c)
    assert 0.0 < found < math.inf
    assert_minimal(c, found)


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        ([5, 0, 0, 0, 0], 0.0),  # constant
        ([0, 1, 0, 0, 0], 0.0),
        ([0, -1, 0, 0, 0], math.inf),
        ([0, -2, 1, 0, 0], 1.0),
        ([0, 0, -1, 0, 0], math.inf),
        ([0, 0, -1, 1, 0], 2 / 3),  # cubic
        ([0, 3, -3, 1, 0], 0.0),  # stationary inflection at 1
        ([0, 0, 0, 0, -1], math.inf),
        ([0, 0, -1, 0, 1], math.sqrt(0.5)),  # no slope at 0
        ([0, 0, 0, -1, 1], 0.75),  # no slope and no curvature at 0
        ([0, 1, -4, 0, 1], None),  # ascent first, deeper later
        ([0, 0, 0, 0, 1], 0.0),
    ],
)
def test_degenerate_degrees(c, expected):
    found = minimize_quartic(c)
    if expected is None:
        assert_minimal([float(x) for x in c], found)
        assert found > 0.0
    else:
        assert found == pytest.approx(expected, rel=64 * EPS)


def test_upper_bound_and_bounds_that_leave_nothing():
    c = [0.0, -2.0, 1.0, 0.0, 0.0]
    assert minimize_quartic(c, 0.25) == 0.25
    assert minimize_quartic(c, 7.0) == pytest.approx(1.0)
    assert minimize_quartic(c, 0.0) == 0.0
    assert minimize_quartic([0, -1, 0, 0, 0], 3.0) == 3.0
    assert minimize_quartic([0, 0, 0, 0, -1], 3.0) == 3.0


def test_slopes_whose_product_underflows_still_bracket_a_root():
    """From a sign test by product, 1e-170 · −1e-170 = −0.0 would hide the root."""
    c = [0.0, -1e-170, 1e-170, 0.0, 0.0]
    assert minimize_quartic(c) == pytest.approx(0.5)
    wide = [0.0, -1e-300, 0.5, 0.0, 1e-10]
    assert minimize_quartic(wide) == pytest.approx(1e-300, rel=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_coefficients_give_nan(bad):
    for k in range(1, 5):
        c = [0.0, -1.0, 1.0, 0.0, 1.0]
        c[k] = bad
        assert math.isnan(minimize_quartic(c))


# ---------------------------------------------------------------------------------------------- minimize_smooth


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


def test_smooth_on_a_piecewise_quadratic_with_a_flat_start():
    """Squared hinge: zero curvature beyond the kink, generalised second derivative in it."""

    def derivatives(t):
        h = max(0.0, 3.0 - t)
        return -2.0 * h + 0.5 * t, (2.0 if h > 0 else 0.0) + 0.5

    assert minimize_smooth(derivatives) == pytest.approx(6.0 / 2.5, rel=1e-11)
    assert minimize_smooth(derivatives, upper=1.0) == 1.0
    assert minimize_smooth(lambda t: (1.0, 0.0)) == 0.0
    assert minimize_smooth(lambda t: (-1.0, 0.0)) == math.inf
    assert minimize_smooth(lambda t: (-1.0, 0.0), upper=5.0) == 5.0
    assert math.isnan(minimize_smooth(lambda t: (math.nan, 1.0)))
    assert math.isnan(minimize_smooth(lambda t: (-1.0 if t == 0 else math.nan, 1.0)))


# ------------------------------------------------------------------------------------ minimize_quadratic_in_box


def box_objective(g, H, x):
    x = np.asarray(x)
    return float(g @ x + 0.5 * x @ H @ x)


def optimality_defect(g, H, x, lo, hi):
    """Largest violation of the box's first-order conditions, in units in which H has a unit diagonal, relative."""
    x, unit = np.asarray(x), 1.0 / np.sqrt(np.diagonal(H))
    slope, size = (g + H @ x) * unit, float(np.max((np.abs(g) + np.abs(H) @ np.abs(x)) * unit))
    violated = np.where(x < hi, np.maximum(0.0, -slope), 0.0) + np.where(x > lo, np.maximum(0.0, slope), 0.0)
    return float(np.max(violated)) / size if size > 0.0 else 0.0


@st.composite
def boxes(draw):
    lo = np.array([draw(st.sampled_from([0.0, 0.0, 0.3])), draw(st.sampled_from([0.0, 0.0, 0.1]))])
    width = [draw(st.sampled_from([math.inf, math.inf, 0.0, 1.0, 1e-3])) for _ in range(2)]
    return lo, lo + np.array(width)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0.0, 1.5), st.floats(-8, 0), st.tuples(st.floats(-8, 8), st.floats(-8, 8)),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)), boxes(), st.booleans(),
)  # fmt: skip
def test_box_minimum_satisfies_first_order_conditions_in_any_units(angle, log_small, log_units, target, box, in_units):
    """H = R diag(1, small) Rᵀ, then each variable in its own unit: M and vvᵀ differ in size by orders of magnitude."""
    units = 10.0 ** np.array(log_units)
    c, s = math.cos(angle), math.sin(angle)
    R = np.array([[c, -s], [s, c]])
    core = R @ np.diag([1.0, 10.0**log_small]) @ R.T
    H = core * np.outer(units, units)
    g = -(core @ np.array(target)) * units
    lo, hi = box
    if in_units:
        lo, hi = lo / units, hi / units
    x = minimize_quadratic_in_box(g, H, lo, hi)
    assert np.all(np.isfinite(x))
    assert lo[0] <= x[0] <= hi[0]
    assert lo[1] <= x[1] <= hi[1]
    assert optimality_defect(g, H, x, lo, hi) <= 256 * EPS / 10.0**log_small


def test_the_box_check_rejects_wrong_answers():
    g, H = np.array([-1.0, -1.0]), np.array([[2.0, 1.0], [1.0, 2.0]])
    lo, hi = np.zeros(2), np.full(2, math.inf)
    x = minimize_quadratic_in_box(g, H, lo, hi)
    assert x == pytest.approx((1 / 3, 1 / 3))
    assert optimality_defect(g, H, x, lo, hi) <= 64 * EPS
    for wrong in ((0.5, 0.0), (0.0, 0.5), (0.3, 0.3), (0.0, 0.0)):
        assert optimality_defect(g, H, wrong, lo, hi) > 0.01


@settings(max_examples=100, deadline=None)
@given(st.tuples(spread(-1, 1).filter(bool), spread(-12, 1)), st.floats(-6, 6), spread(-5, 1), boxes())
def test_dependent_measurement_vectors(direction, log_scale, at, box):
    """H = aaᵀ of rank one and g in its range: the value of the best point matches the one-variable problem."""
    a = np.array(direction) * 10.0**log_scale
    H, g = np.outer(a, a), -at * a
    lo, hi = box
    x = minimize_quadratic_in_box(g, H, lo, hi)
    assert np.all(np.isfinite(x))
    products = [float(a @ np.array(p)) for p in itertools.product((lo[0], min(hi[0], 1e40)), (lo[1], min(hi[1], 1e40)))]
    best = min(max(at, min(products)), max(products))
    size = 0.5 * (abs(at) + float(np.abs(a) @ np.abs(x))) ** 2
    allowed = 1e4 * EPS * max(size, best**2 + abs(at * best))
    assert abs(box_objective(g, H, x) - (0.5 * best**2 - at * best)) <= allowed


@pytest.mark.parametrize(
    ("g", "H", "hi", "expected"),
    [
        ([0, 0], [[0, 0], [0, 0]], [math.inf, math.inf], (0.0, 0.0)),
        ([0, -2], [[0, 0], [0, 2]], [math.inf, math.inf], (0.0, 1.0)),  # M = 0: alpha is idle
        ([1, -2], [[0, 0], [0, 2]], [math.inf, math.inf], (0.0, 1.0)),
        ([-1, 0], [[0, 0], [0, 2]], [math.inf, math.inf], (math.inf, 0.0)),
        ([0, -1], [[2, 0], [0, 0]], [math.inf, math.inf], (0.0, math.inf)),
        ([-1, -1], [[0, 0], [0, 0]], [2.0, 3.0], (2.0, 3.0)),
        ([-1, -1], [[1, -1], [-1, 1]], [math.inf, math.inf], (math.inf, math.inf)),  # diagonal ray
        ([-1, 1], [[1, -1], [-1, 1]], [math.inf, math.inf], (1.0, 0.0)),  # diagonal is flat
        ([-4, 1e8], [[1, 1], [1, 1]], [math.inf, math.inf], (4.0, 0.0)),
    ],
)
def test_singular_and_unbounded_boxes(g, H, hi, expected):
    x = minimize_quadratic_in_box(np.array(g, float), np.array(H, float), [0.0, 0.0], hi)
    assert x == pytest.approx(expected)


def test_coinciding_bounds_pin_a_coordinate():
    g, H = np.array([-1.0, -1.0]), np.array([[2.0, 1.0], [1.0, 2.0]])
    assert minimize_quadratic_in_box(g, H, [0.5, 0.0], [0.5, math.inf]) == pytest.approx((0.5, 0.25))
    assert minimize_quadratic_in_box(g, H, [0.0, 0.0], [math.inf, 0.0]) == pytest.approx((0.5, 0.0))
    assert minimize_quadratic_in_box(g, H, [0.2, 0.3], [0.2, 0.3]) == pytest.approx((0.2, 0.3))


def test_a_small_variable_is_not_taken_for_a_singular_matrix():
    """Curvatures 1 and 1e-20 in their own units: found by the old code as singular, alpha only was moved."""
    H = np.array([[1.0, 0.5e-10], [0.5e-10, 1e-20]])
    g = -H @ np.array([1.0, 1e10])
    assert minimize_quadratic_in_box(g, H, [0, 0], [math.inf, math.inf]) == pytest.approx((1.0, 1e10))


def test_extreme_magnitudes_raise_nothing():
    a = np.array([1.0, 4e-242])
    for at in (1e-76, 1.0, 1e200):
        x = minimize_quadratic_in_box(-at * a, np.outer(a, a), [0, 0], [1.0, 1.0])
        assert np.all(np.isfinite(x))


def test_non_finite_box_data_give_nan():
    assert all(map(math.isnan, minimize_quadratic_in_box(np.array([math.nan, 0]), np.eye(2), [0, 0], [1, 1])))


def test_of_candidates_that_are_nearly_level_the_least_counts():
    """Next to a singular H a point far from the minimiser may have as small a gradient: exact arithmetic tells."""
    g, c = (-1.0, -1.0000000018532968), 0.9999999945326399
    found = minimize_quadratic_in_box(np.array(g), np.array([[1.0, c], [c, 1.0]]), [0.0, 0.0], [math.inf, math.inf])

    def value(x):
        a, b = map(Fraction, x)
        return Fraction(g[0]) * a + Fraction(g[1]) * b + (a * a + b * b) / 2 + Fraction(c) * a * b

    pull = [Fraction(-g[0]), Fraction(-g[1])]
    best = [(pull[0] - Fraction(c) * pull[1]), (pull[1] - Fraction(c) * pull[0])]
    best = [part / (1 - Fraction(c) ** 2) for part in best]
    assert min(best) > 0  # the minimiser lies inside, and is the least of the whole plane
    assert value(found) - value(best) <= Fraction(64 * EPS)
    assert value((0.0, -g[1])) - value(best) > Fraction(1e-10)  # the end of the edge with as small a gradient
