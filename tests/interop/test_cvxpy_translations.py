"""CVXPY's models and cone programs: values and multipliers, carried both ways, say the same."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy import settings
from cvxpy.reductions.solution import Solution

from psdopt.interop._cone_program import lower_multipliers
from psdopt.interop._cvxpy_values import cone_program, point_of, row_multipliers, values_of
from psdopt.interop.cvxpy import PSDOPT
from tests.interop.test_translations import of_program
from tests.translations import Side, proven_both_ways


def model(seed: int, cones: bool) -> cp.Problem:
    """Two symmetric matrices, a free vector, equations, inequalities and matrix inequalities, all in rows of their own.

    With `cones`, second-order cones by rows, columns and alone."""
    rng = np.random.default_rng(seed)
    X, W = cp.Variable((3, 3), symmetric=True), cp.Variable((2, 2), symmetric=True)
    v, U = cp.Variable(3), cp.Variable((2, 3))
    held = [
        X >> 0, W + rng.standard_normal() * np.eye(2) << X[:2, :2], X[0, 1] + 2 * W[0, 1] == rng.standard_normal(),
        cp.trace(X) + cp.sum(v) <= 3.0, v >= rng.standard_normal(3), U[:, 0] == v[:2], U <= 1.0,
    ]  # fmt: skip
    if cones:
        held += [cp.SOC(v[0], v[1:]), cp.SOC(v, U), cp.SOC(v[:2], U, axis=1)]
    cost = cp.trace(rng.standard_normal((3, 3)) @ X) + cp.sum(W) + rng.standard_normal(3) @ v + cp.sum(U)
    return cp.Problem(cp.Minimize(cost) if rng.random() < 0.5 else cp.Maximize(-cost), held)


def leaves(problem: cp.Problem) -> tuple[list[Any], list[Any]]:
    return problem.variables(), [each for constraint in problem.constraints for each in constraint.dual_variables]


def put(each: list[Any], numbers: np.ndarray) -> None:
    for leaf, part in zip(each, np.split(numbers, np.cumsum([leaf.size for leaf in each])[:-1]), strict=True):
        leaf.save_value(part.reshape(leaf.shape, order="F"))


def held(each: list[Any]) -> np.ndarray:
    return np.concatenate([np.ravel(leaf.value, order="F") for leaf in each])


def symmetric_draw(each: list[Any], rng: np.random.Generator) -> np.ndarray:
    """Random numbers for leaves, those of square matrices symmetric."""
    parts: Iterator[np.ndarray] = (rng.standard_normal(leaf.shape) for leaf in each)
    square = [part + part.T if part.ndim == 2 and len(part) == part.shape[1] else part for part in parts]
    return np.concatenate([np.ravel(part, order="F") for part in square])


@pytest.mark.parametrize("cones", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_models_of_cvxpy(seed, cones) -> None:
    """Multipliers (λ, μ) of a second-order cone are those of many matrices, so that y does not come back from them."""
    problem = model(seed, cones)
    variables, duals = leaves(problem)
    data, chain, inverse = problem.get_problem_data(PSDOPT())
    program, H, _ = cone_program(data)
    dims, solver, offset = data["dims"], chain.reductions[-1], inverse[-1][settings.OFFSET]
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0

    def forth(values: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        put(variables, values)
        put(duals, multipliers)
        v = row_multipliers(problem, data, inverse)
        x = point_of(values_of(problem), data, inverse)
        return x, lower_multipliers(v, H, program.first_psd, dims.zero + dims.nonneg, dims.soc)

    def back(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = solver._duals({"rows": H, "program": program}, y, inverse[-1])
        solution = Solution(settings.OPTIMAL, 0.0, {inverse[-1][solver.VAR_ID]: x}, found, {})
        for reduction, own in reversed(list(zip(chain.reductions[:-1], inverse[:-1], strict=True))):
            solution = reduction.invert(solution, own)
        problem.unpack(solution)
        return held(variables), held(duals)

    def value(values: np.ndarray) -> float:
        put(variables, values)
        return sign * float(problem.objective.value) - float(offset)

    def off(values: np.ndarray) -> float:
        put(variables, values)
        cone = [each for each in problem.constraints if isinstance(each, cp.SOC)]
        plain = [np.max(each.residual, initial=0.0) for each in problem.constraints if not isinstance(each, cp.SOC)]
        # the matrix of a cone has the least eigenvalue t − |u|
        apart = [np.linalg.norm(u, axis=k) - t for t, u, k in (_cone(each) for each in cone)]
        return float(max(*plain, *(np.max(each, initial=0.0) for each in apart)))

    def lagrangian(values: np.ndarray, multipliers: np.ndarray) -> float:
        put(variables, values)
        put(duals, multipliers)
        total = value(values)
        for each in problem.constraints:
            if isinstance(each, cp.SOC):
                total -= sum(
                    float(np.vdot(d.value, arg.value)) for d, arg in zip(each.dual_variables, each.args, strict=True)
                )
            else:
                cone = -1.0 if isinstance(each, cp.constraints.PSD) else 1.0
                total += cone * float(np.sum(each.dual_value * each.expr.value))
        return total

    def least(values: np.ndarray, multipliers: np.ndarray) -> float:
        put(duals, multipliers)
        found = []
        for each in problem.constraints:
            if isinstance(each, cp.constraints.PSD):
                found.append(np.linalg.eigvalsh(each.dual_value)[0])
            elif not isinstance(each, (cp.SOC, cp.constraints.Equality)):
                found.append(np.min(each.dual_value))
        return float(min(found))

    rng = np.random.default_rng(seed)
    draws = [(symmetric_draw(variables, rng), symmetric_draw(duals, rng)) for _ in range(4)]
    one, other = Side(value, off, lagrangian, least), of_program(program)
    if cones:  # multipliers in the cones
        draws = [(values, _in_cones(problem, duals, multipliers)) for values, multipliers in draws]
    proven_both_ways(one, other, forth, back, draws, [] if cones else [forth(*pair) for pair in draws])
    if not cones:
        far = [(rng.standard_normal(len(program.c)), rng.standard_normal(len(program.b))) for _ in range(4)]
        proven_both_ways(one, other, forth, back, of_other=far)


def _cone(constraint: cp.SOC) -> tuple[np.ndarray, np.ndarray, int]:
    t, u = (arg.value for arg in constraint.args)
    return np.atleast_1d(t), u.reshape(-1, 1) if u.ndim == 1 else u, constraint.axis


def _in_cones(problem: cp.Problem, duals: list[Any], multipliers: np.ndarray) -> np.ndarray:
    put(duals, multipliers)
    for each in problem.constraints:
        if isinstance(each, cp.SOC):
            t, u = each.dual_variables
            across = np.asarray(u.value).reshape(-1, 1) if u.ndim == 1 else np.asarray(u.value)
            lengths = np.linalg.norm(across, axis=each.axis)
            t.save_value((lengths + 0.1 + np.abs(t.value)).reshape(t.shape))
    return held(duals)
