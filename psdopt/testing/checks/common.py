"""Helpers that several problem checks share: points in the domain, units of values and slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, append_columns, norm
from psdopt.linalg.tolerances import EPS
from psdopt.testing.diagnose import describe
from psdopt.testing.registry import Case, Deviation, Trivial
from psdopt.testing.slopes import derivative
from psdopt.testing.units import Unit

#: Largest ratio of the error of a derivative by differences to its estimate.
TRUST = 64.0
#: Relative distances of the points at which noise is measured; noise of constants is at most CONSTANTS roundings of the
#: quantity at a matrix of unit size.
SPACINGS, CONSTANTS = (1e-13, 1e-10, 1e-7, 1e-5, 1e-3), 16.0
#: Number of perturbations by which rounding is measured; the largest effect counts.
PERTURBATIONS = 2


def point_of(problem: Problem, case: Case, r: int | None = None) -> Evaluation:
    """An evaluation in the domain of F, for a factor of the case's regime; samples outside do not count.

    A sample is outside if F is not finite, or if rounding of M leaves S fewer than half of its digits, as for -log det
    M at a singular M. A square factor with the spectrum of the same regime is then tried instead.
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
    if not math.isfinite(size):  # must be found by the checks, unless it is finite at a matrix that differs by rounding
        lost, size = sensitivity(problem, Y, lambda e: np.isfinite(e.gradient @ V).all()), 0.0
    return None if lost > math.sqrt(EPS) * size else evaluation


