"""Units of constrained problems: what a gap and a violation of the constraints are relative to."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from psdopt.constraints.model import ConstrainedModel
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation
from psdopt.units import finite_value, ratio, reference_value

#: Shares of M on the ray to zero; the range of F over them and M is at least a quarter of |F(M) − F(0)| for linear F.
SHARES = (0.25, 0.5)
#: A gap of so many eps times |∇F| tr M is rounding of F.
ROUNDINGS = 16.0


def gap_unit(problem: ConstrainedModel, evaluation: Evaluation, bound: float) -> float:
    """What F varies by on the ray from 0 to M: the unit of a gap between F(M) and a dual `bound`.

    max(|F(M) − F(0)|, |bound − F(0)|) for linear F. Else min(R_0, 4 R), R the range of F at M/4, M/2 and M, and R_0
    that with F(0): F(0) alone may be out of proportion, or infinite as for a barrier, and would make any gap small.
    |F(M)| where F is not defined on the ray.
    """
    value = evaluation.value
    if problem.conic is not None:
        at_zero = problem.value_at_zero()
        return max(abs(value - at_zero), abs(bound - at_zero) if math.isfinite(bound) else 0.0)
    near = [value, *(finite_value(partial(_scaled_value, evaluation, share)) for share in SHARES)]
    unit = min(np.ptp([reference_value(problem, 0.0), *near]), 4.0 * np.ptp(near))
    return float(unit) if math.isfinite(unit) else abs(value)


def relative_gap(problem: ConstrainedModel, evaluation: Evaluation, bound: float) -> float:
    """|F(M) − bound| in that unit; zero where it is rounding of F, for F may not vary by more than that from 0 to M."""
    gap = abs(evaluation.value - bound)
    rounding = ROUNDINGS * EPS * gradient_size(problem, evaluation) * evaluation.size**2
    return ratio(gap, gap_unit(problem, evaluation, bound)) if gap > rounding else 0.0


def gradient_size(problem: ConstrainedModel, evaluation: Evaluation) -> float:
    """|C|_F for linear F; else about |∇F(M)|_F, from four random columns."""
    if problem.conic is not None:
        return norm(problem.conic.C.data) if problem.conic.C.nnz else 0.0
    V = np.random.default_rng(0).standard_normal((problem.n, 4))
    return norm(evaluation.gradient @ V) / 2.0


def _scaled_value(evaluation: Evaluation, share: float) -> float:
    """F(share M)."""
    return float(evaluation.mix(math.sqrt(share) * np.eye(evaluation.factor.shape[1])).value)


def relative_violation(problem: ConstrainedModel, a: Array, Y: Array) -> float:
    """|a − Π(a)| for a = A(Y Yᵀ) over the size of the bounds, every constraint in units of |A_t|.

    No scaling of one constraint changes it. Where all bounds concerned are zero, relative to |M|, since
    |⟨A_t, M⟩| <= |A_t| |M|.
    """
    v = problem.violation(a)
    concerned = (problem.lower == problem.upper) | (v != 0.0)
    scale = 1.0 / np.where(problem.norms > 0.0, problem.norms, 1.0)
    nearest = np.clip(a, problem.lower, problem.upper)
    unit = norm((scale * nearest)[concerned])
    return ratio(norm(scale * v), unit if unit > 0.0 else norm(Y.T @ Y))
