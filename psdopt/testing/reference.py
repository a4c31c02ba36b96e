"""Naive twins: slow, obvious versions of what the library does fast, for tests to compare with.

Everything here is dense and written straight from the definition; cost O(n³) or worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.testing.conic import conic_objective, has_conic_objective


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
    from psdopt.problems import QuadraticSDP

    return quadratic_sdp_twin(problem) if isinstance(problem, QuadraticSDP) else None


def quadratic_sdp_twin(problem: Any) -> Problem:
    """tr((AM)²) + tr(B M²) + 2 tr(CM) + constant from dense A, B, C."""
    import autograd.numpy as anp

    from psdopt.problems import AutogradProblem

    A, B, C = (None if form is None else form.to_dense() for form in (problem.A, problem.B, problem.C))

    def value(M: Any) -> Any:
        total = problem.constant + 0.0 * M[0, 0]
        if A is not None:
            total = total + anp.trace(A @ M @ A @ M)
        if B is not None:
            total = total + anp.trace(B @ M @ M)
        return total if C is None else total + 2.0 * anp.sum(C * M)

    return AutogradProblem(value, problem.n, convex=True)


def dense_gradient(problem: Problem, M: LowRankPSD) -> Array:
    """S = ∇F(M) as an array, from n products."""
    S = np.asarray(problem.at(M.factor).gradient @ np.eye(problem.n))
    return np.asarray(0.5 * (S + S.T))


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

    S is a gradient, or the subgradient that the weights `dual` stand for: what it is short of one counts in ⟨S, M⟩.
    A bound that the problem knows of is believed: it has a check of its own, `problem.dual_bound`.
    Under constraints S = ∇F + A*(y), with multipliers from `dual`, and infeasibility counts.
    """
    from psdopt.constraints import Constrained
    from psdopt.testing.constrained import DenseConstraints, multipliers_of

    if isinstance(problem, Constrained):
        return _constrained_certificate(problem, DenseConstraints(problem), M, multipliers_of(dual))
    Y = M.factor
    evaluation, weights = problem.at(Y), dual
    operator, epsilon = problem.duality.subgradient(evaluation, weights)
    S = np.asarray(operator @ np.eye(problem.n))
    S = 0.5 * (S + S.T)
    value, at_zero = float(evaluation.value), problem.value_at_zero()
    values = np.linalg.eigvalsh(S)
    magnitude = float(np.max(np.abs(values))) * M.trace()
    tr = M.trace()
    if trace is not None:
        S = S - values[0] * np.eye(problem.n)
    dual = max(0.0, -float(values[0])) if trace is None else 0.0
    stationarity, complementarity = float(np.linalg.norm(S @ Y)), abs(float(np.vdot(S @ Y, Y))) + epsilon
    decrease = at_zero - value if at_zero > value else magnitude
    own = problem.duality.value_unit(value, tr)
    decrease = decrease if own is None else own
    decrease = max(decrease, float(np.finfo(float).tiny))
    residuals = (stationarity * np.sqrt(tr), dual * tr, complementarity) if trace is None else (complementarity,)
    if tr == 0.0 and trace is None:
        residuals = (dual / max(float(np.max(np.abs(values))), float(np.finfo(float).tiny)) * decrease,)
    relative, bound = (
        max(residuals) / decrease,
        problem.duality.dual_bound(evaluation, weights) if trace is None else None,
    )
    if bound is not None:
        relative = min(relative, max(value - bound, 0.0) / decrease)
    return DenseCertificate(stationarity, dual, complementarity, relative, 1.0 + magnitude / decrease, decrease)


def _constrained_certificate(problem: Any, dense: Any, M: LowRankPSD, candidates: list[Array]) -> DenseCertificate:
    """The best dense dual bound that the multipliers prove, and the violation of the constraints."""
    Y, limit = M.factor, problem.trace_limit
    value, trace = float(problem.at(Y).value), None if limit is None else limit.value
    bounds = [dense.bound(Y, dense.admissible(y), trace) for y in candidates]
    best = max(range(len(bounds)), key=bounds.__getitem__)
    S = dense_gradient(problem, M) + dense.adjoint(dense.admissible(candidates[best]))
    values = np.linalg.eigvalsh(S)
    unit = _unit_of_gaps(problem, Y, value, bounds[best])
    unit = max(unit, float(np.finfo(float).tiny))
    relative = max(abs(value - bounds[best]) / unit, dense.relative_violation(M.to_dense()))
    magnitude = float(np.max(np.abs(values))) * M.trace()
    return DenseCertificate(
        float(np.linalg.norm(S @ Y)),
        max(0.0, -float(values[0])),
        abs(float(np.vdot(S @ Y, Y))),
        relative,
        1.0 + magnitude / unit,
        unit,
    )


