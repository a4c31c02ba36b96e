"""Least squares whose targets are known up to a common offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import finite
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, inner
from psdopt.terms import Loss


class LeastSquaresWithOffset(Loss):
    """min over c of Σ_t (a_t + c − target_t)² = |P (a − target)|², P = I − eeᵀ/m. Convex; not separable.

    The best offset is c = mean(target − a), :meth:`offset`. Hessian 2 P: a direction e costs nothing.

    Parameters
    ----------
    target : (m,), finite, m >= 1. Raises InvalidInputError.
    """

    degree = 2
    separable = False

    def __init__(self, target: Any) -> None:
        self.target = finite(target, "target")
        if self.target.ndim != 1 or len(self.target) == 0:
            raise InvalidInputError(f"target must have shape (m,), m >= 1; found {self.target.shape}")
        self.size = len(self.target)

    def offset(self, a: Array) -> float:
        """c."""
        return float(np.mean(self.target - a))

    def value(self, a: Array) -> float:
        residual = _centred(a - self.target)
        return inner(residual, residual)

    def derivative(self, a: Array) -> Array:
        return 2.0 * _centred(a - self.target)

    def curvature(self, a: Array, direction: Array) -> Array:
        return 2.0 * _centred(direction)


def _centred(values: Array) -> Array:
    return np.asarray(values - np.mean(values))
