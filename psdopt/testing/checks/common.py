"""Helpers that several problem checks share: points in the domain, units of values and slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.linalg.arrays import Array, append_columns, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation, Problem
from psdopt.testing.record import Deviation, Trivial
from psdopt.testing.regimes import Case

#: Outcomes of the perturbation that measures rounding: of so many the largest counts.
PERTURBATIONS = 2


def point_of(problem: Problem, case: Case, r: int | None = None) -> Evaluation:
    """An evaluation in the domain of F, for a factor of the case's regime; samples outside do not count.

    A sample is outside where F is not finite, or where rounding of M leaves S fewer than half of its digits, as of
    -log det M at a singular M. A factor as wide as high, with the spectrum of the same regime, is then tried instead.
    """
    Y = case.factor(problem.n, r)
    found = defined(problem, Y)
    if found is None and r is None and Y.shape[1] < problem.n:
        Y = case.factor(problem.n, problem.n)
        found = defined(problem, Y)
    if found is None:
        raise Trivial("F is not finite at the sampled points, or rounding of M changes its gradient")
    return found


def defined(problem: Problem, Y: Array) -> Evaluation | None:
    """The evaluation at Y if F is defined there: finite, and S with half of its digits whatever the rounding of M."""
    try:
        evaluation = problem.at(Y)
        if not math.isfinite(evaluation.value):
            return None
        if Ability.GRADIENT not in problem.abilities:
            return evaluation
        V = np.random.default_rng(problem.n).standard_normal((problem.n, 2))
        lost = EPS * sensitivity(problem, Y, lambda e: e.gradient @ V)
        size = norm(np.asarray(evaluation.gradient @ V))
    except np.linalg.LinAlgError:  # a matrix that F inverts is singular
        return None
    # a gradient that is not finite beside a finite value is for the checks to find
    return None if lost > math.sqrt(EPS) * size else evaluation


def sensitivity(problem: Problem, Y: Array, quantity: Callable[[Evaluation], Any]) -> float:
    """How much `quantity` changes per relative change of M = Y Yᵀ, measured over changes as small as rounding.

    EPS times it is what rounding of M alone does to `quantity`. M changes by EPS |M| u uᵀ and by the rounding of the
    entries of Y, for random u; factors have a column more, which `quantity` must allow for. 0 if an evaluation that is
    repeated gives other digits (such noise is not rounding), or where something is not finite.
    """
    rng = np.random.default_rng(Y.shape)
    wide = append_columns(Y, np.zeros((len(Y), 1)))
    here, again = (np.asarray(quantity(problem.at(wide)), dtype=float) for _ in range(2))
    if not np.array_equal(here, again):
        return 0.0
    largest = 0.0
    for _ in range(PERTURBATIONS):
        u = rng.standard_normal((len(Y), 1))
        u *= math.sqrt(EPS) * norm(Y) / norm(u)
        near = append_columns(Y * (1.0 + EPS * rng.choice([-1.0, 1.0], Y.shape)), u)
        change = float(np.linalg.norm(np.asarray(quantity(problem.at(near)), dtype=float) - here))
        largest = max(largest, change) if math.isfinite(change) else largest
    return largest / EPS


def value_unit(problem: Problem, evaluation: Evaluation) -> float:
    """Magnitude in which rounding of F near Y is measured: |F|, |F(0)|, |S||M| and the sensitivity of F together."""
    at_zero = value_at_zero(problem)
    slope = norm(evaluation.factor_gradient()) * norm(evaluation.factor)
    moved = sensitivity(problem, evaluation.factor, lambda e: e.value)
    return abs(evaluation.value) + (abs(at_zero) if math.isfinite(at_zero) else 0.0) + slope + moved


def value_at_zero(problem: Problem) -> float:
    """F(0); inf where F inverts a matrix that is singular there."""
    try:
        return problem.value_at_zero()
    except np.linalg.LinAlgError:
        return math.inf


def slope_unit(problem: Problem, evaluation: Evaluation) -> float:
    """Magnitude in which rounding of 2 S Y is measured: its own, and its sensitivity."""
    r = evaluation.factor.shape[1]
    moved = sensitivity(problem, evaluation.factor, lambda e: e.factor_gradient()[:, :r])
    return norm(evaluation.factor_gradient()) + moved


def bend_unit(problem: Problem, evaluation: Evaluation, D: Array) -> float:
    """Magnitude in which rounding of the Hessian times D is measured: |2 S Y|, its own, and its sensitivity."""
    r = D.shape[1]
    padded = append_columns(D, np.zeros((len(D), 1)))
    moved = sensitivity(problem, evaluation.factor, lambda e: e.hessian_vector(padded)[:, :r])
    return norm(evaluation.factor_gradient()) + norm(evaluation.hessian_vector(D)) + moved


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
