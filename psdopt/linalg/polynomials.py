"""Exact minimisation of one-variable models: quartics, and C¹ functions with two derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from psdopt.linalg.tolerances import EPS

Derivatives = Callable[[float], tuple[float, float]]


def minimize_quartic(c: Sequence[float], upper: float = math.inf) -> float:
    """Argmin over mu in [0, upper] of c0 + c1 mu + ... + c4 mu⁴; inf if unbounded below on it.

    Every positive stationary point is a candidate, wherever it lies (not only those below 1). The
    derivative is split at the roots of its own derivative into monotone pieces and each sign change
    is bisected down to neighbouring floating-point numbers, so that the result is exact to rounding
    however badly the coefficients are scaled. Returns 0.0 if no positive point is better.
    Yuan et al., algorithm 1, lines 13-16, corrected. Cost O(1).
    """
    c1, c2, c3, c4 = (float(x) for x in c[1:5])
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
    candidates = [0.0]
    if math.isfinite(top):
        candidates.append(top)
    candidates += _stationary_points(c1, c2, c3, c4, top)
    best = min(candidates, key=lambda t: t * (c1 + t * (c2 + t * (c3 + t * c4))))
    return best * unit


def _unit(c1: float, c2: float, c3: float, c4: float) -> float:
    """A power of two such that the coefficients in mu/unit are balanced (geometric slope of |c_k|)."""
    logs = [(k, math.log2(abs(c))) for k, c in enumerate((c1, c2, c3, c4), start=1) if c != 0.0]
    if len(logs) < 2:
        return 1.0
    (k0, low), (k1, high) = logs[0], logs[-1]
    exponent = round((low - high) / (k1 - k0))
    return math.ldexp(1.0, max(-250, min(250, exponent)))


def _stationary_points(c1: float, c2: float, c3: float, c4: float, top: float) -> list[float]:
    def slope(t: float) -> float:
        return c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * 4.0 * c4))

    leading = next((abs(x) for x in (4 * c4, 3 * c3, 2 * c2) if x != 0.0), 0.0)
    if leading == 0.0:
        return []
    # Cauchy's bound: all roots of the derivative lie below it
    bound = 1.0 + max(abs(c1), abs(2 * c2), abs(3 * c3)) / leading
    end = min(top, bound)
    knots = [0.0, *sorted(t for t in _quadratic_roots(2 * c2, 6 * c3, 12 * c4) if 0.0 < t < end), end]
    roots = []
    for left, right in zip(knots, knots[1:], strict=False):
        at_left, at_right = slope(left), slope(right)
        if at_left == 0.0 and left > 0.0:
            roots.append(left)
        if at_left * at_right < 0.0:
            roots.append(_bisect(slope, left, right, at_left))
    return roots


def _quadratic_roots(a0: float, a1: float, a2: float) -> list[float]:
    """Real roots of a0 + a1 t + a2 t², by the form that does not cancel."""
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


def _bisect(slope: Callable[[float], float], left: float, right: float, at_left: float) -> float:
    """Root of a monotone `slope` in (left, right): regula falsi steps inside a bisection (ITP-like)."""
    at_right = slope(right)
    for iteration in range(200):
        middle = 0.5 * (left + right)
        if iteration % 3 and at_right != at_left:
            secant = left - at_left * (right - left) / (at_right - at_left)
            # a secant point keeps a margin from both ends, so that the bracket always shrinks
            margin = 1e-3 * (right - left) if iteration % 3 == 1 else 4.0 * EPS * max(abs(left), abs(right))
            middle = min(max(secant, left + margin), right - margin)
        if not left < middle < right:
            break
        at_middle = slope(middle)
        if at_middle == 0.0:
            return middle
        if at_middle * at_left < 0.0:
            right, at_right = middle, at_middle
        else:
            left, at_left = middle, at_middle
        if right - left <= 2.0 * EPS * right:
            break
    return left if abs(at_left) < abs(at_right) else right


def minimize_smooth(
    derivatives: Derivatives, upper: float = math.inf, first: float | None = None, tol: float = 1e-12
) -> float:
    """A minimiser over [0, upper] of a C¹ function given by (f', f''), from 0 downhill.

    Brackets the first sign change of f' by doubling, then Newton steps inside the bracket, with
    bisection where they leave it: for convex or piecewise quartic functions exact to `tol` in
    relative |f'|. Returns 0.0 if f'(0) >= 0, inf if f' stays negative up to 2^200 times the first
    step and `upper` is infinite.
    """
    slope0, curvature = derivatives(0.0)
    if not slope0 < 0.0:
        return 0.0 if slope0 >= 0.0 else math.nan
    t = first or (-slope0 / curvature if curvature > 0.0 else 1.0)
    left, at_left = 0.0, slope0
    for _ in range(200):
        t = min(t, upper)
        at_t, curvature = derivatives(t)
        if not math.isfinite(at_t):
            return math.nan
        if at_t >= 0.0 or t == upper:
            break
        left, at_left = t, at_t
        t *= 2.0
    else:
        return math.inf
    if at_t <= 0.0:
        return t
    right = t
    for _ in range(100):
        if abs(at_t) <= tol * abs(slope0) or right - left <= 4.0 * EPS * right:
            break
        newton = t - at_t / curvature if curvature > 0.0 else math.nan
        t = newton if left < newton < right else 0.5 * (left + right)
        at_t, curvature = derivatives(t)
        if at_t < 0.0:
            left, at_left = t, at_t
        else:
            right = t
    return t


def minimize_quadratic_in_box(
    g: np.ndarray, H: np.ndarray, lower: Sequence[float], upper: Sequence[float]
) -> tuple[float, float]:
    """Argmin over a box in R² of gᵀx + xᵀHx/2, H ⪰ 0, by enumeration of interior, faces and corners.

    A singular H (dependent measurement vectors, formulas for Hao et al., section 3.1) is handled:
    the interior candidate comes from a pseudo-inverse and faces are one-variable problems. Returns
    inf in a coordinate along which the objective is unbounded below.
    """
    lo, hi = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    candidates: list[tuple[float, float]] = []
    interior, *_ = np.linalg.lstsq(H, -g, rcond=8 * EPS)
    descent = _unbounded_direction(g, H, hi)
    if descent is not None:
        return descent
    scale = np.abs(g).max() + np.abs(H).max() * np.abs(interior).max()
    if np.abs(H @ interior + g).max() <= 1e-9 * max(scale, np.finfo(float).tiny):
        candidates.append((float(interior[0]), float(interior[1])))
        candidates += _along_null_space(interior, H, lo, hi)
    for fixed in (0, 1):
        free = 1 - fixed
        for value in (lo[fixed], hi[fixed]):
            if not math.isfinite(value):
                continue
            slope = g[free] + H[free, fixed] * value
            t = _scalar_box(slope, H[free, free], lo[free], hi[free])
            x = (value, t) if fixed == 0 else (t, value)
            if not math.isfinite(t):
                return float(x[0]), float(x[1])
            candidates.append((float(x[0]), float(x[1])))
    inside = [x for x in candidates if lo[0] <= x[0] <= hi[0] and lo[1] <= x[1] <= hi[1]]

    def objective(x: tuple[float, float]) -> float:
        p = np.array(x)
        return float(g @ p + 0.5 * p @ H @ p)

    return min(inside, key=objective)


def _unbounded_direction(g: np.ndarray, H: np.ndarray, hi: np.ndarray) -> tuple[float, float] | None:
    """inf in the coordinates of a direction d >= 0 with H d = 0 and gᵀd < 0, if the box is open there."""
    values, vectors = np.linalg.eigh(H)
    if values[0] > 8 * EPS * max(values[1], np.finfo(float).tiny):
        return None
    flat = np.where(values <= 8 * EPS * max(values[1], 0.0))[0]
    directions = [np.array([1.0, 0.0]), np.array([0.0, 1.0])] if len(flat) == 2 else []
    directions += [sign * vectors[:, k] for k in flat for sign in (1.0, -1.0)]
    for d in directions:
        d = np.where(np.abs(d) <= 8 * EPS, 0.0, d)
        if np.all(d >= 0.0) and g @ d < -64 * EPS * np.abs(g).max() and np.all(np.isinf(hi[d > 0.0])):
            return (math.inf if d[0] > 0 else 0.0, math.inf if d[1] > 0 else 0.0)
    return None


def _scalar_box(slope: float, curvature: float, lower: float, upper: float) -> float:
    if curvature > 0.0:
        return float(min(max(-slope / curvature, lower), upper))
    if slope < 0.0:
        return float(upper)
    return float(lower)


def _along_null_space(x: np.ndarray, H: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> list[tuple[float, float]]:
    """Where a whole line of minimisers crosses the box, take the crossing points."""
    values, vectors = np.linalg.eigh(H)
    if values[0] > 8 * EPS * max(values[1], np.finfo(float).tiny):
        return []
    direction = vectors[:, 0]
    points = []
    for k in (0, 1):
        for bound in (lo[k], hi[k]):
            if math.isfinite(bound) and direction[k] != 0.0:
                p = x + (bound - x[k]) / direction[k] * direction
                p[k] = bound
                points.append((float(p[0]), float(p[1])))
    return points
