"""Exact minimisation of one-variable models: quartics, and C¹ functions with two derivatives."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS

Derivatives = Callable[[float], tuple[float, float]]
Cubic = tuple[float, float, float, float]


def quartic(c: Sequence[float], mu: float) -> float:
    """c0 + c1 mu + ... + c4 mu⁴."""
    return c[0] + mu * (c[1] + mu * (c[2] + mu * (c[3] + mu * c[4])))


def quartic_derivatives(c: Sequence[float], mu: float) -> tuple[float, float]:
    """First and second derivative of :func:`quartic` at mu."""
    first = c[1] + mu * (2.0 * c[2] + mu * (3.0 * c[3] + mu * 4.0 * c[4]))
    return first, 2.0 * c[2] + mu * (6.0 * c[3] + mu * 12.0 * c[4])


def minimize_quartic(c: Sequence[float], upper: float = math.inf) -> float:
    """Argmin over mu in [0, upper] of c0 + c1 mu + ... + c4 mu⁴; inf if unbounded below on it.

    Every positive stationary point is a candidate, not only those below 1. The roots of F'' divide F' into
    monotone pieces; in each piece with a sign change, Newton steps within a bisection run until the point no longer
    moves, so that the result is exact to rounding for any scaling of the coefficients. Returns 0.0 if no positive point
    is better.
    Yuan et al., algorithm 1, lines 13-16, corrected. Cost O(1).
    """
    c1, c2, c3, c4 = map(float, c[1:5])
    if not all(map(math.isfinite, (c1, c2, c3, c4))):
        return math.nan
    unit = _unit(c1, c2, c3, c4)
    c1, c2, c3, c4 = c1 * unit, c2 * unit**2, c3 * unit**3, c4 * unit**4
    scale = max(abs(c1), abs(c2), abs(c3), abs(c4))
    if scale == 0.0:
        return 0.0
    c1, c2, c3, c4 = c1 / scale, c2 / scale, c3 / scale, c4 / scale
    top = upper / unit
    leading = next((x for x in (c4, c3, c2, c1) if x != 0.0), 0.0)
    if leading < 0.0 and math.isinf(top):
        return math.inf
    best, least = 0.0, 0.0
    for t in _stationary_points(c1, c2, c3, c4, top) + ([top] if math.isfinite(top) else []):
        value = t * (c1 + t * (c2 + t * (c3 + t * c4)))
        if value < least:
            best, least = t, value
    return best * unit


def _unit(c1: float, c2: float, c3: float, c4: float) -> float:
    """A power of two such that the coefficients in mu/unit are balanced (geometric slope of |c_k|)."""
    c = (c1, c2, c3, c4)
    present = [k for k in range(4) if c[k] != 0.0]
    if len(present) < 2:
        return 1.0
    first, last = present[0], present[-1]
    exponent = round((math.log2(abs(c[first])) - math.log2(abs(c[last]))) / (last - first))
    return math.ldexp(1.0, max(-250, min(250, exponent)))


def _stationary_points(c1: float, c2: float, c3: float, c4: float, top: float) -> list[float]:
    cubic = (c1, 2.0 * c2, 3.0 * c3, 4.0 * c4)
    leading = next((abs(x) for x in cubic[:0:-1] if x != 0.0), 0.0)
    if leading == 0.0:
        return []
    # Cauchy's bound: all roots of the derivative lie below it
    bound = 1.0 + max(abs(c1), abs(2 * c2), abs(3 * c3)) / leading
    end = min(top, bound)
    knots = [0.0, *sorted(t for t in _quadratic_roots(2 * c2, 6 * c3, 12 * c4) if 0.0 < t < end), end]
    roots = []
    for left, right in pairwise(knots):
        at_left, at_right = _at(cubic, left), _at(cubic, right)
        if at_left == 0.0 and left > 0.0:
            roots.append(left)
        if (at_left < 0.0 < at_right) or (at_right < 0.0 < at_left):  # a product could underflow
            roots.append(_root(cubic, left, right, at_left))
    return roots


def _quadratic_roots(a0: float, a1: float, a2: float) -> list[float]:
    """Real roots of a0 + a1 t + a2 t², computed without cancellation."""
    if a2 == 0.0:
        return [-a0 / a1] if a1 != 0.0 else []
    discriminant = a1 * a1 - 4.0 * a0 * a2
    if discriminant < 0.0:
        return []
    q = -0.5 * (a1 + math.copysign(math.sqrt(discriminant), a1))
    roots = [q / a2]
    if q != 0.0:
        roots.append(a0 / q)
    return [t for t in roots if math.isfinite(t)]


def _at(cubic: Cubic, t: float) -> float:
    a0, a1, a2, a3 = cubic
    return a0 + t * (a1 + t * (a2 + t * a3))


def _root(cubic: Cubic, left: float, right: float, at_left: float) -> float:
    """Root of a cubic that is monotone in (left, right): Newton steps, the first from `left`, inside a bisection.

    Ends once a Newton step no longer moves the point, or the bracket has closed up to rounding.
    """
    a0, a1, a2, a3 = cubic
    derivative = a1 + left * (2.0 * a2 + left * 3.0 * a3)
    t, last = left - at_left / derivative if derivative != 0.0 else math.inf, math.inf
    if not left < t < right:
        t = 0.5 * (left + right)
    for _ in range(200):
        at_t, derivative = a0 + t * (a1 + t * (a2 + t * a3)), a1 + t * (2.0 * a2 + t * 3.0 * a3)
        if at_t == 0.0:
            return t
        if (at_t < 0.0) == (at_left < 0.0):
            left = t
        else:
            right = t
        move = -at_t / derivative if derivative != 0.0 else math.inf
        # if Newton steps do not shrink fast (an inflection, a nearly multiple root), the bracket is halved
        if left < t + move < right and abs(move) <= 0.5 * last:
            last = abs(move)
            if last <= EPS * t:
                return t + move
            t += move
            continue
        last = 0.5 * (right - left)
        t = left + last
        if last <= EPS * right:
            return t
    return t


def minimize_smooth(
    derivatives: Derivatives,
    upper: float = math.inf,
    first: float | None = None,
    tol: float = 1e-12,
    value: Callable[[float], float] | None = None,
) -> float:
    """A minimiser over [0, upper] of a C¹ function given by (f', f''), from 0 downhill.

    Doubling brackets a sign change of f'. Newton steps inside the bracket follow, and bisection if they leave it (of
    the exponent after fifty steps): for convex or piecewise quartic functions exact to `tol` in relative |f'|; if
    `value` is given, no further than to the rounding of f'.
    The point stays below the first trial at which f' is not finite. If `value` is given and doubling
    has passed a maximum and found a minimum above f(0), a nearer minimum is sought.
    Returns 0.0 if f'(0) > 0, or = 0 and not a ridge; inf if f' stays negative up to 2^200 times the
    first step and `upper` is infinite; nan if no point beyond 0 is finite.
    """
    slope0, curvature = derivatives(0.0)
    if slope0 == 0.0 and curvature < 0.0:
        # f'(0) = 0 at a maximum, as along a new column of Y: the slope is measured beyond 0
        first = next((t for t in (0.5**k for k in range(200)) if derivatives(t)[0] < 0.0), 0.0)
        slope0 = derivatives(first)[0]
    if not slope0 < 0.0:
        return 0.0 if slope0 >= 0.0 else math.nan
    step = first or (-slope0 / curvature if curvature > 0.0 else 1.0)
    at_zero = 0.0 if value is None else value(0.0)
    rounding = EPS * abs(at_zero)
    found = _smooth_downhill(derivatives, slope0, step, upper, tol, rounding)
    if value is None or not math.isfinite(found):
        return found
    for _ in range(60):
        at_found = value(found)
        if at_found <= at_zero + 64.0 * EPS * max(abs(at_zero), abs(at_found)):
            break
        found = _smooth_downhill(derivatives, slope0, 0.125 * found, 0.5 * found, tol, rounding)
    return found


def _smooth_downhill(
    derivatives: Derivatives, slope0: float, t: float, upper: float, tol: float, rounding: float
) -> float:
    left, low, wall = 0.0, slope0, math.inf
    for _ in range(200):
        t = min(t, upper)
        at_t, curvature = derivatives(t)
        if not math.isfinite(at_t):
            wall, t = t, 0.5 * (left + t)
            if not left < t < wall:
                return left if left > 0.0 else math.nan
            continue
        if at_t >= 0.0 or t == upper:
            break
        left, low = t, at_t
        t = min(2.0 * t, 0.5 * (t + wall))
        if t >= wall or t <= left:
            return left
    else:
        return math.inf if math.isinf(wall) else left if left > 0.0 else math.nan
    maximum = curvature < 0.0  # f' also vanishes at a maximum, with a minimum before it
    if at_t < 0.0 or (at_t == 0.0 and not maximum):
        return t
    right = t
    high = at_t
    least, best, stale = math.inf if maximum else at_t, t, 0
    for k in range(100):
        if least <= tol * abs(slope0) or right - left <= 4.0 * EPS * right:
            break
        # f varies only by rounding within the bracket, and so does the rest of f'
        if stale >= ROUNDS and (right - left) * max(-low, high) <= rounding:
            break
        newton = t - at_t / curvature if curvature > 0.0 else math.nan
        middle = 0.5 * (left + right) if k < 50 else math.sqrt(left or sys.float_info.min) * math.sqrt(right)
        t = newton if left < newton < right else middle
        at_t, curvature = derivatives(t)
        if at_t < 0.0:
            left, low = t, at_t
        else:
            right, high = t, at_t
        stale = 0 if abs(at_t) <= 0.5 * least else stale + 1
        if abs(at_t) < least and not curvature < 0.0:
            least, best = abs(at_t), t
    return best
