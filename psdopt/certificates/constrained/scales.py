"""Units of constrained problems: the divisors of a gap and of a violation of the constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from psdopt.certificates.scales import quadratic_values, ratio, reference_value, values_on_ray
from psdopt.constraints.model import ConstrainedModel
from psdopt.constraints.violation import relative, row_scales
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, beside, finite_value, inner, norm, row_dots
from psdopt.linalg.tolerances import SLIGHT, rounding

#: Shares of M on a ray, and of the way from M to N, at which F is evaluated to define the unit. If F is linear, it
#: varies by at least a quarter of the unit between them.
SHARES = (0.25, 0.5)


@dataclass(frozen=True)
class GapUnits:
    """The units of gaps between F(M) and dual bounds; what does not depend on the bound is computed once."""

    problem: ConstrainedModel
    evaluation: Evaluation

    def __call__(self, bound: float) -> float:
        """The unit of a gap to a dual `bound`: min(ray, max(|F(M)|, |bound|, feasible)).

        - ray: the range of F on the ray from 0 to M, :func:`range_on_ray`. A constant added to F does not change this
          range. But 0 need not be feasible, and F(0) may be far larger than F on the feasible set.
        - |F(M)| and |bound|: a gap of tol times the larger means a relative error of tol in F(M).
        - feasible: the range of F on the way from M to a feasible matrix, :func:`feasible_range`. This range decides if
          the minimum is near zero. It is computed only if |F(M)| and |bound| are smaller than the range on the ray.

        Therefore infeasible points cannot make the unit larger than both |F| and the range of F over feasible points.
        The unit scales with F and does not depend on the scales of constraints. If a constant is added to F, the unit
        stays between `feasible` and `ray`. For a linear F with F(0) = 0 the unit is max(|F(M)|, |bound|).
        """
        linear = self.problem.conic is not None
        ray = range_on_ray(self.problem, self.evaluation, bound) if linear else self._curved_ray
        values = max(abs(self.evaluation.value), abs(bound) if math.isfinite(bound) else 0.0)
        return ray if values >= ray else min(ray, max(values, self._feasible))

    @cached_property
    def _curved_ray(self) -> float:
        return range_on_ray(self.problem, self.evaluation, -math.inf)

    @cached_property
    def _feasible(self) -> float:
        return feasible_range(self.problem, self.evaluation)


def range_on_ray(problem: ConstrainedModel, evaluation: Evaluation, bound: float) -> float:
    """The range of F on the ray from 0 to M.

    max(|F(M) − F(0)|, |bound − F(0)|) for linear F. Else min(R_0, 4 R), R the range of F at M/4, M/2 and M, R_0 the
    range with F(0) included, which may be infinite as for a barrier. |F(M)| where F is not defined on the ray.
    """
    value = evaluation.value
    if problem.conic is not None:
        at_zero = problem.value_at_zero()
        return max(abs(value - at_zero), abs(bound - at_zero) if math.isfinite(bound) else 0.0)
    unit = _range(value, values_on_ray(problem.problem, evaluation, SHARES), reference_value(problem, 0.0))
    return unit if math.isfinite(unit) else abs(value)


def feasible_range(problem: ConstrainedModel, evaluation: Evaluation) -> float:
    """The range of F from M towards N = `problem.feasible_factor`, over a distance of at most |M|.

    min(R_1, 4 R) as on the ray, at M + θ (N − M), θ a quarter, a half and the whole of min(1, |M| / |N − M|). 0 if no
    feasible N is known, or F is not defined there. The search for N takes at most a tenth of the remaining time.
    """
    N, Y = _feasible_in_time(problem), evaluation.factor
    if N is None:
        return 0.0
    size = float(norm(Y.T @ Y))
    apart = math.sqrt(max(size**2 + norm(N.T @ N) ** 2 - 2.0 * norm(Y.T @ N) ** 2, 0.0))
    if not (size > 0.0 and apart > 0.0):
        return 0.0
    way = [share * min(1.0, size / apart) for share in (*SHARES, 1.0)]
    if Ability.QUADRATIC in problem.problem.abilities:
        slope = float(inner(evaluation.gradient @ N, N)) - 0.5 * float(inner(evaluation.factor_gradient(), Y))
        *near, far = quadratic_values(evaluation.value, problem.problem.at(N).value, slope, way)
    else:
        both, columns = evaluation.append(N), (Y.shape[1], N.shape[1])
        parts = [np.repeat([1.0 - share, share], columns) for share in way]
        *near, far = (finite_value(partial(_mixed_value, both, shares)) for shares in parts)
    unit = _range(evaluation.value, near, far)
    return unit if math.isfinite(unit) else 0.0


def _feasible_in_time(problem: ConstrainedModel) -> Array | None:
    left = deadline.left()
    try:
        with deadline.until(deadline.now() + SLIGHT * left):
            return problem.feasible_factor
    except deadline.OutOfTime:
        return None


def _range(value: float, near: list[float], far: float) -> float:
    """min(R_far, 4 R) for the range R of F at M and near M, and the range R_far with the far end included."""
    low, high = min(value, *near), max(value, *near)
    return min(max(high, far) - min(low, far), 4.0 * (high - low))


def relative_gap(
    problem: ConstrainedModel, evaluation: Evaluation, bound: float, units: GapUnits | None = None
) -> float:
    """|F(M) − bound| over its unit; 0 if the gap is only rounding of F, since the unit may be as small."""
    gap, units = abs(evaluation.value - bound), units or GapUnits(problem, evaluation)
    return ratio(gap, units(bound)) if gap > value_rounding(problem, evaluation) else 0.0


def seems_solved(problem: ConstrainedModel, evaluation: Evaluation, y: Array, tol: float) -> bool:
    """Whether the relative violation of M and its relative gap to the dual value of y (m,) are within `tol`.

    The dual value is F(M) − ⟨∇F, M⟩ − σ(y), as if S ⪰ 0. No decomposition.
    """
    Y, value = evaluation.factor, evaluation.value
    if not (math.isfinite(value) and relative_violation(problem, problem.measured(Y), Y) <= tol):
        return False
    bound = value - float(inner(evaluation.gradient @ Y, Y)) - problem.support(problem.admissible(y))
    return relative_gap(problem, evaluation, bound) <= tol


def value_rounding(problem: ConstrainedModel, evaluation: Evaluation, gradient: float | None = None) -> float:
    """The rounding of ⟨∇F(M), M⟩: a gap of at most this size counts as zero. `gradient` : |∇F(M)|, if it is known.

    ⟨C, M⟩ is a sum of one term for each entry of C, |C_ij| √(M_ii M_jj) at most, in whatever units the rows of M are;
    ν log det of a block of order s adds ν s; for other F it is |∇F(M)| tr M. Where tr M is above the bound on the trace
    of solutions, that of such a trace.
    """
    conic, share = problem.central, share_of_trace(problem, evaluation.size**2)
    if conic is not None:
        d = np.sqrt(row_dots(evaluation.factor, evaluation.factor))
        sizes = conic.size(d) + (0.0 if conic.weights is None else float(conic.weights.sum()))
        return share * rounding(sizes, max(4, len(conic.C.data)))
    gradient = gradient_size(problem, evaluation) if gradient is None else gradient
    return share * rounding(gradient * evaluation.size**2, 4)


def share_of_trace(problem: ConstrainedModel, trace: float) -> float:
    """τ / tr M for an M of `trace` beyond the bound τ on the trace of solutions, else 1: how rounding compares."""
    limit = problem.trace_limit
    return 1.0 if limit is None or not trace > limit.value else limit.value / trace


def gradient_size(problem: ConstrainedModel, evaluation: Evaluation) -> float:
    """|C|_F for linear F; else about |∇F(M)|_F, from four random columns."""
    if problem.conic is not None:
        return norm(problem.conic.C.data) if problem.conic.C.nnz else 0.0

    def columns() -> Array:
        return beside(np.random.default_rng(0).standard_normal((problem.n, 4)), evaluation.factor)

    V = problem.once("random columns", columns)
    return float(norm(evaluation.gradient @ V)) / 2.0


def _mixed_value(evaluation: Evaluation, shares: Array) -> float:
    """F(Σ shares_k y_k y_kᵀ) for the columns y_k of the factor."""
    return float(evaluation.mix(np.diag(np.sqrt(shares))).value)


def row_violations(problem: ConstrainedModel, a: Array, Y: Array) -> Array:
    """|a_t − Π(a)_t| (m,) for a = A(Y Yᵀ), each over its own scale (:func:`~psdopt.constraints.violation.row_scales`).

    Neither the scale of a constraint nor the bounds of others change its ratio. All values of a cone have the distance
    of a − b from the cone over the largest of their scales and |b_t|.
    """
    scales = row_scales(problem.forms, problem.norms, problem.allowed.nearest(a), Y)
    return relative(*problem.allowed.relative(problem.allowed.violation(a), scales))


def relative_violation(problem: ConstrainedModel, a: Array, Y: Array) -> float:
    """The largest of :func:`row_violations`."""
    return float(row_violations(problem, a, Y).max(initial=0.0))