def _unit_of_gaps(problem: Any, Y: Array, value: float, bound: float) -> float:
    """The range on the ray, or where F(M) and the bound are less, no more than they or F towards a feasible matrix."""
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
    """What F varies by between 0 and Y Yᵀ; for linear F, between F(0), F(M) and the bound."""
    far, *near = (float(problem.at(math.sqrt(share) * Y).value) for share in (0.0, 0.25, 0.5, 1.0))
    if problem.conic is not None:
        return max(abs(near[-1] - far), abs(bound - far) if math.isfinite(bound) else 0.0)
    around = 4.0 * float(np.ptp(near))
    unit = min(float(np.ptp([far, *near])), around) if math.isfinite(far) else around
    return unit if math.isfinite(unit) else abs(near[-1])


def horizontal_by_least_squares(Y: Array, Z: Array) -> Array:
    """Z minus its component along {YΩ : Ω skew}, by a dense least-squares fit over a basis of skew matrices."""
    n, r = Y.shape
    basis = []
    for i in range(r):
        for j in range(i):
            W = np.zeros((r, r))
            W[i, j], W[j, i] = 1.0, -1.0
            basis.append((Y @ W).ravel())
    if not basis:
        return Z.copy()
    V = np.array(basis).T
    weights, *_ = np.linalg.lstsq(V, Z.ravel(), rcond=None)
    return np.asarray(Z - (V @ weights).reshape(n, r))


def project_psd(M: Array) -> Array:
    """Closest PSD matrix: negative eigenvalues set to zero, written out term by term."""
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    total = np.zeros_like(M)
    for value, v in zip(values, vectors.T, strict=True):
        if value > 0.0:
            total = total + value * np.outer(v, v)
    return total


def project_simplex(x: Array, total: float = 1.0) -> Array:
    """Closest point of {y ≥ 0, Σy = total}, by trying every number of positive entries."""
    order = np.sort(x)[::-1]
    best = np.full(len(x), total / len(x))
    for k in range(1, len(x) + 1):
        shift = (float(np.sum(order[:k])) - total) / k
        candidate = np.maximum(x - shift, 0.0)
        if abs(float(np.sum(candidate)) - total) <= 1e-9 * total:
            best = candidate
            break
    return np.asarray(best)


def project_spectraplex(M: Array, trace: float = 1.0) -> Array:
    """Closest M ⪰ 0 with tr M = trace: the spectrum projected onto the simplex."""
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    return np.asarray((vectors * project_simplex(values, trace)) @ vectors.T)


def minimize_on_grid(function: Callable[[float], float], upper: float, points: int = 20001) -> float:
    """Argmin of a function of one variable over a uniform grid on [0, upper]."""
    grid = np.linspace(0.0, upper, points)
    return float(grid[int(np.argmin([function(float(t)) for t in grid]))])


def has_conic_form(problem: Problem) -> bool:
    """Whether :func:`solve_conic` can write `problem` down."""
    from psdopt.constraints import Constrained

    return has_conic_objective(problem.problem if isinstance(problem, Constrained) else problem)


def solve_conic(problem: Any, trace: float | None = None) -> float | None:
    """min F over M ⪰ 0 by an interior point method (Clarabel through cvxpy); None without cvxpy.

    For the objectives of :func:`conic_objective`, also under linear constraints.
    """
    from psdopt.constraints import Constrained
    from psdopt.testing.constrained import conic_optimum

    try:
        import cvxpy
    except ImportError:
        return None
    if isinstance(problem, Constrained):
        optimum = conic_optimum(problem)
        return None if optimum is None else optimum.value
    cp: Any = cvxpy
    M = cp.Variable((problem.n, problem.n), PSD=True)
    constraints = [] if trace is None else [cp.trace(M) == trace]
    return float(cp.Problem(cp.Minimize(conic_objective(problem, M)), constraints).solve(solver=cp.CLARABEL))
