"""Derivatives by differences, with an error estimate: the ruler of all slope tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

SHRINK = 1.6
ROWS = 14


def derivative(function: Callable[[float], Any], width: float, unit: float = 0.0) -> tuple[Array, float]:
    """(f'(0), bound on its error) of a scalar or array valued f, by Ridders' extrapolation of central differences.

    `width` is the largest step. The bound is the disagreement of neighbouring extrapolations plus the
    rounding of the values divided by the step that was used; that of values of size `unit`, if they themselves are
    smaller. Cost: at most 28 values.
    """
    table: list[list[Array]] = []
    best, best_error = np.array(np.nan), np.inf
    h = width
    for row in range(ROWS):
        plus, minus = np.asarray(function(h), dtype=float), np.asarray(function(-h), dtype=float)
        size = float(np.linalg.norm(plus) + np.linalg.norm(minus))
        noise = 2.0 * EPS * max(size, unit) / h
        entries = [(plus - minus) / (2.0 * h)]
        power = SHRINK**2
        for column in range(row):
            previous = table[-1][column]
            entries.append(entries[column] + (entries[column] - previous) / (power - 1.0))
            power *= SHRINK**2
            spread = max(
                float(np.linalg.norm(entries[-1] - entries[column])), float(np.linalg.norm(entries[-1] - previous))
            )
            error = spread + float(noise)
            if error < best_error:
                best, best_error = entries[-1], error
        table.append(entries)
        if row > 3 and float(noise) > best_error:
            break
        h /= SHRINK
    return np.asarray(best), float(best_error)


def observed_order(error_of: Callable[[float], float], width: float, floor: float) -> float:
    """Exponent p of error(t) ~ t^p, from a fit over the steps whose error clearly exceeds `floor`.

    inf when every error is at rounding level (the model is exact).
    """
    steps = width * 2.0 ** -np.arange(0.0, 12.0)
    errors = np.array([error_of(float(t)) for t in steps])
    usable = errors > 100.0 * floor
    if not np.any(usable):
        return float("inf")
    count = int(np.argmin(usable)) if not np.all(usable) else len(steps)
    if count < 3:
        return float("inf")
    window = slice(max(0, count - 6), count)
    return float(np.polyfit(np.log(steps[window]), np.log(errors[window]), 1)[0])
