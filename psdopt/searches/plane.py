"""Minimisation over (alpha, beta) in a box when F is convex but not quadratic in M."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.polynomials import minimize_quadratic_in_box

#: Where the local quadratic is unbounded, go this many times farther and let backtracking come back.
EXPANSION = 1000.0


class Plane(Protocol):
    """What the search needs of a plane model."""

    def value(self, alpha: float, beta: float) -> float: ...

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]: ...


def minimize_plane(
    plane: Plane, lower: Sequence[float], upper: Sequence[float], max_iterations: int = 60, tol: float = 1e-12
) -> tuple[float, float]:
    """Projected Newton: minimise the local quadratic over the box, backtrack on the true value.

    Each subproblem is solved exactly by enumeration, so that active bounds are found at once; for a
    piecewise quadratic objective the iteration ends after finitely many pieces. Cost: one value or
    derivative of the plane model per step, no application of a map. Hao et al., section 3.1.
    """
    x = np.clip(np.array([1.0, 0.0]), lower, upper)
    value = plane.value(x[0], x[1])
    for _ in range(max_iterations):
        g, H = plane.derivatives(x[0], x[1])
        target = np.array(minimize_quadratic_in_box(g - H @ x, H, lower, upper))
        if not np.all(np.isfinite(target)):
            target = np.where(np.isinf(target), x + EXPANSION * np.maximum(1.0, np.abs(x)), target)
        d = target - x
        slope = float(g @ d)
        if not slope < -tol * max(abs(value), abs(float(g @ x)), np.finfo(float).tiny):
            break
        t = 1.0
        while True:
            trial = plane.value(*(x + t * d))
            if trial <= value + 1e-4 * t * slope or t < 1e-12:
                break
            t *= 0.5
        if not trial < value:
            break
        x, value = x + t * d, trial
        if np.max(np.abs(x)) > 1e100 or not math.isfinite(value):
            return (math.inf, math.inf)
    return float(x[0]), float(x[1])
