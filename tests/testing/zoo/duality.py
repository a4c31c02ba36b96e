"""Broken answers to the certificate and to the starts of runs: ½ tr(M²) + 2 tr(CM) on order 4, with one sin each."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation
from psdopt.contracts.roles import Duality, Starts
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import ExtremePair
from psdopt.problems import QuadraticSDP
from psdopt.testing.gallery import with_spectrum

N = 4


class _Quadratic(QuadraticSDP):
    """Healthy base."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(None, 0.5, with_spectrum(np.linspace(-2.0, 1.0, N), 2))


class HighAtZero(_Quadratic):
    """F(0) is said to be 1e12, and every gap is small next to that."""

    rejected_by = ("problem.value_at_zero",)

    def value_at_zero(self) -> float:
        return 1e12


class HugeUnit(_Quadratic):
    """The unit of values is 1e12, whatever F is."""

    rejected_by = ("problem.own_unit",)

    @property
    def duality(self) -> Duality:
        return _Huge()


class _Huge(Duality):
    def value_unit(self, value: float, trace: float) -> float:
        return 1e12


class HalfAtOnce(_Quadratic):
    """What is computed without images has half of ∇F."""

    rejected_by = ("problem.gradient_operator",)

    def value_and_gradient_at(self, Y: Array) -> tuple[float, Array]:
        there = self.at(Y)
        return there.value, 0.5 * dense_gradient(there)


class ValueAtOnce(_Quadratic):
    """What is computed without images is F less 1."""

    rejected_by = ("problem.gradient_operator",)

    def value_and_gradient_at(self, Y: Array) -> tuple[float, Array]:
        there = self.at(Y)
        return there.value - 1.0, dense_gradient(there)


class BoundOfZero(_Quadratic):
    """Zero is said to be a lower bound on every eigenvalue of S."""

    rejected_by = ("problem.smallest_eigenpair",)

    @property
    def duality(self) -> Duality:
        return _Zero()


class _Zero(Duality):
    def smallest_eigenpair(self, evaluation: Evaluation, S: Any, **options: Any) -> ExtremePair:
        return dataclasses.replace(super().smallest_eigenpair(evaluation, S, **options), lower_bound=0.0)


class FloatingAtoms(_Quadratic):
    """The first atoms hold a NaN."""

    rejected_by = ("problem.first_atoms", "problem.methods_run")

    @property
    def starts(self) -> Starts:
        return _Floating()


class _Floating(Starts):
    def first_atoms(self) -> Array:
        return np.full((N, 2), np.nan)


class RisingAtoms(_Quadratic):
    """F rises along the first atoms."""

    rejected_by = ("problem.first_atoms",)

    @property
    def starts(self) -> Starts:
        return _Rising(self)


class _Rising(Starts):
    def __init__(self, problem: QuadraticSDP) -> None:
        self.problem = problem

    def first_atoms(self) -> Array:
        return np.asarray(np.linalg.eigh(with_spectrum(np.linspace(-2.0, 1.0, N), 2))[1][:, -1:])


class SpoilsItsData(_Quadratic):
    """Every evaluation moves an entry of the data, if only by its last bit."""

    rejected_by = ("problem.data_untouched",)

    def at(self, Y: Array) -> Any:
        for A in self.maps:
            if isinstance(A.data, np.ndarray):
                A.data[0, 0] = np.nextafter(A.data[0, 0], np.inf)
        return super().at(Y)


ALL: tuple[type[Any], ...] = (
    HighAtZero,
    HugeUnit,
    HalfAtOnce,
    ValueAtOnce,
    BoundOfZero,
    FloatingAtoms,
    RisingAtoms,
    SpoilsItsData,
)
