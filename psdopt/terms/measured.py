"""Terms weight · Σ_t phi_t(⟨A_t, M⟩): a measurement under a loss."""

from __future__ import annotations

import math

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.images import Images
from psdopt.linalg.arrays import Array, inner
from psdopt.terms.base import Forces, Term
from psdopt.terms.losses import Loss
from psdopt.terms.measurements import Measurement
from psdopt.terms.models import Curve, PolynomialCurve, QuadraticSurface, Surface


class MeasuredTerm(Term):
    """f(M) = weight · Σ_t phi_t(a_t), a_t = ⟨A_t, M⟩.

    Features are the measured vector a (m,). Along Y + mu D it is a0 + mu a1 + mu² a2 and over
    alpha M + beta vvᵀ it is alpha a + beta b, so searches touch vectors of length m and no map:
    O(m r) per line, O(m) per trial. For a loss of degree 2 the line is an exact quartic.

    Parameters
    ----------
    measurement : what is measured. loss : what it costs. weight : finite; negative makes f concave.
    """

    def __init__(self, measurement: Measurement, loss: Loss, weight: float = 1.0) -> None:
        if loss.size is not None and loss.size != measurement.size:
            raise InvalidInputError(
                f"loss must be made for {measurement.size} measurements; found arrays of length {loss.size}"
            )
        if not math.isfinite(weight):
            raise InvalidInputError(f"weight must be finite; found {weight}")
        self.measurement, self.loss, self.weight = measurement, loss, float(weight)
        self.n, self.maps, self.degree = measurement.n, measurement.maps, loss.degree
        self.convex = loss.degree == 1 or (loss.convex and weight >= 0.0)

    def features(self, U: Images) -> Array:
        return self.measurement.pair(U, U)

    def value(self, features: Array) -> float:
        return self.weight * self.loss.value(features)

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        return self.measurement.adjoint(self.weight * self.loss.derivative(features), V)

    def hessian(self, U: Images, features: Array, D: Images, V: Images) -> Forces:
        if self.degree == 1:
            return []
        moved = 2.0 * self.measurement.pair(U, D)
        return self.measurement.adjoint(self.weight * self.loss.second(features) * moved, V)

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        a1, a2 = self.measurement.along(U, D)
        if self.degree is None:
            return MeasuredCurve(self.loss, self.weight, features, a1, a2)
        g, second = self.loss.derivative(features), self.loss.second(features)
        h1, h2 = second * a1, second * a2
        w = self.weight
        coefficients = (
            w * self.loss.value(features),
            w * inner(g, a1),
            w * (inner(g, a2) + 0.5 * inner(h1, a1)),
            w * inner(h1, a2),
            w * 0.5 * inner(h2, a2),
        )
        return PolynomialCurve(coefficients, lambda mu: features + mu * (a1 + mu * a2))

    def along_atom(self, U: Images, features: Array, v: Images) -> Surface:
        atom = self.measurement.pair(v, v)
        if self.degree is None:
            return MeasuredSurface(self.loss, self.weight, features, atom)
        zero = np.zeros_like(features)
        g, h = self.loss.derivative(zero), self.loss.second(zero)
        hb = h * atom
        cross = inner(features, hb)
        return QuadraticSurface(
            self.weight * self.loss.value(zero),
            self.weight * np.array([inner(g, features), inner(g, atom)]),
            self.weight * np.array([[inner(h * features, features), cross], [cross, inner(hb, atom)]]),
            lambda alpha, beta: alpha * features + beta * atom,
        )


#: Measurements evaluated at a time along a line: few enough for all temporaries to stay in the processor's cache.
LINE_BLOCK = 8192


class MeasuredCurve(Curve):
    """mu ↦ weight · loss(a0 + mu a1 + mu² a2), summed block by block."""

    def __init__(self, loss: Loss, weight: float, a0: Array, a1: Array, a2: Array) -> None:
        self.loss, self.weight, self.a0, self.a1, self.a2 = loss, weight, a0, a1, a2
        rows = [slice(s, s + LINE_BLOCK) for s in range(0, len(a0), LINE_BLOCK)]
        self._blocks = [(loss.part(part), a0[part], a1[part], a2[part]) for part in rows]

    def features_at(self, mu: float) -> Array:
        return self.a0 + mu * (self.a1 + mu * self.a2)

    def value(self, mu: float) -> float:
        return self.weight * sum(loss.value(a0 + mu * (a1 + mu * a2)) for loss, a0, a1, a2 in self._blocks)

    def derivatives(self, mu: float) -> tuple[float, float]:
        first = second = 0.0
        for loss, a0, a1, a2 in self._blocks:
            bend = mu * a2
            a, velocity = a0 + mu * (a1 + bend), a1 + 2.0 * bend
            g, h = loss.derivatives(a)
            first += inner(g, velocity)
            second += inner(h * velocity, velocity) + 2.0 * inner(g, a2)
        return self.weight * first, self.weight * second


class MeasuredSurface(Surface):
    """(alpha, beta) ↦ weight · loss(alpha a + beta b)."""

    def __init__(self, loss: Loss, weight: float, a: Array, b: Array) -> None:
        self.loss, self.weight, self.a, self.b = loss, weight, a, b

    def features_at(self, alpha: float, beta: float) -> Array:
        return alpha * self.a + beta * self.b

    def value(self, alpha: float, beta: float) -> float:
        return self.weight * self.loss.value(self.features_at(alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        at = self.features_at(alpha, beta)
        g, h = self.loss.derivative(at), self.loss.second(at)
        cross = inner(h * self.a, self.b)
        gradient = np.array([inner(g, self.a), inner(g, self.b)])
        hessian = np.array([[inner(h * self.a, self.a), cross], [cross, inner(h * self.b, self.b)]])
        return self.weight * gradient, self.weight * hessian
