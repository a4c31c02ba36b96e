"""Checks of linear constraints: dual bounds, trace bounds, proofs of infeasibility, multipliers of a method."""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.certify import certify
from psdopt.constraints import Constrained, Constraint, SparseForms
from psdopt.constraints.cones import Cones
from psdopt.contracts.abilities import Ability
from psdopt.linalg.arrays import Array, norm
from psdopt.testing.checks.common import PASSED, failed, point_of
from psdopt.testing.checks.method_answers import plain_run, tol_of
from psdopt.testing.checks.method_protocol import PLAIN, _each
from psdopt.testing.constrained import DenseConstraints, multipliers_of, with_groups
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check
from psdopt.testing.subjects import MethodSubject
from psdopt.testing.vectors import symmetric

#: Relative accuracy of a conic solver's answer.
SOLVER = 1e-6
#: Multipliers are tried in these sizes, relative to |∇F|.
SIZES = (0.0, 0.1, 1.0, 10.0)
#: A proof must find violations of at least this many times |A_t|.
APART = 0.5
claim = partial(check, "problem", needs={Ability.CONSTRAINTS}, regimes=PLAIN)


def _has_cvxpy(obj: Any) -> bool:
    return find_spec("cvxpy") is not None


def _sampled(problem: Constrained, case: Case) -> Array:
    """A factor of the case, in the domain of F."""
    Y = case.factor(problem.n)
    return Y if np.isfinite(problem.at(Y).value) else point_of(problem, case).factor


def _multipliers(problem: Constrained, case: Case, size: float) -> Array:
    """Random y (m,) of |y_t| |A_t| around size |∇F(0)|, or size if F is not defined at 0.

    Entries whose sign no bound allows must count as zero.
    """
    found = norm(problem.at(np.zeros((problem.n, 1))).gradient @ np.eye(problem.n))
    y = size * (found if 0.0 < found < np.inf else 1.0) * case.rng.standard_normal(problem.m)
    return np.asarray(y / np.where(problem.norms > 0.0, problem.norms, 1.0))


@claim("0.2", when=_has_cvxpy, reason="cvxpy is not installed")
def multiplier_bound(problem: Constrained, case: Case) -> Deviations:
    """For any M and any y, certificate.dual_value is at most the optimum that a conic solver finds."""
    optimum = DenseConstraints(problem).optimum
    if optimum is None:
        raise Trivial("the problem has no conic form, or the conic solver finds no optimum")
    unit = max(abs(optimum.value), abs(optimum.value - problem.value_at_zero()), float(np.finfo(float).tiny))
    for size in SIZES:
        y = _multipliers(problem, case, size)
        certificate: Any = certify(problem, _sampled(problem, case), dual=y)
        if certificate.dual_value is None:
            continue
        words = (
            f"with multipliers of size {size:g} the bound is {certificate.dual_value:.9g}, above {optimum.value:.9g}"
        )
        yield Deviation((certificate.dual_value - optimum.value) / unit, SOLVER, words)
    return "no bound without S ⪰ 0: nothing bounds the trace"


@claim("0.2", repeats=False, when=_has_cvxpy, reason="cvxpy is not installed")
def trace_bound(problem: Constrained, case: Case) -> Deviation:
    """trace_limit.value is at least tr M for all feasible M; one that is given, for a solution."""
    limit, dense = problem.trace_limit, DenseConstraints(problem)
    if limit is None:
        raise Trivial("no bound on the trace is claimed")
    if limit.source == "given":
        optimum = dense.optimum
        true = None if optimum is None else float(np.trace(optimum.M))
    else:
        true = dense.largest_trace
    if true is None:
        raise Trivial("the conic solver finds no largest trace")
    words = f"tr M <= {limit.value:.9g} is claimed ({limit.source}), a conic solver finds {true:.9g}"
    return Deviation((true - limit.value) / max(abs(true), abs(limit.value)), SOLVER, words)


