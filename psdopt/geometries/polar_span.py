"""Curves of the polar geometry inside the span of U and one block: trial points without new products."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from psdopt.geometries.square_root import shortest
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

if TYPE_CHECKING:
    from psdopt.geometries.polar_points import PolarPoint, PolarVector


class PolarSpan:
    """Points s ↦ U(s) R(s) with U(s) = [U, W] T(s), W (n, k) an orthonormal basis of the range of U̇.

    With U̇ = W diag(σ) Vᵀ, either the retraction of :class:`Polar`,

        U(s) = U (I − V (1 − c) Vᵀ) + W s σ c Vᵀ,  c = (1 + s² σ²)^−½,   R(s) = R exp(s K/2),

    or (`straight`) the polar form of the straight line Y + s Ẏ, Ẏ = U̇ R + Y K/2. That is a retraction
    as well, exact line searches apply to it, and eigenvalues that must change by orders of magnitude
    do so in a few steps, where the exponential lets the fastest growing one limit all others.

    Setting up costs O(n r²), a trial O(r³).
    """

    def __init__(self, point: PolarPoint, vector: PolarVector, straight: bool) -> None:
        self.point, self.straight, self._K = point, straight, vector.K
        W, sigma, Vt = _thin(vector.U)
        #: W (n, k), to be appended to the frame U; None if U does not move.
        self.block: Array | None = None
        self._sigma, self._Vt = sigma, Vt
        if len(sigma):
            W = W - point.U @ (point.U.T @ W)
            self.block = W
        #: Rate at which log B grows or shrinks: exp overflows when s times it is large.
        self.growth_rate = 0.0 if straight else float(np.max(np.abs(np.linalg.eigvalsh(vector.K))))

    @cached_property
    def velocity(self) -> Array:
        """T with Ẏ = [U, W] T.

        K fixes Ẏ up to Y Ω, Ω skew. On straight lines the shortest Ẏ is taken, the one with YᵀẎ symmetric: any other
        turns Y within its fibre as well, by a lot where eigenvalues differ a lot.
        """
        R = self.point.R
        along = shortest(R, self._K) if self.straight else 0.5 * self._K
        return np.concatenate([R @ along, self._sigma[:, None] * (self._Vt @ R)])

    def mixing(self, s: float) -> tuple[Array, Array, Array]:
        """(T(s), R(s), Q(s)): T has r rows where U does not move; the curve starts at Y and is at U(s) R(s) Qᵀ."""
        R, r = self.point.R, self.point.R.shape[0]
        if not self.straight:
            values, turn = np.linalg.eigh(self._K)
            grown = ((R @ turn) * np.exp(0.5 * s * values)) @ turn.T
            c = 1.0 / np.sqrt(1.0 + (s * self._sigma) ** 2)
            T = np.eye(r) - (self._Vt.T * (1.0 - c)) @ self._Vt
            return np.concatenate([T, (s * self._sigma * c)[:, None] * self._Vt]), grown, np.eye(r)
        moved = s * self.velocity
        moved[:r] += R
        P, singular, Qt = np.linalg.svd(moved, full_matrices=False)
        # Any root will do: without the right factor Qᵀ the columns of Y are graded, and with them all that is small.
        # The set holds no matrices of lower rank: the floor changes M by its rounding.
        scales = np.maximum(singular, np.sqrt(EPS) * singular[0])
        return (np.eye(r), P * scales, Qt.T) if self.block is None else (P, np.diag(scales), Qt.T)

    def point_at(self, frame: Array, R: Array, Y: Array) -> PolarPoint:
        """The point of a frame U(s), R(s) and their product."""
        return type(self.point)(frame, R).with_factor(Y)


def _thin(D: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition of D (n, r) without directions at rounding level: (n, k), (k,), (k, r)."""
    if not np.any(D):
        return D[:, :0], np.zeros(0), np.zeros((0, D.shape[1]))
    Q, T = np.linalg.qr(D)
    P, sigma, Vt = np.linalg.svd(T)
    keep = sigma > EPS * max(D.shape) * sigma[0]
    return Q @ P[:, keep], sigma[keep], Vt[keep]
