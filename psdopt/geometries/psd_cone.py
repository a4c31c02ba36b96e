"""The full cone of positive semidefinite matrices, closed, with no rank limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.errors import InvalidInputError
from psdopt.geometry import Defect, Geometry
from psdopt.linalg.arrays import Array, is_finite, orthonormal_columns
from psdopt.matrix import LowRankPSD


class PSDCone(Geometry):
    """{M (n, n) symmetric, M ⪰ 0}. Points are factors Y (n, r) of any width r.

    Offers the Euclidean projection (positive part of the spectrum, one O(n³) eigensolve).
    Raises InvalidInputError unless n >= 1.
    """

    def __init__(self, n: int) -> None:
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidInputError(f"n must be an integer of at least 1; found {n!r}")
        self.n = int(n)
        self.abilities = frozenset({Ability.FULL_CONE, Ability.PROJECTION})

    def check_point(self, point: Any) -> Defect | None:
        Y = np.asarray(point)
        if Y.ndim != 2 or Y.shape[0] != self.n:
            return Defect(f"a factor must have shape ({self.n}, any); found {Y.shape}", float(Y.size), 0.0)
        if not is_finite(Y):
            return Defect("non-finite entries", float(np.sum(~np.isfinite(Y))), 0.0)
        return None

    def random_point(self, rng: np.random.Generator) -> Array:
        return orthonormal_columns(rng, self.n, self.n)

    def factor(self, point: Array) -> Array:
        return point

    def from_factor(self, Y: Array) -> Array:
        return np.asarray(Y, dtype=np.float64)

    def project(self, M: Array) -> LowRankPSD:
        """Positive part of the spectrum of the symmetric part of M."""
        return LowRankPSD.from_dense(M)

    def __repr__(self) -> str:
        return f"PSDCone(n={self.n})"
