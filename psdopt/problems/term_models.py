"""Lines and planes of a sum of terms: sums of the terms' curves and surfaces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import add
from typing import Any, Protocol

import numpy as np

from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel
from psdopt.devices import Deferred
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.planes import Quadratic
from psdopt.linalg.polynomials import quartic, quartic_derivatives
from psdopt.terms.base import Term
from psdopt.terms.models import Curve, Surface


class Terms(Protocol):
    """A sum constant + Σ_k f_k of terms."""

    terms: tuple[Term, ...]
    constant: float


class AtTerms(Protocol):
    """A sum of terms at some Y, as its lines and planes need it."""

    images: Images
    factor: Array

    @property
    def problem(self) -> Terms: ...

    @property
    def value(self) -> float: ...

    def feature(self, k: int) -> Any: ...

    def product_with_factor(self) -> Array: ...

    def moved(self, images: Images, features: list[Any], value: float) -> Evaluation: ...


def sum_of(parts: Iterable[float]) -> float:
    """Σ parts without loss of digits; inf or nan, not an error, if a part has overflowed."""
    numbers = [float(part) for part in parts]
    try:
        return math.fsum(numbers)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.sum(numbers))


class TermLine(LineModel):
    """Sum of the curves of all terms along Y + mu D."""

    def __init__(self, evaluation: AtTerms, direction: Images) -> None:
        self.evaluation, self.direction = evaluation, direction
        terms = evaluation.problem.terms
        self.curves: list[Curve] = [
            term.along(evaluation.images, evaluation.feature(k), direction) for k, term in enumerate(terms)
        ]
        # <2SY, D> carries less cancellation than the sum of the terms' own slopes
        self.slope = 2.0 * inner(evaluation.product_with_factor(), direction.factor)
        if isinstance(self.slope, Deferred):
            evaluation.images.ask(direction)
        self.coefficients = self._sum_coefficients()
        self._last = 0.0, evaluation.value  # the step needs the value at the end of the search again

    def _sum_coefficients(self) -> list[float] | None:
        found = [self.evaluation.value, self.slope, 0.0, 0.0, 0.0]
        for curve in self.curves:
            if curve.coefficients is None:
                return None
            found[2:] = map(add, found[2:], curve.coefficients[2:])
        return [float(c) for c in found] if isinstance(self.slope, Deferred) else found

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return quartic(c, mu)
        if mu != self._last[0]:
            self._last = mu, sum_of([self.evaluation.problem.constant, *(curve.value(mu) for curve in self.curves)])
        return self._last[1]

    def derivatives(self, mu: float) -> tuple[float, float]:
        if self.coefficients is not None:
            return quartic_derivatives(self.coefficients, mu)
        pairs = [curve.derivatives(mu) for curve in self.curves]
        first = self.slope if mu == 0.0 else sum_of(p[0] for p in pairs)
        return first, sum_of(p[1] for p in pairs)

    def step(self, mu: float) -> Evaluation:
        images = self.evaluation.images.step(mu, self.direction)
        return self.evaluation.moved(images, [curve.features_at(mu) for curve in self.curves], self.value(mu))


class TermPlane(PlaneModel):
    """Sum of the surfaces of all terms over alpha M + beta v vᵀ."""

    def __init__(self, evaluation: AtTerms, atom: Images) -> None:
        self.evaluation, self.atom = evaluation, atom
        terms = evaluation.problem.terms
        self.surfaces: list[Surface] = [
            term.along_atom(evaluation.images, evaluation.feature(k), atom) for k, term in enumerate(terms)
        ]
        self.quadratic = self._sum_quadratics()

    def _sum_quadratics(self) -> Quadratic | None:
        c, g, H = self.evaluation.problem.constant, np.zeros(2), np.zeros((2, 2))
        for surface in self.surfaces:
            if surface.quadratic is None:
                return None
            c, g, H = map(add, (c, g, H), surface.quadratic)
        return c, g, H

    def value(self, alpha: float, beta: float) -> float:
        constant = self.evaluation.problem.constant
        return sum_of([constant, *(surface.value(alpha, beta) for surface in self.surfaces)])

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        gradients, hessians = zip(*(surface.derivatives(alpha, beta) for surface in self.surfaces), strict=True)
        return sum(gradients), sum(hessians)

    def step(self, alpha: float, beta: float) -> Evaluation:
        r = self.evaluation.factor.shape[1]
        grown = self.evaluation.images.append(self.atom)
        images = grown.mix(np.diag(np.sqrt([alpha] * r + [beta])))
        features = [surface.features_at(alpha, beta) for surface in self.surfaces]
        return self.evaluation.moved(images, features, self.value(alpha, beta))
