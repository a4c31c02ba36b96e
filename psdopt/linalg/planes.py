"""Minimisation over (alpha, beta) in a box: exactly for a quadratic F, else by projected Newton steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.polynomials import minimize_smooth
from psdopt.linalg.tolerances import EPS, MINOR, ROUNDINGS

#: (c, g, H): the function c + gᵀx + xᵀHx/2 of x = (alpha, beta).
Quadratic = tuple[float, Array, Array]


def quadratic(model: Quadratic, alpha: float, beta: float) -> float:
    """c + gᵀx + xᵀHx/2 at x = (alpha, beta)."""
    c, g, H = model
    x = np.array([alpha, beta])
    return float(c + g @ x + 0.5 * x @ H @ x)


def quadratic_derivatives(model: Quadratic, alpha: float, beta: float) -> tuple[Array, Array]:
    """Gradient (2,) and Hessian (2, 2) of :func:`quadratic` at (alpha, beta)."""
    _, g, H = model
    return g + H @ np.array([alpha, beta]), H


def minimize_plane(
    value_at: Callable[[float, float], float],
    derivatives: Callable[[float, float], tuple[Array, Array]],
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[float, float]:
    """Projected Newton: minimise the local quadratic over the box, backtrack on the true value.

    Each subproblem is solved exactly by enumeration, so that active bounds are found at once; for a
    piecewise quadratic objective the iteration ends after finitely many pieces. Cost: one value or
    derivative of the plane model per step, no application of a map. Hao et al., section 3.1.

    If no multiple of a step improves the value although the gradient promises it, :func:`minimize_nested` finishes.
    This happens for functions with nearly straight pieces, whose Hessian between the kinks is rounding.
    """
    x = np.clip(np.array([1.0, 0.0]), lower, upper)
    value = value_at(x[0], x[1])
    for _ in range(60):
        g, H = derivatives(x[0], x[1])
        target = np.array(minimize_quadratic_in_box(g - H @ x, H, lower, upper))
        endless = not np.all(np.isfinite(target))
        if endless:  # a step beside which x is minor, which backtracking shortens
            target = np.where(np.isinf(target), x + np.maximum(1.0, np.abs(x)) / MINOR, target)
        d = target - x
        slope = float(g @ d)
        if not slope < -1e-12 * max(abs(value), abs(float(g @ x)), np.finfo(float).tiny):
            if endless and np.all(np.isfinite(g)):  # the local quadratic has no minimiser and gives no step
                return _better(value_at, x, minimize_nested(derivatives, lower, upper))
            break
        t = 1.0
        while True:
            moved = np.clip(x + t * d, lower, upper)  # rounding may lead out of the box
            trial = value_at(*moved)
            if trial <= value + 1e-4 * t * slope or t < 1e-12:
                break
            t *= 0.5
        if not trial < value:
            return _better(value_at, x, minimize_nested(derivatives, lower, upper))
        x, value = moved, trial
        if np.max(np.abs(x)) > 1e100 or not math.isfinite(value):
            return (math.inf, math.inf)
    else:
        return _better(value_at, x, minimize_nested(derivatives, lower, upper))
    return float(x[0]), float(x[1])


def _better(value_at: Callable[[float, float], float], x: Array, other: tuple[float, float]) -> tuple[float, float]:
    """`other` if it has a lower value or says that there is no minimum, else x."""
    at_x = (float(x[0]), float(x[1]))
    if math.inf in other:
        return other
    return other if not any(map(math.isnan, other)) and value_at(*other) < value_at(*at_x) else at_x


def minimize_nested(
    derivatives: Callable[[float, float], tuple[Array, Array]], lower: Sequence[float], upper: Sequence[float]
) -> tuple[float, float]:
    """The minimiser of a convex C¹ function over a box to the rounding of its gradient, whatever its Hessian is.

    It is that of alpha ↦ min over beta, whose derivative is the function's own in alpha at the best beta: one
    :func:`~psdopt.linalg.polynomials.minimize_smooth` within another. `lower` is finite; inf in the first coordinate
    along which the least value falls without end. Cost: some hundred gradients, up to 2,500 where the gradient jumps.
    """

    def best(alpha: float) -> float:
        def along(t: float) -> tuple[float, float]:
            g, H = derivatives(alpha, lower[1] + t)
            return float(g[1]), float(H[1, 1])

        return min(lower[1] + minimize_smooth(along, upper[1] - lower[1]), upper[1])  # rounding may lead out of the box

    def least(t: float) -> tuple[float, float]:
        beta = best(lower[0] + t)
        if not math.isfinite(beta):
            return math.nan, 0.0
        g, H = derivatives(lower[0] + t, beta)
        followed = H[0, 1] ** 2 / H[1, 1] if lower[1] < beta < upper[1] and H[1, 1] > 0.0 else 0.0
        return float(g[0]), float(H[0, 0] - followed)

    beta = best(lower[0])
    if not math.isfinite(beta):
        return lower[0], beta
    alpha = min(lower[0] + minimize_smooth(least, upper[0] - lower[0]), upper[0])
    return alpha, best(alpha) if math.isfinite(alpha) else beta


def minimize_quadratic_in_box(
    g: np.ndarray, H: np.ndarray, lower: Sequence[float], upper: Sequence[float]
) -> tuple[float, float]:
    """Argmin over a box in R² of gᵀx + xᵀHx/2, H ⪰ 0, by enumeration of interior, faces and corners.

    `lower` is finite; `upper` may be inf, and may equal `lower`. H may be singular (dependent
    measurement vectors, Hao et al., section 3.1): whole lines of minimisers cross a face, where the
    one-variable problems find them. Variables are scaled first, so that alpha and beta may differ in
    units. Returns inf in each coordinate of a direction along which the objective is unbounded below,
    nan for non-finite data, and where the minimum itself overflows.
    """
    g, H = np.asarray(g, dtype=float), np.asarray(H, dtype=float)
    lo, hi = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    if not (np.all(np.isfinite(g)) and np.all(np.isfinite(H))):
        return (math.nan, math.nan)
    unit = np.array([_power_of_two(H[k, k], g[k]) for k in (0, 1)])
    g, lo, hi = g * unit, lo / unit, hi / unit
    # scaling by powers of two preserves cross² <= h00 h11
    h00, h11, cross = H[0, 0] * unit[0] ** 2, H[1, 1] * unit[1] ** 2, H[0, 1] * unit[0] * unit[1]
    scaled = np.array([[h00, cross], [cross, h11]])
    determinant = h00 * h11 - cross * cross
    singular = determinant <= ROUNDINGS * EPS * h00 * h11 or h00 <= 0.0 or h11 <= 0.0
    if singular and _falls_along_kernel(g, h00, h11, cross, hi):
        return (math.inf, math.inf)
    candidates: list[tuple[float, float]] = []
    if not singular:
        interior = ((cross * g[1] - h11 * g[0]) / determinant, (cross * g[0] - h00 * g[1]) / determinant)
        if lo[0] <= interior[0] <= hi[0] and lo[1] <= interior[1] <= hi[1]:
            candidates.append((float(interior[0]), float(interior[1])))
    for fixed in (0, 1):
        free = 1 - fixed
        for value in (lo[fixed], hi[fixed]):
            if not math.isfinite(value):
                continue
            t = _scalar_box(g[free] + cross * value, scaled[free, free], lo[free], hi[free])
            x = (float(value), t) if fixed == 0 else (t, float(value))
            if math.isinf(t):
                return (x[0] * unit[0], x[1] * unit[1])
            candidates.append(x)

    def defect(x: tuple[float, float]) -> float:
        """Largest entry of the projected gradient, which is zero only at minimisers. Values of F do not suffice: within
        the square root of rounding they do not distinguish a minimiser from a nearby bound."""
        p = np.array(x)
        q = g + scaled @ p
        q = np.where(p <= lo, np.minimum(q, 0.0), q)
        return float(np.max(np.abs(np.where(p >= hi, np.maximum(q, 0.0), q))))

    with np.errstate(over="ignore", invalid="ignore"):
        values = [quadratic((0.0, g, scaled), *x) for x in candidates]
    if not all(map(math.isfinite, values)):
        return (math.nan, math.nan)  # the minimum itself overflows
    tied = min(values) + 8.0 * EPS * max(map(abs, values))
    best = min((x for x, value in zip(candidates, values, strict=True) if value <= tied), key=defect)
    return float(best[0] * unit[0]), float(best[1] * unit[1])


def _power_of_two(curvature: float, slope: float) -> float:
    """A unit of a variable in which its curvature, or else its slope, is about 1."""
    exponent = math.frexp(curvature)[1] // 2 if curvature > 0.0 else math.frexp(slope)[1]
    return math.ldexp(1.0, -max(-400, min(400, exponent)))


def _falls_along_kernel(g: np.ndarray, h00: float, h11: float, cross: float, hi: np.ndarray) -> bool:
    """Whether gᵀd < 0 for a direction d > 0 with H d = 0, and the box is open there; axes are found on the faces."""
    if not (h00 > 0.0 and h11 > 0.0 and cross < 0.0 and np.all(np.isinf(hi))):
        return False
    d = np.array([math.sqrt(h11), math.sqrt(h00)])
    return float(g @ d) < -ROUNDINGS * EPS * float(np.abs(g) @ d)


def _scalar_box(slope: float, curvature: float, lower: float, upper: float) -> float:
    if curvature > 0.0:
        return float(min(max(-slope / curvature, lower), upper))
    across = slope + 0.5 * curvature * (lower + upper) if math.isfinite(upper) else slope
    return float(upper if across < 0.0 else lower)
