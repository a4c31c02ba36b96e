"""Geometry checks: retraction and transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.testing import quotient, vectors
from psdopt.testing.checks.common import compare, failed
from psdopt.testing.checks.geometry_points import riemannian
from psdopt.testing.diagnose import describe
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial
from psdopt.testing.slopes import derivative, observed_order

#: A step whose fifth power is rounding.
SHORT = 1e-3


def _step(geometry: Geometry, point: Any, case: Case) -> tuple[Any, Array, float]:
    """A tangent vector along which M changes by a fraction of itself, its velocity, and |M|."""
    v = geometry.random_vector(point, case.rng)
    speed = quotient.velocity(geometry, point, v)
    size, fast = geometry.to_matrix(point).norm(), float(np.linalg.norm(speed))
    if fast == 0.0:
        raise Trivial("the vector does not move M")
    factor = 0.3 * size / fast
    return vectors.scaled(geometry, point, factor, v), factor * speed, size


def _along(geometry: Geometry, point: Any, vector: Any, t: float) -> Any:
    return geometry.retract(point, vectors.scaled(geometry, point, t, vector))


@riemannian("0.1")
def retraction_first_order(geometry: Geometry, case: Case) -> Deviations:
    """R(0) = x, and d/dt M(R(t v)) at 0 is the velocity of v."""
    point, allowed = quotient.regular_point(geometry, case)
    v, speed, size = _step(geometry, point, case)
    M = quotient.dense(geometry, point)
    found, error = derivative(lambda t: quotient.dense(geometry, _along(geometry, point, v, t)), 0.5)
    yield compare("R(0)", quotient.dense(geometry, _along(geometry, point, v, 0.0)), M, size, geometry.n)
    words = describe("velocity of the retraction", found, speed)
    yield Deviation(float(np.linalg.norm(found - speed)), 64.0 * error + 8.0 * allowed * size, words)


@riemannian("0.2")
def retraction_both_sides(geometry: Geometry, case: Case) -> Deviation:
    """R(tv) + R(−tv) − 2x holds no multiple of |t|: the velocities of R along v and along −v are opposite.

    Differences that are central do not see such a part. E(t) = a t² + b t⁴ + c |t| gives c by two extrapolations.
    """
    point, allowed = quotient.regular_point(geometry, case)
    v, _, size = _step(geometry, point, case)
    M = quotient.dense(geometry, point)

    def even(t: float) -> Array:
        there, back = (quotient.dense(geometry, _along(geometry, point, v, s)) for s in (t, -t))
        return np.asarray((there - M) + (back - M))

    def part(t: float) -> Array:
        return np.asarray((4.0 * even(t) - even(2.0 * t)) / (2.0 * t))

    near, far = part(SHORT), part(2.0 * SHORT)
    found = (8.0 * near - far) / 7.0
    tolerance = 8.0 * allowed * size / SHORT + float(np.linalg.norm(near - found)) * SHORT
    error = float(np.linalg.norm(found))
    return Deviation(error, tolerance, f"R(tv) moves by {error / size:.3g} |t| of |M| more than along a smooth curve")


@riemannian("0.1", when=lambda g: getattr(g, "retraction_order", 1) >= 2, reason="claims a first-order retraction only")
def retraction_second_order(geometry: Geometry, case: Case) -> Deviation:
    """The retraction's acceleration has no tangent part: it agrees with a geodesic to second order."""
    point, allowed = quotient.regular_point(geometry, case)
    v, _, _ = _step(geometry, point, case)
    if not vectors.same_layout(point, v):
        raise Trivial("vectors look unlike points")

    def error_of(t: float) -> float:
        moved, back = _along(geometry, point, v, t), _along(geometry, point, v, -t)
        bend = vectors.tree_map(lambda x, y, z: 0.5 * (x + z) - y, moved, point, back)
        return vectors.size(geometry.horizontal(point, bend))

    order = observed_order(error_of, 0.5, allowed * vectors.size(point))
    return Deviation(3.0 - order, 0.5, f"tangent part of the acceleration falls like t^{order:.2g}, expected t^4")


