"""Geometry checks: the horizontal space, tried on ambient vectors, and the gradient in the metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.testing import quotient, vectors
from psdopt.testing.checks.common import PASSED, failed
from psdopt.testing.checks.geometry_points import riemannian
from psdopt.testing.counting import OnlyMatmul
from psdopt.testing.diagnose import describe
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial
from psdopt.testing.slopes import derivative


def _ambient(geometry: Geometry, point: Any, case: Case) -> Any:
    """A vector tangent to nothing in particular, in the layout of tangent vectors."""
    return vectors.random_like(geometry.random_vector(point, case.rng), case.rng)


def _difference(geometry: Geometry, point: Any, left: Any, right: Any) -> Any:
    return vectors.combine(geometry, point, 1.0, left, -1.0, right)


@riemannian("0.1")
def horizontal_idempotent(geometry: Geometry, case: Case) -> Deviation:
    """horizontal(horizontal(z)) = horizontal(z) for ambient z, and the result passes check_vector."""
    point, allowed = quotient.regular_point(geometry, case)
    z = _ambient(geometry, point, case)
    once = geometry.horizontal(point, z)
    twice = geometry.horizontal(point, once)
    error = vectors.size(_difference(geometry, point, twice, once))
    if not error <= allowed * vectors.size(z):
        return Deviation(error, allowed * vectors.size(z), "horizontal is not idempotent on ambient vectors")
    defect = geometry.check_vector(point, once)
    if defect is not None and defect.magnitude > max(defect.allowed, 0.0) * (1.0 + allowed / np.finfo(float).eps):
        return failed(f"check_vector refuses horizontal(z): {defect}")
    return Deviation(error, allowed * vectors.size(z))


@riemannian("0.1")
def horizontal_linear(geometry: Geometry, case: Case) -> Deviation:
    """horizontal(2y − 3z) = 2 horizontal(y) − 3 horizontal(z) for ambient y, z."""
    point, allowed = quotient.regular_point(geometry, case)
    y, z = _ambient(geometry, point, case), _ambient(geometry, point, case)
    both = geometry.horizontal(point, vectors.combine(geometry, point, 2.0, y, -3.0, z))
    apart = vectors.combine(geometry, point, 2.0, geometry.horizontal(point, y), -3.0, geometry.horizontal(point, z))
    unit = vectors.size(y) + vectors.size(z)
    words = "horizontal is not linear (is the result normalised, or a constant added?)"
    return Deviation(vectors.size(_difference(geometry, point, both, apart)), 8.0 * allowed * unit, words)


@riemannian(
    "0.1",
    when=lambda g: g.rank != 1 and quotient.has_fibre_action(g),
    reason="has no fibre action to look at (move_along_fibre), or one column, along whose fibre no direction leads",
)
def horizontal_removes_fibre(geometry: Geometry, case: Case) -> Deviations:
    """horizontal(v + w) = v for horizontal v and fibre directions w: all of the fibre goes, and nothing else."""
    point, allowed = quotient.regular_point(geometry, case)
    w = quotient.vertical(geometry, point, case)
    unit = vectors.size(w)
    v = geometry.random_vector(point, case.rng)
    v = vectors.scaled(geometry, point, unit / max(vectors.size(v), 1e-300), v)
    gone = geometry.horizontal(point, w)
    kept = geometry.horizontal(point, vectors.combine(geometry, point, 1.0, v, 1.0, w))
    tolerance = allowed * unit + (1e-7 * unit if hasattr(geometry, "move_along_fibre") else 0.0)
    left = f"{vectors.size(gone) / unit:.3g} of a fibre direction is left"
    yield Deviation(vectors.size(gone), tolerance, left)
    words = describe("horizontal(v + w)", vectors.flat(kept), vectors.flat(v))
    yield Deviation(vectors.size(_difference(geometry, point, kept, v)), tolerance, words)


def _orthogonal(geometry: Geometry) -> bool:
    return bool(getattr(geometry, "horizontal_is_orthogonal", True))


@riemannian("0.1", when=_orthogonal, reason="claims a complement only, not an orthogonal one")
def horizontal_orthogonal(geometry: Geometry, case: Case) -> Deviations:
    """⟨z − Hz, Hz⟩ = 0 and |Hz| ≤ |z| for ambient z, in the metric."""
    point, allowed = quotient.regular_point(geometry, case)
    z = _ambient(geometry, point, case)
    h = geometry.horizontal(point, z)
    whole, part = geometry.inner(point, z, z), geometry.inner(point, h, h)
    cross = geometry.inner(point, _difference(geometry, point, z, h), h)
    yield Deviation(abs(cross), allowed * whole, "z − horizontal(z) is not orthogonal to horizontal(z)")
    yield Deviation(part - whole, allowed * whole, "horizontal(z) is longer than z")


@riemannian("0.1")
def gradient_slope(geometry: Geometry, case: Case) -> Deviation:
    """⟨gradient(x, ∇F), v⟩ in the metric equals d/dt F(M(R(t v))) for every tangent v, and gradient is tangent."""
    point, allowed = quotient.regular_point(geometry, case)
    scale = geometry.to_matrix(point).norm()
    # F(M) = scale tr(C M) + |M − T|²/2 has no symmetry that could hide an error
    C, T = case.symmetric(geometry.n), scale * case.symmetric(geometry.n)

    def value(t: float, v: Any) -> float:
        M = quotient.dense(geometry, geometry.retract(point, vectors.scaled(geometry, point, t, v)))
        return float(np.vdot(C, M) * scale + 0.5 * np.vdot(M - T, M - T))

    S = scale * C + quotient.dense(geometry, point) - T
    g = geometry.gradient(point, S)
    defect = geometry.check_vector(point, g)
    if defect is not None and defect.magnitude > max(defect.allowed, 0.0) * (1.0 + allowed / np.finfo(float).eps):
        return failed(f"check_vector refuses the gradient: {defect}")
    found, expected, uncertainty = [], [], 0.0
    width = 0.1 * _reach(geometry, point, case)
    for _ in range(3):
        v = geometry.random_vector(point, case.rng)
        slope, error = derivative(lambda t, v=v: value(t * width, v), 1.0)  # type: ignore[misc]
        found.append(geometry.inner(point, g, v) * width)
        expected.append(float(slope))
        uncertainty += error
    if not np.any(expected):
        raise Trivial("all slopes vanish")
    tolerance = 64.0 * uncertainty + allowed * geometry.norm(point, g) * width
    error = float(np.linalg.norm(np.subtract(found, expected)))
    return Deviation(error, tolerance, describe("gradient", found, expected) if not error <= tolerance else "")


def _reach(geometry: Geometry, point: Any, case: Case) -> float:
    """Length t of a unit vector v at which t·velocity(v) is comparable to M: the scale of steps."""
    v = geometry.random_vector(point, case.rng)
    try:
        speed = float(np.linalg.norm(quotient.velocity(geometry, point, v)))
    except Trivial:
        speed = 0.0
    size = geometry.to_matrix(point).norm()
    return size / speed if speed > 0.0 else 1.0


@riemannian("0.1", regimes=("full-rank", "full-width", "rank-deficient"))
def gradient_takes_operators(geometry: Geometry, case: Case) -> Deviation:
    """gradient(x, S) is the same for S as an array and as an object that only offers S @ block."""
    point = quotient.point_in(geometry, case)
    S = case.symmetric(geometry.n)
    with_array, with_operator = geometry.gradient(point, S), geometry.gradient(point, OnlyMatmul(S))
    error = vectors.size(_difference(geometry, point, with_array, with_operator))
    if error == 0.0:
        return PASSED
    unit = vectors.size(with_array)
    return Deviation(error, 64.0 * np.finfo(float).eps * geometry.n * unit, "S as an operator gives another gradient")
