"""Multipliers and candidates for proofs that a method hands over to the certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psdopt.constraints.model import ConstrainedModel
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array


@dataclass(frozen=True)
class Multipliers:
    """What a method hands over to the certificate, which trusts none of it and checks everything.

    `y` (m,) : multipliers at the current point. `best` (m,) : multipliers of the best dual bound so far. `ray` (m,) : a
    candidate for a proof that no M is feasible. `direction` D (n, k) : a candidate for a proof that F is unbounded
    along D Dᵀ. `slack` P (n, q) : S = ∇F(M) + A*(y) is near P Pᵀ. `inside` (n, n) : a candidate for a definite matrix
    near feasible ones, with which no face of the cone is searched for.
    """

    y: Array
    best: Array | None = None
    ray: Array | None = None
    direction: Array | None = None
    slack: Array | None = None
    inside: Array | None = None


def as_multipliers(problem: ConstrainedModel, dual: Any) -> Multipliers:
    """`dual` as multipliers, or one clear error."""
    if dual is None:
        return Multipliers(np.zeros(problem.m))
    if isinstance(dual, Multipliers):
        given = dual
    else:
        y = np.asarray(dual, dtype=np.float64)
        given = Multipliers(y, ray=y / np.max(np.abs(y), initial=np.finfo(float).tiny))
    for each in (given.y, given.best, given.ray):
        if each is not None and (each.shape != (problem.m,) or not np.all(np.isfinite(each))):
            raise InvalidInputError(f"dual must hold {problem.m} finite multipliers; found shape {each.shape}")
    y, best = (_without_overflow(problem, each) for each in (given.y, given.best))
    return given if y is given.y and best is given.best else replace(given, y=y, best=best)


def multipliers_at_zero(problem: ConstrainedModel) -> Multipliers:
    """y = 0; with a proof of infeasibility where M = 0 is the only candidate and violates a constraint."""
    off = problem.violation(np.zeros(problem.m))
    return Multipliers(np.zeros(problem.m), ray=off if problem.only_zero and np.any(off) else None)


def _without_overflow(problem: ConstrainedModel, y: Any) -> Any:
    """y (m,) or None; zeros, which prove less, where |y_t A_t|² or σ(y) overflows."""
    if y is None:
        return None
    used = problem.admissible(y)
    bounds = problem.allowed.bound(used)
    bounds = np.where(np.isfinite(bounds), bounds, 0.0)  # those without a bound are 0
    with np.errstate(over="ignore"):
        size = float(np.sum((problem.norms * y) ** 2) + np.abs(used) @ np.abs(bounds))
    return y if math.isfinite(size) else np.zeros_like(y)
