"""Attempts to refute that F is convex, where convexity is only the caller's word."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.scales import measured_rounding
from psdopt.constraints.limits import CANCELLED
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, finite_value, inner, norm
from psdopt.linalg.tolerances import EPS, SLIGHT

#: Points on a segment: its ends, and three between them.
POINTS = 5
#: Steps of Lanczos' method towards the direction in which the Hessian of F is least.
PRODUCTS = 12
#: Most columns that are added to M for a second point at which it is looked for, of full rank up to this order.
WIDEST = 100
#: Sizes |M| at which F is tried in the place of M = 0.
SIZES = 10.0 ** np.arange(-8, 9, 2)


class Segment(NamedTuple):
    """From C Cᵀ + A Aᵀ to C Cᵀ + B Bᵀ: `both` is C, with no columns where the ends share nothing; no column twice."""

    left: Array
    right: Array
    both: Array

    def at(self, t: float) -> Array:
        """A factor of the point at t in [0, 1], with at most n columns."""
        joined = np.hstack([self.both, math.sqrt(1.0 - t) * self.left, math.sqrt(t) * self.right])
        n, k = joined.shape
        return joined if k <= n else np.asarray(np.linalg.qr(joined.T, mode="r")).T


def doubted(problem: Problem, certificate: Certificate, factor: Array, tol: float, whole: bool) -> Certificate:
    """`certificate` of Y Yᵀ, or one that proves nothing, with `negative_curvature`, if F is shown not to be convex.

    Nothing is tried where F is not said to be convex, or is known to be; nor, unless `whole`, where nothing is proven
    to `tol` anyway.
    """
    told = problem.convex_by_word and certificate.convex
    if not told or not (whole or certificate.proves(tol) or certificate.holds_within(tol)):
        return certificate
    vectors = [v for v in (certificate.eigenvector, certificate.descent) if v is not None]
    curvature = negative_curvature(problem, factor, vectors) or _contradiction(problem, certificate, factor)
    rise = abs(certificate.value - certificate.value_at_zero)
    if curvature is None and rise <= CANCELLED * EPS * abs(certificate.value):  # M may be 0 to rounding
        curvature = negative_curvature(problem, 0.0 * factor)
    if curvature is None:
        return certificate
    return replace(
        certificate, convex=False, negative_curvature=curvature, gap=None, gap_relative=None, dual_value=None
    )


def _contradiction(problem: Problem, certificate: Certificate, factor: Array) -> float | None:
    """The curvature that leads from F(M) − gap down to F(0), if F(0) is below this bound by more than its rounding.

    Where F jumps, as a count does, ∇F shows nothing of it. None under constraints, and at M = 0.
    """
    if not certificate.above_zero or certificate.gap is None:
        return None
    Y, below = on_host(factor), certificate.value - certificate.value_at_zero - certificate.gap
    noise = sum(measured_rounding(problem, problem.at(each)) for each in (Y, 0.0 * Y))
    return -2.0 * below / norm(Y.T @ Y) ** 2 if below > noise else None


def negative_curvature(problem: Problem, factor: Array, vectors: Sequence[Array] = ()) -> float | None:
    """The least (F(A) − 2 F((A + B)/2) + F(B)) / |(B − A)/2|², if it shows that F is not convex; None otherwise.

    A, B ⪰ 0 are equally spaced points of segments: from 0 to M = Y Yᵀ and on to 4 M, from M along each of the `vectors`
    and towards random matrices, between random matrices, and from P + N₋ to P + N₊, where N = N₊ − N₋ is the direction
    in which Lanczos' method finds ⟨∇²F(P)[N], N⟩ least, at P = M, among directions of its rank, and at P = M + c I
    (c E Eᵀ for WIDEST orthonormal columns E beyond that order). In the place of M = 0 are multiples of 1 1ᵀ of all
    SIZES. No convex F is refuted: the difference must exceed half of the digits of the range of the three values, and
    their rounding, measured at each of the three points with other factors of the same matrix; and the slope at B must
    be less than that at A, by ∇F. That nothing is found proves nothing.
    Cost: F at some hundred factors, and 1.5 PRODUCTS products with the Hessian where it is known; at M = 0 for each of
    the SIZES.
    """
    Y = np.asarray(on_host(factor), dtype=np.float64)
    given = [np.asarray(on_host(v), dtype=np.float64) for v in vectors]
    ones = np.ones((problem.n, 1))
    points = [Y] if Y.size and norm(Y) > 0.0 else [math.sqrt(size / problem.n) * ones for size in SIZES]
    found: list[float] = []
    with np.errstate(all="ignore"):  # far from M, F may overflow
        for point in points:
            segments = _segments(problem, point, given)
            found += [each for segment in segments if (each := _least_difference(problem, segment)) is not None]
    return min(found, default=None)


def _segments(problem: Problem, Y: Array, vectors: Sequence[Array]) -> Iterator[Segment]:
    rng, (n, r), size, none = np.random.default_rng(0), Y.shape, norm(Y), Y[:, :0]

    def random(columns: int) -> Array:
        Z = rng.standard_normal((n, columns))
        return np.asarray(Z * (size / norm(Z)))

    yield Segment(none, Y, none)
    yield Segment(Y, 2.0 * Y, none)
    for v in vectors:
        if norm(v) > 0.0:
            yield Segment(none, (v * (size / norm(v))).reshape(n, -1), Y)
    yield Segment(Y, random(1), none)
    yield Segment(Y, random(r), none)
    yield Segment(random(r), random(r), none)
    if Ability.HESSIAN not in problem.abilities:
        return
    E = np.eye(n) if n <= WIDEST else np.linalg.qr(random(WIDEST))[0]
    wide = Segment(none, math.sqrt(norm(Y.T @ Y)) / n**0.25 * E, Y).at(SLIGHT)
    for P, products in ((Y, PRODUCTS), (wide, PRODUCTS // 2)):
        if (D := _lanczos(problem, P, products)) is None:
            continue
        Q = np.linalg.qr(np.hstack([P, D]))[0]
        N = (Q.T @ P) @ (D.T @ Q)
        values, frame = np.linalg.eigh(N + N.T)
        scale = norm(P.T @ P) / norm(values) if np.any(values) else 0.0
        for share in (scale, SLIGHT * scale, SLIGHT**2 * scale) if P is Y else (SLIGHT * scale,):
            roots = frame * np.sqrt(share * np.abs(values))
            yield Segment(Q @ roots[:, values < 0.0], Q @ roots[:, values > 0.0], P)


def _lanczos(problem: Problem, Y: Array, products: int) -> Array | None:
    """D (n, r) for which ⟨∇²F(M)[N], N⟩ / |D|², N = Y Dᵀ + D Yᵀ, is nearly least; None without derivatives."""
    here = problem.at(Y)
    basis = [np.random.default_rng(1).standard_normal(Y.shape)]
    basis[0] /= norm(basis[0])
    images: list[Array] = []
    try:
        for _ in range(products):
            D = basis[-1]
            image = on_host(here.curvature_product(D))
            images.append(image)
            rest = image - sum(inner(Q, image) * Q for Q in basis)
            if not norm(rest) > SLIGHT * EPS**0.5 * norm(image):
                break
            rest -= sum(inner(Q, rest) * Q for Q in basis)
            basis.append(rest / norm(rest))
    except np.linalg.LinAlgError:
        return None
    T = np.array([[inner(Q, image) for image in images] for Q in basis[: len(images)]])
    if not np.all(np.isfinite(T)):
        return None
    weights = np.linalg.eigh(0.5 * (T + T.T))[1][:, 0]
    return np.asarray(sum(w * Q for w, Q in zip(weights, basis, strict=False)))


def _least_difference(problem: Problem, segment: Segment) -> float | None:
    """The least second difference at equally spaced points of a segment, if it is below 0 by more than rounding."""
    at = segment.at

    def value(t: float) -> float:
        return finite_value(lambda: float(problem.at(at(t)).value))

    values = np.array([value(k / (POINTS - 1)) for k in range(POINTS)])
    length, least = _distance(segment.left, segment.right), None
    for h in (2, 1):
        for k in range(h, POINTS - h):
            three = values[[k - h, k, k + h]]
            if not np.all(np.isfinite(three)):
                continue
            difference = float(three[0] - 2.0 * three[1] + three[2])
            if difference >= -(EPS**0.5 * np.ptp(three) + CANCELLED * EPS * np.max(np.abs(three))):
                continue
            found = difference / (length * h / (POINTS - 1)) ** 2
            if least is not None and found >= least:
                continue
            three_at = [problem.at(at(j / (POINTS - 1))) for j in (k - h, k, k + h)]
            noise = sum(measured_rounding(problem, each) for each in three_at)
            if -difference > 2.0 * noise and _slope_falls(three_at[0], three_at[2], segment):
                least = found
    return least


def _slope_falls(low: Evaluation, high: Evaluation, segment: Segment) -> bool:
    """Whether ⟨∇F, B Bᵀ − A Aᵀ⟩ is less at `high` than at `low`, by more than its rounding; not where F has no ∇F."""
    slopes, size = [], 0.0
    for each in (low, high):
        try:
            parts = [0.0 if not V.size else inner(on_host(each.gradient @ V), V) for V in (segment.left, segment.right)]
        except (FloatingPointError, np.linalg.LinAlgError):
            return False
        slopes.append(parts[1] - parts[0])
        size += sum(map(abs, parts))
    return slopes[1] - slopes[0] < -CANCELLED * EPS * size


def _distance(A: Array, B: Array) -> float:
    """|A Aᵀ − B Bᵀ|."""
    squares = norm(A.T @ A) ** 2 - 2.0 * norm(A.T @ B) ** 2 + norm(B.T @ B) ** 2
    return math.sqrt(max(squares, np.finfo(float).tiny))
