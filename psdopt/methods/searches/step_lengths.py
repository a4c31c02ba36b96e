"""Step lengths along the paths of a geometry."""

from __future__ import annotations

import math

from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, tie
from psdopt.methods.searches.paths import Path

#: Armijo's share of the predicted decrease.
SUFFICIENT = 1e-4


def halved(path: Path, value: float, slope: float, first: float, sufficient: float) -> float:
    """The first of first, first/2, first/4, ... with F(s) <= F(0) + sufficient · s · slope; 0.0 if there is none.

    Meyer et al., eq. (22) with the sign that makes it a decrease: slope = −|grad|² along −grad. A required decrease
    below the rounding of F counts as met, so that a search near the minimiser ends.
    """
    if not slope < 0.0:
        return 0.0
    noise = 8.0 * EPS * abs(value)
    s = min(first, path.longest)
    while s * -slope > noise * sufficient:
        hidden = s * -slope < 64.0 * noise
        if path.value(s) <= value + sufficient * s * slope + (noise if hidden else 0.0):
            return s
        s *= 0.5
    return 0.0


def modelled(path: Path, value: float, slope: float) -> float:
    """The minimiser along the tangent line, corrected by values of F on the curve; 0.0 if no step is accepted.

    If the curve is its tangent line, this minimiser is the step (inf if F is unbounded below along it). Otherwise the
    step is refined once by the parabola through F(0), F'(0) and F(s), if that changes it by more than a tenth, and
    halved until F decreases by Armijo's share of the decrease that the slope predicts. Where rounding of F hides that
    decrease and the values tie, a clearly smaller slope at s is enough; it costs one gradient.
    """
    if path.exact:
        s = path.tangent().nearly_minimize()
        if math.isnan(s):
            path.value(s)  # records a NaN in path.lost
        return s
    if not slope < 0.0:
        return 0.0
    s = path.tangent().minimize()
    if not 0.0 < s < math.inf:
        s = path.longest if math.isfinite(path.longest) else 1.0
    s = min(s, path.longest)
    trial = path.value(s)
    if math.isfinite(trial):
        excess = trial - value - slope * s
        better = -slope * s * s / (2.0 * excess) if excess > 0.0 else 2.0 * s
        better = min(max(better, 0.1 * s), 4.0 * s, path.longest)
        if _resolved(slope * s, value) and abs(better - s) > SLIGHT * s:
            second = path.value(better)
            if second < trial:
                s, trial = better, second
    if trial <= value + SUFFICIENT * s * slope or _flatter(path, s, trial, value, slope):
        return s
    return halved(path, value, slope, 0.5 * s, SUFFICIENT)


def _flatter(path: Path, s: float, trial: float, value: float, slope: float) -> bool:
    """Whether F at s ties with `value`, as the slope at 0 predicts, and the slope at s (a gradient) is clearly less.

    Values tie long before slopes do: known to eps, values of F locate a minimiser only to √eps, and slopes to eps.
    """
    tied = not _resolved(slope * s, value) and trial <= value + tie(value, value)
    return tied and abs(path.slope(s)) <= (1.0 - SLIGHT) * abs(slope)


def _resolved(decrease: float, value: float) -> bool:
    """Whether the rounding of F is a minor part of a `decrease`, so that values of F measure it."""
    return EPS * abs(value) < MINOR * abs(decrease)
