"""Geometry checks: what a geometry says of itself, against the directions in which its points do move."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.running.compatibility import missing_members
from psdopt.testing import quotient, vectors
from psdopt.testing.checks.common import PASSED, compare, failed
from psdopt.testing.checks.geometry_points import PLAIN, riemannian
from psdopt.testing.counting import OnlyMatmul
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check

#: A velocity is outside a space if this share of it is: velocities are differences, accurate to about 1e-10.
OUTSIDE = 1e-6
#: A singular value, relative to the largest, that counts as zero.
VANISHED = 1e-12
#: A slope that a geometry can follow, relative to the steepest one of random moves, below which it is overlooked.
OVERLOOKED = 1e-3


def _half(M: Array) -> Array:
    """The entries of a symmetric M on and above the diagonal, scaled so that inner products are kept."""
    i, j = np.triu_indices(len(M))
    return np.asarray(np.where(i == j, 1.0, np.sqrt(2.0)) * M[i, j])


def _moves(geometry: Geometry, point: Any, case: Case) -> Array:
    """Orthonormal rows: the velocities dM/dt of all tangent vectors at `point`."""
    count = geometry.n * geometry.factor(point).shape[1] + 2
    drawn = [geometry.random_vector(point, case.rng) for _ in range(count)]
    found = [_half(quotient.velocity(geometry, point, v)) for v in drawn if vectors.size(v) > 0.0]
    if not found or max(map(norm, found)) == 0.0:
        raise Trivial("no tangent vector moves M")
    rows = np.array([row / norm(row) for row in found if norm(row) > 0.0])
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[s > OUTSIDE * s[0]])


def _motion(Y: Array, D: Array) -> Array:
    """dM/dt of Y + tD."""
    half = D @ Y.T
    return _half(half + half.T)


def _outside(space: Array, row: Array) -> float:
    """The part of `row` outside the span of orthonormal rows, relative to its length."""
    size = norm(row)
    return norm(row - (row @ space.T) @ space) / size if size > 0.0 else 0.0


@check("geometry", "0.2", regimes=PLAIN)
def seeded(geometry: Geometry, case: Case) -> Deviation:
    """random_point and random_vector draw from the generator that they are given: another one, another answer."""
    points = [geometry.random_point(np.random.default_rng([case.seed, k])) for k in range(3)]
    matrices = [quotient.dense(geometry, point) for point in points]
    other = geometry.from_factor(case.factor(geometry.n, geometry.factor(points[0]).shape[1]))
    alike = [bool(np.allclose(matrices[0], M, rtol=1e-9, atol=0.0)) for M in matrices[1:]]
    if all(alike) and not np.allclose(matrices[0], quotient.dense(geometry, other), rtol=1e-9, atol=0.0):
        return failed("three generators give the same point: random_point does not draw from its argument")
    if Ability.RIEMANNIAN not in geometry.abilities or missing_members(geometry, {Ability.RIEMANNIAN}):
        return PASSED
    drawn = [geometry.random_vector(points[0], np.random.default_rng([case.seed, k])) for k in (0, 0, 1, 2, 3)]
    if vectors.size(drawn[0]) == 0.0:
        return PASSED
    flats = [vectors.flat(v) for v in drawn]
    if not np.array_equal(flats[0], flats[1]):
        return failed("the same generator gives two different vectors: some other source of randomness is used")
    if all(np.array_equal(flats[0], other) for other in flats[2:]):
        ambient = [geometry.horizontal(points[0], vectors.random_like(drawn[0], case.rng)) for _ in range(2)]
        one, two = (vectors.flat(v) / max(vectors.size(v), 1e-300) for v in ambient)
        if abs(abs(float(one @ two)) - 1.0) > OUTSIDE:
            return failed("four generators give the same vector: random_vector does not draw from its argument")
    return PASSED


@check("geometry", "0.2")
def factors_of_any_width(geometry: Geometry, case: Case) -> Deviation:
    """from_factor(Y Q) with Q (r, r + 2), Q Qᵀ = I, is the point of Y: no column of a wide factor is dropped."""
    point = quotient.point_in(geometry, case)
    Y = geometry.factor(point)
    r = Y.shape[1]
    wide = Y @ case.orthogonal(r + 2)[:r]
    M = quotient.dense(geometry, point)
    found = quotient.dense(geometry, geometry.from_factor(wide))
    return compare("M of a wide factor", found, M, 64.0 * float(np.linalg.norm(M)), geometry.n)


@riemannian(
    "0.2", regimes=PLAIN, when=lambda g: g.rank is None or g.rank < g.n, reason="factors have as many columns as S"
)
def gradient_is_lean(geometry: Geometry, case: Case) -> Deviation:
    """gradient applies S to at most r columns: it never makes the (n, n) array of it."""
    point, _ = quotient.regular_point(geometry, case)
    r = geometry.factor(point).shape[1]
    if r >= geometry.n:
        raise Trivial("factors have as many columns as S")
    S = OnlyMatmul(case.symmetric(geometry.n))
    geometry.gradient(point, S)
    return Deviation(S.columns, float(r), f"S is applied to {S.columns} columns, where the factor has {r}")


@riemannian("0.2", regimes=PLAIN)
def tangent_part(geometry: Geometry, case: Case) -> Deviation:
    """tangent_part(x, S) is a direction in which points move, and is small only where no move changes F much."""
    point, _ = quotient.regular_point(geometry, case)
    Y, S = geometry.factor(point), case.symmetric(geometry.n)
    space = _moves(geometry, point, case)
    steepest = float(np.max(np.abs(space @ _half(S))))  # of unit velocities dM/dt
    P = geometry.tangent_part(point, S)
    if np.shape(P) != Y.shape or not np.all(np.isfinite(P)):
        return failed(f"tangent_part has shape {np.shape(P)} or is not finite, expected {Y.shape}")
    slope = abs(2.0 * inner(S @ Y, P))
    motion = _motion(Y, P)
    if norm(P) == 0.0 or slope <= OVERLOOKED * steepest * norm(motion):
        if steepest <= OUTSIDE * norm(S):
            raise Trivial("no move changes F here")
        return failed("tangent_part is zero, or moves along no slope, where F falls along a tangent vector")
    if not geometry.restricted:
        return PASSED
    if geometry.trace is not None:  # callers take care of a fixed trace
        space = np.linalg.svd(np.vstack([space, _half(Y @ Y.T) / norm(_half(Y @ Y.T))]), full_matrices=False)[2]
    away = _outside(space, motion)
    return Deviation(away, OUTSIDE, f"{away:.3g} of tangent_part lies in directions in which no point can move")


@riemannian("0.2", regimes=PLAIN, when=lambda g: not g.restricted, reason="says that moves do not reach everything")
def restriction_is_said(geometry: Geometry, case: Case) -> Deviation:
    """Unless `restricted`, moves reach every change of M that keeps rank and trace."""
    point, _ = quotient.regular_point(geometry, case)
    Y = geometry.factor(point)
    space = _moves(geometry, point, case)
    D = case.direction(Y)
    if geometry.trace is not None:
        D = D - (inner(D, Y) / inner(Y, Y)) * Y
    away = _outside(space, _motion(Y, D))
    words = f"{away:.3g} of a change that keeps rank and trace is out of reach, and `restricted` is False"
    return Deviation(away, OUTSIDE, words)


@riemannian("0.2", regimes=PLAIN, when=lambda g: g.dimension is not None, reason="says no dimension")
def dimension(geometry: Geometry, case: Case) -> Deviation:
    """The velocities of tangent vectors span a space of the declared dimension."""
    if geometry.dimension == 0:
        point = geometry.random_point(case.rng)
        v = geometry.random_vector(point, case.rng)
        return PASSED if vectors.size(v) == 0.0 else failed("dimension is 0, and random_vector is not the zero vector")
    point, _ = quotient.regular_point(geometry, case)
    found = len(_moves(geometry, point, case))
    words = f"dimension = {geometry.dimension} is declared, tangent vectors move M in {found} directions"
    return Deviation(abs(found - int(geometry.dimension or 0)), 0.0, words)


@check("geometry", "0.2", regimes=PLAIN, when=lambda g: g.rank is not None, reason="says no rank")
def rank(geometry: Geometry, case: Case) -> Deviation:
    """Factors have `rank` columns, and the matrices of random points have that rank."""
    point = geometry.random_point(case.rng)
    columns = geometry.factor(point).shape[1]
    if columns != geometry.rank:
        return failed(f"rank = {geometry.rank} is declared, factors have {columns} columns")
    found = geometry.to_matrix(point).rank
    return Deviation(abs(found - columns), 0.0, f"random points have rank {found}, not {columns}")


@check(
    "geometry",
    "0.2",
    regimes=("full-rank", "full-width"),
    when=lambda g: g.rank != 1,
    reason="with one column no singular value can be lost",
)
def closed(geometry: Geometry, case: Case) -> Deviation:
    """If `closed`, the limit of members as one singular value falls to zero is a member; else it is none."""
    plain = geometry.random_point(case.rng)
    r = geometry.factor(plain).shape[1]
    if r < 2:
        raise Trivial("with one column no singular value can be lost")
    U, s, Vt = np.linalg.svd(case.factor(geometry.n, r), full_matrices=False)

    def at(last: float) -> tuple[Array, Any]:
        values = np.append(s[:-1], last * s[0])
        if geometry.trace is not None:
            values *= np.sqrt(geometry.trace) / norm(values)
        Y = np.asarray((U * values) @ Vt)
        return Y @ Y.T, geometry.from_factor(Y)

    def kept(last: float) -> bool:
        M, point = at(last)
        if geometry.check_point(point) is not None:
            return False
        found = np.linalg.svd(geometry.factor(point), compute_uv=False)
        if last == 0.0 and found[-1] > VANISHED * found[0]:
            return False  # moved back to full rank, if only by rounding
        return float(np.linalg.norm(quotient.dense(geometry, point) - M)) <= OUTSIDE * float(np.linalg.norm(M))

    if not all(kept(last) for last in (1e-1, 1e-2)):
        raise Trivial("the set has no such members")
    try:
        limit = kept(0.0)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        limit = False
    if limit and not geometry.closed:
        return failed("closed is False, but a limit of members, one rank lower, is a member")
    if not limit and geometry.closed:
        return failed("closed is True, but a limit of members, one rank lower, is refused or is another matrix")
    return PASSED


@check("geometry", "0.2", needs={Ability.RIEMANNIAN, Ability.STRAIGHT}, regimes=PLAIN)
def straight_lines(geometry: Geometry, case: Case) -> Deviations:
    """The retraction adds: the factor of R(v) is Y + v, also for long v."""
    point, _ = quotient.regular_point(geometry, case)
    Y = geometry.factor(point)
    for t in (0.01, 1.0, 4.0):
        v = vectors.scaled(geometry, point, t * norm(Y), geometry.random_vector(point, case.rng))
        found = geometry.factor(geometry.retract(point, v))
        yield compare(f"R({t} |Y| v)", found, Y + v, norm(Y) + vectors.size(v), geometry.n)