def sensitivity(problem: Problem, Y: Array, quantity: Callable[[Evaluation], Any]) -> float:
    """How much `quantity` changes per relative change of M = Y Yᵀ, measured over changes as small as rounding.

    Times EPS, this is the effect of rounding of M alone on `quantity`. M changes by EPS |M| u uᵀ and by the rounding of
    the entries of Y, for random u; factors have one more column, which `quantity` must allow. 0 if a repeated
    evaluation gives different digits (such noise is not rounding), or if something is not finite.
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


def noise(problem: Problem, Y: Array, quantity: Callable[[Evaluation], Any]) -> float:
    """How far values of `quantity` beside Y are from a smooth curve, per EPS: from their differences of order 6.

    A constant within F, such as I in log det(I + M), costs digits that no change of M reveals; if the values at the
    longest spacing are all equal, it cost all of them. Only the loss relative to the quantity at a matrix of unit size
    counts, so that an F computed to fewer digits is not excused. After Moré and Wild (2011).
    """

    def along(step: float) -> Array:
        rows = [np.ravel(np.asarray(quantity(problem.at(Y * (1.0 + k * step))), dtype=float)) for k in range(9)]
        return np.array(rows)

    found = 0.0
    for step in SPACINGS:
        values = along(step)
        if not np.isfinite(values).all():
            return 0.0
        differences = np.diff(values, 6, axis=0)
        found = max(found, norm(differences) / math.sqrt(len(differences) * math.comb(12, 6)))
    if np.all(values == values[0]):
        found = math.inf
    units = [quantity(problem.at(scale * Y / (norm(Y) or 1.0))) for scale in (0.5, 1.0, 2.0)]
    sizes = [float(np.linalg.norm(unit)) for unit in units]
    return min(found / EPS, CONSTANTS * max(filter(math.isfinite, sizes), default=0.0))


def value_unit(problem: Problem, evaluation: Evaluation) -> Unit:
    """Magnitude in which rounding of F near Y is measured: |F|, |F(0)|, |S||M|, and a sampled part."""
    at_zero = value_at_zero(problem)
    slope = norm(evaluation.factor_gradient()) * norm(evaluation.factor)
    known = abs(evaluation.value) + (abs(at_zero) if math.isfinite(at_zero) else 0.0) + slope
    return Unit.of(known, lambda: lost(problem, evaluation.factor, lambda e: e.value))


def lost(problem: Problem, Y: Array, quantity: Callable[[Evaluation], Any]) -> float:
    """The sampled part of a unit: how much rounding of M, and constants within F, change `quantity`, per EPS."""
    return sensitivity(problem, Y, quantity) + noise(problem, Y, quantity)


def value_at_zero(problem: Problem) -> float:
    """F(0); inf where F inverts a matrix that is singular there."""
    try:
        return problem.value_at_zero()
    except np.linalg.LinAlgError:
        return math.inf


def slope_unit(problem: Problem, evaluation: Evaluation) -> Unit:
    """Magnitude in which rounding of 2 S Y is measured: its own size, and a sampled part."""
    Y = evaluation.factor
    r = Y.shape[1]

    def sampled() -> float:
        of_S = noise(problem, Y, lambda e: 2.0 * np.asarray(e.gradient @ Y))
        return sensitivity(problem, Y, lambda e: e.factor_gradient()[:, :r]) + of_S

    return Unit.of(norm(evaluation.factor_gradient()), sampled)


def bend_unit(problem: Problem, evaluation: Evaluation, D: Array) -> Unit:
    """Magnitude in which rounding of the Hessian times D is measured: |2 S Y|, its own size, and a sampled part."""
    Y, r = evaluation.factor, D.shape[1]
    padded = append_columns(D, np.zeros((len(D), 1)))

    def sampled() -> float:
        moved = sensitivity(problem, Y, lambda e: e.hessian_vector(padded)[:, :r])
        return moved + noise(problem, Y, lambda e: e.hessian_vector(D))

    return Unit.of(norm(evaluation.factor_gradient()) + norm(evaluation.hessian_vector(D)), sampled)


@overload
def rounding_of(unit: float, n: int, operations: float = 1.0) -> float: ...
@overload
def rounding_of(unit: Unit, n: int, operations: float = 1.0) -> Unit: ...
def rounding_of(unit: Unit | float, n: int, operations: float = 1.0) -> Unit | float:
    """Rounding of a value of magnitude `unit` computed through sums over n entries."""
    return unit * (256.0 * EPS * max(n, 8) * operations)


def compare_slope(
    noun: str,
    found: object,
    function: Callable[[float], Any],
    unit: Unit | float,
    n: int,
    values: Unit | float = 0.0,
    width: float = 0.1,
) -> Deviation:
    """Deviation of `found` from the derivative of `function` at 0, computed with steps up to `width`.

    unit, values : magnitudes in which rounding of `found` and of the values of `function` is measured; 0 stands for the
    size of the values themselves.
    """
    x = np.asarray(found, dtype=float)
    for known in (True, False):  # sample `values` only if the known part is not enough
        size = values.known if known and isinstance(values, Unit) else float(values)
        expected, uncertainty = derivative(function, width, size)
        if x.shape != expected.shape:
            return Deviation(math.inf, 0.0, describe(noun, x, expected))
        error = float(np.linalg.norm(x - expected))
        answer = Deviation(error, TRUST * uncertainty + rounding_of(unit, n), noun)
        if answer.ok or not isinstance(values, Unit):
            break
    return answer if answer.ok else replace(answer, allowed=answer.tolerance, diagnosis=describe(noun, x, expected))


def plane_slopes(plane: Any, at: Array, n: int, units: Sequence[tuple[Any, Any]]) -> Iterator[Deviation]:
    """Deviations of gradient and Hessian of the model of a plane at (alpha, beta) from differences of it.

    units : for the gradient and for the Hessian, `unit` and `values` of :func:`compare_slope`.
    """
    g, H = plane.derivatives(*at)
    for k, e in enumerate(np.eye(2)):

        def value(h: float, e: Array = e) -> Any:
            return plane.value(*(at + h * e))

        def gradient(h: float, e: Array = e) -> Any:
            return plane.derivatives(*(at + h * e))[0]

        yield compare_slope(f"plane gradient, entry {k}", g[k], value, units[0][0], n, units[0][1])
        yield compare_slope(f"plane Hessian, row {k}", H[k], gradient, units[1][0], n, units[1][1])


def compare(noun: str, found: object, expected: object, unit: Unit | float, n: int) -> Deviation:
    """Deviation of |found − expected| against the rounding of quantities of magnitude `unit`."""
    x, y = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if x.shape != y.shape:
        return Deviation(math.inf, 0.0, describe(noun, x, y))
    answer = Deviation(float(np.linalg.norm(x - y)), rounding_of(unit, n))
    return answer if answer.ok else replace(answer, allowed=answer.tolerance, diagnosis=describe(noun, x, y))


def failed(diagnosis: str) -> Deviation:
    """A yes/no claim that does not hold."""
    return Deviation(1.0, 0.0, diagnosis)


PASSED = Deviation(0.0, 0.0)
