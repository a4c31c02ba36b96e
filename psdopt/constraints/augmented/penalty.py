"""The augmented Lagrangian of linear constraints: a piecewise quadratic loss of the measured values."""

from __future__ import annotations

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.terms.losses import Loss


class Penalty(Loss):
    """Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]), w > 0: its derivative is the next multiplier.

    With z = a + y/w, the derivative is w (z − Π(z)), which equals y where a sits on its bound. The second derivative is
    w for equations and for z outside the bounds, 0 between the bounds.

    Parameters
    ----------
    y, w, lower, upper : arrays (m,).
    """

    def __init__(self, y: Array, w: Array, lower: Array, upper: Array) -> None:
        self.size = len(y)
        self.y, self.w, self.lower, self.upper = y, w, lower, upper
        self._equal = lower == upper
        self.degree = 2 if bool(np.all(self._equal)) else None
        self._shift = y / w

    def _outside(self, a: Array) -> Array:
        z = a + self._shift
        return np.asarray(z - np.clip(z, self.lower, self.upper))

    def value(self, a: Array) -> float:
        off = self._outside(a)
        return float(0.5 * (self.w * off) @ off)

    def derivative(self, a: Array) -> Array:
        return np.asarray(self.w * self._outside(a))

    def second(self, a: Array) -> Array:
        return self.w if self.degree == 2 else np.where(self._equal | (self._outside(a) != 0.0), self.w, 0.0)
