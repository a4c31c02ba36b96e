"""F along the arc Y + mu X + mu² Z of a quadratic fit: a polynomial of degree eight, and its first minimiser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.polynomials import minimize_smooth


def arc_polynomial(
    rates: Array, multipliers: Array, curvatures: Array | float, linear: Sequence[float], slope: float | None = None
) -> list[float]:
    """Coefficients p_0 = 0, ..., p_8 of mu ↦ F((Y + mu X + mu² Z)(...)ᵀ) − F(Y Yᵀ). O(m).

    For F(M) = tr(C M) + Σ_t phi_t(a_t), a_t = ⟨A_t, M⟩ and phi_t of degree 2.

    Parameters
    ----------
    rates : (4, m), the coefficients of mu, ..., mu⁴ in the measurements a along the arc.
    multipliers, curvatures : phi_t' at Y Yᵀ (m,), and phi_t'' (m,) or one number.
    linear : the coefficients of mu, ..., mu⁴ in tr(C M).
    slope : p_1 = ⟨2 S Y, X⟩, if known. Near a stationary point the sum of the parts would be rounding.
    """
    p = [0.0, *(rates @ multipliers).tolist(), 0.0, 0.0, 0.0, 0.0]
    for k, row in enumerate((0.5 * (rates * curvatures) @ rates.T).tolist(), 2):
        for power, bend in enumerate(row, k):
            p[power] += bend
    for power, part in enumerate(linear, 1):
        p[power] += part
    if slope is not None:
        p[1] = slope
    return p


def first_minimizer(p: Sequence[float]) -> float:
    """The first minimiser beyond 0 of Σ_k p_k mu^k; 0 if the polynomial does not fall at 0, inf if it has none.

    The search starts at mu = 1, the length of a Newton step.
    """
    falling = [float(c) for c in reversed(p)]

    def at(mu: float) -> tuple[float, float, float]:
        """The value and the first two derivatives."""
        value = first = second = 0.0
        for c in falling:
            second = second * mu + 2.0 * first
            first = first * mu + value
            value = value * mu + c
        return value, first, second

    return minimize_smooth(lambda mu: at(mu)[1:], first=1.0, value=lambda mu: at(mu)[0]) if p[1] < 0.0 else 0.0


def arc_of_inner(Y: Array, X: Array, Z: Array) -> list[float]:
    """Coefficients of mu, ..., mu⁴ in |Y + mu X + mu² Z|², for arrays of one shape. O(n r)."""
    columns = [V.ravel() for V in (Y, X, Z)]
    G = np.array([[float(U @ V) for V in columns] for U in columns])
    return [2.0 * G[0, 1], G[1, 1] + 2.0 * G[0, 2], 2.0 * G[1, 2], G[2, 2]]
