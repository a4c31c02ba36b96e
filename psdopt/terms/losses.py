"""Losses of measured values: phi (m,) ↦ a number, with its gradient and curvature.

A measurement computes numbers from M, and a loss assigns a cost to them; a
:class:`~psdopt.terms.measured.MeasuredTerm` joins the two.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, Self, cast

import numpy as np

from psdopt.checks import finite
from psdopt.devices import Device, device_of, held, is_device_array, on_host, placed
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, as_array, filled_like, inner


class Loss(ABC):
    """phi: a (m,) ↦ a number, differentiable. A separable loss is Σ_t phi_t(a_t).

    A separable loss offers :meth:`value`, :meth:`derivative` and :meth:`second`. Any other loss sets `separable` to
    False and offers :meth:`curvature` instead of :meth:`second`.

    Attributes
    ----------
    degree : of phi as a polynomial in a (1 or 2); None if phi is not a polynomial. convex : whether phi is.
    nonnegative : whether phi >= 0 everywhere, weights included: a lower bound for certificates.
    separable : whether phi is a sum over the measurements. size : m, or None if any m will do.
    per_measurement : names of all attributes that are scalars or arrays (m,) of one number per measurement; a loss must
        declare them to run on a device. The declaration covers the class itself, not its subclasses: these may hold
        more data. None, the default: the data of the loss stay where they are.
    """

    degree: int | None = None
    convex: bool = True
    nonnegative: bool = False
    separable: bool = True
    size: int | None = None
    per_measurement: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def value(self, a: Array) -> float:
        """phi(a)."""

    @abstractmethod
    def derivative(self, a: Array) -> Array:
        """∇phi(a), shape (m,)."""

    def second(self, a: Array) -> Array:
        """The diagonal phi_t''(a_t) of the Hessian, shape (m,), of a separable loss.

        At a kink of phi_t' it is the one-sided value from the side where phi_t' = 0. Raises InvalidTypeError if the
        loss is not separable.
        """
        raise InvalidTypeError(f"{type(self).__name__} offers no second derivatives per measurement: use curvature")

    def curvature(self, a: Array, direction: Array) -> Array:
        """∇²phi(a) · direction, shape (m,), for a direction (m,)."""
        return self.second(a) * direction

    def least_curvature(self, a: Array, floor: float) -> Array | None:
        """c (m,), c_t >= 0, with phi_t(x) >= phi_t(a_t) + phi_t'(a_t)(x − a_t) + c_t/2 (x − a_t)² for x >= `floor`.

        None if none is known. Default: phi_t'' of a convex loss of degree 2.
        """
        return self.second(a) if self.degree == 2 and self.convex and self.separable else None

    def sensitivities(self, a: Array) -> Mapping[str, tuple[Array, Array]]:
        """(∂phi_t/∂θ_t, ∂phi_t'/∂θ_t), (m,) each, at a, for each datum θ of one number per measurement, by name.

        Only for separable losses; a datum that is one number stands for all θ_t. Default: none.
        """
        return {}

    def corner(self, a: Array) -> float:
        """The least distance of an a_t from a jump of phi_t'', relative to the size of a; inf without jumps."""
        return math.inf

    def derivatives(self, a: Array) -> tuple[Array, Array]:
        """(:meth:`derivative`, :meth:`second`); override it if the two share work."""
        return self.derivative(a), self.second(a)

    def expansion(self, a: Array, *directions: Array) -> tuple[Array, list[Array]]:
        """∇phi(a) and ∇²phi(a) · d for each of the directions d (m,); override it if these share work."""
        if not self.separable:
            return self.derivative(a), [self.curvature(a, d) for d in directions]
        first, second = self.derivatives(a)
        return first, [second * d for d in directions]

    def on(self, device: Device) -> Self:
        """The loss with its arrays on `device`. Raises InvalidTypeError if `per_measurement` is not declared."""
        if self._declared is None:
            text = f"{type(self).__name__} does not declare per_measurement, without which no loss is taken to {device}"
            raise InvalidTypeError(text)
        return self._with(lambda values, name: cast(Array, placed(values, device, name)))

    @property
    def has_parts(self) -> bool:
        """Whether :meth:`part` is possible: the loss is separable and declares `per_measurement`."""
        return self.separable and self._declared is not None

    def part(self, chosen: Any) -> Self:
        """The loss of the measurements at the positions `chosen` (k,) alone. InvalidTypeError unless `has_parts`."""
        if not self.has_parts:
            why = "is no sum over measurements" if not self.separable else "does not declare per_measurement"
            raise InvalidTypeError(f"{type(self).__name__} {why}, and cannot be taken of a part of them")
        some = self._with(lambda values, name: values[chosen])
        some.size = None if self.size is None else len(chosen)
        return some

    def _with(self, change: Callable[[Array, str], Array]) -> Self:
        """A copy whose declared arrays (m,) are change(array, name)."""
        there = copy(self)
        for name in self._declared or ():
            value = getattr(self, name)
            if np.ndim(value) == 1:
                setattr(there, name, change(value, name))
        return there

    @property
    def device(self) -> Device | None:
        """The device of the arrays with one number per measurement; None for NumPy arrays, or without such arrays."""
        return next(
            (where for name in self._declared or () if (where := device_of(getattr(self, name))) is not None), None
        )

    @property
    def _declared(self) -> tuple[str, ...] | None:
        """`per_measurement` of the class itself."""
        found: tuple[str, ...] | None = vars(type(self)).get("per_measurement")
        return found


class HalfSquaredOneSided(Loss):
    """½ Σ_t w_t max(0, direction_t (a_t − target_t))², and ½ w_t (a_t − target_t)² where direction_t = 0.

    Regression with bounds (Meyer et al., section 4): direction +1 asks for a_t <= target_t, −1 for a_t >= target_t, 0
    for a_t = target_t. Piecewise quadratic, C¹; a quadratic when every direction is 0.

    Parameters
    ----------
    target : scalar or (m,). direction : −1, 0 or +1, scalar or (m,). weights : non-negative; None is 1.
    """

    nonnegative = True
    per_measurement: ClassVar[tuple[str, ...]] = ("target", "direction", "weights", "_second")
    _per_weight: ClassVar[float] = 1.0  # phi_t'' beyond the target, for a weight of 1

    def __init__(self, target: Any, direction: Any = 0.0, weights: Any = None) -> None:
        self.target = _numbers(target, "target")
        self.direction = _signs(direction, "direction", (-1.0, 0.0, 1.0), "-1, 0 or +1")
        self.weights = _weights(weights)
        self.size = _size(target=self.target, direction=self.direction, weights=self.weights)
        self.degree = None if np.any(on_host(self.direction)) else 2
        self._second = self.weights

    def _violation(self, a: Array) -> Array:
        residual = a - self.target
        return residual if self.degree == 2 else np.where(self.direction * residual < 0.0, 0.0, residual)

    def value(self, a: Array) -> float:
        r = self._violation(a)
        return 0.5 * inner(self._second * r, r)

    def derivative(self, a: Array) -> Array:
        return self._second * self._violation(a)

    def second(self, a: Array) -> Array:
        if self.degree == 2:
            return self._second if self._second.shape == a.shape else filled_like(a, self._second)
        active = (self.direction == 0.0) | (self.direction * (a - self.target) > 0.0)
        return np.where(active, self._second, 0.0)

    def sensitivities(self, a: Array) -> Mapping[str, tuple[Array, Array]]:
        """By `target` and by `weights`."""
        v, second = self._violation(a), self.second(a)
        share = self._per_weight * v
        return {"target": (-second * v, -second), "weights": (0.5 * share * v, share)}

    def corner(self, a: Array) -> float:
        """|a_t − target_t| over the one-sided t of positive weight, relative to the largest |a| or |target|."""
        sided = np.broadcast_to((self.direction != 0.0) & (self._second > 0.0), a.shape)
        if self.degree == 2 or not sided.any():
            return math.inf
        size = max(float(np.abs(a).max()), float(np.abs(self.target).max()))
        return float(np.abs(a - self.target)[sided].min()) / size if size > 0.0 else 0.0

    @property
    def beyond(self) -> Array:
        """phi_t'' beyond the targets, a number or (m,)."""
        return self._second

    def admissible(self, u: Array) -> Array:
        """u (m,) where phi_t' may have the value u_t, zero elsewhere."""
        return np.where((self.direction * u < 0.0) | (self._second == 0.0), 0.0, u)

    def conjugates(self, u: Array) -> Array:
        """sup_a (u_t a − phi_t(a)) = target_t u_t + u_t² / (2 phi_t''), (m,), for an :meth:`admissible` u (m,)."""
        second = np.where(self._second > 0.0, self._second, 1.0)
        return np.asarray(self.target * u + 0.5 * u * u / second)

    def least_curvature(self, a: Array, floor: float) -> Array:
        if self.degree == 2:
            return self.second(a)
        bound = np.where(self.direction > 0.0, self.target, np.inf)
        return self._second * np.where(self.direction == 0.0, 1.0, _kept_share(a, bound, floor))


class LeastSquares(HalfSquaredOneSided):
    """Σ_t w_t (a_t − target_t)².

    Parameters
    ----------
    target : scalar or (m,), finite. weights : scalar or (m,), non-negative; None is 1.
    """

    per_measurement = HalfSquaredOneSided.per_measurement
    _per_weight = 2.0

    def __init__(self, target: Any, weights: Any = None) -> None:
        super().__init__(target, weights=weights)
        longer = self.target if np.ndim(self.target) > np.ndim(self.weights) else self.weights
        self._second = 2.0 * self.weights if longer is self.weights else filled_like(longer, 2.0 * self.weights)


class SquaredHinge(HalfSquaredOneSided):
    """Σ_t w_t max(0, margin_t − sign_t a_t)²: no cost once sign·a reaches the margin.

    With `sign` +1 and measurements d(i, k) − d(i, j) this is the loss of large-margin nearest
    neighbours (Hao et al., eq. 8). Piecewise quadratic, C¹.

    Parameters
    ----------
    margin : scalar or (m,). sign : +1 or −1, scalar or (m,). weights : non-negative; None is 1.
    """

    per_measurement = (*HalfSquaredOneSided.per_measurement, "margin", "sign")
    _per_weight = 2.0

    def __init__(self, margin: Any = 1.0, sign: Any = 1.0, weights: Any = None) -> None:
        self.margin = _numbers(margin, "margin")
        self.sign = _signs(sign, "sign", (-1.0, 1.0), "+1 or -1")
        self.weights = _weights(weights)
        self.size = _size(margin=self.margin, sign=self.sign, weights=self.weights)
        self.target, self.direction, self._second = self.sign * self.margin, -self.sign, 2.0 * self.weights

    def sensitivities(self, a: Array) -> Mapping[str, tuple[Array, Array]]:
        """By `margin` and by `weights`."""
        first, second = super().sensitivities(a)["target"]
        return {"margin": (self.sign * first, self.sign * second), "weights": super().sensitivities(a)["weights"]}


class Linear(Loss):
    """Σ_t w_t a_t, weights of any sign."""

    degree = 1
    per_measurement = ("weights",)

    def __init__(self, weights: Any = 1.0) -> None:
        self.weights = _numbers(weights, "weights")
        self.size = _size(weights=self.weights)

    def value(self, a: Array) -> float:
        return float(np.sum(self.weights * a))

    def derivative(self, a: Array) -> Array:
        return self.weights if self.weights.shape == a.shape else filled_like(a, self.weights)

    def second(self, a: Array) -> Array:
        return np.zeros_like(a)

    def sensitivities(self, a: Array) -> Mapping[str, tuple[Array, Array]]:
        """By `weights`."""
        return {"weights": (a, np.ones_like(a))}


def _kept_share(a: Array, bound: Array, floor: float) -> Array:
    """c with h(x) >= h(a) + h'(a)(x − a) + c/2 (x − a)² for all x >= floor, h(x) = ½ max(0, x − bound)².

    1 if bound <= floor, where h is a parabola; 0 if a <= bound; else 1 − ((bound − floor)/(a − floor))²: x = floor.
    """
    kept = np.where(bound > floor, bound - floor, 0.0)
    past = np.divide(kept, a - floor, out=np.zeros_like(a), where=(a > bound) & (a > floor))
    return np.where((a > bound) | (bound < floor), np.maximum(1.0 - past * past, 0.0), 0.0)


def _numbers(value: Any, name: str) -> Array:
    numbers: Array = as_array(held(value, name)) if is_device_array(value) else finite(value, name).copy()
    if numbers.ndim > 1:
        raise InvalidInputError(f"{name} must be a number or a 1-D array; found shape {numbers.shape}")
    return numbers


def _signs(value: Any, name: str, allowed: tuple[float, ...], text: str) -> Array:
    signs = _numbers(value, name)
    found = np.atleast_1d(on_host(signs))
    wrong = found[~np.isin(found, allowed)]
    if len(wrong):
        raise InvalidInputError(f"{name} must be {text}; found {wrong[0]:g}")
    return signs


def _weights(value: Any) -> Array:
    weights = _numbers(1.0 if value is None else value, "weights")
    if np.any(weights < 0.0):
        raise InvalidInputError(f"weights must be non-negative; found {weights.min():g}")
    return weights


def _size(**arrays: Array) -> int | None:
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim == 1}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InvalidInputError(f"arrays of a loss must share one length; found {found}")
    return next(iter(lengths.values()), None)
