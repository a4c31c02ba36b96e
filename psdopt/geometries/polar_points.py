"""Points, tangent vectors and curves of the polar geometry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from psdopt.contracts.curve import FactorCurve, Mixture
from psdopt.geometries.square_root import exponential, longest_growth, shortest
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS


@dataclass(frozen=True, eq=False)
class PolarPoint:
    """M = U R Rᵀ Uᵀ: U (n, r) with orthonormal columns, R (r, r) invertible, any square root of B = R Rᵀ."""

    U: Array
    R: Array

    @cached_property
    def factor(self) -> Array:
        """Y = U R, one array per point: gradients recognise it by identity."""
        return self.U @ self.R

    def with_factor(self, Y: Array) -> PolarPoint:
        """This point, with Y = U R already known."""
        self.__dict__["factor"] = Y
        return self

    def __iter__(self) -> Iterator[Array]:
        return iter((self.U, self.R))


@dataclass(frozen=True, eq=False)
class PolarVector:
    """Tangent vector (U̇, Ḃ) as U (n, r) = U̇ and K (r, r), Ḃ = R K Rᵀ: no inverse of R is ever needed."""

    U: Array
    K: Array

    def __add__(self, other: PolarVector) -> PolarVector:
        return PolarVector(self.U + other.U, self.K + other.K)

    def __sub__(self, other: PolarVector) -> PolarVector:
        return PolarVector(self.U - other.U, self.K - other.K)

    def __mul__(self, a: float) -> PolarVector:
        return PolarVector(a * self.U, a * self.K)

    __rmul__ = __mul__

    def __neg__(self) -> PolarVector:
        return PolarVector(-self.U, -self.K)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.U, self.K))


class PolarSpan(FactorCurve):
    """Points s ↦ U(s) R(s) with U(s) = [U, W] T(s), W (n, k) an orthonormal basis of the range of U̇.

    With U̇ = W diag(σ) Vᵀ, either the retraction of :class:`Polar`,

        U(s) = U (I − V (1 − c) Vᵀ) + W s σ c Vᵀ,  c = (1 + s² σ²)^−½,   R(s) = R exp(s K/2),

    or (`straight`) the polar form of the straight line Y + s Ẏ, Ẏ = U̇ R + Y K/2. The straight line is a retraction,
    too, and allows exact line searches. Eigenvalues that must change by orders of magnitude do so in a few steps;
    with the exponential the fastest growing eigenvalue limits the step for all others.

    The frame is U, `block` is W, None where U does not move. Setting up costs O(n r²), a trial O(r³).
    """

    orthonormal = True

    def __init__(self, point: PolarPoint, vector: PolarVector, straight: bool) -> None:
        R = point.R
        self.start, self.straight, self._K = R, straight, vector.K
        W, sigma, Vt = np.linalg.svd(vector.U, full_matrices=False)
        moves = sigma > EPS * max(vector.U.shape) * sigma[0]
        W, self._sigma, self._Vt = W[:, moves], sigma[moves], Vt[moves]
        # K determines Ẏ up to Y Ω, Ω skew. Straight lines use the shortest Ẏ, the one with YᵀẎ symmetric: any other Ẏ
        # also rotates Y within its fibre, and more so the more the eigenvalues differ.
        along = shortest(R, vector.K) if straight else 0.5 * vector.K
        self.velocity = np.concatenate([R @ along, self._sigma[:, None] * (self._Vt @ R)])
        self.block = W - point.U @ (point.U.T @ W) if len(self._sigma) else None
        self.longest = math.inf if straight else longest_growth(vector.K)

    def mixture(self, s: float) -> Mixture:
        R, r = self.start, len(self.start)
        if not self.straight:
            grown = R @ exponential(0.5 * s * self._K)
            c = 1.0 / np.sqrt(1.0 + (s * self._sigma) ** 2)
            T = np.eye(r) - (self._Vt.T * (1.0 - c)) @ self._Vt
            T = np.concatenate([T, (s * self._sigma * c)[:, None] * self._Vt])
            return Mixture(None if self.block is None else T, grown, np.eye(r))
        moved = s * self.velocity
        moved[:r] += R
        P, singular, Qt = np.linalg.svd(moved, full_matrices=False)
        # Any root R will do. Without the right factor Qᵀ the columns of Y are graded, which keeps small ones accurate.
        # The set holds no matrices of lower rank; the floor changes M by its rounding only.
        scales = np.maximum(singular, np.sqrt(EPS) * max(singular[0], EPS * norm(R)))
        return Mixture(None, P * scales, Qt.T) if self.block is None else Mixture(P, np.diag(scales), Qt.T)

    def point(self, frame: Array, mixture: Mixture, factor: Array) -> PolarPoint:
        R = self.start if mixture.factor is None else mixture.factor
        return PolarPoint(frame, R).with_factor(factor)
