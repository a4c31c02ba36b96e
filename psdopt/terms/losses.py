"""Losses of measured values a (m,): sums of one-variable functions phi_t(a_t), with two derivatives.

A measurement says what is measured of M, a loss says how much it costs; a
:class:`~psdopt.terms.measured.MeasuredTerm` joins the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner, is_finite


class Loss(ABC):
    """a (m,) ↦ Σ_t phi_t(a_t).

    Attributes: `degree` of phi as a polynomial in a (1 or 2), None if it is none; `convex`;
    `size`, the number of measurements it is made for, or None for any number.
    """

    degree: int | None = None
    convex: bool = True
    size: int | None = None

    @abstractmethod
    def value(self, a: Array) -> float:
        """Σ_t phi_t(a_t)."""

    @abstractmethod
    def derivative(self, a: Array) -> Array:
        """phi_t'(a_t), shape (m,)."""

    @abstractmethod
    def second(self, a: Array) -> Array:
        """phi_t''(a_t), shape (m,); at a kink of phi' the value on its zero side."""

    def derivatives(self, a: Array) -> tuple[Array, Array]:
        """(phi_t'(a_t), phi_t''(a_t)): for a loss whose two derivatives share work."""
        return self.derivative(a), self.second(a)

    def part(self, rows: slice) -> Self:
        """The loss of the measurements `rows` alone; itself if it is the same for every measurement."""
        if self.size is None:
            return self
        arrays = {name: value[rows] for name, value in vars(self).items() if np.shape(value) == (self.size,)}
        alone = copy(self)
        vars(alone).update(arrays, size=len(range(self.size)[rows]))
        return alone


class LeastSquares(Loss):
    """Σ_t w_t (a_t − target_t)².

    Parameters
    ----------
    target : scalar or (m,), finite. weights : scalar or (m,), non-negative; None is 1.
    """

    degree = 2

    def __init__(self, target: Any, weights: Any = None) -> None:
        self.target = _numbers(target, "target")
        self.weights = _weights(weights)
        self.size = _size(target=self.target, weights=self.weights)
        self._second = 2.0 * self.weights

    def value(self, a: Array) -> float:
        residual = a - self.target
        return inner(self.weights * residual, residual)

    def derivative(self, a: Array) -> Array:
        return self._second * (a - self.target)

    def second(self, a: Array) -> Array:
        return self._second if self._second.shape == a.shape else np.broadcast_to(self._second, a.shape)


class SquaredHinge(Loss):
    """Σ_t w_t max(0, margin_t − sign_t a_t)²: no cost once sign·a reaches the margin.

    With `sign` +1 and measurements d(i, k) − d(i, j) this is the loss of large-margin nearest
    neighbours (Hao et al., eq. 8). Piecewise quadratic, C¹.

    Parameters
    ----------
    margin : scalar or (m,). sign : +1 or −1, scalar or (m,). weights : non-negative; None is 1.
    """

    def __init__(self, margin: Any = 1.0, sign: Any = 1.0, weights: Any = None) -> None:
        self.margin = _numbers(margin, "margin")
        self.sign = _numbers(sign, "sign")
        if not np.all(np.abs(self.sign) == 1.0):
            raise InvalidInputError(f"sign must be +1 or -1; found {_first(self.sign[np.abs(self.sign) != 1.0])}")
        self.weights = _weights(weights)
        self.size = _size(margin=self.margin, sign=self.sign, weights=self.weights)

    def _shortfall(self, a: Array) -> Array:
        return np.maximum(0.0, self.margin - self.sign * a)

    def value(self, a: Array) -> float:
        h = self._shortfall(a)
        return inner(self.weights * h, h)

    def derivative(self, a: Array) -> Array:
        return -2.0 * self.weights * self.sign * self._shortfall(a)

    def second(self, a: Array) -> Array:
        return (self.margin - self.sign * a > 0.0) * (2.0 * self.weights)

    def derivatives(self, a: Array) -> tuple[Array, Array]:
        h = self._shortfall(a)
        return h * (-2.0 * self.weights * self.sign), (h > 0.0) * (2.0 * self.weights)


class HalfSquaredOneSided(Loss):
    """½ Σ_t w_t max(0, direction_t (a_t − target_t))², and ½ w_t (a_t − target_t)² where direction_t = 0.

    Regression with bounds (Meyer et al., section 4): direction +1 says that a_t <= target_t is
    wanted, −1 that a_t >= target_t is, 0 that a_t = target_t is. Piecewise quadratic, C¹; a quadratic
    when every direction is 0.

    Parameters
    ----------
    target : scalar or (m,). direction : −1, 0 or +1, scalar or (m,). weights : non-negative; None is 1.
    """

    def __init__(self, target: Any, direction: Any = 0.0, weights: Any = None) -> None:
        self.target = _numbers(target, "target")
        self.direction = _numbers(direction, "direction")
        wrong = ~np.isin(self.direction, (-1.0, 0.0, 1.0))
        if np.any(wrong):
            raise InvalidInputError(f"direction must be -1, 0 or +1; found {_first(self.direction[wrong])}")
        self.weights = _weights(weights)
        self.size = _size(target=self.target, direction=self.direction, weights=self.weights)
        self.degree = None if np.any(self.direction) else 2

    def _violation(self, a: Array) -> Array:
        residual = a - self.target
        return np.where(self.direction * residual < 0.0, 0.0, residual)

    def value(self, a: Array) -> float:
        r = self._violation(a)
        return 0.5 * inner(self.weights * r, r)

    def derivative(self, a: Array) -> Array:
        return self.weights * self._violation(a)

    def second(self, a: Array) -> Array:
        active = (self.direction == 0.0) | (self.direction * (a - self.target) > 0.0)
        return np.where(active, self.weights, 0.0)


class Linear(Loss):
    """Σ_t w_t a_t, weights of any sign."""

    degree = 1

    def __init__(self, weights: Any = 1.0) -> None:
        self.weights = _numbers(weights, "weights")
        self.size = _size(weights=self.weights)

    def value(self, a: Array) -> float:
        return float(np.sum(self.weights * a))

    def derivative(self, a: Array) -> Array:
        return np.broadcast_to(self.weights, a.shape)

    def second(self, a: Array) -> Array:
        return np.zeros(a.shape)


def _numbers(value: Any, name: str) -> Array:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be a number or an array of numbers; found {value!r}") from error
    if numbers.ndim > 1:
        raise InvalidInputError(f"{name} must be a number or a 1-D array; found shape {numbers.shape}")
    if not is_finite(numbers):
        bad = int(np.sum(~np.isfinite(numbers)))
        raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
    return numbers


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


def _first(values: Array) -> str:
    return f"{np.atleast_1d(values)[0]:g}"