@claim("0.2", repeats=False)
def contradictory_pair(problem: Constrained, case: Case) -> Deviation:
    """A constraint that contradicts another is proven to: y = e_s − e_t becomes an infeasibility_proof that holds."""
    t, bound = _bounded(problem)
    size = APART * problem.norms[t]
    group = (
        _copy(problem, t, upper=bound - size)
        if np.isfinite(problem.lower[t])
        else _copy(problem, t, lower=bound + size)
    )
    other = with_groups(problem, [*problem.constraints, group])
    sign = 1.0 if np.isfinite(problem.lower[t]) else -1.0
    y = np.zeros(other.m)
    y[t], y[-1] = -sign, sign
    found: Any = certify(other, _sampled(problem, case), dual=y)
    proof = found.constraints.infeasibility_proof
    if proof is None:
        return failed(f"constraint {t} and its contradiction are not found infeasible, with the proof at hand")
    return _holds(DenseConstraints(other), proof)


@claim("0.2", repeats=False)
def redundant_pair(problem: Constrained, case: Case) -> Deviation:
    """A constraint given twice makes nothing infeasible, and a y split between both has the same bound."""
    t, _ = _bounded(problem)
    group = _copy(problem, t, problem.lower[t], problem.upper[t])
    other = with_groups(problem, [*problem.constraints, group])
    Y, y = _sampled(problem, case), _multipliers(problem, case, 1.0)
    split = np.append(y, 0.5 * y[t])
    split[t] *= 0.5
    once: Any = certify(problem, Y, dual=y)
    twice: Any = certify(other, Y, dual=split)
    if twice.infeasible and not once.infeasible:
        return failed(f"constraint {t} given twice is called infeasible")
    return _same_bound(once, twice, "constraint given twice")


@claim("0.2")
def constraint_scaling(problem: Constrained, case: Case) -> Deviations:
    """A constraint times 1000, or a group of cones, keeps primal_infeasibility and the bound, of a y over 1000."""
    if problem.forms is None:
        raise Trivial("the constraints are not known by their entries")
    factor, first, t = np.ones(problem.m), 0, int(case.rng.integers(problem.m))
    groups = []
    for group in problem.constraints:
        rows = slice(first, first + group.size)
        if rows.start <= t < rows.stop:
            factor[t if group.cones is None else rows] = 1000.0
        groups.append(_times(problem.forms, group, rows, factor[rows]))
        first = rows.stop
    other = with_groups(problem, groups)
    Y, y = _sampled(problem, case), _multipliers(problem, case, 1.0)
    plain: Any = certify(problem, Y, dual=y)
    again: Any = certify(other, Y, dual=y / factor)
    a, b = (each.constraints.primal_infeasibility for each in (plain, again))
    words = f"primal_infeasibility is {b:.6g} for a constraint times 1000, {a:.6g} without"
    yield Deviation(abs(a - b) / max(a, b, 1e-300), SOLVER, words)
    yield _same_bound(plain, again, "scaling")


def _tried_on_constraints(subject: MethodSubject) -> bool:
    return any(_constrained(instance.problem) for instance in subject.instances)


