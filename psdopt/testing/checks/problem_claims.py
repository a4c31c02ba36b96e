"""Problem checks: abilities, convexity, closed form, and what the certificate and the starts of runs ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.constraints import constrained_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality, Starts
from psdopt.errors import PsdoptError
from psdopt.geometries import FlatQuotient
from psdopt.linalg.arrays import append_columns, inner, norm
from psdopt.running.compatibility import missing_members
from psdopt.running.solve import solve
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, rounding_of, value_unit
from psdopt.testing.reference import dense_certificate
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check
from psdopt.testing.untouched import changes, snapshot
from psdopt.testing.vectors import symmetric

PLAIN = ("full-rank",)
#: How many times |F(M)| + |F(0)| + |S||M| a problem's own unit of values may be: a larger one calls any gap small.
LARGEST_UNIT = 10.0
#: Accuracy that is asked of an eigenpair, relative to |S|.
PAIR_TOL = 1e-6
#: Ability -> abilities that it implies.
IMPLICATIONS: dict[str, tuple[str, ...]] = {
    Ability.QUADRATIC: (Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE),
    Ability.EXACT_LINE: (Ability.GRADIENT,),
    Ability.EXACT_PLANE: (Ability.GRADIENT,),
    Ability.HESSIAN: (Ability.GRADIENT,),
    Ability.PRECONDITIONER: (Ability.GRADIENT,),
    Ability.CONIC: (Ability.CONSTRAINTS,),
    Ability.LOG_DETS: (Ability.CONSTRAINTS,),
    Ability.EQUATIONS: (Ability.CONSTRAINTS,),
    Ability.NEAREST: (Ability.CONSTRAINTS, Ability.EQUATIONS),
    Ability.CONSTRAINED_FIT: (Ability.CONSTRAINTS,),
}


@check("problem", "0.1", regimes=PLAIN, repeats=False)
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
        inner = Ability.CONIC, Ability.LOG_DETS, Ability.EQUATIONS, Ability.NEAREST, Ability.CONSTRAINED_FIT
        lacking = [a for a in inner if a not in offered]
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


@check("problem", "0.1", when=lambda p: p.at(np.eye(p.n)).curvatures(thorough=True), reason="claims no curvature")
def strong_convexity(problem: Problem, case: Case) -> Deviations:
    """F(M₁) ≥ F(M₀) + ⟨S₀, M₁ − M₀⟩ + κ/2 |Cᵀ(M₁ − M₀)C|² for each of the `curvatures` (κ, C) at M₀."""
    far, near = _two_points(problem, case)
    # along directions of weak curvature the inequality is nearly tight: also try differences by one atom
    columns = np.eye(problem.n)[:8, :, None] * norm(near.factor)
    atoms = [problem.at(append_columns(near.factor, column)) for column in columns]
    for other in (far, *atoms):
        Z = np.asarray(near.gradient @ other.factor)
        linear = inner(Z, other.factor) - 0.5 * inner(near.factor_gradient(), near.factor)
        distance = other.matrix.to_dense() - near.matrix.to_dense()
        for each in near.curvatures(thorough=True):
            E = distance if each.root is None else each.root.T @ distance @ each.root
            quadratic = 0.5 * each.modulus * inner(E, E)
            excess = near.value + linear + quadratic - other.value
            unit = value_unit(problem, near) + value_unit(problem, other) + norm(Z) * norm(other.factor) + quadratic
            ratio = (other.value - near.value - linear) / quadratic if quadratic > 0.0 else math.nan
            words = f"a curvature of {each.modulus:.6g} is claimed, but only {ratio:.3g} of it is there"
            yield Deviation(excess, rounding_of(unit, problem.n), words)


@check("problem", "0.1", needs={Ability.CLOSED_FORM}, regimes=PLAIN, repeats=False)
def closed_form(problem: Problem, case: Case) -> Deviation:
    """The closed form satisfies the optimality conditions S ⪰ 0, S M = 0, computed densely."""
    M = problem.solve_in_closed_form()
    if M is None:
        raise Trivial("these data admit no closed form")
    certificate = dense_certificate(problem, M)
    condition = certificate.condition
    return Deviation(certificate.relative, rounding_of(1.0, problem.n, 64.0 * condition), certificate.words)


def _own(role: type, name: str) -> Callable[[Problem], bool]:
    """Whether the problem's duality or starts have a member `name` of their own."""
    return lambda problem: getattr(type(getattr(problem, role.__name__.lower())), name) is not getattr(role, name)


@check("problem", "0.1", regimes=FEW, when=_own(Duality, "dual_bound"), reason="knows of no dual bound (dual_bound)")
def dual_bound(problem: Problem, case: Case) -> Deviations:
    """dual_bound at any M, with any dual handed in, is at most F(N) at every N ⪰ 0, random ones and the best known.

    Under constraints only the best known one counts, which meets them. Duals are handed in to a problem that says how
    long they are, as `dual_size`.
    """
    here, there = point_of(problem, case), point_of(problem, case)
    best = solve(problem, FlatQuotient(problem.n, problem.n), tol=1e-6, max_iterations=100).matrix
    others = () if Ability.CONSTRAINTS in problem.abilities else (here, there)
    lowest = min((*others, problem.at(best.factor)), key=lambda e: float(e.value))
    duals: list[Any] = [None]
    if size := int(getattr(problem, "dual_size", 0)):
        duals += [scale * case.rng.standard_normal(size) for scale in (0.1, 10.0)]
    for evaluation in (here, there, lowest):
        for dual in duals:
            bound = problem.duality.dual_bound(evaluation, dual)
            if bound is None:
                continue
            unit = value_unit(problem, lowest) + abs(bound)
            words = f"the bound is {bound:.10g}, but F falls to {lowest.value:.10g}"
            words += "" if dual is None else ", for a dual that was handed in"
            yield Deviation(bound - lowest.value, rounding_of(unit, problem.n), words)
    return "no bound is known at the sampled points"


