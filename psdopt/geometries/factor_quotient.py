"""Factors Y (n, r) modulo rotations with the metric tr(D₁ᵀD₂): the base class of geometries on factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import integer
from psdopt.contracts.geometry import Defect, Geometry, array_defect
from psdopt.devices import held
from psdopt.geometries.square_root import random_factor
from psdopt.linalg.arrays import Array, append_columns, as_array, inner, norm
from psdopt.linalg.tolerances import EPS


class FactorQuotient(Geometry):
    """Points are factors Y (n, r), Y ~ Y O for orthogonal O (r, r); vectors are D (n, r) with YᵀD symmetric.

    Raises InvalidInputError unless 1 <= r <= n.
    """

    restricted = False

    def __init__(self, n: int, r: int) -> None:
        self.n = integer(n, "n")
        self.r = self.rank = integer(r, "r (rank)", 1, self.n, "n")

    def check_point(self, point: Any) -> Defect | None:
        Y = as_array(held(point))
        return array_defect(Y, Y.shape == (self.n, self.r), f"a factor must have shape ({self.n}, {self.r})")

    def check_vector(self, point: Array, vector: Any) -> Defect | None:
        D = as_array(held(vector))
        defect = array_defect(D, D.shape == (self.n, self.r), f"a vector must have shape ({self.n}, {self.r})")
        if defect is not None:
            return defect
        skew = point.T @ D
        skew = skew - skew.T
        allowed = 64 * EPS * np.sqrt(self.n) * norm(point) * norm(D)
        return Defect("not horizontal, |YᵀD - DᵀY|", norm(skew), allowed) if norm(skew) > allowed else None

    def random_point(self, rng: np.random.Generator) -> Array:
        """Uniformly random orthonormal columns, with log-normal lengths if r = n: generic for every r <= n."""
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
        Y = as_array(held(Y))
        if Y.shape[1] == self.r:
            return Y
        if Y.shape[1] < self.r:
            return append_columns(Y, np.zeros_like(Y, shape=(self.n, self.r - Y.shape[1])))
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        return as_array(U[:, : self.r] * s[: self.r])

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left, right)

    def horizontal(self, point: Array, ambient: Array) -> Array:
        """Z − YΩ, Ω skew with (YᵀY)Ω + Ω(YᵀY) = YᵀZ − ZᵀY. O(n r² + r³).

        In the eigenbasis of YᵀY = Q diag(s) Qᵀ: Ω_ij = (YᵀZ − ZᵀY)_ij / (s_i + s_j). If s_i + s_j = 0, the fibre
        direction vanishes, and Ω_ij is set to 0.
        """
        _, singular, Qt = np.linalg.svd(point, full_matrices=False)
        s = singular**2
        rotated = (point @ Qt.T).T @ (ambient @ Qt.T)
        sums = s[:, None] + s[None, :]
        usable = sums > (EPS * max(self.n, self.r)) ** 2 * max(float(s[0]), np.finfo(float).tiny)
        omega = np.where(usable, (rotated - rotated.T) / np.where(usable, sums, 1.0), 0.0)
        return np.asarray(ambient - point @ (Qt.T @ omega @ Qt))

    def velocity(self, point: Array, vector: Array) -> Array:
        """dY/ds at s = 0 along the retraction: the vector itself."""
        return vector

    def from_velocity(self, point: Array, D: Array) -> Array:
        """The horizontal part of D."""
        return self.horizontal(point, D)
