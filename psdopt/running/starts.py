"""Where a run begins: at the point that the caller gives, or at a random point scaled to the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.scales import reference_value
from psdopt.checks import brief, finite
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.devices import held, is_device_array, require_host
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import as_array, finite_value, norm, orthonormal_columns
from psdopt.linalg.checked_operator import Negative
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.limits import PROBES, SMALL_ORDER
from psdopt.linalg.subset import principal_axes
from psdopt.linalg.tolerances import EPS
from psdopt.running.result import Result

#: The trace of a default start is at most this times n times the least trace at which F can be as low.
ROOM = 16.0


def starting_point(
    geometry: Geometry, problem: Problem, start: Any, rng: np.random.Generator, method: Method | None = None
) -> Any:
    """`start` as a valid point: a point of the geometry, a LowRankPSD, or None for the default.

    The default is M = 0 if the method declares `starts_at_zero`, else a random point. Unless the trace is fixed, the
    problem may improve the random point (:meth:`~psdopt.contracts.roles.Starts.proposed_start`), and the point is
    scaled to the multiple at which F is least. Without constraints the trace of the start is limited to about 16 n
    times the least trace at which F can be as low: if the measurements hardly depend on the random point, its best
    multiple lies far beyond any minimiser. A given factor Y (n, r) of less than full column rank gets further columns
    of length √eps |Y|, along which F may fall.

    Raises InvalidInputError for a start of another order, with NaN or infinity, or not in the geometry's set;
    InvalidTypeError for a start that does not hold numbers.
    Cost of the default: two evaluations and ∇F(0), or beyond order 64 16 products with it; if these are inconclusive,
    an eigenpair of ∇F(0).
    """
    point = plain_start(geometry, problem, start, rng, method)
    return fitted_start(geometry, problem, point, rng, method, given=start is not None)


def plain_start(
    geometry: Geometry, problem: Problem, start: Any, rng: np.random.Generator, method: Method | None = None
) -> Any:
    """The point of :func:`starting_point` before it is fitted to the data: F is not evaluated. Raises as there."""
    if start is None and _at_zero(geometry, method):
        return geometry.from_factor(np.zeros((problem.n, 1)))
    if start is None:
        return geometry.random_point(rng)
    if isinstance(start, LowRankPSD):
        if start.n != problem.n:
            raise InvalidInputError(f"start must be of order {problem.n}; found {start.n}")
        start = geometry.from_matrix(start)
    elif isinstance(start, Result):
        raise InvalidTypeError("start must be a matrix or a point; found a Result, of which result.matrix is one")
    elif isinstance(start, str) or sp.issparse(start):
        found = brief(start) if isinstance(start, str) else "a sparse array"
        raise InvalidTypeError(f"start must be an array or a point of {geometry!r}; found {found}")
    elif isinstance(start, np.ndarray):
        start = np.array(finite(start, "start"))
    elif is_device_array(start):
        if problem.device is None:
            require_host(start, "start")
        start = held(start, "start").copy()
    return geometry.validated(start)


def fitted_start(
    geometry: Geometry, problem: Problem, point: Any, rng: np.random.Generator, method: Method | None, *, given: bool
) -> Any:
    """The point of :func:`starting_point` from that of :func:`plain_start`; `given` : whether the caller chose it."""
    if not given:
        if geometry.trace is not None or _at_zero(geometry, method):
            return point
        Y = geometry.factor(point)
        proposed = problem.starts.proposed_start(Y)
        return _scaled(geometry, problem, point if proposed is Y else geometry.from_factor(proposed))
    free = method is None or not method.starts_at_zero
    # where the set is not closed, its members have full rank anyway
    deficient = free and Ability.FACTOR in geometry.abilities and geometry.closed
    return _regular(geometry, problem, point, rng) if deficient else point


def _at_zero(geometry: Geometry, method: Method | None) -> bool:
    """Whether a run begins at M = 0 if no start is given."""
    return method is not None and method.starts_at_zero and geometry.trace is None


def _regular(geometry: Geometry, problem: Problem, point: Any, rng: np.random.Generator) -> Any:
    """`point` itself, or, for a factor Y of less than full column rank, a point of full rank close to it.

    The rows of the gradient 2 S Y lie in the span of the rows of Y: columns of zeros stay zero, and the run would end
    at a lower rank than requested. Directions missing from YᵀY therefore get random columns of length √eps |Y|, so that
    Y Yᵀ changes by rounding only. These columns grow if F falls along them, and shrink otherwise. For Y = 0 the scale
    is that of the default start.
    """
    Y = as_array(geometry.factor(point))
    r = Y.shape[1]
    values, W = principal_axes(Y, r * EPS)
    k = len(values)
    if k == r:
        return point
    if k > 0:
        scale = math.sqrt(EPS * float(values[0]))
    else:
        random = geometry.factor(_scaled(geometry, problem, geometry.random_point(rng)))
        scale = math.sqrt(EPS) * float(np.linalg.norm(random, 2))
    missing = np.linalg.qr(W, mode="complete")[0][:, k:] if k else np.eye(r)
    return geometry.from_factor(Y + orthonormal_columns(rng, geometry.n, r - k) * scale @ missing.T)


def _scaled(geometry: Geometry, problem: Problem, point: Any) -> Any:
    """The multiple alpha M of least F, or nearest to the bounds of constraints: the right scale whatever the units.

    If F increases along the whole ray, alpha balances its linear and its quadratic part instead. If slope and curvature
    along the ray are only rounding, alpha is 1. The trace is at most :func:`_most`.
    """
    evaluation: Evaluation = problem.at(geometry.factor(point))
    if Ability.CONSTRAINTS in problem.abilities:
        alpha = evaluation.best_multiple()  # nearest to the bounds, wherever F is least; they may require a large trace
    else:
        alpha = _best_multiple(problem, evaluation)
    return point if alpha == 1.0 else geometry.from_factor(math.sqrt(alpha) * evaluation.factor)


def _best_multiple(problem: Problem, evaluation: Evaluation) -> float:
    """The alpha of :func:`_scaled` without constraints."""
    ray, gained = evaluation.along_atom(np.zeros(problem.n)), 0.0
    alpha = ray.minimize(beta=(0.0, 0.0))[0]
    if math.isfinite(alpha) and alpha > 0.0:
        there = ray.value(alpha, 0.0)
        gained = reference_value(problem, 0.0) - there
        gained = gained if gained > 1024.0 * EPS * abs(there) else 0.0
        alpha = alpha if gained > 0.0 else 1.0
    elif alpha == 0.0 and ray.quadratic is not None and ray.quadratic[2][0, 0] > 0.0:
        alpha = abs(ray.quadratic[1][0]) / ray.quadratic[2][0, 0]
    if not 0.0 < alpha < math.inf:
        alpha = 1.0
    trace = alpha * evaluation.size**2
    most = _most(problem, trace, gained)
    return alpha * most / trace if 0.0 < most < trace else alpha


def _most(problem: Problem, trace: float, gained: float) -> float:
    """The largest trace for a start whose F is below F(0) by `gained`; inf if `trace` itself is allowed.

    A convex F falls by at most −λ_min(∇F(0)) per unit of trace, so that F is as low as at the start only at traces of
    at least gained / −λ_min. The start is allowed 16 n times that trace: few random matrices need more, unless F hardly
    depends on them. A start that gains nothing is allowed 16 n t / 2, where t is the trace of the best multiple t v vᵀ
    of the least eigenvector; no minimiser of a quadratic F has a trace below t / 2. If M = 0 is optimal, t balances
    slope and curvature along the eigenvector of the largest eigenvalue.

    In the first two cases the trace of the start is at most 16 n times that of any minimiser. Beyond order 64 it may
    exceed that by the factor by which :func:`_frobenius` underestimates ∇F(0). Cost: ∇F(0), or its product with 16
    columns. If that is inconclusive, also an eigenpair of ∇F(0), for which ∇F(0) is formed by n products up to order
    500.
    """
    if gained == math.inf:
        return math.inf
    n = problem.n
    nothing = problem.at(np.zeros((n, 1)))
    size = _frobenius(nothing)
    if not 0.0 < size < math.inf or trace * size <= ROOM * n * gained:
        return math.inf
    pair = smallest_eigenpair(nothing.gradient, tol=0.25, scale="norm")
    if pair.value < 0.0 < gained:
        return ROOM * n * gained / -pair.lower_bound
    if pair.value >= 0.0:
        pair = smallest_eigenpair(Negative(nothing.gradient), tol=0.25, scale="norm")
    plane = nothing.along_atom(pair.vector)
    if plane.quadratic is not None:
        slope, curvature = abs(plane.quadratic[1][1]), plane.quadratic[2][1, 1]
        best = slope / curvature if curvature > 0.0 else math.inf
    else:
        best = plane.minimize(alpha=(0.0, 0.0))[1]
    return 0.5 * ROOM * n * best if best > 0.0 else math.inf


def _frobenius(evaluation: Evaluation) -> float:
    """|∇F(M)|_F; beyond order 64 an estimate from 16 columns, below three quarters in at most one case of ten.

    inf where the gradient is not finite or not defined.
    """
    n = len(evaluation.factor)
    if n <= SMALL_ORDER:
        return finite_value(lambda: norm(dense_gradient(evaluation)))
    V = np.random.default_rng(0).standard_normal((n, PROBES)) / math.sqrt(PROBES)
    return finite_value(lambda: norm(evaluation.gradient @ V))
