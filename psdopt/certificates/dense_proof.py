"""Bounds on the gap for moderate n: M is perturbed until its gradient is positive semidefinite."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from psdopt.certificates.scales import reference_value
from psdopt.constraints.limits import NUMBERS
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.signatures import accepts
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, inner, norm, row_dots
from psdopt.linalg.definite import factor_above
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import MOST_STEPS, SPECTRUM_ORDER
from psdopt.linalg.subset import eigenpairs, spectrum
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: Perturbations of a quadratic F are tried at these shares of the goal; the smaller one gives the sharper bound.
COSTS = (0.5, 0.95)


class DenseProof:
    """A bound on F(M) − min F over the whole cone, from a matrix near M where the gradient is positive semidefinite.

    For convex F and any P ⪰ 0 with S' = ∇F(P) ⪰ 0, F(N) >= F(P) + ⟨S', N − P⟩ >= F(P) − ⟨S', P⟩ for every N ⪰ 0,
    whatever its trace. If S ⪰ 0, P = M itself is used; else P = M + s Z with Z ≻ 0 and the s that the goal allows.
    S' ⪰ 0 is proved by a Cholesky factor of S' scaled to a unit diagonal, up to ROUNDINGS · n · eps, so that the proof
    does not depend on the scales of the coordinates.

    Where F is quadratic, S' = S + s H with H = ∇²F[Z], and the cost F(M) − F(P) + ⟨S', P⟩ is
    ⟨S, M⟩ + s ⟨H, M⟩ + s² ⟨H, Z⟩ / 2: one factorisation for each Z; H for Z = I is stored with the problem.
    For other F, s is found by some evaluations at n + r columns. These cost more than many steps of a method, so they
    are made only up to order DENSE_LIMIT; other proofs up to SPECTRUM_ORDER (:func:`may_be_formed`). Memory: a few
    arrays (n, n) and images of n columns.

    `S` : ∇F(M) (n, n), symmetric, from :func:`dense_gradient`. `lowest` : a unit vector v of small vᵀSv, if one is
    known. If v shows that S is not semidefinite, S is not factorised.
    """

    def __init__(self, evaluation: Evaluation, S: Array, lowest: Array | None = None) -> None:
        self.lowest = lowest
        self.problem, self.evaluation, self.n, self.S = evaluation.problem, evaluation, evaluation.problem.n, S
        self.quadratic = Ability.QUADRATIC in self.problem.abilities
        self.factor = on_host(evaluation.factor)
        self.finite = bool(np.all(np.isfinite(S)))
        self.floor = -math.inf  # a lower bound on λ_min(S), once a proof has found one

    def gap(self, goal: float, tried: float = math.inf) -> float | None:
        """A proven bound on F(M) − min F, at most `goal` if one can be found; None if there is none.

        Unless F is quadratic, a P other than M is sought only if the :attr:`shortfall`, divided by the share of the
        goal that ⟨S, M⟩ leaves, is below `tried`.
        """
        if not self.finite:
            return None
        Y = self.factor
        own = inner(self.S @ Y, Y)
        if not self._refuted() and (rounding := self._definite(self.S)) is not None:
            proven = max(own, 0.0) + self._lost(rounding, row_dots(Y, Y))
            if not proven > goal:
                return proven
        if not (goal > 0.0 and norm(Y) > 0.0):
            return None
        if self.quadratic:
            return self._perturbed_quadratic(own, goal)
        if self.n > DENSE_LIMIT or not self.shortfall < tried * (1.0 - abs(own) / goal):
            return None
        return next((found for L in self._directions() if (found := self._perturbed(L, goal)) is not None), None)

    def gap_by_curvature(self, goal: float) -> float | None:
        """The bound of :meth:`gap` with P = M + s I only, for a quadratic F whose `lowest` v is known.

        The sign of vᵀ(S + s H)v first shows whether the curvature makes up for vᵀSv < 0. If the curvature along v is
        large, even an eigenvalue of S far below zero, in units of F / tr M, costs the bound little. At most one
        factorisation for each share of the goal.
        """
        v, Y = self.lowest, self.factor
        if v is None or not (self.quadratic and self.finite and goal > 0.0 and norm(Y) > 0.0):
            return None
        H = _origin(self.problem).curvature
        own, slope, bend = inner(self.S @ Y, Y), inner(H @ Y, Y), float(np.trace(H))
        if not math.isfinite(slope + bend):
            return None
        s = _step_of_cost(own, slope, bend, COSTS[-1] * goal)
        if s is None or not float(v @ (self.S @ v) + s * (v @ (H @ v))) >= 0.0:
            return None
        return self._bound_along(H, np.ones(self.n), own, slope, bend, goal)

    def descent(self) -> Array | None:
        """The direction v of least vᵀSv in units of the coordinates, so that a refutation does not depend on scales."""
        if not self.finite:
            return None
        return self._least[1]

    @property
    def shortfall(self) -> float:
        """max(0, −λ_min) of S scaled to a unit diagonal: how far S is from semidefinite, independent of units."""
        return max(0.0, -self._least[0])

    @cached_property
    def _least(self) -> tuple[float, Array]:
        """The least eigenvalue of S scaled to a unit diagonal, and its unit eigenvector in the coordinates of M."""
        scale = self._scale(self.S)
        values, w = eigenpairs(self.S * scale * scale[:, None], 0, 0)
        v = scale * w[:, 0]
        return float(values[0]), np.asarray(v / norm(v))

    def _refuted(self) -> bool:
        """Whether `lowest` v shows that S, scaled by D to a unit diagonal, is not definite: D S D + c I ⪰ 0 implies
        vᵀSv >= −c |D⁻¹v|²."""
        v = self.lowest
        if v is None:
            return False
        allowed = ROUNDINGS * self.n * EPS * norm(v / self._scale(self.S)) ** 2
        return float(v @ (self.S @ v)) < -allowed

    def _definite(self, S: Array) -> Array | None:
        """e (n,) of the size of rounding with S + diag(e) ⪰ 0 proven; None if no such proof succeeds.

        Also None if rounding of S exceeds ∇F(0): S then hides the sign of ∇F(0) in directions without curvature.
        """
        scale, allowed, known = self._scale(S), ROUNDINGS * self.n * EPS, float(_origin(self.problem).sizes.max())
        if 0.0 < known < allowed * max(float(S.max()), -float(S.min())):
            return None
        scaled = S * scale
        scaled *= scale[:, None]
        return None if factor_above(scaled, -allowed) is None else allowed / scale**2

    def _lost(self, e: Array, diagonal: Array) -> float:
        """The loss in the bound at P with this `diagonal` (n,), if only S' + diag(e) ⪰ 0 is proven instead of S' ⪰ 0.

        F(N) >= F(P) + ⟨S', N − P⟩ + sigma/2 |N − P|² >= F(P) − ⟨S', P⟩ − Σ_i (e_i P_ii + e_i²/(2 sigma)) for F that is
        strongly convex with modulus sigma. Without sigma, the loss is neglected.
        """
        sigma = self.problem.lower_curvature
        return float(e @ diagonal + (e @ e) / (2.0 * sigma)) if sigma > 0.0 else 0.0

    def _scale(self, S: Array) -> Array:
        """1/√(size of the diagonals of S, ∇F(M) and ∇F(0)) (n,)."""
        sizes = np.abs(np.diagonal(S)) + np.abs(np.diagonal(self.S)) + _origin(self.problem).sizes
        largest = max(float(sizes.max()), float(S.max()), -float(S.min()))
        return np.asarray(1.0 / np.sqrt(np.maximum(sizes, max(EPS**2 * largest, np.finfo(float).tiny))))

    def _directions(self) -> Iterator[Array]:
        """Factors L of Z = L Lᵀ: the identity, scaled coordinates, and the inverse of the curvature's trace."""
        share = norm(self.evaluation.factor) ** 2 / self.n
        yield math.sqrt(share) * np.eye(self.n)
        scale = self._scale(self.S)
        yield np.diag(scale * math.sqrt(share * self.n) / norm(scale))
        curvature = (
            _origin(self.problem).curvature if self.quadratic else self._difference(np.eye(self.n), 1e-4 * share)
        )
        if np.all(np.isfinite(curvature)):
            values, U = spectrum(curvature)
            if not values[-1] > 0.0:
                return  # F does not depend on the trace, such as a fit of off-diagonal entries
            root = 1.0 / np.sqrt(np.maximum(values / values[-1], ROUNDINGS * EPS))
            yield U * (root * math.sqrt(share * self.n) / norm(root))

    def _difference(self, L: Array, share: float) -> Array:
        """∇F(M + share L Lᵀ) − ∇F(M)."""
        return dense_gradient(self.evaluation.append(math.sqrt(share) * L)) - self.S

    def _curvatures(self) -> Iterator[tuple[Array, Array, float]]:
        """(H, the diagonal of Z, ⟨H, Z⟩) with H = ∇²F[Z], for the Z of `_directions`, of a quadratic F."""
        first = _origin(self.problem).curvature
        yield first, np.ones(self.n), float(np.trace(first))
        for L in islice(self._directions(), 1, None):
            H = self._difference(L, 1.0)
            yield H, row_dots(L, L), inner(H @ L, L)

    def _perturbed_quadratic(self, own: float, goal: float) -> float | None:
        """The bound from P = M + s Z of a cost within the goal, for quadratic F; `own` is ⟨S, M⟩."""
        Y = self.factor
        for H, diagonal, bend in self._curvatures():
            slope = inner(H @ Y, Y)
            found = self._bound_along(H, diagonal, own, slope, bend, goal) if math.isfinite(slope + bend) else None
            if found is not None:
                return found
        return None

    def _bound_along(
        self, H: Array, diagonal: Array, own: float, slope: float, bend: float, goal: float
    ) -> float | None:
        """The cost ⟨S, M⟩ + s ⟨H, M⟩ + s² ⟨H, Z⟩ / 2 of an s with S + s H ⪰ 0; None if no share in COSTS is enough."""
        for share in COSTS:
            s = _step_of_cost(own, slope, bend, share * goal)
            rounding = None if s is None else self._definite(self.S + s * H)
            if s is not None and rounding is not None:
                self.floor = -s * float(np.linalg.norm(H, np.inf)) - float(rounding.max())
                lost = self._lost(rounding, row_dots(self.factor, self.factor) + s * diagonal)
                return max(own + s * (slope + 0.5 * s * bend), 0.0) + lost
        return None

    def _perturbed(self, L: Array, goal: float) -> float | None:
        """The bound from P = M + s L Lᵀ at the s whose cost is between a quarter of the goal and the goal.

        None as soon as the direction v of least vᵀSv shows that no such s makes S' semidefinite.
        """
        value, own, s = float(self.evaluation.value), inner(self.S @ self.factor, self.factor), 1e-6
        r = self.evaluation.factor.shape[1]
        both = self.evaluation.append(L)  # the maps are applied to L once, for every s
        for _ in range(MOST_STEPS):
            there = both.mix(np.diag(np.r_[np.ones(r), np.full(self.n, math.sqrt(s))]))
            if not math.isfinite(there.value):
                return None
            cost = value - float(there.value) + 0.5 * inner(there.factor_gradient(), there.factor)
            if cost > goal:
                s *= min(0.5, max(0.5 * goal / cost, 1e-4))
                continue
            S = dense_gradient(there)
            rounding = self._definite(S) if np.all(np.isfinite(S)) else None
            if rounding is not None:
                return max(cost, 0.0) + self._lost(rounding, row_dots(there.factor, there.factor))
            if cost >= 0.25 * goal:
                return None
            least = self._least[1]
            lacking = -float(least @ (self.S @ least))
            rise = lacking + float(least @ (S @ least))
            farther = min((0.5 * goal - own) / max(cost - own, EPS * goal), 1e4)  # half the goal, if the cost is linear
            if not 4.0 * farther * rise >= lacking:
                return None
            s *= max(farther, 2.0)
        return None


