"""Least squares whose targets are known up to a common offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import finite
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, inner
from psdopt.terms import Loss


class LeastSquaresWithOffset(Loss):
    """min over c of Σ_t w_t (a_t + c − target_t)² = Σ_t w_t (b_t − mean b)², b = a − target. Convex; not separable.

    The mean is the weighted one, and the best offset is c = −mean b, :meth:`offset`. Hessian 2 (W − w wᵀ / Σ w): a
    direction e costs nothing.

    Parameters
    ----------
    target : (m,), finite, m >= 1. weights : (m,), at least 0 and not all 0; None: 1. Raises InvalidInputError.
    """

    degree = 2
    separable = False

    def __init__(self, target: Any, weights: Array | None = None) -> None:
        self.target = finite(target, "target")
        if self.target.ndim != 1 or len(self.target) == 0:
            raise InvalidInputError(f"target must have shape (m,), m >= 1; found {self.target.shape}")
        self.size = len(self.target)
        self.weights = np.ones(self.size) if weights is None else weights

    def offset(self, a: Array) -> float:
        """c."""
        return float(np.average(self.target - a, weights=self.weights))

    def value(self, a: Array) -> float:
        residual = self._centred(a - self.target)
        return inner(self.weights * residual, residual)

    def derivative(self, a: Array) -> Array:
        return 2.0 * self.weights * self._centred(a - self.target)

    def curvature(self, a: Array, direction: Array) -> Array:
        return 2.0 * self.weights * self._centred(direction)

    def _centred(self, values: Array) -> Array:
        return np.asarray(values - np.average(values, weights=self.weights))
