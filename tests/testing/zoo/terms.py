"""Broken terms: Σ_t (x_tᵀ M x_t − y_t)² on order 4 and a product of forms, each term by itself, with one sin each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array
from psdopt.terms.base import Forces
from psdopt.terms.losses import LeastSquares, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms
from psdopt.terms.models import Curve, PolynomialCurve, QuadraticSurface, Surface

N, M = 4, 9
X = np.random.default_rng(7).standard_normal((M, N))
TARGETS = np.linspace(0.5, 4.0, M)


class _Fit(MeasuredTerm):
    """Healthy base: squared errors of quadratic forms, a polynomial of degree two in M."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(QuadraticForms(X.copy()), LeastSquares(TARGETS.copy()), 0.5)

    def reference(self) -> Callable[[Array], float]:
        return lambda M: 0.5 * float(np.sum((np.sum((X @ M) * X, axis=1) - TARGETS) ** 2))


class _Hinge(MeasuredTerm):
    """Healthy base: squared hinges of quadratic forms, no polynomial."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(QuadraticForms(X.copy()), SquaredHinge(3.0), 0.8)


class LineSlope(_Fit):
    """The slope of the line is a tenth too large: a problem of polynomials would overwrite it."""

    rejected_by = ("term.line_model",)

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        c: Any = super().along(U, features, D).coefficients
        return PolynomialCurve([c[0], 1.1 * c[1], *c[2:]])


class LineConstant(_Fit):
    """The constant of the line is another than the value."""

    rejected_by = ("term.line_model",)

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        c: Any = super().along(U, features, D).coefficients
        return PolynomialCurve([c[0] + 1.0, *c[1:]])


class StaleFeatures(_Fit):
    """The features that the line offers are those of where it began."""

    rejected_by = ("term.line_model",)

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        c: Any = super().along(U, features, D).coefficients
        return PolynomialCurve(c, lambda mu: features)


class PlaneCross(_Fit):
    """The mixed entries of the plane's Hessian are missing."""

    rejected_by = ("term.plane_model",)

    def along_atom(self, U: Images, features: Array, v: Images) -> Surface:
        right: Any = super().along_atom(U, features, v)
        c, g, H = right.quadratic
        return QuadraticSurface(c, g, np.diag(np.diag(H)))


class GradientTwice(_Hinge):
    """The gradient lacks a factor of a half."""

    rejected_by = ("term.gradient_slope", "term.hessian_slope", "term.line_model")

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        return [(A, 2.0 * G) for A, G in super().gradient(U, features, V)]


class SkewGradient(_Hinge):
    """The gradient has a skew part, which no value shows."""

    rejected_by = ("term.gradient_operator", "term.gradient_slope", "term.line_model")

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        K = np.zeros((N, N))
        K[0, 1], K[1, 0] = 0.3, -0.3
        return [*super().gradient(U, features, V), (None, K @ V.factor)]


class HessianOfTheFactor(_Hinge):
    """The Hessian forgets that M moves by U Dᵀ and by D Uᵀ."""

    rejected_by = ("term.hessian_slope",)

    def hessian(self, U: Images, features: Array, D: Images, V: Images) -> Forces:
        return [(A, 0.5 * G) for A, G in super().hessian(U, features, D, V)]


class SeesTheFactor(_Hinge):
    """The first column of Y counts for more than M says."""

    rejected_by = (
        "term.representative_invariance",
        "term.convexity",
        "term.gradient_slope",
        "term.line_model",
        "term.hessian_slope",
    )

    def features(self, U: Images) -> Array:
        return super().features(U) + 0.1 * float(np.sum(U.factor[:, 0] ** 2))


class FalselyConvex(_Fit):
    """A negative weight makes it concave, and it says that it is convex."""

    rejected_by = ("term.convexity",)

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.convex = -0.5, True

    def reference(self) -> Callable[[Array], float]:
        right = super().reference()
        return lambda M: -right(M)


class FalseDegree(_Hinge):
    """A hinge that says it is a polynomial."""

    rejected_by = ("term.degree", "term.line_model")

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        self.degree = None
        curve = super().along(U, features, D)
        self.degree = 2
        return curve

    def along_atom(self, U: Images, features: Array, v: Images) -> Surface:
        self.degree = None
        surface = super().along_atom(U, features, v)
        self.degree = 2
        return surface

    def __init__(self) -> None:
        super().__init__()
        self.degree = 2


class MovesItsFeatures(_Fit):
    """Every call for the gradient moves the features, if only by their last bit."""

    rejected_by = ("term.data_untouched",)

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        forces = super().gradient(U, features, V)
        features[0] = np.nextafter(features[0], np.inf)
        return forces


class OtherWeight(_Fit):
    """Consistent in itself, with a weight a thousandth away from its formula."""

    rejected_by = ("term.formula",)

    def __init__(self) -> None:
        super().__init__()
        self.weight *= 1.001


class _Summed(QuadraticForms):
    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        first, second = super().along(U, D)
        return 0.5 * first, second


class BrokenMeasurement(_Hinge):
    """Its measurement moves half as fast along a line as it should."""

    rejected_by = ("term.parts", "term.line_model")

    def __init__(self) -> None:
        super().__init__()
        self.measurement = _Summed(self.maps[0])


ALL: tuple[type[Any], ...] = (
    LineSlope,
    LineConstant,
    StaleFeatures,
    PlaneCross,
    GradientTwice,
    SkewGradient,
    HessianOfTheFactor,
    SeesTheFactor,
    FalselyConvex,
    FalseDegree,
    MovesItsFeatures,
    OtherWeight,
    BrokenMeasurement,
)
