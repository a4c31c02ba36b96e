"""Truncated conjugate gradient (Steihaug 1983, Toint 1981): the quadratic model of F within a trust radius."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from psdopt.contracts.geometry import Geometry


def truncated_cg(
    geometry: Geometry,
    point: Any,
    gradient: Any,
    hessian: Callable[[Any], Any],
    radius: float,
    kappa: float,
    theta: float,
    most: int,
) -> tuple[Any, Any, bool]:
    """(d, H d, whether the radius or negative curvature ended the solve) for d near the least ⟨g, d⟩ + ⟨d, H d⟩/2.

    |d| <= radius. Lengths and inner products are those of the metric at `point`. The solve ends at a residual of
    |g| min(|g|^theta, kappa), at the boundary, after `most` products with H, or where the model rises, as it may if
    products are differences. Cost: a product with H and four inner products per iteration.
    """

    def inner(a: Any, b: Any) -> float:
        return geometry.inner(point, a, b)

    move = image = 0.0 * gradient
    residual, direction = gradient, -1.0 * gradient
    rr = inner(gradient, gradient)
    goal = math.sqrt(rr) * min(math.sqrt(rr) ** theta, kappa)
    # |d|², ⟨d, p⟩ and |p|² of the direction p by recurrence (Conn, Gould, Toint 2000, eqs. 7.5.6 and 7.5.7)
    moved, along, size, model = 0.0, 0.0, rr, 0.0
    for k in range(most):
        product = hessian(direction)
        curvature = inner(direction, product)
        alpha = rr / curvature if curvature > 0.0 else math.inf
        longer = moved + 2.0 * alpha * along + alpha**2 * size if math.isfinite(alpha) else math.inf
        if not longer < radius**2:
            tau = (math.sqrt(along**2 + size * (radius**2 - moved)) - along) / size
            return move + tau * direction, image + tau * product, True
        further, seen = move + alpha * direction, image + alpha * product
        value = inner(further, gradient) + 0.5 * inner(further, seen)
        if not value < model:
            break
        move, image, model, moved = further, seen, value, longer
        residual = residual + alpha * product
        before, rr = rr, inner(residual, residual)
        if rr == 0.0 or (k > 0 and math.sqrt(rr) <= goal):
            break
        beta = rr / before
        direction = geometry.horizontal(point, beta * direction - residual)
        along = beta * (along + alpha * size)
        size = rr + beta**2 * size
    return move, image, False
