"""The soft margin of linear measurements, and its smoothing over the capped simplex."""

from __future__ import annotations

import math

import numpy as np

from psdopt.checks import weight
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner, is_finite
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from psdopt.terms.losses import Loss


class CappedMargin(Loss):
    """f(a) = −max_ρ {ρ − cap Σ_r max(0, ρ − a_r)} = max_{w ∈ W} −⟨w, a⟩, W = {0 <= w <= cap, Σ w = 1}.

    With `smoothing` mu > 0: f_mu(a) = max_{w ∈ W} {−⟨w, a⟩ − (mu m / 2) |w − 1/m|²}, which is C¹ with a
    gradient −w(a) that is 1/(mu m)-Lipschitz, and f − excess <= f_mu <= f. Nesterov, Math. Program. 103 (2005);
    the capped simplex makes f a conditional value at risk.

    Parameters
    ----------
    size : m. cap : 1/m <= cap <= 1. smoothing : mu >= 0, in the units of a.
    """

    separable = False
    size: int

    def __init__(self, size: int, cap: float, smoothing: float = 0.0) -> None:
        if not cap * size >= 1.0 - 4.0 * EPS * size:
            raise InvalidInputError(f"cap must be at least 1/m = {1.0 / size:g}; found {cap:g}")
        weight(smoothing, "smoothing")
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
        """The maximising w (m,). With mu = 0 ties at ρ share their weight evenly; NaN where a overflows. O(m log m)."""
        if self.smoothing > 0.0:
            x = 1.0 / self.size - a / (self.smoothing * self.size)
            return project_simplex(x, 1.0, self.cap) if is_finite(x) else np.full(x.shape, np.nan)
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

    def derivative(self, a: Array) -> Array:
        """−w(a): the gradient of f_mu, and a subgradient where mu = 0."""
        return -self.weights(a)

    def curvature(self, a: Array, direction: Array) -> Array:
        return self.expansion(a, direction)[1][0]

    def expansion(self, a: Array, *directions: Array) -> tuple[Array, list[Array]]:
        """−w(a), and (d − mean d)/(mu m) on the weights that are neither 0 nor at the cap; zeros where mu = 0."""
        w = self.weights(a)
        curvatures = [np.zeros(d.shape) for d in directions]
        slack = 4.0 * EPS * self.size * self.cap
        free = (w > slack) & (w < self.cap - slack)
        if self.smoothing > 0.0 and np.any(free):
            for d, along in zip(directions, curvatures, strict=True):
                inside = d[free]
                along[free] = (inside - inside.mean()) / (self.smoothing * self.size)
        return -w, curvatures
