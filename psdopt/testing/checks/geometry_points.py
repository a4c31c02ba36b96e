"""Geometry checks: points and vectors are what they say, and what is not is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.linalg.tolerances import EPS
from psdopt.testing import quotient, vectors
from psdopt.testing.checks.common import PASSED, compare, failed
from psdopt.testing.registry import Case, Deviation, Deviations, check

PLAIN = ("full-rank",)
riemannian = partial(check, "geometry", needs={Ability.RIEMANNIAN})


@check("geometry", "0.1", regimes=("full-rank",))
def points_valid(geometry: Geometry, case: Case) -> Deviation:
    """random_point is valid, depends on the generator only, and NaN, missing rows or a wrong trace are refused."""
    point = geometry.random_point(np.random.default_rng(case.seed))
    defect = geometry.check_point(point)
    if defect is not None:
        return failed(f"random_point is refused by check_point: {defect}")
    again = geometry.random_point(np.random.default_rng(case.seed))
    if not np.array_equal(vectors.flat(point), vectors.flat(again)):
        return failed("the same generator gives two different points: some other source of randomness is used")
    bad: dict[str, Any] = {
        "with a NaN": vectors.tree_map(lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, np.nan, x), point),
        "with a row too few": vectors.tree_map(lambda x: x[1:], point),
    }
    if geometry.trace is not None:
        bad["of a wrong trace"] = vectors.tree_map(lambda x: 1.5 * x, point)
    for words, wrong in bad.items():
        try:
            accepted = geometry.check_point(wrong) is None
        except Exception as error:
            return failed(f"check_point raises {type(error).__name__} on a point {words} instead of returning a Defect")
        if accepted:
            return failed(f"check_point accepts a point {words}")
    return PASSED


@check("geometry", "0.1")
def matrix_of_point(geometry: Geometry, case: Case) -> Deviations:
    """M = factor·factorᵀ, from_matrix(to_matrix(x)) has the same matrix, of order n, and of the fixed trace."""
    point = quotient.point_in(geometry, case)
    M = quotient.dense(geometry, point)
    Y = geometry.factor(point)
    unit = float(np.linalg.norm(M))
    if M.shape != (geometry.n, geometry.n):
        return failed(f"M has shape {M.shape}, expected order {geometry.n}")
    again = geometry.from_matrix(geometry.to_matrix(point))
    yield compare("factor·factorᵀ", Y @ Y.T, M, unit, geometry.n)
    yield compare("matrix after from_matrix(to_matrix)", quotient.dense(geometry, again), M, 16.0 * unit, geometry.n)
    if geometry.trace is not None:
        yield compare("trace", np.trace(M), geometry.trace, geometry.trace, geometry.n)


@riemannian("0.1")
def vectors_valid(geometry: Geometry, case: Case) -> Deviation:
    """random_vector is valid and of length one; check_vector refuses NaN and vectors with a part along the fibre."""
    point, allowed = quotient.regular_point(geometry, case)
    vector = quotient.unit_vector(geometry, point, case)
    defect = geometry.check_vector(point, vector)
    if defect is not None:
        return failed(f"random_vector is refused by check_vector: {defect}")
    with_nan = vectors.tree_map(lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, np.nan, x), vector)
    if geometry.check_vector(point, with_nan) is None:
        return failed("check_vector accepts a vector with a NaN")
    if quotient.has_fibre_action(geometry) and quotient.fibre_rank(geometry, point) > 1:
        along = quotient.vertical(geometry, point, case)
        mixed = vectors.combine(geometry, point, 1.0, vector, 0.5 / max(vectors.size(along), 1e-300), along)
        if geometry.check_vector(point, mixed) is None:
            return failed("check_vector accepts a vector that is a third fibre direction")
    length = geometry.norm(point, vector)
    return Deviation(abs(length - 1.0), allowed, f"random_vector has length {length:.6g}")


@riemannian("0.1")
def metric(geometry: Geometry, case: Case) -> Deviations:
    """inner is symmetric, bilinear and positive, and norm is the root of inner(v, v)."""
    point, _ = quotient.regular_point(geometry, case)
    u, v, w = (quotient.unit_vector(geometry, point, case) for _ in range(3))
    inner = geometry.inner
    lengths = [inner(point, x, x) for x in (u, v, w)]
    if not min(lengths) > 0.0:
        return failed(f"inner(v, v) = {min(lengths):.3g} for a vector that is not zero")
    both = vectors.combine(geometry, point, 2.0, u, -3.0, v)
    apart = 2.0 * inner(point, u, w) - 3.0 * inner(point, v, w)
    unit = sum(lengths) * 16.0
    yield compare("inner(v, u)", inner(point, v, u), inner(point, u, v), unit, geometry.n)
    yield compare("inner(2u − 3v, w)", inner(point, both, w), apart, unit, geometry.n)
    yield compare("norm", geometry.norm(point, both), np.sqrt(max(inner(point, both, both), 0.0)), unit, geometry.n)


def _fibre(geometry: Geometry) -> bool:
    return quotient.has_fibre_action(geometry)


@riemannian("0.1", when=_fibre, reason="has no fibre action to look at (move_along_fibre)")
def metric_invariant(geometry: Geometry, case: Case) -> Deviations:
    """The metric, M and the gradient's length are the same at every representative YQ of a point."""
    point, allowed = quotient.regular_point(geometry, case)
    Q = case.orthogonal(quotient.fibre_rank(geometry, point))
    u, v = geometry.random_vector(point, case.rng), geometry.random_vector(point, case.rng)
    there = quotient.moved(geometry, point, Q)
    if geometry.check_point(there) is not None:
        return failed(f"the representative YQ is refused: {geometry.check_point(there)}")
    moved_u, moved_v = quotient.moved(geometry, u, Q), quotient.moved(geometry, v, Q)
    S = case.symmetric(geometry.n)
    here, other = geometry.gradient(point, S), geometry.gradient(there, S)
    unit = geometry.norm(point, here)
    M = quotient.dense(geometry, point)
    yield compare("M at YQ", quotient.dense(geometry, there), M, float(np.linalg.norm(M)), geometry.n)
    apart = abs(geometry.inner(there, moved_u, moved_v) - geometry.inner(point, u, v))
    yield Deviation(apart, allowed, "inner depends on the representative")
    if unit > 0.0:
        apart = abs(geometry.norm(there, other) - unit)
        words = "the gradient's length depends on the representative"
        yield Deviation(apart, allowed * unit + EPS * unit, words)


@check("geometry", "0.2", when=lambda g: g.can_grow, reason="has one rank only (with_rank)", regimes=("full-rank",))
def with_rank(geometry: Geometry, case: Case) -> Deviations:
    """with_rank(r) is the set of the same order and trace whose factors have r columns, and holds Y Yᵀ for such Y."""
    yield PASSED
    for r in range(1, geometry.n + 1):
        other = geometry.with_rank(r)
        if (other.n, other.trace) != (geometry.n, geometry.trace):
            return failed(f"with_rank({r}) is another set: {other!r}")
        width = other.factor(other.random_point(np.random.default_rng(case.seed))).shape[1]
        if width != r or (other.rank is not None and other.rank != r):
            return failed(f"with_rank({r}) has points of {width} columns, and says that its rank is {other.rank}")
        Y = case.factor(geometry.n, r)
        if geometry.trace is not None:
            Y *= np.sqrt(geometry.trace) / np.linalg.norm(Y)
        point = other.from_factor(Y)
        if other.check_point(point) is None:
            M, unit = quotient.dense(other, point), 16.0 * float(np.linalg.norm(Y)) ** 2
            yield compare(f"the point of with_rank({r})", M, Y @ Y.T, unit, geometry.n)
