"""Derivatives by differences, with an error estimate: the ruler of all slope tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

#: Each row of the table has a step shorter by this factor.
SHRINK = 1.6
#: Least and most rows, and most columns of extrapolations. The step of the last row is 1e-8 of the first.
FEWEST, ROWS, COLUMNS = 5, 40, 8
#: A difference may be this many times farther from an estimate than its error and the order of differences predict.
LOOSE = 4.0
#: Differences that are off by less than DIGITS of the values may mean that f lacks digits, not that it varies. This is
#: assumed if otherwise no estimate is known to RESOLVED of its size.
DIGITS, RESOLVED = 1e-6, 1e-6


class _Estimate(NamedTuple):
    """An extrapolation, the bound on its error, its row, and how far the difference of its row is from it."""

    value: Array
    error: float
    row: int
    truncated: float


def derivative(function: Callable[[float], Any], width: float, unit: float = 0.0) -> tuple[Array, float]:
    """(f'(0), bound on its error) of a scalar or array valued f, by Ridders' extrapolation of central differences.

    `width` is the largest step. The bound is the disagreement of neighbouring extrapolations plus the rounding of the
    values divided by the step that was used; that of values of size `unit`, if they themselves are smaller. An estimate
    counts only if the differences at shorter steps come as near to it as their order h² says, or are off by no more
    than digits that the values lack: those of an f that varies faster than the steps agree by chance. The bound is inf
    where no estimate counts.

    Cost: about 15 values of a smooth f, 80 of one that is kinked or lacks digits.
    """
    table: list[list[Array]] = []
    rounding: list[float] = []  # in the difference of each row
    missing: list[float] = []  # possible error from digits that f lacks
    estimates: list[_Estimate] = []
    chosen: _Estimate | None = None
    h = width
    for row in range(ROWS):
        plus, minus = np.asarray(function(h), dtype=float), np.asarray(function(-h), dtype=float)
        size = float(np.linalg.norm(plus) + np.linalg.norm(minus))
        rounding.append(2.0 * EPS * max(size, unit) / h)
        missing.append(max(LOOSE * rounding[-1], DIGITS * size / (2.0 * h)))
        table.append(_extrapolated((plus - minus) / (2.0 * h), table[-1] if table else []))
        if row:
            estimates.append(_nearest(table, rounding[-1]))
        chosen = _best(estimates, table, [LOOSE * each for each in rounding])
        if row >= FEWEST and chosen is not None and rounding[-1] >= chosen.error:
            break
        h /= SHRINK
    if chosen is None or chosen.error > RESOLVED * np.linalg.norm(chosen.value):
        chosen = _best(estimates, table, missing)
    return (chosen.value, chosen.error) if chosen is not None else (estimates[-1].value, math.inf)


def _extrapolated(difference: Array, above: list[Array]) -> list[Array]:
    """A row of the table: a difference, and its extrapolations with those of the row above."""
    entries, power = [difference], SHRINK**2
    for previous in above[:COLUMNS]:
        entries.append(entries[-1] + (entries[-1] - previous) / (power - 1.0))
        power *= SHRINK**2
    return entries


def _nearest(table: list[list[Array]], noise: float) -> _Estimate:
    """The extrapolation of the last row that is nearest to its neighbours in the table."""
    above, entries = table[-2:]
    spreads = [
        max(float(np.linalg.norm(entry - left)), float(np.linalg.norm(entry - over)))
        for entry, left, over in zip(entries[1:], entries, above, strict=False)
    ]
    k = int(np.argmin(np.nan_to_num(spreads, nan=np.inf)))
    value = entries[k + 1]
    return _Estimate(value, spreads[k] + noise, len(table) - 1, float(np.linalg.norm(entries[0] - value)))


def _best(estimates: list[_Estimate], table: list[list[Array]], slack: list[float]) -> _Estimate | None:
    """The estimate of least error to which all differences at shorter steps come near: like h², or within the slack."""

    def confirmed(one: _Estimate) -> bool:
        return math.isfinite(one.error) and all(
            np.linalg.norm(table[k][0] - one.value)
            <= slack[k] + LOOSE * (one.error + one.truncated * SHRINK ** (-2.0 * (k - one.row)))
            for k in range(one.row + 1, len(table))
        )

    early = (one for one in estimates if one.row <= len(table) - 3 and confirmed(one))
    return min(early, key=lambda one: one.error, default=None)


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
