"""Restrictions of one term: a curve in mu and a surface in (alpha, beta)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.planes import Quadratic, quadratic, quadratic_derivatives
from psdopt.linalg.polynomials import quartic, quartic_derivatives

ZEROS = (0.0,) * 5


class Curve(ABC):
    """mu ↦ f((Y + mu D)(Y + mu D)ᵀ) of one term: what :meth:`Term.along` returns.

    A subclass has `value` and `derivatives`. Where f is quadratic in M, return a :class:`PolynomialCurve` instead,
    whose `coefficients`, five numbers, constant first, make line searches exact; they are None for any other curve.
    No map may be applied here, since a line search asks for many mu: compute all that depends on D once, in `along`.
    """

    coefficients: list[float] | None = None

    @abstractmethod
    def value(self, mu: float) -> float:
        """f at Y + mu D, for any real mu; at mu = 0 it is ``Term.value(features)``."""

    @abstractmethod
    def derivatives(self, mu: float) -> tuple[float, float]:
        """First and second derivative in mu (a generalised one at a kink of the first)."""

    def features_at(self, mu: float) -> Any:
        """Features at Y + mu D if they are cheap here, else None."""
        return None


class PolynomialCurve(Curve):
    """A polynomial of degree at most four. Coefficients that are still on a device stay deferred until one is used.

    By then all terms of a sum have requested theirs, so that they share one transfer.
    """

    coefficients: list[float]

    def __init__(
        self, coefficients: Sequence[float] | Array, features_at: Callable[[float], Any] | None = None
    ) -> None:
        # Python numbers: calls on an array of five cost more than the arithmetic
        numbers = coefficients.tolist() if isinstance(coefficients, np.ndarray) else coefficients
        self.coefficients = [*numbers, *ZEROS[len(numbers) :]]
        self._features_at = features_at

    def value(self, mu: float) -> float:
        return float(quartic(self.coefficients, mu))

    def derivatives(self, mu: float) -> tuple[float, float]:
        return quartic_derivatives(self.coefficients, mu)

    def features_at(self, mu: float) -> Any:
        return None if self._features_at is None else self._features_at(mu)


class Surface(ABC):
    """(alpha, beta) ↦ f(alpha M + beta v vᵀ) of one term: what :meth:`Term.along_atom` returns.

    A subclass has `value` and `derivatives`. Where f is quadratic in M, return a :class:`QuadraticSurface` instead,
    whose `quadratic` (c, g, H), f = c + gᵀx + xᵀHx/2 at x = (alpha, beta), has an exact minimiser; None for any other.
    """

    quadratic: Quadratic | None = None

    @abstractmethod
    def value(self, alpha: float, beta: float) -> float:
        """f at alpha M + beta v vᵀ for alpha, beta >= 0; at (1, 0) it is ``Term.value(features)``."""

    @abstractmethod
    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """Gradient (2,) and (generalised) Hessian (2, 2)."""

    def features_at(self, alpha: float, beta: float) -> Any:
        """Features at alpha M + beta v vᵀ if they are cheap here, else None."""
        return None


class QuadraticSurface(Surface):
    """c + gᵀx + xᵀHx/2."""

    def __init__(self, c: float, g: Array, H: Array, features_at: Callable[[float, float], Any] | None = None) -> None:
        self.quadratic = self._model = (float(c), np.asarray(g, dtype=float), np.asarray(H, dtype=float))
        self._features_at = features_at

    def value(self, alpha: float, beta: float) -> float:
        return quadratic(self._model, alpha, beta)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        return quadratic_derivatives(self._model, alpha, beta)

    def features_at(self, alpha: float, beta: float) -> Any:
        return None if self._features_at is None else self._features_at(alpha, beta)
