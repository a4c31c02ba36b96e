"""Naive twins: slow, obvious versions of what the library does fast, for tests to compare with.

Everything here is dense and written straight from the definition; cost O(n³) or worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psdopt.constraints import Constrained
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.problems import AutogradProblem, QuadraticSDP
from psdopt.testing.constrained import DenseConstraints, multipliers_of
from psdopt.testing.vectors import symmetric

#: The smallest number that counts as a size.
TINY = float(np.finfo(float).tiny)


def twin_of(problem: Any) -> Problem | None:
    """The reference problem of `problem`: its attribute ``twin``, its method ``reference()``, or a shipped one.

    A problem brings its twin as ``reference()`` returning an :class:`~psdopt.problems.AutogradProblem`, or
    gets one by assignment, ``problem.twin = AutogradProblem(...)``. None if there is none.
    """
    own = getattr(problem, "twin", None)
    if isinstance(own, Problem):
        return own
    make = getattr(problem, "reference", None)
    if callable(make):
        twin = make()
        if not isinstance(twin, Problem):
            raise TypeError(f"reference() of {type(problem).__name__} must return a Problem; found {twin!r}")
        return twin
    return quadratic_sdp_twin(problem) if isinstance(problem, QuadraticSDP) else None


def quadratic_sdp_twin(problem: Any) -> Problem:
    """tr((AM)²) + tr(B M²) + 2 tr(CM) + constant from dense A, B, C."""
    import autograd.numpy as anp

    A, B, C = (None if form is None else form.to_dense() for form in (problem.A, problem.B, problem.C))

    def value(M: Any) -> Any:
        total = problem.constant + 0.0 * M[0, 0]
        if A is not None:
            total = total + anp.trace(A @ M @ A @ M)
        if B is not None:
            total = total + anp.trace(B @ M @ M)
        return total if C is None else total + 2.0 * anp.sum(C * M)

    return AutogradProblem(value, problem.n, convex=True)


@dataclass(frozen=True)
class DenseCertificate:
    """Optimality conditions of min F over M ⪰ 0 (or with fixed trace), from dense arrays.

    relative : the largest residual in units of the decrease F(0) − F(M), or the gap to the problem's own dual bound
    where that is less. condition : |S||M| per decrease, which amplifies rounding. unit : the decrease.
    """

    stationarity: float
    dual_infeasibility: float
    complementarity: float
    relative: float
    condition: float
    unit: float

    @classmethod
    def of(
        cls, S: Array, Y: Array, unit: float, relative: float | None = None, epsilon: float = 0.0, fixed: bool = False
    ) -> DenseCertificate:
        """Of S (n, n) at Y Yᵀ, S less λ_min(S) if the trace is fixed; `relative` is by default the largest residual."""
        values, tr = np.linalg.eigvalsh(S), float(np.vdot(Y, Y))
        size, infeasible = float(np.max(np.abs(values))), 0.0 if fixed else max(0.0, -float(values[0]))
        SY = S @ Y - (values[0] * Y if fixed else 0.0)
        stationarity, complementarity = float(np.linalg.norm(SY)), abs(float(np.vdot(SY, Y))) + epsilon
        if relative is None and tr == 0.0 and not fixed:
            relative = infeasible / max(size, TINY)
        elif relative is None:
            others = (0.0,) if fixed else (stationarity * math.sqrt(tr), infeasible * tr)
            relative = max(complementarity, *others) / unit
        return cls(stationarity, infeasible, complementarity, relative, 1.0 + size * tr / unit, unit)

    @property
    def words(self) -> str:
        return (
            f"|SM| = {self.stationarity:.3g}, max(0, -lambda_min(S)) = {self.dual_infeasibility:.3g}, "
            f"|<S, M>| = {self.complementarity:.3g}"
        )


def dense_certificate(
    problem: Problem, M: LowRankPSD, trace: float | None = None, dual: Any = None
) -> DenseCertificate:
    """Residuals of S ⪰ 0, S M = 0 (S shifted by λ_min(S) if the trace is fixed), by one dense eigensolve.

    S is a gradient, or the subgradient from the weights `dual`, whose epsilon is added to ⟨S, M⟩. A bound of the
    problem's own is trusted here, since the check `problem.dual_bound` tests it. Under constraints S = ∇F + A*(y), with
    multipliers from `dual`, and infeasibility counts.
    """
    if isinstance(problem, Constrained):
        return _constrained_certificate(problem, DenseConstraints(problem), M, multipliers_of(dual))
    evaluation, at_zero = problem.at(M.factor), problem.value_at_zero()
    value, (operator, epsilon) = float(evaluation.value), problem.duality.subgradient(evaluation, dual)
    S, own = symmetric(operator, problem.n), problem.duality.value_unit(value, M.trace())
    if own is None:
        own = at_zero - value if at_zero > value else float(np.linalg.norm(S, 2)) * M.trace()
    found = DenseCertificate.of(S, M.factor, max(own, TINY), epsilon=epsilon, fixed=trace is not None)
    bound = problem.duality.dual_bound(evaluation, dual) if trace is None else None
    gap = math.inf if bound is None else max(value - bound, 0.0) / found.unit
    return replace(found, relative=min(found.relative, gap))


def _constrained_certificate(problem: Any, dense: Any, M: LowRankPSD, candidates: list[Array]) -> DenseCertificate:
    """The best dense dual bound that the multipliers prove, and the violation of the constraints."""
    Y, limit, evaluation = M.factor, problem.trace_limit, problem.at(M.factor)
    bounds = [(dense.bound(Y, dense.admissible(y), None if limit is None else limit.value)) for y in candidates]
    value, bound = float(evaluation.value), max(bounds)
    S = symmetric(evaluation.gradient, problem.n) + dense.adjoint(dense.admissible(candidates[bounds.index(bound)]))
    unit = max(_unit_of_gaps(problem, Y, value, bound), TINY)
    return DenseCertificate.of(S, Y, unit, max(abs(value - bound) / unit, dense.relative_violation(M.to_dense())))


def _unit_of_gaps(problem: Any, Y: Array, value: float, bound: float) -> float:
    """The range on the ray, but at most the largest of |F(M)|, |bound| and the range of F towards a feasible matrix."""
    ray, values = _range_on_the_ray(problem, Y, bound), max(abs(value), abs(bound) if math.isfinite(bound) else 0.0)
    N = problem.feasible_factor if values < ray else None
    if N is None:
        return min(ray, values)
    size, apart = (float(np.linalg.norm(A)) for A in (Y @ Y.T, Y @ Y.T - N @ N.T))
    whole = min(1.0, size / apart) if apart > 0.0 else 0.0
    ways = (Y @ Y.T + share * whole * (N @ N.T - Y @ Y.T) for share in (0.25, 0.5, 1.0))
    found = [value, *(float(problem.at(LowRankPSD.from_dense(M).factor).value) for M in ways)]
    feasible = min(float(np.ptp(found)), 4.0 * float(np.ptp(found[:-1])))
    return min(ray, max(values, feasible if math.isfinite(feasible) else 0.0))


def _range_on_the_ray(problem: Any, Y: Array, bound: float) -> float:
    """The range of F between 0 and Y Yᵀ; for linear F, the range of F(0), F(M) and the bound."""
    far, *near = (float(problem.at(math.sqrt(share) * Y).value) for share in (0.0, 0.25, 0.5, 1.0))
    if problem.conic is not None:
        return max(abs(near[-1] - far), abs(bound - far) if math.isfinite(bound) else 0.0)
    around = 4.0 * float(np.ptp(near))
    unit = min(float(np.ptp([far, *near])), around) if math.isfinite(far) else around
    return unit if math.isfinite(unit) else abs(near[-1])
