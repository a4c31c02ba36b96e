"""A feasible M, or multipliers that show there is none: minimise the distance of A(M) to its bounds over M ⪰ 0."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from itertools import islice

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.recession import proven_ray
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.constraints.augmented.problem import squared_distance, weights
from psdopt.constraints.feasible import as_large, random_directions
from psdopt.constraints.limits import FEASIBLE
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.method import Outcome
from psdopt.geometries import FlatQuotient
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import MOST_PRODUCTS, MOST_STEPS
from psdopt.linalg.tolerances import MINOR
from psdopt.methods.truncated_newton import TruncatedNewton


def phase_one(problem: ConstrainedModel) -> tuple[Array, Array]:
    """(Y, y): M = Y Yᵀ minimises d = Σ_t dist²(a_t, [lower_t, upper_t]) / |A_t|², and y (m,) is half of ∂d/∂a.

    Values in a cone have their distance from it, over its largest |A_t|².

    If the least distance is positive, A*(y) ⪰ 0 and σ(y) < 0 at the minimiser M, so that y at an approximate minimiser
    is a candidate for a proof that no M is feasible. A few final steps, with each constraint in its own scale, meet the
    small bounds beside the large ones. With √(2 m) columns every local minimum is the global one. Cost: up to 200
    Newton steps on Y, without evaluations of F.
    """
    reached = MINOR * FEASIBLE
    for Y in islice(_nearer(problem), MOST_PRODUCTS + 1):  # on the way to a face convergence is linear
        if relative_violation(problem, problem.measured(Y), Y) <= reached:
            break
    y = problem.violation(problem.measured(Y)) * weights(problem, 1.0)
    met = problem.feasible_near(Y) if relative_violation(problem, problem.measured(Y), Y) > reached else None
    return Y if met is None else met, y


def unbounded_along(problem: ConstrainedModel, candidate: Array | None, y: Array) -> tuple[Array, Multipliers] | None:
    """A feasible factor with the proof that F falls without end from it, along a ray near the candidate; else None."""
    ray = proven_ray(problem, candidate)
    if ray is None:
        return None
    Y, refutation = phase_one(problem)
    return Y, Multipliers(y, ray=refutation, direction=ray)


def distance_with(problem: ConstrainedModel, columns: int, enough: float) -> float:
    """|A(M) − b| / |b|, each constraint over |A_t|, of the nearest M of this rank that Newton steps find.

    They end at the distance `enough`, or after three in a row that together do not halve it: 8 to 12 steps.
    """
    scale = problem.scale
    size, last = norm(scale * problem.allowed.nearest(np.zeros(problem.m))) or 1.0, deque([math.inf], maxlen=3)
    for Y in islice(_nearer(problem, columns), MOST_STEPS):
        off = norm(scale * problem.violation(problem.measured(Y))) / size
        if off <= enough or (len(last) == 3 and off > 0.5 * last[0]):
            break
        last.append(off)
    return off


def _nearer(problem: ConstrainedModel, columns: int | None = None) -> Iterator[Array]:
    """Factors from a random one on, by Newton steps on the distance, to where no step is found."""
    norms = np.where(problem.norms > 0.0, problem.norms, 1.0)
    Y = as_large(problem.measurement, problem.allowed, norms, random_directions(problem.measurement, r=columns))
    method = TruncatedNewton(preconditioner="none")
    state = method.init(squared_distance(problem), FlatQuotient(*Y.shape), Y)
    yield state.evaluation.factor
    while state.outcome is Outcome.RUNNING:
        state = method.step(state)
        yield state.evaluation.factor
