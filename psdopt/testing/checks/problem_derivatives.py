"""Problem checks: value, gradient and Hessian agree with each other and with the reference twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import as_dense, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.testing.checks.common import (
    PASSED,
    bend_unit,
    compare,
    compare_slope,
    failed,
    point_of,
    sensitivity,
    slope_unit,
    value_unit,
)
from psdopt.testing.reference import twin_of
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, check
from psdopt.testing.units import Unit

#: Directions per sample: several, so that a common factor can be told from noise.
DIRECTIONS = 4


@check("problem", "0.1", regimes=("full-rank",), repeats=False)
def refuses_bad_factors(problem: Problem, case: Case) -> Deviation:
    """problem.at raises a ValueError for a factor of the wrong height, with a NaN, or that is no matrix."""
    good = case.factor(problem.n)
    with_nan = good.copy()
    with_nan[0, 0] = np.nan
    bad = {"with one row too many": np.ones((problem.n + 1, 1)), "with a NaN": with_nan, "of one dimension": good[:, 0]}
    for words, Y in bad.items():
        try:
            problem.at(Y).value  # noqa: B018
        except ValueError:
            continue
        return failed(f"a factor {words} is accepted")
    return PASSED


@check("problem", "0.1", needs={Ability.GRADIENT})
def gradient_slope(problem: Problem, case: Case) -> Deviation:
    """d/dh F((Y + hD)(Y + hD)ᵀ) at h = 0 equals ⟨factor_gradient, D⟩ for every D."""
    evaluation = point_of(problem, case)
    Y, G = evaluation.factor, evaluation.factor_gradient()
    along, unit = [case.direction(Y) for _ in range(DIRECTIONS)], value_unit(problem, evaluation)

    def values(h: float) -> list[float]:
        return [problem.at(Y + h * D).value for D in along]

    return compare_slope("gradient", [inner(G, D) for D in along], values, unit, problem.n, unit)


@check("problem", "0.1")
def gradient_operator(problem: Problem, case: Case) -> Deviations:
    """S = ∇F(M) is symmetric and linear, the same on blocks, on columns and as an array; factor_gradient is 2 S Y.

    And what `value_and_gradient_at` gives, if anything, are F(M) and S.
    """
    evaluation = point_of(problem, case)
    S, Y, n = evaluation.gradient, evaluation.factor, problem.n
    if S.shape != (n, n):
        return failed(f"S has shape {S.shape}, expected {(n, n)}")
    V, W = case.rng.standard_normal((n, 3)), case.rng.standard_normal((n, 3))
    SV, SW = S @ V, S @ W
    unit = Unit.of(norm(SV) + norm(SW), lambda: sensitivity(problem, Y, lambda e: e.gradient @ np.hstack([V, W])))
    found = compare("S", V.T @ SW, (W.T @ SV).T, unit * norm(V), n)
    yield Deviation(found.error, found.tolerance, "S is not symmetric: adjoint and operator differ")
    yield compare("S applied to a combination", S @ (2.0 * V - W), 2.0 * SV - SW, unit, n)
    yield compare("S applied to one column", S @ V[:, 0], SV[:, 0], unit, n)
    yield compare("factor_gradient", evaluation.factor_gradient(), 2.0 * (S @ Y.copy()), unit * norm(Y), n)
    entries = getattr(S, "entries", lambda: None)()
    if entries is not None:
        yield compare("the array of S times a block", entries @ V, SV, unit, n)
    at_once = problem.value_and_gradient_at(Y)
    if at_once is not None:
        scale = value_unit(problem, evaluation)
        yield compare("the value of value_and_gradient_at", at_once[0], evaluation.value, scale, n)
        yield compare("the gradient of value_and_gradient_at times a block", at_once[1] @ V, SV, unit, n)


@check("problem", "0.1", needs={Ability.HESSIAN})
def hessian_slope(problem: Problem, case: Case) -> Deviation:
    """d/dh factor_gradient(Y + hD) at h = 0 equals hessian_vector(D)."""
    evaluation = point_of(problem, case)
    Y = evaluation.factor
    D = case.direction(Y)
    found = evaluation.hessian_vector(D)
    slope = slope_unit(problem, evaluation)
    unit = bend_unit(problem, evaluation, D) + slope

    def gradient(h: float) -> np.ndarray:
        return problem.at(Y + h * D).factor_gradient()

    return compare_slope("Hessian-vector product", found, gradient, unit, problem.n, slope)


@check("problem", "0.1", needs={Ability.HESSIAN})
def hessian_symmetric(problem: Problem, case: Case) -> Deviations:
    """⟨E, Hess D⟩ = ⟨Hess E, D⟩, the Hessian is linear, and 2 (S D + curvature_product(D))."""
    evaluation = point_of(problem, case)
    D, E = case.direction(evaluation.factor), case.direction(evaluation.factor)
    HD, HE = evaluation.hessian_vector(D), evaluation.hessian_vector(E)
    unit = bend_unit(problem, evaluation, D) * norm(E) + bend_unit(problem, evaluation, E) * norm(D)
    both = evaluation.hessian_vector(D - 2.0 * E)
    yield compare("⟨E, Hess D⟩", inner(E, HD), inner(HE, D), unit, problem.n)
    yield compare("Hess(D − 2E)", both, HD - 2.0 * HE, unit / norm(E), problem.n)
    SD, unit = evaluation.gradient @ D, bend_unit(problem, evaluation, D)
    yield compare("2 (S D + curvature_product(D))", 2.0 * (SD + evaluation.curvature_product(D)), HD, unit, problem.n)


@check("problem", "0.3", regimes=FEW, when=lambda problem: bool(problem.data), reason="declares no data")
def data_slope(problem: Problem, case: Case) -> Deviations:
    """data_gradient(D) is the slope of data_gradient() along D, has the shapes of the data, and data_force(t), if
    there is one, is half its adjoint: Σ ⟨data_gradient(D), t⟩ = 2 ⟨D, data_force(t)⟩."""
    evaluation = point_of(problem, case)
    Y, names = evaluation.factor, sorted(problem.data)
    D = case.direction(Y)
    found, first = evaluation.data_gradient(D), evaluation.data_gradient()
    shapes = {name: np.shape(each) for name, each in problem.data.items()}
    if not shapes == {n: np.shape(each) for n, each in found.items()} == {n: np.shape(e) for n, e in first.items()}:
        return failed(f"derivatives by the data {names} have other names or shapes than the data")
    unit = norm(_flat(found, names)) + norm(_flat(first, names)) * norm(D) / norm(Y)

    def gradient(h: float) -> np.ndarray:
        return _flat(problem.at(Y + h * D).data_gradient(), names)

    yield compare_slope("data_gradient(D)", _flat(found, names), gradient, unit, problem.n, norm(_flat(first, names)))
    tangents = {name: case.rng.standard_normal() * each for name, each in problem.data.items()}
    try:
        force = evaluation.data_force(tangents)
    except InvalidTypeError:  # derivatives are backward only, and the problem says so
        return
    forth = float(_flat(found, names) @ _flat(tangents, names))
    size = norm(_flat(found, names)) * norm(_flat(tangents, names)) + 2.0 * norm(D) * norm(force)
    yield compare("2 ⟨D, data_force(t)⟩", 2.0 * inner(D, force), forth, size, problem.n)


def _flat(values: Mapping[str, Any], names: Sequence[str]) -> np.ndarray:
    """All numbers of these arrays, sparse ones as dense, in one array."""
    return np.concatenate([np.ravel(as_dense(values[name])) for name in names])


@check("problem", "0.1", when=lambda problem: twin_of(problem) is not None, reason="has no reference twin")
def autograd_twin(problem: Problem, case: Case) -> Deviations:
    """Value, S and Hessian-vector product equal those of the reference twin, which knows only F(M) as a formula."""
    twin = twin_of(problem)
    assert twin is not None
    mine = point_of(problem, case)
    other = twin.at(mine.factor)
    n, V = problem.n, case.rng.standard_normal((problem.n, 2))
    SV = np.asarray(other.gradient @ V)
    unit = value_unit(problem, mine) + abs(other.value)
    size = Unit.of(
        norm(SV) + norm(mine.gradient @ V), lambda: sensitivity(problem, mine.factor, lambda e: e.gradient @ V)
    )
    yield compare("value", mine.value, other.value, unit, n)
    yield compare("S times a block", mine.gradient @ V, SV, size, n)
    if Ability.HESSIAN in problem.abilities and Ability.HESSIAN in twin.abilities:
        D = case.direction(mine.factor)
        HD, expected = mine.hessian_vector(D), other.hessian_vector(D)
        unit = bend_unit(problem, mine, D) + norm(expected)
        yield compare("Hessian-vector product", HD, expected, unit, n)


@check("problem", "0.1", needs={Ability.PRECONDITIONER})
def preconditioner_definite(problem: Problem, case: Case) -> Deviation:
    """P⁻¹ is symmetric positive definite and linear."""
    evaluation = point_of(problem, case)
    solve = evaluation.preconditioner()
    R, Q = case.direction(evaluation.factor), case.direction(evaluation.factor)
    PR, PQ = solve(R), solve(Q)
    unit = norm(PR) * norm(Q) + norm(PQ) * norm(R)
    if not inner(R, PR) > 0.0 or not inner(Q, PQ) > 0.0:
        return failed(f"⟨R, P⁻¹R⟩ = {min(inner(R, PR), inner(Q, PQ)):.3g} is not positive")
    return Deviation(
        abs(inner(Q, PR) - inner(PQ, R)), np.sqrt(EPS) * unit, "P⁻¹ is not symmetric: ⟨Q, P⁻¹R⟩ ≠ ⟨P⁻¹Q, R⟩"
    )


@check("problem", "0.1", regimes=FEW, when=lambda p: bool(getattr(p, "maps", ())), reason="has no linear maps")
def adjoints(problem: Problem, case: Case) -> Deviations:
    """⟨A V, W⟩ = ⟨V, AᵀW⟩ for every linear map A of the problem."""
    for k, A in enumerate(problem.maps):  # type: ignore[attr-defined]
        V = case.rng.standard_normal((A.shape[1], DIRECTIONS))
        W = case.rng.standard_normal((A.shape[0], DIRECTIONS))
        AV, AtW = A.apply(V), A.adjoint(W)
        if norm(AV) == 0.0 and norm(AtW) == 0.0:
            continue
        forward, backward = np.sum(AV * W, axis=0), np.sum(V * AtW, axis=0)
        unit = norm(AV) * norm(W) + norm(V) * norm(AtW)
        yield compare(f"adjoint of map {k} ({getattr(A, 'name', '')})", backward, forward, unit, max(A.shape))
    return "all maps are zero"
