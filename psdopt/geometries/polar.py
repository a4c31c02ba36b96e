"""Matrices of rank exactly r as pairs (subspace, matrix within it), with the polar metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.checks import integer, number
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Defect, Geometry
from psdopt.geometries import polar_geodesics
from psdopt.geometries.polar_points import PolarPoint, PolarSpan, PolarVector
from psdopt.geometries.square_root import exponential, parallel, polar_factor, random_factor, shortest, symmetric_part
from psdopt.linalg.arrays import Array, inner, is_finite, norm
from psdopt.linalg.tolerances import EPS, MINOR


class Polar(Geometry):
    """{U B Uᵀ : U ∈ St(n, r), B ≻ 0 (r, r)}, (U, B) ~ (U O, OᵀB O) for orthogonal O (r, r).

    Metric ⟨U̇₁, U̇₂⟩ / weight + tr(B⁻¹Ḃ₁B⁻¹Ḃ₂) / (1 − weight) on horizontal vectors: UᵀU̇ = 0, Ḃ symmetric
    (Meyer et al., eq. 17). B is kept as a square root R, B = R Rᵀ, and Ḃ as K = R⁻¹ḂR⁻ᵀ, so that the second
    part is |K|² / (1 − weight). R need not be symmetric: (U, R) ~ (U O, OᵀR Q) for all orthogonal O, Q, and every
    operation is independent of the representative. Erratum: the update as printed needs a symmetric R, and its
    retraction by QR depends on the choice of U; the polar factor used here, with any root R, does not.

    Parameters
    ----------
    n, r : order and rank, 1 <= r <= n.
    weight : in [0, 1]. With 0 only B moves, and the range of M is kept exactly; with 1 only the range moves.

    Retraction: U ↦ polar orthogonal factor of U + U̇, R ↦ R exp(K/2) (eqs. 18, 19). Costs O(n r² + r³).
    """

    def __init__(self, n: int, r: int, weight: float = 0.5) -> None:
        self.n = integer(n, "n")
        self.r = self.rank = integer(r, "r (rank)", 1, self.n, "n")
        self.weight = number(weight, "weight", least=0.0, most=1.0)
        self.invariant = {0.0: "the range of M", 1.0: "the matrix within the range of M"}.get(self.weight, "")
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})
        subspaces, within = self.r * (self.n - self.r), self.r * (self.r + 1) // 2
        self.dimension = (subspaces if weight > 0.0 else 0) + (within if weight < 1.0 else 0)

    closed = False
    horizontal_is_orthogonal = False

    def move_along_fibre(self, tree: PolarPoint | PolarVector, Q: Array) -> PolarPoint | PolarVector:
        """The representative with factor Y Q of a point, or a vector at that representative. Q (r, r) orthogonal."""
        if isinstance(tree, PolarPoint):
            return PolarPoint(tree.U @ Q, Q.T @ tree.R @ Q)
        return PolarVector(tree.U @ Q, Q.T @ tree.K @ Q)

    def vertical(self, point: PolarPoint, W: Array) -> PolarVector:
        """The direction (U W, B W − W B), W skew, along which M does not change, as an ambient vector."""
        return PolarVector(point.U @ W, -2.0 * symmetric_part(np.linalg.solve(point.R, W @ point.R)))

    def with_rank(self, r: int) -> Polar:
        return Polar(self.n, r, self.weight)

    # points

    def check_point(self, point: Any) -> Defect | None:
        try:
            U, R = (np.asarray(part, dtype=np.float64) for part in point)
        except (TypeError, ValueError):
            return Defect("a point must be a pair (U, R)", 1.0, 0.0)
        if U.shape != (self.n, self.r) or R.shape != (self.r, self.r):
            shapes = f"({self.n}, {self.r}) and ({self.r}, {self.r})"
            return Defect(f"U and R must have shapes {shapes}; found {U.shape} and {R.shape}", float(U.size), 0.0)
        if not (is_finite(U) and is_finite(R)):
            return Defect("non-finite entries", float(np.sum(~np.isfinite(U)) + np.sum(~np.isfinite(R))), 0.0)
        allowed = 1024.0 * EPS * np.sqrt(self.n)
        lost = norm(U.T @ U - np.eye(self.r))
        if lost > allowed:
            return Defect("columns of U are not orthonormal, |UᵀU − I|", lost, allowed)
        singular = np.linalg.svd(R, compute_uv=False)
        if not singular[-1] > 0.0:
            return Defect("R must be invertible; its smallest singular value is", float(singular[-1]), 0.0)
        return None

    def validated(self, point: Any, name: str = "start") -> PolarPoint:
        point = super().validated(point, name)
        if isinstance(point, PolarPoint):
            return point
        U, R = point
        return PolarPoint(np.asarray(U, dtype=np.float64), np.asarray(R, dtype=np.float64))

    def random_point(self, rng: np.random.Generator) -> PolarPoint:
        """A uniformly random subspace and R = I; if r = n, R is diagonal with log-normal entries around one."""
        return self.from_factor(random_factor(rng, self.n, self.r))

    def factor(self, point: PolarPoint) -> Array:
        return point.factor

    def from_factor(self, Y: Array) -> PolarPoint:
        """(U, R) of Y Yᵀ, or of its best rank-r approximation; R is diagonal. O(n k²) for Y (n, k).

        The set holds matrices of rank exactly r: if Y has lower rank, directions are added with eigenvalues at the
        rounding level of the largest (of 1 for Y = 0), so that M itself does not change.
        """
        Y = np.asarray(Y, dtype=np.float64)
        if Y.shape[1] < self.r:
            Y = np.concatenate([Y, np.zeros((self.n, self.r - Y.shape[1]))], axis=1)
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        least = np.sqrt(EPS) * (s[0] if s[0] > 0.0 else 1.0)
        return PolarPoint(U[:, : self.r], np.diag(np.maximum(s[: self.r], least)))

    # tangent vectors

    def check_vector(self, point: PolarPoint, vector: Any) -> Defect | None:
        D, K = (np.asarray(part, dtype=np.float64) for part in vector)
        if D.shape != (self.n, self.r) or K.shape != (self.r, self.r):
            return Defect(f"parts must be shaped like U and R; found {D.shape} and {K.shape}", float(D.size), 0.0)
        if not (is_finite(D) and is_finite(K)):
            return Defect("non-finite entries", float(np.sum(~np.isfinite(D)) + np.sum(~np.isfinite(K))), 0.0)
        allowed = 1024.0 * EPS * np.sqrt(self.n) * max(norm(D), norm(K))
        for reason, size in (
            ("not horizontal, |UᵀU̇|", norm(point.U.T @ D)),
            ("not symmetric, |K − Kᵀ|", norm(K - K.T)),
            ("with weight 0 the range is fixed, |U̇|", norm(D) if self.weight == 0.0 else 0.0),
            ("with weight 1 the matrix B is fixed, |K|", norm(K) if self.weight == 1.0 else 0.0),
        ):
            if size > allowed:
                return Defect(reason, size, allowed)
        return None

    def inner(self, point: PolarPoint, left: PolarVector, right: PolarVector) -> float:
        subspace = inner(left.U, right.U) / self.weight if self.weight > 0.0 else 0.0
        within = inner(left.K, right.K) / (1.0 - self.weight) if self.weight < 1.0 else 0.0
        return subspace + within

    def horizontal(self, point: PolarPoint, ambient: Any) -> PolarVector:
        """The horizontal vector that moves M as the ambient (U̇, K) does (to first order).

        The part U A of U̇ changes B in the same way as R⁻¹A R + (·)ᵀ in K. The horizontal space is a complement of the
        fibre, not orthogonal to it, so the vector may become longer. With weight 0 or 1, the part that must not move is
        dropped.
        """
        D, K = ambient
        A = point.U.T @ D
        K = symmetric_part(K)
        if norm(A) > 0.0:
            K = K + 2.0 * symmetric_part(np.linalg.solve(point.R, A @ point.R))
            D = D - point.U @ A
        return self._allowed(D - point.U @ (point.U.T @ D), K)

    def random_vector(self, point: PolarPoint, rng: np.random.Generator) -> PolarVector:
        D = rng.standard_normal((self.n, self.r))
        vector = self._allowed(self._across(point.U, D), symmetric_part(rng.standard_normal((self.r, self.r))))
        size = self.norm(point, vector)
        return (1.0 / size) * vector if size > 0.0 else vector

    def gradient(self, point: PolarPoint, S: Any) -> PolarVector:
        """(2 λ (I − UUᵀ) S U B, (1 − λ) RᵀUᵀS U R): slope −|grad|² along the retraction. One application of S."""
        SY = S @ point.factor
        D = 2.0 * self.weight * self._across(point.U, SY @ point.R.T)
        return self._allowed(D, (1.0 - self.weight) * symmetric_part(point.factor.T @ SY))

    def hessian(
        self, point: PolarPoint, S: Any, factor_hessian: Callable[[Array], Array], vector: PolarVector
    ) -> PolarVector:
        """Hessian of F along the retraction: ⟨H v, v⟩ = d²/ds² F(R(s v)) at 0; the Riemannian one at stationary points.

        `factor_hessian` is D ↦ 2 (S D + ∇²F[Y Dᵀ + D Yᵀ] Y). With Ẏ = U̇ R + Y K/2 and G = 2 S Y the curvature is
        ⟨H[Ẏ], Ẏ⟩ + ⟨G, Ÿ⟩, Ÿ = −U U̇ᵀU̇ R + U̇ R K + Y K²/4; polarised and raised with the metric.
        """
        U, R, Y = point.U, point.R, point.factor
        G = 2.0 * (S @ Y)
        HY = factor_hessian(vector.U @ R + 0.5 * (Y @ vector.K))
        A, C = symmetric_part(U.T @ G @ R.T), symmetric_part(Y.T @ G)
        D = HY @ R.T - vector.U @ A + 0.5 * (G @ vector.K) @ R.T
        K = 0.5 * symmetric_part(Y.T @ HY) + 0.5 * symmetric_part(R.T @ (vector.U.T @ G))
        K = K + 0.25 * symmetric_part(C @ vector.K)
        return self._allowed(self.weight * self._across(U, D), (1.0 - self.weight) * K)

    def exp(self, point: PolarPoint, vector: PolarVector) -> PolarPoint:
        """The end of the geodesic with this velocity, in closed form (see :mod:`polar_geodesics`). O(n r² + r³)."""
        return PolarPoint(*polar_geodesics.exp(point.U, point.R, vector.U, vector.K, self.weight))

    def log(self, point: PolarPoint, target: PolarPoint) -> PolarVector:
        """The velocity of the geodesic to a nearby `target`."""
        return self._allowed(*polar_geodesics.log(point.U, point.R, target.U, target.R, self.weight))

    def riemannian_hessian(
        self, point: PolarPoint, S: Any, factor_hessian: Callable[[Array], Array], vector: PolarVector
    ) -> PolarVector:
        """Hessian of F along geodesics: :meth:`hessian` plus the deviation of geodesics from the retraction."""
        along = self.hessian(point, S, factor_hessian, vector)
        g = self.gradient(point, S)
        D, K = polar_geodesics.bend(point.R, (g.U, g.K), (vector.U, vector.K), self.weight)
        return along + self._allowed(self._across(point.U, D), K)

    @property
    def restricted(self) -> bool:
        """Whether the weight is 0 or 1, so that a part of M does not move."""
        return self.weight in (0.0, 1.0)

    def tangent_part(self, point: PolarPoint, S: Any) -> Array:
        """The part of 2 S Y (n, r) within the range of Y for weight 0, orthogonal to it for weight 1. O(n r²)."""
        G: Array = 2.0 * (S @ point.factor)
        across = self._across(point.U, G)
        return across if self.weight == 1.0 else G - across if self.weight == 0.0 else G

    def gram_preconditioned(
        self, point: PolarPoint, gradient: PolarVector, curvature: float | None = None
    ) -> PolarVector:
        """The gradient, rescaled as (YᵀY + eta I)⁻¹ does in the flat geometry. O(n r² + r³).

        In this metric both parts of the gradient are proportional to the eigenvalues b of B, so convergence is slow
        where b is small. With R = P diag(√b) Qᵀ, columns of U̇P are divided by b (b + eta) and entries of QᵀKQ by the
        harmonic analogue; the result is symmetric positive definite in the metric. b is bounded below by the rounding
        level of the largest one.

        The factor Hessian is about h YᵀY + S with h the `curvature` of F in M. Therefore eta is the size of S / h,
        measured by Rayleigh quotients of S with the columns of Y, and at least a minor share of the mean of b.
        """
        P, singular, Qt = np.linalg.svd(point.R)
        b = np.maximum(singular**2, EPS * singular[0] ** 2)
        K = Qt @ gradient.K @ Qt.T
        eta = MINOR * float(np.mean(b))
        if curvature is not None and curvature > 0.0 and self.weight < 1.0:
            eta = max(eta, float(np.max(np.diagonal(K) / b)) / ((1.0 - self.weight) * curvature))
        one_way = 1.0 / (b[:, None] * (b[None, :] + eta))
        D = (gradient.U @ (P / (b * (b + eta)))) @ P.T
        return PolarVector(D, symmetric_part(Qt.T @ (K * (one_way + one_way.T)) @ Qt))

    def velocity(self, point: PolarPoint, vector: PolarVector) -> Array:
        """The shortest Ẏ (n, r) that moves M as the vector does: U̇ R + Y X, X + Xᵀ = K, YᵀẎ symmetric. O(n r²)."""
        return vector.U @ point.R + point.factor @ shortest(point.R, vector.K)

    def from_velocity(self, point: PolarPoint, D: Array) -> PolarVector:
        """The horizontal vector whose Ẏ moves M as Y + s D does. O(n r²)."""
        across = np.linalg.solve(point.R.T, self._across(point.U, D).T).T
        return self._allowed(across, 2.0 * symmetric_part(np.linalg.solve(point.R, point.U.T @ D)))

    # moves

    def retract(self, point: PolarPoint, vector: PolarVector) -> PolarPoint:
        """(uf(U + U̇), R exp(K/2)), uf the orthogonal polar factor; U itself where U̇ = 0."""
        U = polar_factor(point.U + vector.U) if np.any(vector.U) else point.U
        return PolarPoint(U, point.R @ exponential(0.5 * vector.K))

    def transport(self, point: PolarPoint, target: PolarPoint, vector: PolarVector) -> PolarVector:
        """U̇ made horizontal at `target`; K transported in parallel. Independent of both points' representatives.

        Along the retraction K does not change. For any other target or representative, both parts are first
        rotated by the orthogonal matrices that align U with U₊ and R with R₊.
        """
        turn = parallel(point.U.T @ target.U)
        Q = parallel(np.linalg.solve(target.R, turn.T @ point.R))
        return self._allowed(self._across(target.U, vector.U @ turn), symmetric_part(Q @ vector.K @ Q.T))

    # curves inside a known span: trial points of a search need no application of a map

    def frame(self, point: PolarPoint) -> tuple[Array, Array]:
        return point.U, point.R

    def with_factor(self, point: PolarPoint, Y: Array) -> PolarPoint:
        return point.with_factor(Y)

    def curve(self, point: PolarPoint, vector: PolarVector, straight: bool = False) -> PolarSpan:
        """The retraction curve s ↦ R(point, s vector), or the one of straight lines, inside a known span."""
        return PolarSpan(point, vector, straight and self.weight < 1.0)

    def refreshed(self, point: PolarPoint) -> PolarPoint:
        """The same point with U orthonormalised again, which removes accumulated rounding."""
        return PolarPoint(1.5 * point.U - 0.5 * point.U @ (point.U.T @ point.U), point.R)

    def _across(self, U: Array, D: Array) -> Array:
        """(I − UUᵀ) D, applied twice so that UᵀU̇ = 0 to rounding of U̇ itself."""
        D = D - U @ (U.T @ D)
        return D - U @ (U.T @ D)

    def _allowed(self, D: Any, K: Any) -> PolarVector:
        D = np.zeros_like(D) if self.weight == 0.0 else D
        return PolarVector(D, np.zeros_like(K) if self.weight == 1.0 else K)

    def __repr__(self) -> str:
        return f"Polar(n={self.n}, r={self.r}, weight={self.weight:g})"
