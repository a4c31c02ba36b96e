"""Magnitudes in which rounding is measured, sampled only if a deviation exceeds the known part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Unit:
    """known + Σ_k weight_k sampled_k(): a magnitude of which a part is measured only on demand.

    Units can be added, and multiplied by numbers. ``float(unit)`` measures the sampled part, once.
    """

    known: float
    sampled: tuple[tuple[float, Callable[[], float]], ...] = ()

    @classmethod
    def of(cls, known: float, sample: Callable[[], float]) -> Unit:
        """known + sample()."""
        return cls(known, ((1.0, cache(sample)),))

    def __add__(self, other: Unit | float) -> Unit:
        if isinstance(other, Unit):
            return Unit(self.known + other.known, self.sampled + other.sampled)
        return Unit(self.known + other, self.sampled)

    __radd__ = __add__

    def __mul__(self, factor: float) -> Unit:
        return Unit(self.known * factor, tuple((weight * factor, sample) for weight, sample in self.sampled))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Unit:
        return self * (1.0 / divisor)

    def __float__(self) -> float:
        return self.known + sum(weight * sample() for weight, sample in self.sampled)


def enough(unit: Unit | float, error: float) -> float:
    """The known part of a unit if `error` is no larger, else the whole unit."""
    if not isinstance(unit, Unit):
        return unit
    return unit.known if error <= unit.known else float(unit)
