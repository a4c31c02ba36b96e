"""The soft margin of linear measurements, and its smoothing over the capped simplex."""

from __future__ import annotations

import math

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.images import Images
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from psdopt.terms.base import Forces, Term
from psdopt.terms.measurements import Measurement
from psdopt.terms.models import Curve, Surface


class CappedMargin:
    """f(a) = −max_ρ {ρ − cap Σ_r max(0, ρ − a_r)} = max_{w ∈ W} −⟨w, a⟩, W = {0 <= w <= cap, Σ w = 1}.

    With `smoothing` mu > 0: f_mu(a) = max_{w ∈ W} {−⟨w, a⟩ − (mu m / 2) |w − 1/m|²}, which is C¹ with a
    gradient −w(a) that is 1/(mu m)-Lipschitz, and f − excess <= f_mu <= f. Nesterov, Math. Program. 103 (2005);
    the capped simplex makes f a conditional value at risk.

    Parameters
    ----------
    size : m. cap : 1/m <= cap <= 1. smoothing : mu >= 0, in the units of a.
    """

    def __init__(self, size: int, cap: float, smoothing: float = 0.0) -> None:
        if not cap * size >= 1.0 - 4.0 * EPS * size:
            raise InvalidInputError(f"cap must be at least 1/m = {1.0 / size:g}; found {cap:g}")
        if not (math.isfinite(smoothing) and smoothing >= 0.0):
            raise InvalidInputError(f"smoothing must be finite and at least 0; found {smoothing!r}")
        self.size, self.cap, self.smoothing = size, max(min(float(cap), 1.0), 1.0 / size), float(smoothing)

    @property
    def excess(self) -> float:
        """sup over W of (mu m / 2) |w − 1/m|²: how far f_mu may lie below f. O(1)."""
        return 0.5 * self.smoothing * max(self.size * self.cap - 1.0, 0.0)

    def penalty(self, w: Array) -> float:
        """(mu m / 2) |w − 1/m|²."""
        away = w - 1.0 / self.size
        return 0.5 * self.smoothing * self.size * inner(away, away)

    def weights(self, a: Array) -> Array:
        """The maximising w (m,). With mu = 0 ties at ρ share their weight evenly. O(m log m)."""
        if self.smoothing > 0.0:
            return project_simplex(1.0 / self.size - a / (self.smoothing * self.size), 1.0, self.cap)
        rho = self.margin(a)
        below, tied = a < rho, a == rho
        left = 1.0 - self.cap * np.count_nonzero(below)
        return np.where(below, self.cap, np.where(tied, left / np.count_nonzero(tied), 0.0))

    def margin(self, a: Array) -> float:
        """The best ρ at mu = 0: the entry of rank ⌈1/cap⌉ of a in increasing order."""
        rank = min(math.ceil(1.0 / self.cap - 4.0 * EPS * self.size), self.size) - 1
        return float(np.partition(a, rank)[rank])

    def value(self, a: Array) -> float:
        """f_mu(a)."""
        if self.smoothing > 0.0:
            w = self.weights(a)
            return -inner(w, a) - self.penalty(w)
        rho = self.margin(a)
        return -rho + self.cap * float(np.sum(np.maximum(rho - a, 0.0)))

    def curvature(self, w: Array, direction: Array) -> Array:
        """∇²f_mu · direction where the weights are `w`: (1/(mu m)) (P − mean) on the free entries."""
        if self.smoothing == 0.0:
            return np.zeros_like(direction)
        slack = 4.0 * EPS * self.size * self.cap
        free = (w > slack) & (w < self.cap - slack)
        result = np.zeros_like(direction)
        if np.any(free):
            inside = direction[free]
            result[free] = (inside - inside.mean()) / (self.smoothing * self.size)
        return result


class MarginTerm(Term):
    """f(⟨A_1, M⟩, ..., ⟨A_m, M⟩) for the capped margin f; features are the margins (m,)."""

    def __init__(self, measurement: Measurement, loss: CappedMargin) -> None:
        self.measurement, self.loss = measurement, loss
        self.n, self.maps = measurement.n, measurement.maps

    def features(self, U: Images) -> Array:
        return self.measurement.pair(U, U)

    def value(self, features: Array) -> float:
        return self.loss.value(features)

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        return self.measurement.adjoint(-self.loss.weights(features), V)

    def hessian(self, U: Images, features: Array, D: Images, V: Images) -> Forces:
        moved = 2.0 * self.measurement.pair(U, D)
        return self.measurement.adjoint(self.loss.curvature(self.loss.weights(features), moved), V)

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        return _MarginCurve(self.loss, features, 2.0 * self.measurement.pair(U, D), self.measurement.pair(D, D))

    def along_atom(self, U: Images, features: Array, v: Images) -> Surface:
        return _MarginSurface(self.loss, features, self.measurement.pair(v, v))


class _MarginCurve(Curve):
    """mu ↦ f(a0 + mu a1 + mu² a2)."""

    def __init__(self, loss: CappedMargin, a0: Array, a1: Array, a2: Array) -> None:
        self.loss, self.a0, self.a1, self.a2 = loss, a0, a1, a2

    def features_at(self, mu: float) -> Array:
        return self.a0 + mu * (self.a1 + mu * self.a2)

    def value(self, mu: float) -> float:
        return self.loss.value(self.features_at(mu))

    def derivatives(self, mu: float) -> tuple[float, float]:
        w = self.loss.weights(self.features_at(mu))
        velocity = self.a1 + 2.0 * mu * self.a2
        return -inner(w, velocity), inner(self.loss.curvature(w, velocity), velocity) - 2.0 * inner(w, self.a2)


class _MarginSurface(Surface):
    """(alpha, beta) ↦ f(alpha a + beta b)."""

    def __init__(self, loss: CappedMargin, a: Array, b: Array) -> None:
        self.loss, self.a, self.b = loss, a, b

    def features_at(self, alpha: float, beta: float) -> Array:
        return alpha * self.a + beta * self.b

    def value(self, alpha: float, beta: float) -> float:
        return self.loss.value(self.features_at(alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        w = self.loss.weights(self.features_at(alpha, beta))
        Ja, Jb = self.loss.curvature(w, self.a), self.loss.curvature(w, self.b)
        cross = inner(Ja, self.b)
        return -np.array([inner(w, self.a), inner(w, self.b)]), np.array(
            [[inner(Ja, self.a), cross], [cross, inner(Jb, self.b)]]
        )
