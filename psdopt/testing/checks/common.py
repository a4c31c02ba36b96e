"""Helpers that several problem checks share: points in the domain, units of values and slopes."""

from __future__ import annotations

import math

import numpy as np

from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation, Problem
from psdopt.testing.record import Deviation, Trivial
from psdopt.testing.regimes import Case


def point_of(problem: Problem, case: Case, r: int | None = None) -> Evaluation:
    """An evaluation in the domain of F; samples where F is not finite do not count."""
    evaluation = problem.at(case.factor(problem.n, r))
    if not math.isfinite(evaluation.value):
        raise Trivial("F is not finite at the sampled points")
    return evaluation


def value_unit(problem: Problem, evaluation: Evaluation) -> float:
    """Magnitude in which rounding of F near Y is measured: |F|, |F(0)| and |S||M| together."""
    at_zero = problem.value_at_zero()
    slope = norm(evaluation.factor_gradient()) * norm(evaluation.factor)
    return abs(evaluation.value) + (abs(at_zero) if math.isfinite(at_zero) else 0.0) + slope


def rounding_of(unit: float, n: int, operations: float = 1.0) -> float:
    """Rounding of a value of magnitude `unit` computed through sums over n entries."""
    return 256.0 * EPS * max(n, 8) * operations * unit


def compare(noun: str, found: object, expected: object, unit: float, n: int) -> Deviation:
    """Deviation of |found − expected| against the rounding of quantities of magnitude `unit`."""
    from psdopt.testing.diagnose import describe

    x, y = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    tolerance = rounding_of(unit, n)
    if x.shape != y.shape:
        return Deviation(math.inf, tolerance, describe(noun, x, y))
    error = float(np.linalg.norm(x - y))
    return Deviation(error, tolerance, describe(noun, x, y) if not error <= tolerance else "")


def worst(measurements: list[Deviation]) -> Deviation:
    """The one that comes closest to failing, or fails most."""
    return max(measurements, key=lambda m: m.ratio)


def simplest(measurements: list[Deviation]) -> Deviation:
    """The first that fails, of a list that begins with what explains the rest; else the worst."""
    return next((measurement for measurement in measurements if not measurement.ok), worst(measurements))


def operator_scale(S: Array) -> float:
    """Spectral size of a dense symmetric S, at least the smallest normal number."""
    return max(float(np.linalg.norm(S, 2)), float(np.finfo(float).tiny))


def failed(diagnosis: str) -> Deviation:
    """A yes/no claim that does not hold."""
    return Deviation(1.0, 0.0, diagnosis)


PASSED = Deviation(0.0, 0.0)