@check("method", "0.2", regimes=PLAIN, when=_tried_on_constraints, reason="no instance has constraints")
def multipliers_are_true(subject: MethodSubject, case: Case) -> Deviations:
    """At an optimal answer the state's y has the signs of its bounds, y_t (a_t − b_t) = 0, S ⪰ 0 and S M = 0."""
    for instance in _each(subject):
        problem = instance.problem
        result = plain_run(subject, instance, case)
        if not (_constrained(problem) and result.optimal):
            continue
        assert isinstance(problem, Constrained)
        dense, Y = DenseConstraints(problem), result.matrix.factor
        y = multipliers_of(getattr(result.state, "dual", None))[-1]
        S, a = symmetric(problem.at(Y).gradient, problem.n) + dense.adjoint(y), dense.measured(Y @ Y.T)
        unit = max(abs(result.value - problem.value_at_zero()), float(np.finfo(float).tiny))
        allowed = 100.0 * tol_of(subject)
        true = dense.admissible(y)
        with np.errstate(invalid="ignore"):
            pushed = true * (a - np.where(y > 0.0, problem.upper, problem.lower))
        pushed = np.where(np.isfinite(pushed), pushed, 0.0)
        for row, b in dense.cones:
            pushed[row] = true[row] @ (a[row] - b) / len(row)
        size = norm(Y) ** 2
        for amount, words in (
            (
                norm((y - true) * problem.allowed.alike(problem.norms)) * size,
                "of multipliers push against a bound that is not there",
            ),
            (float(np.sum(np.abs(pushed))), "is lost by multipliers of constraints off their bounds"),
            (max(0.0, -float(np.linalg.eigvalsh(S)[0])) * size, "is the reach of negative eigenvalues of S"),
            (abs(float(np.vdot(S @ Y, Y))), "is <S, M>"),
        ):
            ratio = amount / unit
            yield Deviation(ratio, allowed, f"on {instance.name} {ratio:.3g} {words}")
    return "no instance under constraints is solved to optimality"


def _constrained(problem: Any) -> bool:
    return Ability.CONSTRAINTS in problem.abilities


def _bounded(problem: Constrained) -> tuple[int, float]:
    """The first constraint with a finite bound and A_t != 0, and that bound, the lower one if there are both."""
    for t in np.flatnonzero(problem.norms > 0.0):
        for bound in (problem.lower[t], problem.upper[t]):
            if math.isfinite(bound):
                return int(t), float(bound)
    raise Trivial("no constraint has a finite bound")


def _copy(problem: Constrained, t: int, lower: float = -math.inf, upper: float = math.inf) -> Constraint:
    """Constraint t alone, with bounds of its own."""
    A = DenseConstraints(problem).A[t]
    return Constraint(SparseForms.of([A]), lower, upper, name="copy")


def _times(forms: SparseForms, group: Constraint, rows: slice, factor: Array) -> Constraint:
    """The constraints of the `group`, which are the given `rows` of the forms, times `factor`, alike in cones."""
    twin = copy(group)
    B = sp.csr_array(sp.diags_array(factor) @ forms.B[rows])
    twin.measurement = SparseForms(forms.i, forms.j, B, group.n)
    twin.lower, twin.upper = factor * group.lower, factor * group.upper
    twin.cones = None if group.cones is None else Cones(group.size, group.cones.groups, factor * group.cones.offset)
    return twin


def _holds(dense: DenseConstraints, y: Array) -> Deviation:
    """Whether A*(y) ⪰ 0 and σ(y) < 0, to rounding; with tr M <= τ also σ(y) < λ_min(A*(y)) τ."""
    limit = dense.problem.trace_limit
    lowest, support = float(np.linalg.eigvalsh(dense.adjoint(y))[0]), dense.support(y)
    size = float(np.sum(np.abs(y) * dense.norms))
    floor = 0.0 if lowest >= -1e-12 * size else (-math.inf if limit is None else lowest * limit.value)
    words = f"the proof y has sigma(y) = {support:.3g} and lambda_min(A*(y)) = {lowest:.3g}: it proves nothing"
    return PASSED if support < floor and support < 0.0 else failed(words)


def _same_bound(one: Any, other: Any, words: str) -> Deviation:
    if (one.dual_value is None) != (other.dual_value is None):
        return failed(f"a bound is proven with or without the {words} only: {one.dual_value}, {other.dual_value}")
    if one.dual_value is None:
        return PASSED
    unit = max(abs(one.value), abs(one.dual_value), abs(one.value - one.value_at_zero))
    shown = f"the bound is {other.dual_value:.9g} after {words}, {one.dual_value:.9g} before"
    return Deviation(abs(one.dual_value - other.dual_value) / (unit or 1.0), SOLVER, shown)
