"""Naive twins of what :mod:`psdopt.constraints` computes: dense A_t, dense dual bounds, optima of a conic solver."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.certificates.constrained.certify import Multipliers
from psdopt.constraints import Constrained, Constraint
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array, norm
from psdopt.terms.base import combine
from psdopt.testing.conic import conic_objective, has_conic_objective


class DenseConstraints:
    """lower <= ⟨A_t, M⟩ <= upper with every A_t an array, read off the measurement's adjoint.

    Attributes: `A` (m, n, n); `lower`, `upper` (m,); `norms` (m,), |A_t|_F.
    """

    def __init__(self, problem: ConstrainedModel) -> None:
        self.problem, self.n = problem, problem.n
        images = Images(problem.measurement.maps, np.eye(problem.n))
        forms = [combine(problem.measurement.adjoint(e, images), (problem.n, problem.n)) for e in np.eye(problem.m)]
        self.A = np.array([0.5 * (A + A.T) for A in forms])
        self.lower, self.upper = problem.lower, problem.upper
        self.norms = np.linalg.norm(self.A, axis=(1, 2))

    def measured(self, M: Array) -> Array:
        """(⟨A_t, M⟩)_t."""
        return np.array([float(np.sum(A * M)) for A in self.A])

    def adjoint(self, y: Array) -> Array:
        """Σ_t y_t A_t."""
        return np.asarray(np.tensordot(y, self.A, axes=1))

    def support(self, y: Array) -> float:
        """σ(y), term by term; infinite where a multiplier pushes against a bound that is not there."""
        total = 0.0
        for value, low, high in zip(y, self.lower, self.upper, strict=True):
            total += 0.0 if value == 0.0 else max(value * low, value * high)
        return total

    def admissible(self, y: Array) -> Array:
        """y without the multipliers for which σ is infinite."""
        wrong = ((y > 0.0) & np.isinf(self.upper)) | ((y < 0.0) & np.isinf(self.lower))
        return np.where(wrong, 0.0, y)

    def relative_violation(self, M: Array) -> float:
        """The largest |a_t − Π(a)_t| over its own scale max(|Π(a)_t|, Σ_ij |A_t,ij| √(M_ii M_jj)), a = A(M).

        M_ii is at least √eps tr M in the scale of a constraint whose nearest bound is zero. Where the problem does
        not know the entries of the A_t, the sum is |A_t| |M|.
        """
        a, worst = self.measured(M), 0.0
        diagonal = np.maximum(np.diag(M), 0.0)
        least = np.maximum(diagonal, math.sqrt(np.finfo(float).eps) * float(diagonal.sum()))
        for A, value, bound in zip(self.A, a, np.clip(a, self.lower, self.upper), strict=True):
            d = np.sqrt(least if bound == 0.0 else diagonal)
            seen = float(d @ np.abs(A) @ d) if self.problem.forms is not None else norm(A) * norm(M)
            scale = max(abs(bound), seen)
            worst = max(worst, abs(value - bound) / scale if value != bound and scale > 0.0 else float(value != bound))
        return worst

    def bound(self, Y: Array, y: Array, trace: float | None) -> float:
        """F(M) − ⟨∇F(M), M⟩ − σ(y) + min(0, λ_min(S)) τ; −inf without τ where S is not PSD to rounding."""
        evaluation = self.problem.problem.at(Y)
        G = np.asarray(evaluation.gradient @ np.eye(self.n))
        S = 0.5 * (G + G.T) + self.adjoint(y)
        values = np.linalg.eigvalsh(S)
        base = float(evaluation.value) - float(np.sum(G * (Y @ Y.T))) - self.support(y)
        lowest = float(values[0])
        if lowest >= -1e-12 * float(np.max(np.abs(values))):
            return base
        return base + lowest * trace if trace is not None else -math.inf

    @cached_property
    def optimum(self) -> ConicOptimum | None:
        """Solution of the problem by Clarabel; None without cvxpy, or where the problem has no conic form."""
        return conic_optimum(self.problem, self)

    @cached_property
    def largest_trace(self) -> float | None:
        """max tr M over the feasible M, by Clarabel; inf where it is unbounded, None where nobody knows."""
        return _largest_trace(self)


class ConicOptimum:
    """Value and M (n, n) of a conic solver."""

    def __init__(self, value: float, M: Array) -> None:
        self.value, self.M = value, M


def conic_optimum(problem: ConstrainedModel, dense: DenseConstraints | None = None) -> ConicOptimum | None:
    """min F over the feasible M by Clarabel, for the F of :func:`~psdopt.testing.conic.conic_objective`."""
    if not has_conic_objective(problem.problem):
        return None
    try:
        import cvxpy
    except ImportError:
        return None
    cp: Any = cvxpy
    dense = dense or DenseConstraints(problem)
    M = cp.Variable((problem.n, problem.n), PSD=True)
    model = cp.Problem(cp.Minimize(conic_objective(problem.problem, M)), _rows(cp, dense, M))
    value = model.solve(solver=cp.CLARABEL)
    return ConicOptimum(float(value), np.asarray(M.value)) if model.status == cp.OPTIMAL else None


def _largest_trace(dense: DenseConstraints) -> float | None:
    try:
        import cvxpy
    except ImportError:
        return None
    cp: Any = cvxpy
    M = cp.Variable((dense.n, dense.n), PSD=True)
    model = cp.Problem(cp.Maximize(cp.trace(M)), _rows(cp, dense, M))
    model.solve(solver=cp.CLARABEL)
    if model.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        return math.inf
    return float(model.value) if model.status == cp.OPTIMAL else None


def _rows(cp: Any, dense: DenseConstraints, M: Any) -> list[Any]:
    rows = []
    for A, low, high in zip(dense.A, dense.lower, dense.upper, strict=True):
        a = cp.sum(cp.multiply(A, M))
        if low == high:
            rows.append(a == low)
            continue
        rows += [a >= low] if math.isfinite(low) else []
        rows += [a <= high] if math.isfinite(high) else []
    return rows


def multipliers_of(dual: Any) -> list[Array]:
    """The vectors of multipliers in what a method's state calls `dual`: those of the best bound, those of its point."""
    if isinstance(dual, Multipliers):
        return [y for y in (dual.best, dual.y) if y is not None]
    return [np.asarray(dual, dtype=np.float64)]


def with_groups(problem: ConstrainedModel, groups: list[Constraint]) -> Constrained:
    """`problem` under other constraints, of the same class, so that what the class gets wrong it gets wrong there."""
    twin: Any = object.__new__(type(problem))
    ConstrainedModel.__init__(twin, problem.problem, groups, problem.given_trace_bound)
    return twin  # type: ignore[no-any-return]
