"""Matrices of rank at most r and a fixed trace: the sphere |Y|² = trace, modulo rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psdopt.checks import positive
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curve import FactorCurve, Mixture
from psdopt.contracts.geometry import Defect
from psdopt.geometries.factor_quotient import FactorQuotient
from psdopt.geometries.square_root import parallel, scaled_to_trace, trace_defect
from psdopt.linalg.arrays import Array, inner, norm, without_radial
from psdopt.linalg.tolerances import EPS


class FixedTrace(FactorQuotient):
    """{Y Yᵀ : Y ∈ R^{n×r}, |Y|_F² = trace}, Y ~ Y O, metric tr(D₁ᵀD₂): the factored face of the spectraplex.

    Vectors are D (n, r) with ⟨Y, D⟩ = 0 and YᵀD symmetric. The two conditions are independent, since ⟨Y, YΩ⟩ = 0
    for skew Ω. Moving is addition and rescaling. Set and certificate are the same as for
    :class:`~psdopt.geometries.spectraplex.Spectraplex`: since `trace` is known, the gap is ⟨S, M⟩ − trace · λ_min(S).

    Raises InvalidInputError unless 1 <= r <= n and trace is finite and positive.
    """

    trace: float

    def __init__(self, n: int, r: int, trace: float = 1.0) -> None:
        super().__init__(n, r)
        self.trace = positive(trace, "trace")
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})

    def with_rank(self, r: int) -> FixedTrace:
        return FixedTrace(self.n, r, self.trace)

    def check_point(self, point: Any) -> Defect | None:
        return super().check_point(point) or trace_defect(np.asarray(point), self.trace)

    def check_vector(self, point: Array, vector: Any) -> Defect | None:
        defect = super().check_vector(point, vector)
        if defect is not None:
            return defect
        D = np.asarray(vector)
        radial, allowed = abs(inner(point, D)), 64 * EPS * math.sqrt(D.size) * norm(point) * norm(D)
        return Defect("not tangent to the sphere, |<Y, D>|", radial, allowed) if radial > allowed else None

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.from_factor(super().random_point(rng))

    def from_factor(self, Y: Array) -> Array:
        """Y padded or cut to r columns, then scaled to |Y|² = trace; InvalidInputError for Y = 0."""
        return scaled_to_trace(super().from_factor(Y), self.trace)

    def horizontal(self, point: Array, ambient: Array) -> Array:
        """The vector without its radial part and its part along the fibre. O(n r² + r³)."""
        return super().horizontal(point, without_radial(ambient, point))

    def gradient(self, point: Array, S: Any) -> Array:
        """2 S Y minus its radial part. One application of S."""
        return without_radial(2.0 * (S @ point), point)

    def retract(self, point: Array, vector: Array) -> Array:
        """(Y + D) scaled back to the sphere: second order, since D ⊥ Y."""
        return self.from_factor(point + vector)

    def curve(self, point: Array, vector: Array, straight: bool = False) -> Rescaled:
        """The retraction, of which all points are combinations of Y and D."""
        return Rescaled(self.trace, point, vector)

    def exp(self, point: Array, vector: Array) -> Array:
        """The great circle with this velocity: horizontal vectors stay horizontal along it."""
        radius, length = math.sqrt(self.trace), norm(vector)
        angle = length / radius
        return np.asarray(math.cos(angle) * point + (radius * math.sin(angle) / length if length else 1.0) * vector)

    def log(self, point: Array, target: Array) -> Array:
        """The velocity of the shortest great circle to the closest representative of `target`."""
        target = target @ parallel(target.T @ point)
        straight = without_radial(target - point, point)
        length, radius = norm(straight), math.sqrt(self.trace)
        angle = math.atan2(length / radius, inner(point, target) / self.trace)
        return straight * (radius * angle / length) if length > 0.0 else straight

    def euclidean_to_riemannian_hessian(self, point: Array, gradient: Array, hessian: Array, vector: Array) -> Array:
        """The horizontal part of H[D] − (⟨Y, G⟩ / trace) D, for gradient G and Hessian H of Y ↦ F(Y Yᵀ)."""
        return self.horizontal(point, hessian - vector * (inner(point, gradient) / self.trace))

    def __repr__(self) -> str:
        return f"FixedTrace(n={self.n}, r={self.r}, trace={self.trace:g})"


class Rescaled(FactorCurve):
    """s ↦ (Y + s D) √trace / |Y + s D|: trial points are combinations of Y and D, whose images are known."""

    def __init__(self, trace: float, Y: Array, D: Array) -> None:
        self.trace, self.block, self.start = trace, D, np.eye(Y.shape[1])
        self.velocity = np.vstack([np.zeros_like(self.start), self.start])
        self._squares = inner(Y, Y), 2.0 * inner(Y, D), inner(D, D)
        if self._squares[2] > 0.0:  # beyond that, Y is lost to rounding
            self.longest = math.sqrt(self._squares[0] / self._squares[2]) / EPS

    def mixture(self, s: float) -> Mixture:
        own, mixed, other = self._squares
        scale = math.sqrt(self.trace / (own + s * (mixed + s * other)))
        return Mixture(np.vstack([scale * self.start, scale * s * self.start]), None)

    def point(self, frame: Array, mixture: Mixture, factor: Array) -> Array:
        return factor