@riemannian("0.1")
def retraction_keeps_set(geometry: Geometry, case: Case) -> Deviation:
    """R(v) is a valid point, of the same rank and trace, also for steps as long as the point itself."""
    point, _ = quotient.regular_point(geometry, case)
    v, _, _ = _step(geometry, point, case)
    rank = geometry.to_matrix(point).rank
    for t in (0.01, 1.0, 4.0):
        reached = _along(geometry, point, v, t)
        defect = geometry.check_point(reached)
        if defect is not None:
            return failed(f"R({t} v) is not valid: {defect}")
        M = geometry.to_matrix(reached)
        if M.rank != rank:
            return Deviation(abs(M.rank - rank), 0.0, f"the rank changes from {rank} to {M.rank} along R({t} v)")
        if geometry.trace is not None and abs(M.trace() - geometry.trace) > 512 * EPS * geometry.n * geometry.trace:
            return failed(f"the trace becomes {M.trace():.10g}")
    return Deviation(0.0, 0.0)


@riemannian("0.1", when=quotient.has_fibre_action, reason="has no fibre action to look at (move_along_fibre)")
def retraction_equivariant(geometry: Geometry, case: Case) -> Deviation:
    """R at YQ along vQ reaches the same matrix as R at Y along v; to second order where no more is claimed."""
    point, allowed = quotient.regular_point(geometry, case)
    v, _, size = _step(geometry, point, case)
    Q = case.orthogonal(quotient.fibre_rank(geometry, point))
    there, moved = quotient.moved(geometry, point, Q), quotient.moved(geometry, v, Q)

    def error_of(t: float) -> float:
        here = quotient.dense(geometry, _along(geometry, point, v, t))
        return float(np.linalg.norm(quotient.dense(geometry, _along(geometry, there, moved, t)) - here))

    if getattr(geometry, "retraction_depends_on_representative", False):
        order = observed_order(error_of, 0.5, allowed * size)
        return Deviation(2.0 - order, 0.5, f"the dependence on the representative falls like t^{order:.2g} only")
    return Deviation(error_of(1.0), 8.0 * allowed * size, "R(v) depends on the representative of the point")


@riemannian("0.1")
def transport(geometry: Geometry, case: Case) -> Deviations:
    """transport lands in the tangent space of the target, is linear, and is the identity when nothing moves."""
    point, allowed = quotient.regular_point(geometry, case)
    step, _, _ = _step(geometry, point, case)
    target = _along(geometry, point, step, 1.0)
    there = max(allowed, 512.0 * EPS * max(geometry.n, 8) * quotient.condition(geometry, target))
    u, v = geometry.random_vector(point, case.rng), geometry.random_vector(point, case.rng)
    moved_u, moved_v = geometry.transport(point, target, u), geometry.transport(point, target, v)
    defect = geometry.check_vector(target, moved_u)
    if defect is not None and defect.magnitude > max(defect.allowed, 0.0) * (1.0 + there / EPS):
        return failed(f"the transported vector is no tangent vector at the target: {defect}")
    both = geometry.transport(point, target, vectors.combine(geometry, point, 2.0, u, -3.0, v))
    apart = vectors.combine(geometry, target, 2.0, moved_u, -3.0, moved_v)
    stays = geometry.transport(point, point, u)
    unit = vectors.size(moved_u) + vectors.size(moved_v) + vectors.size(u)
    bent = vectors.size(vectors.combine(geometry, target, 1.0, both, -1.0, apart))
    changed = vectors.size(vectors.combine(geometry, point, 1.0, stays, -1.0, u))
    yield Deviation(bent, 8.0 * there * unit, "transport is not linear")
    yield Deviation(changed, 8.0 * allowed * unit, "transport from a point to itself changes the vector")
