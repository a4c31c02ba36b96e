"""A line search with many trial steps per round, since each round of requests has a latency."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import MOST_STEPS

#: Trial steps of one round, as multiples of the Newton step, from 2⁻⁸ to 2⁸: dense around 1, since Newton steps are
#: accurate near a solution.
TRIALS = 2.0 ** np.linspace(-2.0, 2.0, 25) ** 3

Derivatives = Callable[[Array], tuple[Array, Array]]


def bracket(
    derivatives: Derivatives, slope: float, bend: float, upper: float = math.inf
) -> tuple[Array, Array] | float:
    """Two steps 0 <= left < right with F'(left) < 0 <= F'(right), as rows (mu, F', F'') of two arrays (3,).

    `derivatives` gives F' and F'' at an array of steps, in one round; `slope` and `bend` are F' and F'' at 0. If there
    is no such pair, the result is a number: 0.0 if F does not fall, `upper` if F falls up to it (inf: without end), the
    last step with a finite F' if F' is not finite beyond. Usually one round.
    """
    if slope > 0.0 or (slope == 0.0 and bend >= 0.0) or math.isnan(slope):
        return 0.0 if not math.isnan(slope) else math.nan
    left = np.array([0.0, slope, bend])
    step = -slope / bend if bend > 0.0 and slope < 0.0 else 1.0
    if slope == 0.0:
        step *= 0.5**20  # F'(0) = 0 at a maximum: F falls only beyond 0, perhaps close to it
    for _ in range(MOST_STEPS):  # each round is farther out than the last
        mus = np.unique(np.minimum(step * TRIALS, upper))
        mus = mus[mus > left[0]]
        first, second = derivatives(mus)
        for mu, at, curvature in zip(mus, first, second, strict=True):
            if not math.isfinite(at):
                return float(left[0]) if left[0] > 0.0 else math.nan
            point = np.array([mu, at, curvature])
            if at >= 0.0 and left[1] < 0.0:
                return left, point
            if at < 0.0:
                left = point
        if mus[-1] >= upper:
            return upper
        step = float(mus[-1])
    return math.inf


def root_between(left: Array, right: Array) -> float:
    """The root in [left, right] of the cubic that interpolates F' and F'' at both ends; F' changes sign there.

    The cubic's error is of fourth order in the width of the bracket. Its root is found by bisection.
    """
    (a, fa, ga), (b, fb, gb) = left, right
    width = b - a

    def cubic(t: float) -> float:
        s = t * t * (3.0 - 2.0 * t)
        return float(fa + (fb - fa) * s + width * t * (1.0 - t) * ((1.0 - t) * ga - t * gb))

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cubic(middle) < 0.0 else (low, middle)
    return float(a + 0.5 * (low + high) * width)