def may_be_formed(problem: Problem) -> bool:
    """Whether S and images of n columns are small enough for a proof, and whether a proof can use S.

    Always up to order DENSE_LIMIT. Up to SPECTRUM_ORDER if images of n columns are small, and if F is quadratic or the
    dual bound of the problem takes S.
    """
    n, rows = problem.n, problem.rows
    if n <= DENSE_LIMIT:
        return True
    small = n <= SPECTRUM_ORDER and problem.device is None and rows is not None and rows * n <= NUMBERS
    return small and (Ability.QUADRATIC in problem.abilities or accepts(problem.duality.dual_bound, "S"))


def _step_of_cost(own: float, slope: float, bend: float, cost: float) -> float | None:
    """The s > 0 with own + s slope + s² bend / 2 = cost; None where there is none."""
    room = cost - own
    if not room > 0.0:
        return None
    root = slope + math.sqrt(slope**2 + 2.0 * max(bend, 0.0) * room)
    return 2.0 * room / root if root > 0.0 else None


class _Origin(NamedTuple):
    """`sizes` : |∇F(0)_ii| (n,), 0 where undefined. `curvature` : ∇²F[I] = ∇F(I) − ∇F(0) (n, n) of a quadratic F, else
    empty."""

    sizes: Array
    curvature: Array


def _origin(problem: Problem) -> _Origin:
    """The gradient and the curvature of F at 0, computed once for each problem and kept with it."""

    def compute() -> _Origin:
        S, curvature = np.full((1, 1), math.nan), np.empty((0, 0))
        if math.isfinite(reference_value(problem, 0.0)):  # where F may yet have no gradient
            with suppress(FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError), np.errstate(all="ignore"):
                S = dense_gradient(problem.at(np.zeros((problem.n, 1))))
        if Ability.QUADRATIC in problem.abilities:
            curvature = dense_gradient(problem.at(np.eye(problem.n)))
            curvature -= S
        sizes = np.abs(np.diagonal(S))
        return _Origin(np.where(np.isfinite(sizes), sizes, 0.0), curvature)

    return problem.once("origin", compute)
