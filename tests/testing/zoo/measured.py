"""Broken measurements (quadratic forms on order 4) and broken losses (squared hinges), with one sin each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array
from psdopt.terms.base import Forces
from psdopt.terms.losses import Loss
from psdopt.terms.measurements import QuadraticForms

N, M = 4, 6


class _Forms(QuadraticForms):
    """Healthy base: quadratic forms of six rows."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(8).standard_normal((M, N)))


class AdjointTwice(_Forms):
    """The adjoint is twice too large."""

    rejected_by = (
        "measurement.adjoint", "measurement.pair", "measurement.coupling", "measurement.part", "measurement.dense_sum"
    )  # fmt: skip

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return super().adjoint(2.0 * weights, V)


class OneSidedPair(_Forms):
    """pair is not symmetric in its arguments: it uses the first column of one of them for both."""

    rejected_by = ("measurement.pair", "measurement.signed_squares")

    def pair(self, U: Images, V: Images) -> Array:
        Z, W = U.of(self.X), V.of(self.X)
        return np.asarray(np.sum(Z * W, axis=1) + 0.1 * (Z[:, 0] ** 2 - W[:, 0] ** 2))


class HalfTheLine(_Forms):
    """The linear part of a line lacks its factor two."""

    rejected_by = ("measurement.along",)

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        first, second = super().along(U, D)
        return 0.5 * first, second


class OneTooMany(_Forms):
    """Declares one measurement more than it takes."""

    rejected_by = (
        "measurement.shapes",
        "measurement.adjoint",
        "measurement.pair",
        "measurement.dense_sum",
        "measurement.coupling",
        "measurement.signed_squares",
        "measurement.part",
        "measurement.inputs_untouched",
    )

    def __init__(self) -> None:
        super().__init__()
        self.size = M + 1


class Overwrites(_Forms):
    """add_to replaces what the array holds."""

    rejected_by = ("measurement.dense_sum",)

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        S[:] = 0.0
        super().add_to(S, weights, identity)


class CouplingOfOne(_Forms):
    """The coupling uses P where Q is due."""

    rejected_by = ("measurement.coupling",)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        return super().coupling(P, P, identity, out)


class SpoilsWeights(_Forms):
    """The adjoint scales the weights that it is given."""

    rejected_by = ("measurement.inputs_untouched", "measurement.adjoint", "measurement.dense_sum")

    def adjoint(self, weights: Array, V: Images) -> Forces:
        forces = super().adjoint(weights.copy(), V)
        if np.max(np.abs(weights)) != 1.0:
            weights *= 2.0
        return forces