@check("problem", "0.2", regimes=PLAIN, repeats=False)
def value_at_zero(problem: Problem, case: Case) -> Deviation:
    """value_at_zero() is F at M = 0, whether it is asked for first or last."""
    direct = float(problem.at(np.zeros((problem.n, 1))).value)
    if not math.isfinite(direct):
        return PASSED if not math.isfinite(problem.value_at_zero()) else failed("F(0) is not finite, and is said to be")
    unit = value_unit(problem, point_of(problem, case)) + abs(direct)
    return compare("value_at_zero()", problem.value_at_zero(), direct, unit, problem.n)


@check("problem", "0.2", when=_own(Duality, "value_unit"), reason="has no unit of its own (value_unit)")
def own_unit(problem: Problem, case: Case) -> Deviation:
    """duality.value_unit is positive and at most ten times |F(M)| + |F(0)| + |S||M|: it makes no gap small."""
    evaluation = point_of(problem, case)
    own = problem.duality.value_unit(float(evaluation.value), norm(evaluation.factor) ** 2)
    if own is None:
        raise Trivial("no unit is given at the sampled points")
    if not 0.0 < own < math.inf:
        return failed(f"value_unit is {own}, not a positive number")
    allowed = LARGEST_UNIT * value_unit(problem, evaluation).known
    return Deviation(own, allowed, f"the unit of values is {own:.3g}, where F, F(0) and <S, M> allow {allowed:.3g}")


@check("problem", "0.2", regimes=FEW)
def smallest_eigenpair(problem: Problem, case: Case) -> Deviations:
    """duality.smallest_eigenpair: a unit Ritz pair of S with its residual, and a lower_bound <= λ_min(S)."""
    evaluation = point_of(problem, case)
    S, n = evaluation.gradient, problem.n
    dense = symmetric(S, n)
    if not np.all(np.isfinite(dense)):
        raise Trivial("S is not finite at the sampled points")
    values = np.linalg.eigvalsh(dense)
    size = max(float(np.max(np.abs(values))), float(np.finfo(float).tiny))
    pair = problem.duality.smallest_eigenpair(evaluation, S, tol=PAIR_TOL * size)
    v, allowed = pair.vector, rounding_of(size, n)
    least = float(values[0])
    yield Deviation(
        pair.lower_bound - least, allowed, f"lower_bound = {pair.lower_bound:.6g} lies above λ_min(S) = {least:.6g}"
    )
    yield compare("|v|", norm(v), 1.0, 1.0, n)
    yield Deviation(
        abs(float(v @ dense @ v) - pair.value), allowed, f"vᵀSv = {v @ dense @ v:.6g}, value says {pair.value:.6g}"
    )
    words = f"|S v - value v| is larger than residual = {pair.residual:.3g}"
    yield Deviation(norm(dense @ v - pair.value * v) - pair.residual, allowed, words)


@check("problem", "0.2", regimes=PLAIN, repeats=False, when=_own(Starts, "first_atoms"), reason="has no first_atoms")
def first_atoms(problem: Problem, case: Case) -> Deviation:
    """starts.first_atoms() is a finite array (n, k), k >= 1, along which F falls from M = 0; or None."""
    W = problem.starts.first_atoms()
    if W is None:
        raise Trivial("none are known for these data")
    if np.ndim(W) != 2 or np.shape(W)[0] != problem.n or np.shape(W)[1] < 1:
        return failed(f"first_atoms has shape {np.shape(W)}, expected ({problem.n}, k)")
    if not np.all(np.isfinite(W)):
        return failed("first_atoms is not finite")
    if norm(W) == 0.0:
        return failed("first_atoms is zero")
    slope = float(np.vdot(W, problem.at(np.zeros((problem.n, 1))).gradient @ W))
    return Deviation(slope, 0.0, f"F rises along W Wᵀ from M = 0: <S, W Wᵀ> = {slope:.3g}")


@check("problem", "0.2", regimes=PLAIN)
def data_untouched(problem: Problem, case: Case) -> Deviation:
    """No evaluation changes the factor, the direction or the arrays of the problem's data in place."""
    before = snapshot({"problem": problem})
    Y = point_of(problem, case).factor.copy()
    D = case.direction(Y)
    held = {"Y": Y, "D": D, "problem": problem}
    before |= snapshot({"Y": Y, "D": D})
    before = {path: value for path, value in before.items() if isinstance(value, np.ndarray)}
    evaluation = problem.at(Y)
    evaluation.factor_gradient()
    evaluation.gradient @ D
    evaluation.append(D[:, 0]).factor_gradient()
    evaluation.mix(np.eye(Y.shape[1])).refresh().factor_gradient()
    after = snapshot(held)
    changed = changes(before, {path: after[path] for path in before if path in after})
    return failed(f"changed in place: {', '.join(changed[:3])}") if changed else PASSED
