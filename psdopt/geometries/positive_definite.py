"""The interior of the PSD cone with the affine-invariant, log-Euclidean and von Neumann metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.checks import integer, one_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curve import FactorCurve, Mixture
from psdopt.contracts.geometry import Defect, Geometry, array_defect
from psdopt.errors import InvalidInputError
from psdopt.geometries import definite_geodesics
from psdopt.geometries.square_root import (
    exponential,
    log_eigen,
    logarithm,
    longest_growth,
    parallel,
    random_factor,
    shortest,
    symmetric_part,
)
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS

METRICS = ("affine-invariant", "log-euclidean", "von-neumann")
RETRACTIONS = ("exponential", "first-order")


@dataclass(frozen=True, eq=False)
class Root:
    """W = G Gᵀ ≻ 0, kept as any square root G (n, n): small eigenvalues keep their relative accuracy."""

    G: Array


class PositiveDefinite(Geometry):
    """{W (n, n) symmetric, W ≻ 0}; points are :class:`Root`, W = G Gᵀ with G ~ G Q; an array G is accepted for one.

    metric : one of the following; vectors are kept in the coordinates in which the metric is simplest.

    - "affine-invariant" tr(W⁻¹ξW⁻¹ζ): vectors K, ξ = G K Gᵀ, gradient GᵀSG, retraction G exp(K) Gᵀ, which is the
      exponential map (Meyer et al., eqs. 11-13);
    - "log-euclidean": vectors L = D log(W)[ξ], metric tr(L₁L₂), gradient ∫₀¹ Wᵗ S W¹⁻ᵗ dt, retraction
      exp(log W + L) (section 5.3; the gradient printed there belongs to the next metric);
    - "von-neumann" tr(D log(W)[ξ] ζ), the metric of the von Neumann divergence: vectors L again, gradient S itself, so
      that x⁺ = exp(log W − s S), the update of Tsuda et al.

    retraction : "exponential", or for the affine-invariant metric "first-order" W + ξ (eq. 14 with its sign
        corrected), which turns the gradient step into W − s W S W, the LogDet update of Davis et al. It
        leaves the cone for large steps: :meth:`retract` then raises InvalidInputError.

    Every operation costs O(n³).
    """

    closed = False
    restricted = False

    def __init__(self, n: int, metric: str = "affine-invariant", retraction: str = "exponential") -> None:
        self.n = integer(n, "n")
        one_of(metric, "metric", METRICS)
        one_of(retraction, "retraction", RETRACTIONS)
        if retraction == "first-order" and metric != "affine-invariant":
            raise InvalidInputError(f"retraction 'first-order' goes with metric 'affine-invariant'; found {metric!r}")
        self.metric, self.retraction = metric, retraction
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})
        self.dimension = self.n * (self.n + 1) // 2

    def check_point(self, point: Any) -> Defect | None:
        G = np.asarray(point.G if isinstance(point, Root) else point)
        defect = array_defect(G, G.shape == (self.n, self.n), f"a square root must have shape ({self.n}, {self.n})")
        if defect is not None:
            return defect
        smallest = float(np.linalg.svd(G, compute_uv=False)[-1])
        return None if smallest > 0.0 else Defect("W must be definite; smallest singular value of G", smallest, 0.0)

    def validated(self, point: Any, name: str = "start") -> Root:
        point = super().validated(point, name)
        return point if isinstance(point, Root) else Root(np.asarray(point, dtype=np.float64))

    def check_vector(self, point: Root, vector: Any) -> Defect | None:
        K = np.asarray(vector)
        defect = array_defect(K, K.shape == (self.n, self.n), f"a vector must have shape ({self.n}, {self.n})")
        if defect is not None:
            return defect
        allowed = 64.0 * EPS * self.n * norm(K)
        skew = norm(K - K.T)
        return Defect("not symmetric, |K − Kᵀ|", skew, allowed) if skew > allowed else None

    def random_point(self, rng: np.random.Generator) -> Root:
        """Eigenvalues around 1, log-normal, in a uniformly random basis."""
        return Root(random_factor(rng, self.n, self.n))

    def random_vector(self, point: Root, rng: np.random.Generator) -> Array:
        K = symmetric_part(rng.standard_normal((self.n, self.n)))
        return K / self.norm(point, K)

    def factor(self, point: Root) -> Array:
        return point.G

    def from_factor(self, Y: Array) -> Root:
        """A root of Y Yᵀ; directions missing from Y get eigenvalues at the rounding level of the largest."""
        Y = np.asarray(Y, dtype=np.float64)
        P, s, _ = np.linalg.svd(Y, full_matrices=True)
        scales = np.zeros(self.n)
        scales[: len(s)] = s[: self.n]
        return Root(P * np.maximum(scales, np.sqrt(EPS) * (s.max(initial=0.0) or 1.0)))

    def move_along_fibre(self, tree: Any, Q: Array) -> Any:
        """The representative G Q of a point, or a tangent vector at that representative. Q (n, n) orthogonal."""
        if isinstance(tree, Root):
            return Root(tree.G @ Q)
        return Q.T @ tree @ Q if self.metric == "affine-invariant" else tree

    def vertical(self, point: Root, W: Array) -> Array:
        """Skew W: the ambient directions along which the matrix does not change."""
        return W

    def horizontal(self, point: Root, ambient: Array) -> Array:
        """The symmetric part; the skew part does not move W."""
        return symmetric_part(ambient)

    def inner(self, point: Root, left: Array, right: Array) -> float:
        if self.metric == "von-neumann":
            return inner(left, _exp_derivative(*log_eigen(point.G), right))
        return inner(left, right)

    def gradient(self, point: Root, S: Any) -> Array:
        """GᵀSG, D exp(log W)[S] or S, by metric. One application of S to an (n, n) block."""
        if self.metric == "affine-invariant":
            return symmetric_part(point.G.T @ (S @ point.G))
        dense = definite_geodesics.divided(point.G, S @ point.G)
        return dense if self.metric == "von-neumann" else _exp_derivative(*log_eigen(point.G), dense)

    def velocity(self, point: Root, vector: Array) -> Array:
        """The shortest Ġ that moves W as the vector does."""
        if self.metric == "affine-invariant":
            return point.G @ shortest(point.G, vector)
        moved = _exp_derivative(*log_eigen(point.G), vector)
        K = np.linalg.solve(point.G, np.linalg.solve(point.G, moved).T)
        return point.G @ shortest(point.G, symmetric_part(K))

    def retract(self, point: Root, vector: Array) -> Root:
        if self.metric == "affine-invariant":
            return Root(point.G @ self.mixing(vector, 1.0))
        logs, P = log_eigen(point.G)
        values, vectors = np.linalg.eigh(symmetric_part((P * logs) @ P.T + vector))
        return Root(vectors * np.exp(0.5 * values))

    def exp(self, point: Root, vector: Array) -> Root:
        """The end of the geodesic with this velocity: the exponential retraction, except for the von Neumann metric."""
        if self.metric == "affine-invariant":
            return Root(point.G @ exponential(0.5 * symmetric_part(vector)))
        if self.metric == "log-euclidean":
            return self.retract(point, vector)
        values, vectors = np.linalg.eigh(definite_geodesics.von_neumann_exp(logarithm(point.G), vector, _exp_inverse))
        return Root(vectors * np.exp(0.5 * values))

    def log(self, point: Root, target: Root) -> Array:
        """The velocity of the geodesic to `target` (von Neumann: to a nearby target)."""
        if self.metric == "affine-invariant":
            return logarithm(np.linalg.solve(point.G, target.G))
        here, there = logarithm(point.G), logarithm(target.G)
        if self.metric == "log-euclidean":
            return there - here
        return definite_geodesics.von_neumann_log(here, there, _exp_inverse)

    def riemannian_hessian(self, point: Root, S: Any, factor_hessian: Callable[[Array], Array], vector: Array) -> Array:
        """Hessian of F along geodesics. `factor_hessian` is D ↦ 2 (S D + ∇²F[Y Dᵀ + D Yᵀ] Y).

        d²/ds² F(W(s)) = ∇²F[Ẇ, Ẇ] + ⟨S, Ẅ⟩, with Ẅ = G K² Gᵀ; D² exp[L, L]; and half of that, since the von Neumann
        metric is dually flat: its geodesics lie half-way between straight lines in log W and in W. O(n³).
        """
        G = point.G
        if self.metric == "affine-invariant":
            second = definite_geodesics.matrix_hessian(G, S, factor_hessian, G @ vector @ G.T)
            return symmetric_part(G.T @ second @ G) + symmetric_part(self.gradient(point, S) @ vector)
        logs, P = log_eigen(G)
        second = definite_geodesics.matrix_hessian(G, S, factor_hessian, _exp_derivative(logs, P, vector))
        bent = definite_geodesics.second_exp(logarithm(G), definite_geodesics.divided(G, S @ G), vector)
        if self.metric == "log-euclidean":
            return _exp_derivative(logs, P, second) + bent
        return second + 0.5 * _exp_inverse(logarithm(G), bent)

    def curve(self, point: Root, vector: Array, straight: bool = False) -> Congruence | None:
        """The affine-invariant retraction, of which all points are combinations G T of the columns of G."""
        return Congruence(self, point, vector) if self.metric == "affine-invariant" else None

    def mixing(self, vector: Array, s: float) -> Array:
        """T (n, n) with R(G, s K) = G T (affine-invariant metric only)."""
        if self.retraction == "exponential":
            return exponential(0.5 * s * symmetric_part(vector))
        values, turn = np.linalg.eigh(symmetric_part(vector))
        grown = 1.0 + s * values
        if not grown[0] > 0.0:
            raise InvalidInputError(
                f"the first-order retraction leaves the cone: smallest eigenvalue of I + K is {grown[0]:.3g}, must be "
                "positive; take a shorter step or the exponential retraction"
            )
        return np.asarray((turn * np.sqrt(grown)) @ turn.T)

    def longest_step(self, vector: Array) -> float:
        """Steps up to this one stay inside the cone (first-order retraction), or keep eigenvalues representable."""
        if self.retraction == "exponential":
            return longest_growth(vector)
        least = float(np.linalg.eigvalsh(symmetric_part(vector))[0])
        return -0.999 / least if least < 0.0 else np.inf

    def transport(self, point: Root, target: Root, vector: Array) -> Array:
        """Affine-invariant: parallel along the geodesic, K ↦ Q K Qᵀ, Q aligning G with G₊. Else L itself."""
        if self.metric != "affine-invariant":
            return vector
        Q = parallel(np.linalg.solve(target.G, point.G))
        return symmetric_part(Q @ vector @ Q.T)

    def __repr__(self) -> str:
        extra = "" if self.retraction == "exponential" else f", retraction={self.retraction!r}"
        return f"PositiveDefinite(n={self.n}, metric={self.metric!r}{extra})"


class Congruence(FactorCurve):
    """s ↦ G T(s): trial points are combinations of G, whose images are known; no application."""

    def __init__(self, geometry: PositiveDefinite, point: Root, vector: Array) -> None:
        self.geometry, self.vector, self.start = geometry, vector, np.eye(geometry.n)
        self.longest, self.velocity = geometry.longest_step(vector), shortest(point.G, vector)

    def mixture(self, s: float) -> Mixture:
        return Mixture(self.geometry.mixing(self.vector, s), None)

    def point(self, frame: Array, mixture: Mixture, factor: Array) -> Root:
        return Root(factor)


def _exp_inverse(A: Array, E: Array) -> Array:
    """(D exp(A))⁻¹[E]. Raises FloatingPointError where exp(A) underflows."""
    logs, P = np.linalg.eigh(A)
    differences = _loewner(logs)
    if not np.all(differences > 0.0):
        raise FloatingPointError("eigenvalues of M underflow, where the von Neumann metric is not defined")
    return np.asarray(P @ ((P.T @ E @ P) / differences) @ P.T)


def _loewner(logs: Array) -> Array:
    """Divided differences of exp at `logs`."""
    mean, half = 0.5 * (logs[:, None] + logs[None, :]), 0.5 * (logs[:, None] - logs[None, :])
    safe = np.where(half == 0.0, 1.0, half)
    return np.asarray(np.exp(mean) * np.where(half == 0.0, 1.0, np.sinh(safe) / safe))


def _exp_derivative(logs: Array, P: Array, L: Array) -> Array:
    """D exp(A)[L] = ∫₀¹ e^{tA} L e^{(1−t)A} dt for A = P diag(logs) Pᵀ (Daleckii-Krein). Self-adjoint in L."""
    return np.asarray(P @ ((P.T @ L @ P) * _loewner(logs)) @ P.T)
