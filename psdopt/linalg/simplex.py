"""Euclidean projection onto a simplex whose coordinates may be capped: exact, by sorting breakpoints."""

from __future__ import annotations

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS, ROOT_EPS


def project_simplex(x: Array, total: float = 1.0, upper: float = np.inf) -> Array:
    """Closest point to x (m,) in {p : 0 <= p <= upper, Σ p = total}: p = clip(x − s, 0, upper).

    The shift s solves Σ clip(x − s, 0, upper) = total, a decreasing piecewise linear equation in s with
    breakpoints x and x − upper. Cost O(m log m): one sort and a cumulated sum, no iteration.

    Raises InvalidInputError unless x is finite with at least one entry and 0 <= total <= m · upper.
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or not np.all(np.isfinite(x)):
        raise InvalidInputError(f"x must be a finite 1-D array with at least one entry; found shape {x.shape}")
    reach = x.size * upper
    if not 0.0 <= total <= reach * (1.0 + 4.0 * EPS):
        raise InvalidInputError(f"total must lie between 0 and m * upper = {reach:g}; found {total:g}")
    top = float(x.max())
    y = x - top  # the projection does not change, and sums of large entries do not cancel
    upper = min(upper, total)  # no coordinate exceeds the total
    p: Array = np.clip(y - shift_to(y, total, upper), 0.0, upper)
    free = (p > 0.0) & (p < upper)
    if np.any(free):  # correct the rounding of the shift, the same for every free coordinate
        p[free] += (total - float(p.sum())) / np.count_nonzero(free)
        p = np.clip(p, 0.0, upper)
    # if x is so large that upper is below its rounding, x and x − upper are the same breakpoint, and the shift is lost
    return p if abs(total - float(p.sum())) <= ROOT_EPS * total else _filled(y, total, upper)


def _filled(y: Array, total: float, upper: float) -> Array:
    """`upper` for the largest y until `total` is used up, equal y sharing evenly: the limit of large differences."""
    p = np.zeros(y.size)
    left = total
    for level in np.unique(y)[::-1]:
        tied = y == level
        share = min(upper, left / np.count_nonzero(tied))
        p[tied] = share
        left -= share * np.count_nonzero(tied)
        if left <= 0.0:
            break
    return p


def shift_to(y: Array, total: float, upper: float = np.inf) -> float:
    """s with Σ clip(y − s, 0, upper) = total. Between breakpoints the sum is linear in s."""
    points, change = y, np.ones(y.size)
    if upper < total:  # otherwise no coordinate reaches its cap before all of the total is used up
        points, change = np.concatenate([y, y - upper]), np.concatenate([change, -change])
    order = np.argsort(points)[::-1]
    # as s decreases, the slope of the sum in −s increases by one at y_i and decreases by one at y_i − upper
    points, slope = points[order], np.cumsum(change[order])
    sums = np.concatenate([[0.0], np.cumsum(slope[:-1] * (points[:-1] - points[1:]))])
    k = int(np.searchsorted(sums, total, side="right")) - 1  # sums is non-decreasing
    if slope[k] <= 0.0:
        return float(points[k])
    return float(points[k] - (total - sums[k]) / slope[k])
