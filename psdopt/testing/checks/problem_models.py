"""Problem checks: the restrictions to lines and planes are F itself, with exact minimisers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import append_columns, norm
from psdopt.testing.checks.common import (
    PASSED,
    compare,
    compare_slope,
    defined,
    failed,
    plane_slopes,
    point_of,
    rounding_of,
    sensitivity,
    slope_unit,
    value_unit,
)
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check
from psdopt.testing.units import Unit

#: Where models are compared with direct evaluation: both signs, small and large, not symmetric about 0.
STEPS = (-0.7, 0.01, 0.35, 1.0, 2.5)
WEIGHTS = ((0.3, 0.9), (1.0, 0.2), (0.0, 1.5), (2.0, 0.0))
#: Relative steps to both sides of a minimum: at the shortest step that changes F, it must not be lower.
NEAR = (1e-6, 1e-5, 1e-4, 1e-3)


def _atom(case: Case, evaluation: Evaluation) -> np.ndarray:
    v = case.rng.standard_normal(evaluation.problem.n)
    return np.asarray(v * (norm(evaluation.factor) / norm(v)))


def _grown(evaluation: Evaluation, alpha: float, v: np.ndarray, beta: float) -> np.ndarray:
    return append_columns(math.sqrt(alpha) * evaluation.factor, math.sqrt(beta) * v[:, None])


@check("problem", "0.1", needs={Ability.EXACT_LINE})
def line_model(problem: Problem, case: Case) -> Deviations:
    """along(D).value(mu) is F((Y + mu D)(Y + mu D)ᵀ), and its two derivatives are those of that function."""
    evaluation = point_of(problem, case)
    Y, D = evaluation.factor, case.direction(evaluation.factor)
    line = evaluation.along(D)
    direct = [problem.at(Y + mu * D) for mu in STEPS]
    unit = sum((value_unit(problem, moved) for moved in direct), Unit(0.0))
    yield compare("line model", [line.value(mu) for mu in STEPS], [moved.value for moved in direct], unit, problem.n)
    at = 0.35
    there = problem.at(Y + at * D)
    first = slope_unit(problem, there) * norm(D)
    wide = append_columns(D, np.zeros((problem.n, 1)))
    second = first + Unit.of(0.0, lambda: sensitivity(problem, there.factor, lambda e: _bend(e, wide)))
    slope, bend = line.derivatives(at)
    functions = (lambda h: problem.at(Y + (at + h) * D).value), (lambda h: line.derivatives(at + h)[0])
    yield compare_slope("first derivative of the line model", slope, functions[0], unit + first, problem.n, unit)
    yield compare_slope("second derivative of the line model", bend, functions[1], unit + second, problem.n, first)


def _bend(evaluation: Evaluation, D: np.ndarray) -> float:
    return float(evaluation.along(D).derivatives(0.0)[1])


@check("problem", "0.1", needs={Ability.QUADRATIC, Ability.EXACT_LINE, Ability.EXACT_PLANE})
def polynomial_degree(problem: Problem, case: Case) -> Deviations:
    """For quadratic F the line model is the quartic it declares, and the plane model the quadratic it declares."""
    evaluation = point_of(problem, case)
    Y, D, v = evaluation.factor, case.direction(evaluation.factor), _atom(case, evaluation)
    line, plane = evaluation.along(D), evaluation.along_atom(v)
    if line.coefficients is None or plane.quadratic is None:
        return failed("F is declared quadratic, but a model declares no coefficients")
    c, g, H = plane.quadratic
    quartic = [float(np.polyval(np.asarray(line.coefficients)[::-1], mu)) for mu in STEPS]
    direct = [problem.at(Y + mu * D) for mu in STEPS]
    unit = sum((value_unit(problem, moved) for moved in direct), Unit(0.0))
    line_error = compare("quartic", quartic, [moved.value for moved in direct], unit, problem.n)
    if not line_error.ok:
        wrong = _fitted(problem, Y, D) - np.asarray(line.coefficients)
        k = int(np.argmax(np.abs(wrong)))
        words = f"the coefficient of mu^{k} is off by {-wrong[k]:.3g}"
        line_error = Deviation(line_error.error, line_error.tolerance, words)
    yield line_error
    surface = [float(c + g @ np.array(x) + 0.5 * np.array(x) @ H @ np.array(x)) for x in WEIGHTS]
    grown = [problem.at(_grown(evaluation, alpha, v, beta)).value for alpha, beta in WEIGHTS]
    yield compare("quadratic of the plane", surface, grown, unit, problem.n)


def _fitted(problem: Problem, Y: np.ndarray, D: np.ndarray) -> np.ndarray:
    nodes = np.cos(np.pi * np.arange(5) / 4.0)
    values = [problem.at(Y + mu * D).value for mu in nodes]
    return np.linalg.solve(np.vander(nodes, 5, increasing=True), values)


@check("problem", "0.1", needs={Ability.EXACT_LINE})
def line_minimum(problem: Problem, case: Case) -> Deviations:
    """along(D).minimize() is a local minimum below F(0), the least of a grid where F is quadratic; `upper` is kept."""
    evaluation = point_of(problem, case)
    D = -evaluation.factor_gradient() + 0.1 * norm(evaluation.factor_gradient()) * (
        case.direction(evaluation.factor) / norm(evaluation.factor)
    )
    if norm(D) == 0.0:
        raise Trivial("the gradient vanishes")
    D *= norm(evaluation.factor) / norm(D)
    line = evaluation.along(D)
    mu = line.minimize()
    if mu == math.inf:
        falling = [line.value(10.0**k) for k in (2, 4, 6)]
        return PASSED if falling[2] < falling[1] < falling[0] else failed("inf is returned although F does not fall")
    if not mu >= 0.0:
        return failed(f"minimize() returned {mu}, not a step of at least 0")
    unit = value_unit(problem, problem.at(evaluation.factor + mu * D)) + value_unit(problem, evaluation)
    allowed, found = rounding_of(unit, problem.n), line.value(mu)
    # along Y + mu D, F may have any number of minima; only for a quartic can all be found
    grids = [[0.0], *([mu * (1.0 - share), mu * (1.0 + share)] for share in NEAR)]
    if line.coefficients is not None:
        grids[0] += list(np.geomspace(1e-4, 1e3, 60))
    if mu == 0.0:  # D is a direction of descent: F may not fall beside 0
        grids = [list(np.geomspace(1e-6, 1e-2, 9))]
    for number, grid in enumerate(grids):
        values = np.nan_to_num([line.value(float(t)) for t in grid], nan=math.inf, posinf=math.inf)
        k = int(np.argmin(values))
        words = f"mu = {mu:.6g} has value {found:.10g}, but {values[k]:.10g} is reached at {grid[k]:.6g}"
        yield Deviation(found - float(values[k]), allowed, words)
        if number > 0 and not Deviation(float(np.max(np.abs(values - found))), allowed).ok:
            break
    upper = 0.5 * mu
    short = line.minimize(upper) if upper > 0.0 else 0.0
    if short > upper * (1.0 + 1e-12):
        yield failed(f"minimize(upper={upper:.6g}) returned {short:.6g}")


@check("problem", "0.1", needs={Ability.EXACT_PLANE})
def plane_model(problem: Problem, case: Case) -> Deviations:
    """along_atom(v).value(alpha, beta) is F(alpha M + beta v vᵀ), with its gradient and Hessian."""
    evaluation = point_of(problem, case)
    v = _atom(case, evaluation)
    plane = evaluation.along_atom(v)
    grown = [(x, defined(problem, _grown(evaluation, x[0], v, x[1]))) for x in WEIGHTS]
    direct = [e.value for _, e in grown if e is not None]
    found = [plane.value(*x) for x, e in grown if e is not None]
    unit = sum((value_unit(problem, e) for _, e in grown if e is not None), value_unit(problem, evaluation))
    yield compare("plane model", found, direct, unit, problem.n)
    at = np.array([0.8, 0.6])
    derivatives = (partial(plane_derivative, v, at, k) for k in (0, 1))
    first, second = (Unit.of(0.0, partial(sensitivity, problem, evaluation.factor, each)) for each in derivatives)
    yield from plane_slopes(plane, at, problem.n, [(unit + first, unit), (unit + second, first)])


def plane_derivative(v: np.ndarray, at: np.ndarray, k: int, evaluation: Evaluation) -> Any:
    return evaluation.along_atom(v).derivatives(*at)[k]


@check("problem", "0.1", needs={Ability.EXACT_PLANE, Ability.CONVEX})
def plane_minimum(problem: Problem, case: Case) -> Deviations:
    """along_atom(v).minimize() lies in the box and is better than every point of a grid over the box."""
    evaluation = point_of(problem, case)
    v = _atom(case, evaluation)
    plane = evaluation.along_atom(v)
    for alpha_box, beta_box in (((0.0, math.inf), (0.0, math.inf)), ((0.2, 0.9), (0.1, 0.8)), ((1.0, 1.0), (0.0, 2.0))):
        alpha, beta = plane.minimize(alpha_box, beta_box)
        if not (alpha_box[0] <= alpha <= alpha_box[1] and beta_box[0] <= beta <= beta_box[1]):
            return failed(f"minimize returned ({alpha:.6g}, {beta:.6g}) outside {alpha_box} × {beta_box}")
        if math.isinf(alpha) or math.isinf(beta):
            far = [plane.value(*(t if math.isinf(x) else x for x in (alpha, beta))) for t in (1e2, 1e4, 1e6)]
            if not far[2] < far[1] < far[0]:
                return failed("inf is returned although F does not fall")
            continue
        grid = [(a, b) for a in _cuts(alpha_box, alpha) for b in _cuts(beta_box, beta)]
        values = [plane.value(a, b) for a, b in grid]
        unit = value_unit(problem, problem.at(_grown(evaluation, alpha, v, beta))) + value_unit(problem, evaluation)
        k = int(np.argmin(np.nan_to_num(values, nan=math.inf, posinf=math.inf)))  # outside its domain F may be a nan
        found = plane.value(alpha, beta)
        words = f"({alpha:.6g}, {beta:.6g}) has value {found:.10g}, but {values[k]:.10g} is reached at {grid[k]}"
        yield Deviation(found - values[k], rounding_of(unit, problem.n, 64.0), words)
    yield PASSED


def _cuts(box: tuple[float, float], at: float) -> list[float]:
    """Coordinates to compare with: near the answer and far from it, all within the box."""
    top = box[1] if math.isfinite(box[1]) else 4.0 * max(at, 1.0)
    near = [at * factor for factor in (0.9, 0.99, 1.0, 1.01, 1.1)]
    return sorted({min(max(x, box[0]), top) for x in (*np.linspace(box[0], top, 7), *near)})
