"""Matrices of rank at most r as the quotient R^{n×r} / O(r), with the flat metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.errors import InvalidInputError
from psdopt.geometries.square_root import random_factor
from psdopt.geometry import Defect, Geometry
from psdopt.linalg.arrays import Array, inner, is_finite, norm
from psdopt.linalg.tolerances import EPS


class FlatQuotient(Geometry):
    """{Y Yᵀ : Y ∈ R^{n×r}}, Y ~ Y O for orthogonal O (r, r), metric tr(D₁ᵀD₂).

    Points are factors Y (n, r), vectors are D (n, r). A vector is horizontal when YᵀD is symmetric;
    the fibre directions are YΩ with Ω skew. Moving is addition, so lines are straight and exact line
    searches apply. Rank-deficient Y are allowed: they are points where the quotient is singular, not
    where the formulas are.

    Meyer et al., section 6.1; Yuan et al., eq. (2).

    Raises InvalidInputError unless 1 <= r <= n.
    """

    def __init__(self, n: int, r: int) -> None:
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InvalidInputError(f"n must be an integer of at least 1; found {n!r}")
        if not isinstance(r, (int, np.integer)) or not 1 <= r <= n:
            raise InvalidInputError(f"r (rank) must be an integer between 1 and n = {n}; found {r!r}")
        self.n, self.r = int(n), int(r)
        abilities = {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN}
        # with r = n the rank is no limit: methods for the whole cone apply as well
        self.abilities = frozenset(abilities | {Ability.FULL_CONE} if r == n else abilities)

    def with_rank(self, r: int) -> FlatQuotient:
        """The same geometry at another rank."""
        return FlatQuotient(self.n, r)

    def check_point(self, point: Any) -> Defect | None:
        Y = np.asarray(point)
        if Y.shape != (self.n, self.r):
            return Defect(f"a factor must have shape ({self.n}, {self.r}); found {Y.shape}", float(Y.size), 0.0)
        if not is_finite(Y):
            return Defect("non-finite entries", float(np.sum(~np.isfinite(Y))), 0.0)
        return None

    def check_vector(self, point: Array, vector: Any) -> Defect | None:
        D = np.asarray(vector)
        if D.shape != (self.n, self.r):
            return Defect(f"a vector must have shape ({self.n}, {self.r}); found {D.shape}", float(D.size), 0.0)
        if not is_finite(D):
            return Defect("non-finite entries", float(np.sum(~np.isfinite(D))), 0.0)
        skew = point.T @ D
        skew = skew - skew.T
        allowed = 64 * EPS * np.sqrt(self.n) * norm(point) * norm(D)
        if norm(skew) > allowed:
            return Defect("not horizontal, |YᵀD - DᵀY|", norm(skew), allowed)
        return None

    def random_point(self, rng: np.random.Generator) -> Array:
        """Uniformly random orthogonal columns of log-normal lengths: generic for every r <= n."""
        return random_factor(rng, self.n, self.r)

    def random_vector(self, point: Array, rng: np.random.Generator) -> Array:
        ambient = rng.standard_normal((self.n, self.r))
        D = self.horizontal(point, self.horizontal(point, ambient))  # twice, for near-singular Y
        size = norm(D)
        return D / size if size > 0.0 else D

    def factor(self, point: Array) -> Array:
        return point

    def from_factor(self, Y: Array) -> Array:
        """Y itself, padded with zero columns, or its best rank-r approximation. O(n r²)."""
        Y = np.asarray(Y, dtype=np.float64)
        if Y.shape[1] == self.r:
            return Y
        if Y.shape[1] < self.r:
            return np.concatenate([Y, np.zeros((self.n, self.r - Y.shape[1]))], axis=1)
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        return np.asarray(U[:, : self.r] * s[: self.r])

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left, right)

    def horizontal(self, point: Array, ambient: Array) -> Array:
        """Z − YΩ, Ω skew with (YᵀY)Ω + Ω(YᵀY) = YᵀZ − ZᵀY. O(n r² + r³).

        In the eigenbasis of YᵀY = Q diag(s) Qᵀ: Ω_ij = (YᵀZ − ZᵀY)_ij / (s_i + s_j). Where
        s_i + s_j = 0 the fibre direction vanishes and Ω_ij = 0 is taken.
        """
        _, singular, Qt = np.linalg.svd(point, full_matrices=False)
        s = singular**2
        rotated = (point @ Qt.T).T @ (ambient @ Qt.T)
        sums = s[:, None] + s[None, :]
        usable = sums > (EPS * max(self.n, self.r)) ** 2 * max(float(s[0]), np.finfo(float).tiny)
        omega = np.where(usable, (rotated - rotated.T) / np.where(usable, sums, 1.0), 0.0)
        return np.asarray(ambient - point @ (Qt.T @ omega @ Qt))

    def gradient(self, point: Array, S: Any) -> Array:
        """2 S Y: horizontal by itself, since Yᵀ S Y is symmetric. One application of S."""
        return np.asarray(2.0 * (S @ point))

    def retract(self, point: Array, vector: Array) -> Array:
        """Y + D."""
        return point + vector

    def exp(self, point: Array, vector: Array) -> Array:
        """Y + D: straight lines along horizontal vectors are geodesics, as long as Y keeps its rank."""
        return FlatQuotient.retract(self, point, vector)

    def log(self, point: Array, target: Array) -> Array:
        """Z O − Y for the rotation O that brings the representatives Z and Y closest (Procrustes)."""
        U, _, Vt = np.linalg.svd(target.T @ point)
        return np.asarray(target @ (U @ Vt) - point)

    def transport(self, point: Array, target: Array, vector: Array) -> Array:
        """Horizontal part, at `target`, of the same ambient vector."""
        return self.horizontal(target, vector)

    def __repr__(self) -> str:
        return f"FlatQuotient(n={self.n}, r={self.r})"
