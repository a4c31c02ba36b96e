"""A learned metric as a function of two samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import finite
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, norm


class MahalanobisMetric:
    """(u, v) ↦ |L (u − v)| for u, v (d,). A later fit of the estimator does not change it. O(r d).

    Parameters
    ----------
    components : L (r, d), M = LᵀL; a copy is kept. Can be pickled, and be the `metric` of scikit-learn's estimators.
    """

    def __init__(self, components: Array) -> None:
        self.components = np.array(components)

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """|L (u − v)|, or its square. Raises InvalidInputError unless u and v are finite and of shape (d,)."""
        first, second = finite(u, "u"), finite(v, "v")
        d = self.components.shape[1]
        if first.shape != (d,) or second.shape != (d,):
            raise InvalidInputError(f"u and v must have shape ({d},); found {first.shape} and {second.shape}")
        distance = norm(self.components @ (first - second))
        return distance**2 if squared else distance
