"""Matrices of rank at most r as the quotient R^{n×r} / O(r), with the flat metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.geometries.factor_quotient import FactorQuotient
from psdopt.geometries.square_root import parallel
from psdopt.linalg.arrays import Array


class FlatQuotient(FactorQuotient):
    """{Y Yᵀ : Y ∈ R^{n×r}}, Y ~ Y O for orthogonal O (r, r), metric tr(D₁ᵀD₂).

    Points are factors Y (n, r), vectors are D (n, r). A vector is horizontal when YᵀD is symmetric;
    the fibre directions are YΩ with Ω skew. Moving is addition, so lines are straight and exact line
    searches apply. Rank-deficient Y are allowed: the quotient is singular there, but the formulas still hold.

    Meyer et al., section 6.1; Yuan et al., eq. (2).

    Raises InvalidInputError unless 1 <= r <= n.
    """

    takes_device_arrays = True

    def __init__(self, n: int, r: int) -> None:
        super().__init__(n, r)
        abilities = {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN}
        # r = n does not limit the rank, so methods for the whole cone apply as well
        self.abilities = frozenset(abilities | {Ability.FULL_CONE} if self.r == self.n else abilities)

    def with_rank(self, r: int) -> FlatQuotient:
        return FlatQuotient(self.n, r)

    def gradient(self, point: Array, S: Any) -> Array:
        """2 S Y, which is horizontal, since Yᵀ S Y is symmetric. One application of S."""
        gradient: Array = 2.0 * (S @ point)
        return gradient

    def retract(self, point: Array, vector: Array) -> Array:
        """Y + D: straight lines along horizontal vectors are geodesics, as long as Y keeps its rank."""
        return point + vector

    exp = retract

    def log(self, point: Array, target: Array) -> Array:
        """Z O − Y for the rotation O that brings the representatives Z and Y closest (Procrustes)."""
        return np.asarray(target @ parallel(target.T @ point) - point)

    def __repr__(self) -> str:
        return f"FlatQuotient(n={self.n}, r={self.r})"
