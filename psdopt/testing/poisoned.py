"""A problem that returns NaN below a given value, to test how methods handle NaN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array


@dataclass
class Poison:
    """Where F < `level` the value (or, if `gradient_only`, the gradient) is NaN. `made` counts evaluations."""

    level: float
    gradient_only: bool = False
    made: int = 0


def poisoned(problem: Problem, level: float, gradient_only: bool = False) -> Any:
    """A copy of `problem`, of the same class but for the NaN, so that no method can tell it from the healthy one.

    Its attribute `poison` holds level and count. Evaluations and splits that it hands out are copies of a subclass of
    their class, as is the problem itself.
    """
    return _subclassed(problem, _Problem, Poison(level, gradient_only))


def _subclassed(obj: Any, mixin: type, poison: Poison) -> Any:
    """A shallow copy of `obj` with the methods of `mixin` before its own."""
    # evaluations that make others by type(self)(...) have the mixin already
    cls = type(obj) if isinstance(obj, mixin) else type(type(obj).__name__, (mixin, type(obj)), {})
    twin: Any = object.__new__(cls)
    twin.__dict__.update(obj.__dict__, poison=poison)
    return twin


def _healthy(mixin: type, obj: Any) -> Any:
    """`obj` without the methods of `mixin`."""
    return super(mixin, obj)


def _evaluation(evaluation: Any, poison: Poison) -> Any:
    if "poison" in vars(evaluation):  # the problem's own `at` made it
        return evaluation
    poison.made += 1
    spoilt = _subclassed(evaluation, _Evaluation, poison)
    spoilt.dead = not _healthy(_Evaluation, spoilt).value >= poison.level
    return spoilt


class _Problem:
    poison: Poison

    def at(self, Y: Array) -> Any:
        return _evaluation(_healthy(_Problem, self).at(Y), self.poison)

    def value_at_zero(self) -> float:
        level, self.poison.level = self.poison.level, -np.inf
        try:
            return float(_healthy(_Problem, self).value_at_zero())
        finally:
            self.poison.level = level

    def split(self) -> Any:
        return _subclassed(_healthy(_Problem, self).split(), _Split, self.poison)

    def batch_gradient(self, batch: Any, Y: Array) -> tuple[Array, float]:
        SY, loss = _healthy(_Problem, self).batch_gradient(batch, Y)
        return (SY * np.nan if self.at(Y).dead else SY), loss


class _Model:
    """A line or plane model: its search uses the healthy function, but its steps may give NaN."""

    def __init__(self, inner: Any, poison: Poison) -> None:
        self.inner, self.poison = inner, poison

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def step(self, *weights: float) -> Any:
        return _evaluation(self.inner.step(*weights), self.poison)


def _passed(name: str, wrap: Callable[[Any, Poison], Any]) -> Callable[..., Any]:
    """The member `name` of a healthy evaluation, whose answer is wrapped."""
    return lambda self, *given, **named: wrap(getattr(_healthy(_Evaluation, self), name)(*given, **named), self.poison)


class _Evaluation:
    poison: Poison
    dead: bool

    def _spoilt(self, product: Array) -> Array:
        return product * np.nan if self.dead else product

    @property
    def value(self) -> float:
        return np.nan if self.dead and not self.poison.gradient_only else _healthy(_Evaluation, self).value

    @property
    def gradient(self) -> GradientOperator:
        S = _healthy(_Evaluation, self).gradient
        return GradientOperator(S.shape[0], lambda V: self._spoilt(S @ V), lambda V: None)

    def factor_gradient(self) -> Array:
        return self._spoilt(_healthy(_Evaluation, self).factor_gradient())

    def hessian_vector(self, D: Array) -> Array:
        return self._spoilt(_healthy(_Evaluation, self).hessian_vector(D))

    def along(self, D: Array) -> Any:
        return _Model(_healthy(_Evaluation, self).along(np.nan_to_num(D)), self.poison)

    mix, append = _passed("mix", _evaluation), _passed("append", _evaluation)
    joined, refresh = _passed("joined", _evaluation), _passed("refresh", _evaluation)
    along_evaluation, along_atom = _passed("along_evaluation", _Model), _passed("along_atom", _Model)


class _Split:
    poison: Poison

    def evaluation(self, Y: Array, LY: Array) -> Any:
        return _evaluation(_healthy(_Split, self).evaluation(Y, LY), self.poison)