class _Hinge(Loss):
    """Healthy base: Σ_t max(0, 1 − a_t)²."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def value(self, a: Array) -> float:
        return float(np.sum(np.maximum(1.0 - a, 0.0) ** 2))

    def derivative(self, a: Array) -> Array:
        return np.asarray(-2.0 * np.maximum(1.0 - a, 0.0))

    def second(self, a: Array) -> Array:
        return np.where(a < 1.0, 2.0, 0.0)


class SlopeSign(_Hinge):
    """The derivative has the wrong sign."""

    rejected_by = ("loss.slope", "loss.bend", "loss.convex_far")

    def derivative(self, a: Array) -> Array:
        return -super().derivative(a)


class BendHalf(_Hinge):
    """The second derivative is half as large as it should be."""

    rejected_by = ("loss.bend",)

    def second(self, a: Array) -> Array:
        return 0.5 * super().second(a)


class FalselyConvex(_Hinge):
    """Concave, and says that it is convex."""

    rejected_by = ("loss.convexity", "loss.convex_far")

    def value(self, a: Array) -> float:
        return -super().value(a)

    def derivative(self, a: Array) -> Array:
        return -super().derivative(a)

    def second(self, a: Array) -> Array:
        return -super().second(a)


class FalseDegree(_Hinge):
    """Says that it is quadratic, which it is on one side of the margin only."""

    degree = 2
    rejected_by = ("loss.degree",)


class SeesItsNeighbour(_Hinge):
    """Says that it is separable, and takes the mean of its values."""

    rejected_by = ("loss.separable", "loss.bend")

    def value(self, a: Array) -> float:
        return float(np.sum(a) ** 2)

    def derivative(self, a: Array) -> Array:
        return np.full(a.shape, 2.0 * float(np.sum(a)))

    def second(self, a: Array) -> Array:
        return np.full(a.shape, 2.0)


class SizeUnsaid(_Hinge):
    """Holds one weight per measurement, and does not say for how many it is made."""

    rejected_by = ("loss.any_number", "loss.many_measurements")

    weights = np.linspace(1.0, 2.0, 7)

    def value(self, a: Array) -> float:
        return float(np.sum(self.weights * np.maximum(1.0 - a, 0.0) ** 2))

    def derivative(self, a: Array) -> Array:
        return self.weights * super().derivative(a)

    def second(self, a: Array) -> Array:
        return self.weights * super().second(a)


class SpoilsValues(_Hinge):
    """value clips its argument in place."""

    rejected_by = ("loss.values_untouched",)

    def value(self, a: Array) -> float:
        found = super().value(a)
        if a.flags.owndata and len(a) == 7:
            np.minimum(a, 1.0, out=a)
        return found


class FlatFarAway(Loss):
    """Says that it is convex, and turns flat beyond 30 (Tukey's biweight): samples of order one do not come there."""

    rejected_by: ClassVar[tuple[str, ...]] = ("loss.convex_far",)
    nonnegative = True

    def value(self, a: Array) -> float:
        u = np.minimum((a / 30.0) ** 2, 1.0)
        return 150.0 * float(np.sum(u * (3.0 - u * (3.0 - u))))

    def derivative(self, a: Array) -> Array:
        return np.asarray(a * self._left(a) ** 2)

    def second(self, a: Array) -> Array:
        left = self._left(a)
        return np.asarray(left * (5.0 * left - 4.0))

    def _left(self, a: Array) -> Array:
        return np.maximum(1.0 - (a / 30.0) ** 2, 0.0)


class BelowZero(_Hinge):
    """Says that it is nonnegative, and is so everywhere but beside its minimum."""

    nonnegative = True
    rejected_by = ("loss.nonnegative",)

    def value(self, a: Array) -> float:
        return super().value(a) - 1e-3


class WeightsForgotten(_Hinge):
    """Does not name its weights among the arrays of one number per measurement."""

    size = 7
    per_measurement = ("margin",)
    rejected_by = ("loss.per_measurement",)

    def __init__(self) -> None:
        self.margin, self.weights = 1.0, np.linspace(1.0, 2.0, 7)

    def value(self, a: Array) -> float:
        return float(np.sum(self.weights * np.maximum(self.margin - a, 0.0) ** 2))

    def derivative(self, a: Array) -> Array:
        return self.weights * super().derivative(a)

    def second(self, a: Array) -> Array:
        return self.weights * super().second(a)


class PartOfTheFirst(_Forms):
    """A part has the first measurements, whichever are chosen."""

    rejected_by = ("measurement.part",)

    def part(self, chosen: Any) -> QuadraticForms:
        return super().part(np.arange(len(chosen)))


class SignsNegated(_Forms):
    """The signs of its sum of squares are those of −A_t, which only column generation reads."""

    rejected_by = ("measurement.signed_squares",)

    @property
    def signs(self) -> Any:
        return -super().signs


MEASUREMENTS: tuple[type[Any], ...] = (
    AdjointTwice,
    OneSidedPair,
    HalfTheLine,
    OneTooMany,
    Overwrites,
    CouplingOfOne,
    SpoilsWeights,
    PartOfTheFirst,
    SignsNegated,
)


class LossOfTheFirst(_Hinge):
    """A part has the margins of the first measurements, whichever are chosen."""

    size = 7
    per_measurement = ("margins",)
    rejected_by = ("loss.per_measurement",)

    def __init__(self) -> None:
        self.margins = np.linspace(1.0, 2.0, 7)

    def value(self, a: Array) -> float:
        return super().value(a - self.margins + 1.0)

    def derivative(self, a: Array) -> Array:
        return super().derivative(a - self.margins + 1.0)

    def second(self, a: Array) -> Array:
        return super().second(a - self.margins + 1.0)

    def part(self, chosen: Any) -> LossOfTheFirst:
        return super().part(np.arange(len(chosen)))


LOSSES: tuple[type[Any], ...] = (
    SlopeSign,
    BendHalf,
    FalselyConvex,
    FalseDegree,
    SeesItsNeighbour,
    SizeUnsaid,
    SpoilsValues,
    FlatFarAway,
    BelowZero,
    WeightsForgotten,
    LossOfTheFirst,
)
