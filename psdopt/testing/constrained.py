"""Naive twins of :mod:`psdopt.constraints`: dense A_t, dense dual bounds, optima of a conic solver."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.constraints import Constrained, Constraint
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, norm
from psdopt.problems import QuadraticSDP
from psdopt.problems.entry_fit import EntryFit
from psdopt.terms.base import combine
from psdopt.testing.vectors import symmetric


class DenseConstraints:
    """lower <= ⟨A_t, M⟩ <= upper and cones, with every A_t an array, read off the measurement's adjoint.

    Attributes: `A` (m, n, n); `lower`, `upper` (m,); `cones`, (positions, b) of each; `norms` (m,), |A_t|_F.
    """

    def __init__(self, problem: ConstrainedModel) -> None:
        self.problem, self.n = problem, problem.n
        images = Images(problem.measurement.maps, np.eye(problem.n))
        forms = [combine(problem.measurement.adjoint(e, images), (problem.n, problem.n)) for e in np.eye(problem.m)]
        self.A = np.array([0.5 * (A + A.T) for A in forms])
        self.lower, self.upper = problem.lower, problem.upper
        known = problem.cones
        groups = () if known is None else known.groups
        self.cones = [] if known is None else [(row, known.offset[row]) for rows in groups for row in rows]
        self.norms = np.linalg.norm(self.A, axis=(1, 2))

    def measured(self, M: Array) -> Array:
        """(⟨A_t, M⟩)_t."""
        return np.array([float(np.sum(A * M)) for A in self.A])

    def adjoint(self, y: Array) -> Array:
        """Σ_t y_t A_t."""
        return np.asarray(np.tensordot(y, self.A, axes=1))

    def support(self, y: Array) -> float:
        """σ(y), term by term; infinite if a multiplier pushes against an infinite bound, or −y is not in a cone."""
        total, beside = 0.0, np.ones(len(y), dtype=bool)
        for row, b in self.cones:
            beside[row] = False
            total += float(y[row] @ b) if -y[row[0]] >= norm(y[row[1:]]) * (1.0 - 1e-12) else math.inf
        for value, low, high in zip(y[beside], self.lower[beside], self.upper[beside], strict=True):
            total += 0.0 if value == 0.0 else max(value * low, value * high)
        return total

    def admissible(self, y: Array) -> Array:
        """y without the multipliers for which σ is infinite, and in cones with a first one that is low enough."""
        wrong = ((y > 0.0) & np.isinf(self.upper)) | ((y < 0.0) & np.isinf(self.lower))
        found = np.where(wrong, 0.0, y)
        for row, _ in self.cones:
            found[row] = y[row]
            found[row[0]] = min(y[row[0]], -norm(y[row[1:]]))
        return found

    def relative_violation(self, M: Array) -> float:
        """The largest |a_t − Π(a)_t| over its own scale max(|Π(a)_t|, Σ_ij |A_t,ij| √(M_ii M_jj)), a = A(M).

        M_ii is at least √eps tr M in the scale of a constraint whose nearest bound is zero. Where the problem does
        not know the entries of the A_t, the sum is |A_t| |M|. A cone's is its distance over the largest scale of its
        values.
        """
        a, worst = self.measured(M), 0.0
        diagonal = np.maximum(np.diag(M), 0.0)
        least = np.maximum(diagonal, math.sqrt(np.finfo(float).eps) * float(diagonal.sum()))
        nearest = np.clip(a, self.lower, self.upper)
        for row, b in self.cones:
            nearest[row] = b + _onto_cone(a[row] - b)
        off, scales = np.abs(a - nearest), np.zeros(len(a))
        for t, (A, bound) in enumerate(zip(self.A, nearest, strict=True)):
            d = np.sqrt(least if bound == 0.0 else diagonal)
            seen = float(d @ np.abs(A) @ d) if self.problem.forms is not None else norm(A) * norm(M)
            scales[t] = max(abs(bound), seen)
        for row, _ in self.cones:
            off[row], scales[row] = norm(off[row]), scales[row].max()
        for missed, scale in zip(off, scales, strict=True):
            worst = max(worst, missed / scale if missed > 0.0 and scale > 0.0 else float(missed > 0.0))
        return worst

    def bound(self, Y: Array, y: Array, trace: float | None) -> float:
        """F(M) − ⟨∇F(M), M⟩ − σ(y) + min(0, λ_min(S)) τ; −inf without τ where S is not PSD to rounding."""
        evaluation = self.problem.problem.at(Y)
        G = symmetric(evaluation.gradient, self.n)
        S = G + self.adjoint(y)
        values = np.linalg.eigvalsh(S)
        base = float(evaluation.value) - float(np.sum(G * (Y @ Y.T))) - self.support(y)
        lowest = float(values[0])
        if lowest >= -1e-12 * float(np.max(np.abs(values))):
            return base
        return base + lowest * trace if trace is not None else -math.inf

    @cached_property
    def optimum(self) -> ConicOptimum | None:
        """Solution of the problem by Clarabel; None without cvxpy, or where the problem has no conic form."""
        return conic_optimum(self.problem, dense=self)

    @cached_property
    def largest_trace(self) -> float | None:
        """max tr M over the feasible M, by Clarabel; inf if unbounded, None if unknown."""
        found = _clarabel(self.n, lambda cp, M: cp.Maximize(cp.trace(M)), lambda cp, M: _rows(cp, self, M))
        return None if found is None else found.value


@dataclass(frozen=True)
class ConicOptimum:
    """Value and M (n, n) of a conic solver; where the value is infinite, M is NaN."""

    value: float
    M: Array


def conic_optimum(
    problem: Problem, trace: float | None = None, dense: DenseConstraints | None = None
) -> ConicOptimum | None:
    """min F over the feasible M ⪰ 0, or those of the trace, by Clarabel; None without cvxpy or an optimum.

    For a QuadraticSDP or an EntryFit, alone or under constraints; None for other problems.
    """
    F: Any = problem
    if isinstance(problem, ConstrainedModel):
        F, dense = problem.problem, dense or DenseConstraints(problem)
    if not isinstance(F, (QuadraticSDP, EntryFit)):
        return None

    def rows(cp: Any, M: Any) -> list[Any]:
        fixed = [] if trace is None else [cp.trace(M) == trace]
        return fixed if dense is None else fixed + _rows(cp, dense, M)

    found = _clarabel(problem.n, lambda cp, M: cp.Minimize(_objective(cp, F, M)), rows)
    return found if found is not None and math.isfinite(found.value) else None


def _clarabel(n: int, goal: Callable[[Any, Any], Any], rows: Callable[[Any, Any], list[Any]]) -> ConicOptimum | None:
    """The optimum of a goal in M (n, n) ⪰ 0 under rows, both made of cvxpy and M; None if there is neither."""
    try:
        import cvxpy
    except ImportError:
        return None
    cp: Any = cvxpy
    M = cp.Variable((n, n), PSD=True)
    model = cp.Problem(goal(cp, M), rows(cp, M))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an inaccurate answer, which is none
        try:
            value = float(model.solve(solver=cp.CLARABEL))
        except cp.error.SolverError:
            return None
    known = model.status in (cp.OPTIMAL, cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE)
    return ConicOptimum(value, np.asarray(M.value, dtype=float)) if known else None


def _objective(cp: Any, problem: Any, M: Any) -> Any:
    """F as an expression of cvxpy in M (n, n).

    For a QuadraticSDP, where tr((AM)²) = |A½ M A½|² and tr(BM²) = |B½ M|² make it a second-order cone program over the
    PSD cone, and for an EntryFit, a least-squares problem over it.
    """
    total: Any = problem.constant
    if isinstance(problem, QuadraticSDP):
        A, B, C = (None if form is None else form.to_dense() for form in (problem.A, problem.B, problem.C))
        if A is not None:
            total = total + cp.sum_squares(_root(A) @ M @ _root(A))
        if B is not None:
            total = total + cp.sum_squares(_root(B) @ M)
        return total if C is None else total + 2.0 * cp.trace(C @ M)
    residuals = cp.hstack([M[i, j] for i, j in zip(problem.i, problem.j, strict=True)]) - problem.targets
    total = total + cp.sum_squares(cp.multiply(np.sqrt(problem.weights), residuals))
    return total if problem.L is None else total + cp.trace(problem.L.to_dense() @ M)


def _root(A: Array) -> Array:
    values, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _rows(cp: Any, dense: DenseConstraints, M: Any) -> list[Any]:
    rows = []
    for row, b in dense.cones:
        w = cp.hstack([cp.sum(cp.multiply(dense.A[t], M)) for t in row]) - b
        rows.append(cp.SOC(w[0], w[1:]))
    for A, low, high in zip(dense.A, dense.lower, dense.upper, strict=True):
        a = cp.sum(cp.multiply(A, M))
        if low == high:
            rows.append(a == low)
            continue
        rows += [a >= low] if math.isfinite(low) else []
        rows += [a <= high] if math.isfinite(high) else []
    return rows


def _onto_cone(w: Array) -> Array:
    """The nearest vector with w_0 >= |w_1|, case by case."""
    length = norm(w[1:])
    if length <= abs(w[0]):
        return w if w[0] > 0.0 else np.zeros_like(w)
    return np.asarray(0.5 * (w[0] + length) * np.append(1.0, w[1:] / length))


def multipliers_of(dual: Any) -> list[Array]:
    """The vectors of multipliers in `dual` of a method's state: of the best bound, and of the current point."""
    if isinstance(dual, Multipliers):
        return [y for y in (dual.best, dual.y) if y is not None]
    return [np.asarray(dual, dtype=np.float64)]


def with_groups(problem: ConstrainedModel, groups: list[Constraint]) -> Constrained:
    """`problem` under other constraints, of the same class, so that it keeps the faults of its class."""
    twin: Any = object.__new__(type(problem))
    ConstrainedModel.__init__(twin, problem.problem, groups, problem.given_trace_bound)
    return twin  # type: ignore[no-any-return]
