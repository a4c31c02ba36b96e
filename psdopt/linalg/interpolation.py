"""Minimisation along a line of a function whose every value and slope is dear, by polynomials through them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from psdopt.linalg.polynomials import minimize_quartic
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, tie

#: Points that are tried; where these do not suffice, the function is no polynomial at this scale.
TRIALS = 8


class Trial(NamedTuple):
    """A function of one number at t: its value and its slope."""

    t: float
    value: float
    slope: float


def minimize_interpolated(
    sample: Callable[[float], tuple[float, float]],
    start: tuple[float, float],
    bend: float | None,
    first: float,
    upper: float = math.inf,
    share: float = 0.0,
    searched: bool = False,
) -> float | None:
    """A minimiser over (0, upper] of a C¹ function that falls at 0, or has a maximum there; None if not found.

    To the rounding of its values, or to `share`.

    The first model is the quartic through value, slope and second derivative at 0 (`start`, `bend`) and value and slope
    at `first` > 0; without `bend`, where its minimiser is outside the bracket, and from then on, the cubic through the
    last two points. Each next point is the minimiser of the model, within the bracket once there is one. The end: the
    decrease that is left, slope²/2f'' by the model that led there, is below the rounding of the value, or, from the
    second point on, at most `share` of the decrease so far. A quartic therefore takes two points, or one if `first` is
    its minimiser. `searched` : the first point counts as a second one. Cost: one `sample`, (value, slope), a point.
    """
    last, t, curvature = Trial(0.0, *start), min(first, upper), bend or math.nan
    origin = last
    left, right = 0.0, math.inf
    downhill = last.slope < 0.0 or (last.slope == 0.0 and bend is not None and bend < 0.0)
    if not downhill or not 0.0 < t < math.inf:
        return None
    for trial in range(TRIALS):
        here = Trial(t, *sample(t))
        if not math.isfinite(here.value) or not math.isfinite(here.slope):
            return None
        if here.slope < 0.0:
            left = max(left, t)
        else:
            right = min(right, t)
        if t == upper and here.slope <= 0.0:
            return t if here.value <= origin.value else None
        if _at_rest(origin, here, curvature, share if trial or searched else 0.0):
            return t
        models = [_by_cubic(last, here)] if bend is None else [_by_quartic(last, bend, here), _by_cubic(last, here)]
        middle = 0.5 * (left + right) if right < math.inf else 2.0 * left
        inside = [model for model in models if left < model[0] < right]
        target, curvature = (*inside, (middle, math.nan))[0]
        bend = None
        last, t = here, min(target, upper)
    return None


def minimize_by_values(
    value: Callable[[float], float],
    start: tuple[float, float],
    bend: float | None,
    first: float,
    upper: float = math.inf,
    share: float = SLIGHT,
) -> float | None:
    """A point of (0, upper] at which a function that falls at 0 has most of its decrease; None if not found.

    For functions whose slopes cost several values. The model is the polynomial through value and slope at 0
    (`start`), the second derivative there, if `bend` is known, and the last two values. Each next point is its
    minimiser; the end: it is lower than the last point by at most `share` of the decrease so far, by the model. Its own
    value is not asked for. Where values are rounding it is the minimiser of the first model, or none. Cost: one `value`
    for each point; a parabola takes one or two, a quartic of known `bend` one more.
    """
    origin, slope = start
    head = [0.0, slope] if bend is None else [0.0, slope, 0.5 * bend]
    t, last = min(first, upper), cast("tuple[float, float] | None", None)
    if not slope < 0.0 or not 0.0 < t < math.inf:
        return None
    for _ in range(TRIALS):
        rise = value(t) - origin
        if not math.isfinite(rise):
            return None
        if EPS * max(abs(origin), abs(origin + rise)) > SLIGHT * share * -slope * t:
            return None if last is None else t
        rest = (rise - _at(head, t)) / t / t / (1.0 if bend is None else t)  # t³ may overflow
        bent = 0.0 if last is None else (rest - last[1]) / (t - last[0])
        model, last = [*head, rest - bent * t, bent], (t, rest)
        best = minimize_quartic([*model, 0.0], min(upper, t / SLIGHT))
        if rise - _at(model, best) <= share * -rise:
            return best
        if not best > 0.0 or best == t:
            return None
        t = best
    return None


def _at(coefficients: Sequence[float], t: float) -> float:
    """c_0 + c_1 t + c_2 t² + ..."""
    found = 0.0
    for c in reversed(coefficients):
        found = found * t + c
    return found


def _at_rest(origin: Trial, here: Trial, curvature: float, share: float) -> bool:
    """Whether the decrease that is left is rounding of the value, or at most `share` of the decrease so far, and the
    slope is slight beside the first, or beside the mean one where the first is 0."""
    if not curvature > 0.0 or here.value > origin.value + tie(origin.value, here.value):
        return False
    left, fall = here.slope * here.slope / (2.0 * curvature), origin.value - here.value
    allowed, steepest = max(tie(here.value, origin.value), share * fall), max(abs(origin.slope), 2.0 * fall / here.t)
    return (left <= allowed and abs(here.slope) <= SLIGHT * steepest) or here.slope == 0.0


def _mean_slope(a: Trial, b: Trial) -> float | None:
    """That of the values between two points; None where it is mostly their rounding."""
    length = b.t - a.t
    change = abs(length) * max(abs(a.slope), abs(b.slope))
    if EPS * max(abs(a.value), abs(b.value)) > MINOR * change:
        return None
    return (b.value - a.value) / length


def _by_quartic(a: Trial, bend: float, b: Trial) -> tuple[float, float]:
    """(minimiser, second derivative there) of the quartic through both points and the second derivative at a, a.t = 0.

    Where values are rounding, of the cubic through the slopes.
    """
    t, mean = b.t, _mean_slope(a, b)
    ahead = b.slope - a.slope - bend * t
    c2 = ahead if mean is None else 12.0 * (mean - a.slope - 0.5 * bend * t) - 3.0 * ahead
    c3 = ahead - c2
    u = minimize_quartic([0.0, a.slope * t, 0.5 * bend * t * t, c2 * t / 3.0, c3 * t / 4.0])
    return u * t, bend + (2.0 * c2 + 3.0 * c3 * u) * u / t


def _by_cubic(a: Trial, b: Trial) -> tuple[float, float]:
    """(minimiser, second derivative there) of the cubic through both points; of the parabola where values are rounding.

    nan where there is none.
    """
    length, mean = b.t - a.t, _mean_slope(a, b)
    if length == 0.0:
        return math.nan, math.nan
    c2 = 0.0 if mean is None else 3.0 * (a.slope + b.slope - 2.0 * mean)
    # the slope is b.slope + c1 w + c2 w² at t = b.t + w (b.t - a.t)
    c1 = b.slope - a.slope + c2
    square = c1 * c1 - 4.0 * c2 * b.slope
    root = math.copysign(math.sqrt(max(square, 0.0)), length)  # c1 + 2 c2 w there, where the slope rises in t
    if square < 0.0 or c1 + root == 0.0:
        return math.nan, math.nan
    return b.t - 2.0 * b.slope / (c1 + root) * length, root / length
