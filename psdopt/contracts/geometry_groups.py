"""Optional members of a geometry beyond :class:`~psdopt.Geometry`, one protocol for each group.

A geometry has a group if it has its members; no base class is needed. Callers test with ``isinstance``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from psdopt.linalg.arrays import Array

#: D ↦ 2 (S D + ∇²F[Y Dᵀ + D Yᵀ] Y), the Hessian of Y ↦ F(Y Yᵀ).
FactorHessian = Callable[[Array], Array]


@runtime_checkable
class Geodesics(Protocol):
    """Geodesics, used for pymanopt's exp, log and dist, and by the conformance kit to check retractions."""

    def exp(self, point: Any, vector: Any) -> Any:
        """The end of the geodesic that leaves `point` with velocity `vector`."""

    def log(self, point: Any, target: Any) -> Any:
        """The velocity of the geodesic from `point` to a nearby `target`."""


@runtime_checkable
class RiemannianHessian(Protocol):
    """The Hessian along geodesics, for second-order methods; without it they use differences of gradients."""

    def riemannian_hessian(self, point: Any, S: Any, factor_hessian: FactorHessian, vector: Any) -> Any:
        """H[vector] with ⟨H v, v⟩ = d²/ds² F at s = 0 along the geodesic with velocity v."""


@runtime_checkable
class RetractionHessian(Protocol):
    """The Hessian along the retraction, which is the Riemannian one at stationary points."""

    def hessian(self, point: Any, S: Any, factor_hessian: FactorHessian, vector: Any) -> Any:
        """H[vector] with ⟨H v, v⟩ = d²/ds² F(R(point, s v)) at s = 0."""


@runtime_checkable
class HessianConversion(Protocol):
    """For points that are factors: the Riemannian Hessian from that of Y ↦ F(Y Yᵀ)."""

    def euclidean_to_riemannian_hessian(self, point: Any, gradient: Array, hessian: Array, vector: Any) -> Any:
        """H[vector] from the factor gradient (n, r) and the factor Hessian's image (n, r) of `vector`."""


@runtime_checkable
class GradientConversion(Protocol):
    """For points that are factors: the Riemannian gradient from that of Y ↦ F(Y Yᵀ)."""

    def euclidean_to_riemannian_gradient(self, point: Any, gradient: Array) -> Any:
        """The Riemannian gradient, from the factor gradient (n, r)."""


@runtime_checkable
class Lift(Protocol):
    """The inverse of ``velocity``, by which preconditioners on factors act on the geometry."""

    def from_velocity(self, point: Any, D: Array) -> Any:
        """The tangent vector that moves M as Y + s D does, D (n, r), without parts that the geometry excludes."""


@runtime_checkable
class GramPreconditioner(Protocol):
    """A geometry's own form of the preconditioner (YᵀY + eta I)⁻¹."""

    def gram_preconditioned(self, point: Any, gradient: Any, curvature: float | None = None) -> Any:
        """P⁻¹ `gradient`, P symmetric positive definite in the metric; `curvature`: an estimate for F in M."""


@runtime_checkable
class FibreAction(Protocol):
    """The rotations Y → Y Q for points that are not factors, by which the conformance kit checks invariance."""

    def move_along_fibre(self, tree: Any, Q: Array) -> Any:
        """The representative with factor Y Q of a point, or the same tangent vector at it; Q orthogonal."""

    def vertical(self, point: Any, W: Array) -> Any:
        """The ambient direction of the curve Y exp(s W), W (r, r) skew, along which M does not change."""


@runtime_checkable
class VectorArithmetic(Protocol):
    """Sums of vectors, for the conformance kit, if vectors are neither arrays nor tuples of arrays."""

    def combine(self, point: Any, a: float, u: Any, b: float, v: Any) -> Any:
        """a u + b v."""
