"""Problem checks: moving by stored images, other representatives, other storage of the same data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import append_columns, norm
from psdopt.linalg.tolerances import EPS
from psdopt.testing.checks.common import PASSED, compare, defined, failed, point_of, sensitivity, slope_unit, value_unit
from psdopt.testing.counting import counted_data
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, check
from psdopt.testing.units import Unit


def _same(words: str, moved: Evaluation, Y: np.ndarray, unit: Unit) -> Deviations:
    """`moved` must be what problem.at(Y) gives, where F is defined there: factor, value and gradient."""
    problem, n = moved.problem, moved.problem.n
    fresh = defined(problem, Y)
    if fresh is None:
        return
    gradient = fresh.factor_gradient()
    scale = slope_unit(problem, fresh) + unit / max(norm(Y), float(np.finfo(float).tiny))
    yield compare(f"factor after {words}", moved.factor, Y, norm(Y), n)
    yield compare(f"value after {words}", moved.value, fresh.value, unit + value_unit(problem, fresh), n)
    yield compare(f"factor gradient after {words}", moved.factor_gradient(), gradient, scale, n)


@check("problem", "0.1")
def step_by_images(problem: Problem, case: Case) -> Deviations:
    """step, plane step, mix, append and refresh give the evaluation that problem.at gives at the same factor."""
    evaluation = point_of(problem, case)
    Y, unit, r = evaluation.factor, value_unit(problem, evaluation), evaluation.factor.shape[1]
    yield from _same("refresh", evaluation.refresh(), Y, unit)
    T = case.orthogonal(r)[:, : max(1, r - 1)] * 1.5
    yield from _same("mix", evaluation.mix(T), Y @ T, unit)
    v = case.direction(Y)[:, :1]
    yield from _same("append", evaluation.append(v[:, 0]), append_columns(Y, v), unit)
    if Ability.EXACT_LINE in problem.abilities:
        moved, expected = evaluation, Y
        for mu in (0.5, -0.25, 0.125):
            D = case.direction(Y)
            moved, expected = moved.along(D).step(mu), expected + mu * D
        yield from _same("three line steps", moved, expected, unit)
    if Ability.EXACT_PLANE in problem.abilities:
        moved = evaluation.along_atom(v[:, 0]).step(0.7, 0.4)
        yield from _same("a plane step", moved, append_columns(math.sqrt(0.7) * Y, math.sqrt(0.4) * v), unit)


@check("problem", "0.1")
def proposed_start(problem: Problem, case: Case) -> Deviation:
    """proposed_start(Y) is a finite factor that turns with Y, and leaves Y as it was."""
    Y = case.factor(problem.n)
    Q = case.orthogonal(Y.shape[1]) if Y.shape[1] > 1 else -np.ones((1, 1))
    before = Y.copy()
    Z = problem.starts.proposed_start(Y)
    if not np.array_equal(before, Y):
        return failed("proposed_start changed the factor that it was given")
    if np.shape(Z) != Y.shape or not np.all(np.isfinite(Z)):
        return failed(f"proposed_start made an array of shape {np.shape(Z)} of {Y.shape}, finite or not")
    turned = problem.starts.proposed_start(Y @ Q)
    # rows or columns may have been scaled to unit length, however small they were: require half the digits
    return Deviation(norm(turned - Z @ Q), math.sqrt(EPS) * norm(Z), "proposed_start(YQ) is not proposed_start(Y) Q")


@check("problem", "0.1")
def representative_invariance(problem: Problem, case: Case) -> Deviations:
    """F, S and the factor gradient see M only: at YQ (Q orthogonal) and at [Y, 0] they are the same, up to Q."""
    evaluation = point_of(problem, case)
    Y, n, r = evaluation.factor, problem.n, evaluation.factor.shape[1]
    Q, V = case.orthogonal(r), case.rng.standard_normal((n, 2))
    if r == 1:
        Q = -np.ones((1, 1))
    rotated, padded = problem.at(Y @ Q), problem.at(append_columns(Y, np.zeros((n, 1))))
    G, SV = evaluation.factor_gradient(), np.asarray(evaluation.gradient @ V)
    unit = value_unit(problem, evaluation)
    gradient_unit = slope_unit(problem, evaluation) + unit / norm(Y)
    S_unit = Unit.of(norm(SV), lambda: sensitivity(problem, Y, lambda e: e.gradient @ V)) + gradient_unit / norm(Y)
    yield compare("F(YQ)", rotated.value, evaluation.value, unit, n)
    yield compare("F([Y, 0])", padded.value, evaluation.value, unit, n)
    yield compare("S at YQ", rotated.gradient @ V, SV, S_unit, n)
    yield compare("factor gradient at YQ", rotated.factor_gradient(), G @ Q, gradient_unit, n)
    yield compare("factor gradient at [Y, 0]", padded.factor_gradient()[:, :r], G, gradient_unit, n)


def _has_maps(problem: Any) -> bool:
    return bool(getattr(problem, "maps", ())) and all(hasattr(m, "data") for m in problem.maps)


@check("problem", "0.1", regimes=FEW, when=_has_maps, reason="has no linear maps to look at")
def storage_independence(problem: Problem, case: Case) -> Deviations:
    """Dense, sparse and LinearOperator storage of the same data give the same values and gradients."""
    maps = problem.maps  # type: ignore[attr-defined]
    originals = [m.data for m in maps]
    here = point_of(problem, case)
    Y = here.factor
    value, gradient, unit = here.value, here.factor_gradient(), value_unit(problem, here)
    try:
        dense = [m.to_dense() for m in maps]
        kinds: dict[str, list[Any]] = {
            "dense": dense,
            "sparse": [sp.csr_array(A) for A in dense],
            "LinearOperator": [x if isinstance(x, LinearOperator) else aslinearoperator(x) for x in dense],
        }
        for kind, stored in kinds.items():
            for m, data in zip(maps, stored, strict=True):
                m.data = data
            other = problem.at(Y)
            yield compare(f"value with {kind} data", other.value, value, unit, problem.n)
            scale = norm(gradient) + unit / norm(Y)
            yield compare(f"gradient with {kind} data", other.factor_gradient(), gradient, scale, problem.n)
    finally:
        for m, data in zip(maps, originals, strict=True):
            m.data = data


@check("problem", "0.1", regimes=FEW, when=_has_maps, reason="has no linear maps to look at")
def application_counts(problem: Problem, case: Case) -> Deviation:
    """counts() agrees with an independent count; a line costs one application per map, moves by images none."""
    if "operator_applications" not in problem.counts():
        return failed("has linear maps, but counts() does not report operator_applications")
    maps = len(problem.maps)  # type: ignore[attr-defined]
    Y = point_of(problem, case).factor
    with counted_data(problem.maps) as counter:  # type: ignore[attr-defined]
        before = problem.counts()["operator_applications"]
        evaluation = problem.at(Y)
        evaluation.factor_gradient()
        bills: list[tuple[str, int, int]] = [("value and gradient", 2 * maps, counter.calls)]

        def spent(words: str, allowed: int, action: Any) -> Any:
            start = counter.calls
            answer = action()
            bills.append((words, allowed, counter.calls - start))
            return answer

        if Ability.EXACT_LINE in problem.abilities:
            D = case.direction(evaluation.factor)
            line = spent("along(D)", maps, lambda: evaluation.along(D))
            moved = spent("line.step", 0, lambda: line.step(0.3))
            spent("value after line.step", 0, lambda: moved.value)
            spent("gradient after line.step", maps, moved.factor_gradient)
        mixed = spent("mix", 0, lambda: evaluation.mix(np.eye(evaluation.factor.shape[1])))
        spent("value after mix", 0, lambda: mixed.value)
        v = case.direction(evaluation.factor)[:, 0]
        spent("append", maps, lambda: evaluation.append(v).value)
        reported = problem.counts()["operator_applications"] - before
    if reported != counter.calls:
        return Deviation(
            abs(reported - counter.calls), 0.0, f"counts() reports {reported} applications, {counter.calls} were made"
        )
    for words, allowed, used in bills:
        if used > allowed:
            return Deviation(
                used - allowed, 0.0, f"{words} takes {used} applications, allowed {allowed} for {maps} maps"
            )
    return PASSED


@check("problem", "0.1", needs={Ability.RESTRICTION})
def restriction(problem: Problem, case: Case) -> Deviations:
    """restricted(T) is N ↦ F(W N Wᵀ), W = Y T orthonormal: value, and gradient WᵀSW, at a generic N."""
    size = norm(point_of(problem, case).factor)
    k = min(problem.n, 3)
    Y = case.rng.standard_normal((problem.n, k))
    W, R = np.linalg.qr(Y)
    small = problem.at(Y).restricted(np.linalg.inv(R))
    N = case.rng.standard_normal((k, k))
    N *= size / norm(N)
    inside, outside = small.at(N), problem.at(W @ N)
    G = outside.factor_gradient()
    condition = float(np.linalg.cond(R))
    unit = condition * (value_unit(problem, outside) + abs(problem.value_at_zero()))
    scale = condition * (norm(G) + unit / size)
    yield compare("value of the restriction", inside.value, outside.value, unit, problem.n)
    yield compare("gradient of the restriction", inside.factor_gradient(), W.T @ G, scale, problem.n)
