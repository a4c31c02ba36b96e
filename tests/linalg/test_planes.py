"""Minimisation over (alpha, beta): convex quadratics in a box, and the search for piecewise quadratic objectives."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from psdopt.linalg.planes import minimize_nested, minimize_plane, minimize_quadratic_in_box
from psdopt.linalg.tolerances import EPS

from .test_polynomials import spread


class Hinges:
    """Σ max(0, b − A x)² + gᵀx: convex, C¹, piecewise quadratic."""

    def __init__(self, A, b, g):
        self.A, self.b, self.g = A, b, g

    def value(self, alpha, beta):
        x = np.array([alpha, beta])
        return float(np.sum(np.maximum(0.0, self.b - self.A @ x) ** 2) + self.g @ x)

    def derivatives(self, alpha, beta):
        x = np.array([alpha, beta])
        h = np.maximum(0.0, self.b - self.A @ x)
        active = self.A[h > 0]
        return self.g - 2 * self.A.T @ h, 2 * active.T @ active


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([1e-4, 1.0, 1e4]), st.sampled_from([0.3, math.inf]))
def test_plane_minimiser_satisfies_first_order_conditions(seed, unit, top):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0.0, 1.0, (15, 2)), rng.uniform(0.5, 2.0, 15)
    A[:, 1] *= unit
    g = np.array([0.3, 0.3 * unit]) * rng.uniform(0, 1, 2)
    plane, upper = Hinges(A, b, g), (math.inf, top)
    x = np.array(minimize_plane(plane.value, plane.derivatives, (0.0, 0.0), upper))
    assert np.all(x >= 0.0)
    assert np.all(x <= upper)
    slope = plane.derivatives(*x)[0] / np.array([1.0, unit])
    size = np.abs(plane.derivatives(0.0, 0.0)[0] / np.array([1.0, unit])).max()
    for k in range(2):
        if x[k] < upper[k]:
            assert slope[k] >= -1e-5 * size
        if x[k] > 0:
            assert slope[k] <= 1e-5 * size
    # known-bad: a point moved away from it violates them
    worse = x + np.array([0.5, 0.0])
    assert plane.value(*worse) > plane.value(*x)


def test_plane_unbounded_below():
    plane = Hinges(np.zeros((1, 2)), np.zeros(1), np.array([0.0, -1.0]))
    assert not np.all(np.isfinite(minimize_plane(plane.value, plane.derivatives, (0.0, 0.0), (math.inf, math.inf))))
    assert minimize_plane(plane.value, plane.derivatives, (0.0, 0.0), (math.inf, 2.0))[1] == pytest.approx(2.0)


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


def test_a_small_variable_is_not_taken_for_a_singular_matrix():
    """Curvatures 1 and 1e-20 in their own units: found by the old code as singular, alpha only was moved."""
    H = np.array([[1.0, 0.5e-10], [0.5e-10, 1e-20]])
    g = -H @ np.array([1.0, 1e10])
    assert minimize_quadratic_in_box(g, H, [0, 0], [math.inf, math.inf]) == pytest.approx((1.0, 1e10))


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


def test_extreme_magnitudes_raise_nothing_and_what_is_no_number_gives_nan():
    """q(x) = −1e300 x₀ + x₀²/2 + x₁²/2 has its minimum −5e599 at x₀ = 1e300."""
    a, free = np.array([1.0, 4e-242]), [math.inf, math.inf]
    for at in (1e-76, 1.0, 1e200):
        assert np.all(np.isfinite(minimize_quadratic_in_box(-at * a, np.outer(a, a), [0, 0], [1.0, 1.0])))
    for g, upper in (([-1e300, 0.0], free), ([math.nan, 0.0], [1, 1])):
        assert all(map(math.isnan, minimize_quadratic_in_box(np.array(g), np.eye(2), [0, 0], upper)))
    assert minimize_quadratic_in_box(np.array([-1e150, 0.0]), np.eye(2), [0, 0], free)[0] == 1e150


class Straight:
    """weight Σ log cosh(scale (A x − b)): nearly straight pieces, with a Hessian that is rounding between the kinks."""

    def __init__(self, seed, scale, weight):
        rng = np.random.default_rng(seed)
        self.A, self.b, self.scale, self.weight = rng.uniform(0.0, 1.0, (9, 2)), rng.uniform(0.1, 2.0, 9), scale, weight

    def value(self, alpha, beta):
        a = np.abs(self.scale * (self.A @ [alpha, beta] - self.b))
        return self.weight * float(np.sum(a + np.log1p(np.exp(-2.0 * a)) - math.log(2.0)))

    def derivatives(self, alpha, beta):
        t = np.tanh(self.scale * (self.A @ [alpha, beta] - self.b))
        w = self.weight * self.scale
        return w * self.A.T @ t, w * self.scale * (self.A.T * (1.0 - t**2)) @ self.A


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("scale", "weight"), [(1e6, 1e-12), (1e6, 1.0), (1e3, 1e-3), (1e9, 1e-9)])
@pytest.mark.parametrize("upper", [(math.inf, math.inf), (0.9, 0.8)])
def test_nearly_straight_pieces_have_their_global_minimum(seed, scale, weight, upper):
    plane = Straight(seed, scale, weight)
    alpha, beta = minimize_plane(plane.value, plane.derivatives, (0.0, 0.0), upper)
    assert 0.0 <= alpha <= upper[0]
    assert 0.0 <= beta <= upper[1]
    found = plane.value(alpha, beta)
    # the same minimum, as a linear program: Σ |A x − b|, to which log cosh is as close as log 2 for each term
    answer = linprog(np.repeat([0.0, 1.0], [2, 9]), bounds=[(0.0, upper[0]), (0.0, upper[1]), *[(0.0, None)] * 9],
                     A_ub=np.block([[plane.A, -np.eye(9)], [-plane.A, -np.eye(9)]]),
                     b_ub=np.concatenate([plane.b, -plane.b]))  # fmt: skip
    least = weight * scale * answer.fun
    assert found <= least + 1e-9 * abs(least)
    grid = np.linspace(0.0, min(upper[0], 3.0), 25)
    assert found <= min(plane.value(a, min(b, upper[1])) for a in grid for b in grid) * (1.0 + 64 * EPS)


def test_nested_searches_find_minima_far_away_and_say_where_there_is_none():
    far = Hinges(np.array([[1.0, 0.0], [0.0, 1e-6]]), np.array([1e5, 1.0]), np.zeros(2))
    alpha, beta = minimize_nested(far.derivatives, (0.0, 0.0), (math.inf, math.inf))
    assert far.value(alpha, beta) <= 1e-20 * far.value(0.0, 0.0)
    falls = Hinges(np.array([[0.0, 1.0]]), np.array([1.0]), np.array([-1.0, 0.5]))
    alpha, beta = minimize_nested(falls.derivatives, (0.0, 0.0), (math.inf, math.inf))
    assert alpha == math.inf
    assert math.isfinite(beta)
    swapped = Hinges(falls.A[:, ::-1], falls.b, falls.g[::-1])
    assert minimize_nested(swapped.derivatives, (0.5, 0.0), (math.inf, math.inf)) == (0.5, math.inf)
    fixed = minimize_nested(far.derivatives, (1.0, 0.0), (1.0, 2e6))
    assert fixed == pytest.approx((1.0, 1e6))


@pytest.mark.parametrize("minimum", [minimize_plane, lambda value, *rest: minimize_nested(*rest)])
@pytest.mark.parametrize("slope", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
@pytest.mark.parametrize(("low", "top"), [((0.2, 0.1), (0.9, 0.8)), ((0.2, 0.7), (1.6, 0.9))])
def test_rounding_leads_out_of_no_box(minimum, slope, low, top):
    """A step of Newton's method from 1 to 0.2 ends at 1 + (0.2 − 1) < 0.2."""
    g = 1e-6 * np.array(slope)
    x = minimum(lambda a, b: float(g @ [a, b]), lambda a, b: (g, np.zeros((2, 2))), low, top)
    assert x == pytest.approx([low[k] if slope[k] > 0.0 else top[k] for k in (0, 1)])
    assert all(low[k] <= x[k] <= top[k] for k in (0, 1))
