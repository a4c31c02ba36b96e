"""Problem checks: convexity, curvature, closed form, and that declared abilities are there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.constraints import constrained_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality
from psdopt.errors import PsdoptError
from psdopt.geometries import FlatQuotient
from psdopt.linalg.arrays import append_columns, inner, norm
from psdopt.running.compatibility import missing_members
from psdopt.running.solve import solve
from psdopt.testing.checks.common import PASSED, failed, point_of, rounding_of, value_unit
from psdopt.testing.reference import dense_certificate
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check, worst

#: Ability -> abilities that it implies.
IMPLICATIONS: dict[str, tuple[str, ...]] = {
    Ability.QUADRATIC: (Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE),
    Ability.EXACT_LINE: (Ability.GRADIENT,),
    Ability.EXACT_PLANE: (Ability.GRADIENT,),
    Ability.HESSIAN: (Ability.GRADIENT,),
    Ability.PRECONDITIONER: (Ability.GRADIENT,),
    Ability.CONIC: (Ability.CONSTRAINTS,),
    Ability.NEAREST: (Ability.CONSTRAINTS,),
    Ability.CONSTRAINED_FIT: (Ability.CONSTRAINTS,),
}


@check("problem", "0.1", regimes=("full-rank",), repeats=False)
def abilities_kept(problem: Problem, case: Case) -> Deviation:
    """Every declared ability has its members, is there when called, and comes with everything that it implies."""
    absent = missing_members(problem, problem.abilities)
    if absent:
        return failed(f"declares {absent[0]}, which is not there")
    for ability, implied in IMPLICATIONS.items():
        missing = [str(other) for other in implied if other not in problem.abilities]
        if ability in problem.abilities and missing:
            return failed(f"{ability} is declared without {', '.join(missing)}, which it implies")
    if Ability.CONSTRAINTS in problem.abilities:
        offered = constrained_of(problem).abilities
        lacking = [a for a in (Ability.CONIC, Ability.NEAREST, Ability.CONSTRAINED_FIT) if a not in offered]
        if found := problem.abilities.intersection(lacking):
            return failed(f"declares {min(found)}, which the answer of constrained() lacks")
    evaluation = point_of(problem, case)
    D = case.direction(evaluation.factor)
    calls: dict[str, Callable[[], Any]] = {
        Ability.GRADIENT: evaluation.factor_gradient,
        Ability.EXACT_LINE: lambda: evaluation.along(D).minimize(),
        Ability.EXACT_PLANE: lambda: evaluation.along_atom(D[:, 0]).minimize(),
        Ability.HESSIAN: lambda: evaluation.hessian_vector(D),
        Ability.PRECONDITIONER: lambda: evaluation.preconditioner()(D),
        Ability.RESTRICTION: lambda: evaluation.restricted(np.eye(D.shape[1])[:, :1] / norm(evaluation.factor[:, 0])),
    }
    for ability, call in calls.items():
        if ability in problem.abilities:
            try:
                call()
            except (NotImplementedError, TypeError, PsdoptError) as error:
                return failed(f"{ability} is declared, but calling it raises {type(error).__name__}: {error}")
    return PASSED


def _two_points(problem: Problem, case: Case) -> tuple[Evaluation, Evaluation]:
    """Two points whose distance is comparable to their size, and no multiples of each other."""
    return point_of(problem, case), point_of(problem, case)


@check("problem", "0.1", needs={Ability.CONVEX})
def convexity(problem: Problem, case: Case) -> Deviations:
    """F(t M₁ + (1−t) M₀) ≤ t F(M₁) + (1−t) F(M₀), and F(M₁) ≥ F(M₀) + ⟨S₀, M₁ − M₀⟩."""
    first, second = _two_points(problem, case)
    unit = value_unit(problem, first) + value_unit(problem, second)
    for t in (0.1, 0.5, 0.8):
        Y = append_columns(math.sqrt(1.0 - t) * first.factor, math.sqrt(t) * second.factor)
        excess = problem.at(Y).value - (1.0 - t) * first.value - t * second.value
        words = f"the value at t = {t} lies above the chord by {excess:.3g}"
        yield Deviation(excess, rounding_of(unit, problem.n), words)
    for near, far in ((first, second), (second, first)):
        Z = np.asarray(near.gradient @ far.factor)
        linear = inner(Z, far.factor) - 0.5 * inner(near.factor_gradient(), near.factor)
        excess = near.value + linear - far.value
        scale = unit + norm(Z) * norm(far.factor)
        yield Deviation(excess, rounding_of(scale, problem.n), f"F lies below its tangent by {excess:.3g}")


@check("problem", "0.1", when=lambda problem: problem.lower_curvature > 0.0, reason="claims no strong convexity")
def strong_convexity(problem: Problem, case: Case) -> Deviations:
    """F(M₁) ≥ F(M₀) + ⟨S₀, M₁ − M₀⟩ + sigma/2 |M₁ − M₀|² for the declared lower_curvature sigma."""
    far, near = _two_points(problem, case)
    # along weak directions of F the inequality is nearly tight: try differences of one atom as well
    atoms = [
        problem.at(append_columns(near.factor, column[:, None])) for column in np.eye(problem.n)[:8] * norm(near.factor)
    ]
    for other in (far, *atoms):
        Z = np.asarray(near.gradient @ other.factor)
        linear = inner(Z, other.factor) - 0.5 * inner(near.factor_gradient(), near.factor)
        distance = other.matrix.to_dense() - near.matrix.to_dense()
        quadratic = 0.5 * problem.lower_curvature * inner(distance, distance)
        excess = near.value + linear + quadratic - other.value
        unit = value_unit(problem, near) + value_unit(problem, other) + norm(Z) * norm(other.factor) + quadratic
        ratio = (other.value - near.value - linear) / quadratic if quadratic > 0.0 else math.nan
        words = f"sigma = {problem.lower_curvature:.6g} is claimed, but only {ratio:.3g} of it is there"
        yield Deviation(excess, rounding_of(unit, problem.n), words)


@check("problem", "0.1", needs={Ability.CLOSED_FORM}, regimes=("full-rank",), repeats=False)
def closed_form(problem: Problem, case: Case) -> Deviation:
    """The closed form satisfies the optimality conditions S ⪰ 0, S M = 0, computed densely."""
    M = problem.solve_in_closed_form()
    if M is None:
        raise Trivial("these data admit no closed form")
    certificate = dense_certificate(problem, M)
    condition = certificate.condition
    return Deviation(certificate.relative, rounding_of(1.0, problem.n, 64.0 * condition), certificate.words)


def _bounds(problem: Problem) -> bool:
    return type(problem.duality).dual_bound is not Duality.dual_bound


@check("problem", "0.1", regimes=FEW, when=_bounds, reason="knows of no dual bound (dual_bound)")
def dual_bound(problem: Problem, case: Case) -> Deviation:
    """dual_bound at any M, with any dual handed in, is at most F(N) at every N ⪰ 0, random ones and the best known.

    Duals are handed in to a problem that says how long they are, as `dual_size`.
    """
    here, there = point_of(problem, case), point_of(problem, case)
    best = solve(problem, FlatQuotient(problem.n, problem.n), tol=1e-6, max_iterations=100).matrix
    lowest = min((here, there, problem.at(best.factor)), key=lambda e: float(e.value))
    duals: list[Any] = [None]
    if size := int(getattr(problem, "dual_size", 0)):
        duals += [scale * case.rng.standard_normal(size) for scale in (0.1, 10.0)]
    results = []
    for evaluation in (here, there, lowest):
        for dual in duals:
            bound = problem.duality.dual_bound(evaluation, dual)
            if bound is None:
                continue
            unit = value_unit(problem, lowest) + abs(bound)
            words = f"the bound is {bound:.10g}, but F falls to {lowest.value:.10g}"
            words += "" if dual is None else ", for a dual that was handed in"
            results.append(Deviation(bound - lowest.value, rounding_of(unit, problem.n), words))
    return worst(results, "no bound is known at the sampled points")
