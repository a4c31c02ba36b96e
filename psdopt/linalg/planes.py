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
                break
            return float(x[0]), float(x[1])
        t = 1.0
        while True:
            moved = np.clip(x + t * d, lower, upper)  # rounding may lead out of the box
            trial = value_at(*moved)
            if trial <= value + 1e-4 * t * slope or t < 1e-12:
                break
            t *= 0.5
        if not trial < value:
            break
        x, value = moved, trial
        if np.max(np.abs(x)) > 1e100 or not math.isfinite(value):
            return (math.inf, math.inf)
    other = minimize_nested(derivatives, lower, upper)
    # infinite where there is no minimum
    lower_there = math.inf in other or (not any(map(math.isnan, other)) and value_at(*other) < value_at(*x))
    return other if lower_there else (float(x[0]), float(x[1]))


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
    """Argmin over a box in R² of gᵀx + xᵀHx/2, H ⪰ 0: the least over beta is piecewise quadratic in alpha.

    Its slope in alpha is g₀ + H₀₀ alpha + H₀₁ beta at the best beta, increasing, and linear between the at most two
    alphas at which the best beta leaves a bound. `lower` is finite; `upper` may be inf, and may equal `lower`. H may be
    singular (dependent measurement vectors, Hao et al., section 3.1), and alpha and beta may differ in units. Returns
    inf in each coordinate of a direction along which the objective is unbounded below, nan for non-finite data, and
    where the minimum itself overflows.
    """
    (g0, g1), ((h00, h01), (_, h11)) = np.asarray(g, dtype=float).tolist(), np.asarray(H, dtype=float).tolist()
    low, top = float(lower[0]), float(upper[0])
    if not all(map(math.isfinite, (g0, g1, h00, h01, h11))):
        return (math.nan, math.nan)

    def best(alpha: float) -> float:
        return _scalar_box(g1 + (h01 * alpha if h01 != 0.0 else 0.0), h11, float(lower[1]), float(upper[1]))

    if math.isinf(best(low)):
        return low, best(low)
    # det H / (H₀₀ H₁₁), from quotients that do not overflow
    definite = 1.0 - (h01 / h00) * (h01 / h11) if h00 > 0.0 and h11 > 0.0 else 1.0
    bounds = [float(v) for v in (lower[1], upper[1]) if h01 != 0.0 and math.isfinite(v)]
    kinks = sorted(t for t in ((-g1 - h11 * v) / h01 for v in bounds) if low < t < top)
    alpha = low
    for end in (*kinks, top):
        beta = best(alpha)
        slope = g0 + h00 * alpha + h01 * beta
        within = 0.5 * (alpha + end) if math.isfinite(end) else 2.0 * abs(alpha) + 1.0
        rate = h00 * (definite if lower[1] < best(within) < upper[1] else 1.0)
        if rate <= ROUNDINGS * EPS * h00:  # along the kernel of H the slope is constant, and may be rounding
            rate = 0.0
            slope += ROUNDINGS * EPS * (abs(g0) + h00 * abs(alpha) + abs(h01 * beta))
        if slope >= 0.0:
            break
        stop = alpha - slope / rate if rate > 0.0 else math.inf
        alpha = min(stop, end)
        if stop <= end:
            break
    beta = best(alpha)
    value = alpha * (g0 + 0.5 * h00 * alpha + h01 * beta) + beta * (g1 + 0.5 * h11 * beta)
    if math.isfinite(alpha) and not math.isfinite(value):
        return (math.nan, math.nan)  # the minimum itself overflows
    return alpha, beta


def _scalar_box(slope: float, curvature: float, lower: float, upper: float) -> float:
    if curvature > 0.0:
        return float(min(max(-slope / curvature, lower), upper))
    across = slope + 0.5 * curvature * (lower + upper) if math.isfinite(upper) else slope
    return float(upper if across < 0.0 else lower)
