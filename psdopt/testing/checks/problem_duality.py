"""Problem checks: what the certificate and the starts of runs ask a problem for, against dense arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psdopt.contracts.problem import Problem
from psdopt.contracts.roles import Duality, Starts
from psdopt.linalg.arrays import norm
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, rounding_of, value_unit
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check
from psdopt.testing.untouched import changes, snapshot

#: How many times |F(M)| + |F(0)| + |S||M| a problem's own unit of values may be: a larger one calls any gap small.
LARGEST_UNIT = 10.0
#: Accuracy that is asked of an eigenpair, relative to |S|.
PAIR_TOL = 1e-6


def _overrides(role: Any, base: type, name: str) -> bool:
    return getattr(type(role), name) is not getattr(base, name)


@check("problem", "0.2", regimes=("full-rank",), repeats=False)
def value_at_zero(problem: Problem, case: Case) -> Deviation:
    """value_at_zero() is F at M = 0, whether it is asked for first or last."""
    direct = float(problem.at(np.zeros((problem.n, 1))).value)
    if not math.isfinite(direct):
        return PASSED if not math.isfinite(problem.value_at_zero()) else failed("F(0) is not finite, and is said to be")
    unit = value_unit(problem, point_of(problem, case)) + abs(direct)
    return compare("value_at_zero()", problem.value_at_zero(), direct, unit, problem.n)


@check(
    "problem",
    "0.2",
    when=lambda problem: _overrides(problem.duality, Duality, "value_unit"),
    reason="has no unit of values of its own (value_unit)",
)
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
    dense = np.asarray(S @ np.eye(n))
    dense = 0.5 * (dense + dense.T)
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
    yield Deviation(
        norm(dense @ v - pair.value * v) - pair.residual,
        allowed,
        f"|S v - value v| is larger than residual = {pair.residual:.3g}",
    )


@check(
    "problem",
    "0.2",
    regimes=("full-rank",),
    repeats=False,
    when=lambda problem: _overrides(problem.starts, Starts, "first_atoms"),
    reason="proposes no atoms (first_atoms)",
)
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


@check("problem", "0.2", regimes=("full-rank",))
def data_untouched(problem: Problem, case: Case) -> Deviation:
    """No evaluation changes the factor, the direction or the arrays of the problem's data in place."""
    Y = case.factor(problem.n)
    D = case.direction(Y)
    held = {"Y": Y, "D": D, "problem": problem}
    before = {path: value for path, value in snapshot(held).items() if isinstance(value, np.ndarray)}
    evaluation = problem.at(Y)
    if not math.isfinite(evaluation.value):
        raise Trivial("F is not finite at the sampled points")
    evaluation.factor_gradient()
    evaluation.gradient @ D
    evaluation.append(D[:, 0]).factor_gradient()
    evaluation.mix(np.eye(Y.shape[1])).refresh().factor_gradient()
    after = snapshot(held)
    changed = changes(before, {path: after[path] for path in before if path in after})
    return failed(f"changed in place: {', '.join(changed[:3])}") if changed else PASSED
