"""Bounds on the gap for moderate n: M is perturbed until its gradient is positive semidefinite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property

import numpy as np

from psdopt.certificates.stored_curvature import Shift, curvature_along, identity_shift, inverse_shift, origin
from psdopt.constraints.limits import NUMBERS
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import value_and_gradient
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.signatures import accepts
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, inner, norm, row_dots
from psdopt.linalg.definite import factor_above
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import MOST_STEPS, SPECTRUM_ORDER
from psdopt.linalg.subset import eigenpairs
from psdopt.linalg.tolerances import EPS, MINOR, ROUNDINGS, SLIGHT


class DenseProof:
    """A bound on F(M) − min F over the whole cone, from a matrix near M where the gradient is positive semidefinite.

    For convex F and any P ⪰ 0 with S' = ∇F(P) ⪰ 0, F(N) >= F(P) + ⟨S', N − P⟩ >= F(P) − ⟨S', P⟩ for every N ⪰ 0,
    whatever its trace. If S ⪰ 0, P = M itself is used; else P = M + s Z with Z ≻ 0 and the least s, to a fifth, for
    which S' ⪰ 0: S' grows with s, and so does the cost F(M) − F(P) + ⟨S', P⟩, which is the bound. S' ⪰ 0 is proved by a
    Cholesky factor of S' scaled to a unit diagonal, up to ROUNDINGS · n · eps, so that the proof does not depend on the
    scales of the coordinates. The bound depends on M alone, not on the accuracy that is asked for.

    Where F is quadratic, S' = S + s H with H = ∇²F[Z], and the cost is ⟨S, M⟩ + s ⟨H, M⟩ + s² ⟨H, Z⟩ / 2: some
    factorisations for each Z; the H are stored with the problem. For other F, s is found by some evaluations at n + r
    columns. These cost more than many steps of a method, so they are made only up to order DENSE_LIMIT; other proofs up
    to SPECTRUM_ORDER (:func:`may_be_formed`). Memory: a few arrays (n, n), and images of n columns
    where :func:`~psdopt.contracts.gradient.value_and_gradient` makes some.

    `S` : ∇F(M) (n, n), symmetric. `lowest` : a unit vector v of small vᵀSv, if one is
    known. If v shows that S is not semidefinite, S is not factorised.
    """

    def __init__(self, evaluation: Evaluation, S: Array, lowest: Array | None = None) -> None:
        self.lowest = lowest
        self.problem, self.evaluation, self.n, self.S = evaluation.problem, evaluation, evaluation.problem.n, S
        self.quadratic = Ability.QUADRATIC in self.problem.abilities
        self.factor = on_host(evaluation.factor)
        self.own = inner(S @ self.factor, self.factor)
        self.finite = bool(np.all(np.isfinite(S)))

    def gap(self, most: float = math.inf, tried: float = math.inf) -> float | None:
        """A proven bound on F(M) − min F, less than `most`; None if none is found.

        The best of those for each Z, or the first that is :attr:`enough`; the first at all if F is not quadratic.
        Unless F is quadratic, a P other than M is sought only if the :attr:`shortfall`, divided by the share of `most`
        that ⟨S, M⟩ leaves, is below `tried`.
        """
        if not self.finite:
            return None
        if not self._refuted() and (rounding := self._definite(self.S)) is not None:
            # for S ⪰ 0 a negative ⟨S, M⟩ is rounding of S, which the bound on F(N) has as well
            proven = abs(self.own) + self._lost(rounding, row_dots(self.factor, self.factor))
            return proven if not proven > most else None
        if not (most > 0.0 and norm(self.factor) > 0.0):
            return None
        if self.quadratic:
            found = (self._least_bound(Z, most) for Z in self._shifts())
        elif self.n > DENSE_LIMIT or not self.shortfall < tried * (1.0 - abs(self.own) / most):
            return None
        else:
            found = (self._least_perturbed(L, most) for L in self._directions())
        best = math.inf
        with np.errstate(all="ignore"):  # far from M, F may overflow: no bound comes of such a step
            for bound in found:
                best = min(best, math.inf if bound is None else bound)
                if best <= self.enough or (best < math.inf and not self.quadratic):
                    break
        return best if best < math.inf else None

    def descent(self) -> Array | None:
        """The direction v of least vᵀSv in units of the coordinates, so that a refutation does not depend on scales."""
        if not self.finite:
            return None
        return self._least[1]

    @property
    def enough(self) -> float:
        """Twice ⟨S, M⟩, which no bound of this kind falls below, and the rounding of F."""
        return 2.0 * abs(self.own) + ROUNDINGS * self.n * EPS * abs(float(self.evaluation.value))

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
        return float(v @ (self.S @ v)) < -self._hidden(v)

    def _hidden(self, v: Array) -> float:
        """The part of vᵀSv that a proof takes for rounding."""
        return float(ROUNDINGS * self.n * EPS * norm(v / self._scale(self.S)) ** 2)

    def _definite(self, S: Array, terms: Array | float = 0.0) -> Array | None:
        """e (n,) of the size of rounding with S + diag(e) ⪰ 0 proven; None if no such proof succeeds.

        `terms` (n,) : the size of further terms that may have cancelled in the diagonal of S. Also None if rounding of
        S hides a row of ∇F(M) and ∇F(0), since it then hides their sign in directions without curvature, along which F
        may fall without end.
        """
        scale, allowed, start = self._scale(S, terms), ROUNDINGS * self.n * EPS, np.abs(origin(self.problem).gradient)
        known = float(start.max())
        if 0.0 < known < allowed * max(float(S.max()), -float(S.min())):
            return None
        scaled = S * scale
        scaled *= scale[:, None]
        if factor_above(scaled, -allowed) is None:
            return None
        if S is not self.S:
            rows = (np.abs(self.S) + start) * scale
            largest = scale * rows.max(axis=1)
            if np.any((largest > 0.0) & (largest < MINOR)):
                return None
        return allowed / scale**2

    def _lost(self, e: Array, diagonal: Array) -> float:
        """The loss in the bound at P with this `diagonal` (n,), if only S' + diag(e) ⪰ 0 is proven instead of S' ⪰ 0.

        F(N) >= F(P) + ⟨S', N − P⟩ + sigma/2 |N − P|² >= F(P) − ⟨S', P⟩ − Σ_i (e_i P_ii + e_i²/(2 sigma)) for F that is
        strongly convex with modulus sigma. Without sigma, the loss is Σ_i e_i N_ii: neglected for a quadratic F, of
        whose terms e is the rounding; else N_ii is taken to be P_ii, as ∇F(0), and e with it, may be out of proportion.
        """
        sigma = self.problem.lower_curvature
        if not sigma > 0.0:
            return 0.0 if self.quadratic else float(e @ diagonal)
        return float(e @ diagonal + (e @ e) / (2.0 * sigma))

    def _scale(self, S: Array, terms: Array | float = 0.0) -> Array:
        """1/√(size of the diagonals of S, ∇F(M) and ∇F(0), and of further `terms`) (n,)."""
        sizes = np.abs(np.diagonal(S)) + np.abs(np.diagonal(self.S)) + self._terms + terms
        largest = max(float(sizes.max()), float(S.max()), -float(S.min()))
        return np.asarray(1.0 / np.sqrt(np.maximum(sizes, max(EPS**2 * largest, np.finfo(float).tiny))))

    @cached_property
    def _terms(self) -> Array:
        """The size of terms of S that may have cancelled (n,): |∇F(0)_ii|.

        For a curved F at most (|F(M)| and its rise) / M_ii, since ∇F(0) of a barrier is out of proportion.
        """
        sizes = np.abs(np.diagonal(origin(self.problem).gradient))
        if self.quadratic:
            return sizes
        value, near = float(self.evaluation.value), self.evaluation.value_of_share(0.25)
        size = abs(value) + abs(self.own) + (abs(near - value) if math.isfinite(near) else 0.0)
        diagonal = row_dots(self.factor, self.factor)
        return np.divide(size, diagonal, out=sizes, where=diagonal * sizes > size)

    def _directions(self) -> Iterator[Array]:
        """Factors L of Z = L Lᵀ for any F, of the trace of M: scaled coordinates, and the identity."""
        yield self._scaled_coordinates()
        yield np.eye(self.n) * (norm(self.factor) / math.sqrt(self.n))

    def _scaled_coordinates(self) -> Array:
        """diag(1/√(size of S_ii)), of the size of M: it does not depend on the units of the coordinates."""
        scale = self._scale(self.S)
        return np.diag(scale * (norm(self.factor) / norm(scale)))

    def _shifts(self) -> Iterator[Shift]:
        """Z for a quadratic F: scaled coordinates, I and K⁻¹, K = ∇²F[I]; beyond order DENSE_LIMIT I comes first."""
        L = self._scaled_coordinates()
        if self.n > DENSE_LIMIT:
            yield identity_shift(self.problem)
            yield curvature_along(self.problem, L)
            return
        yield curvature_along(self.problem, L)
        yield identity_shift(self.problem)
        inverse = inverse_shift(self.problem)
        if inverse is not None:
            yield inverse

    def _least_bound(self, shift: Shift, most: float) -> float | None:
        """The cost ⟨S, M⟩ + s ⟨H, M⟩ + s² ⟨H, Z⟩ / 2 of the least s with S + s H ⪰ 0, if it is below `most`."""
        H, slope = shift.H, inner(shift.H @ self.factor, self.factor)
        if not math.isfinite(slope + shift.bend):
            return None
        v = self._least[1] if self.lowest is None or self.n <= DENSE_LIMIT else self.lowest
        lacking, rise = -float(v @ (self.S @ v)), float(v @ (H @ v))
        if lacking > 0.0 and not rise > 0.0:
            return None

        def cost(s: float) -> float:
            return self.own + s * (slope + 0.5 * s * shift.bend)

        least = max(lacking, 0.0) / rise if rise > 0.0 else 0.0
        first = _step_of_cost(self.own, slope, shift.bend, self.enough) / (1.0 + SLIGHT)
        found = _least_step(
            lambda s: self._definite(self.S + s * H, s * shift.terms), cost, max(least, first), most, self.enough
        )
        if found is None:
            return None
        s, rounding = found
        lost = self._lost(rounding, row_dots(self.factor, self.factor) + s * shift.diagonal)
        return max(cost(s), 0.0) + lost

    def _least_perturbed(self, L: Array, most: float) -> float | None:
        """:meth:`_least_bound` for Z = L Lᵀ and any F, from evaluations at M + s L Lᵀ.

        The rise of vᵀS'v over a small s, v the direction of least vᵀSv, says where the search begins.
        """
        value, v = float(self.evaluation.value), self._least[1]

        def factor(s: float) -> Array:
            return np.hstack([self.factor, math.sqrt(s) * L])

        @cache
        def there(s: float) -> tuple[float, Array]:
            return value_and_gradient(self.problem, factor(s))

        def cost(s: float) -> float:
            (at, slack), Y = there(s), factor(s)
            found = value - at + inner(slack @ Y, Y)
            return found if math.isfinite(found) else math.inf

        def definite(s: float) -> Array | None:
            slack = there(s)[1]
            return self._definite(slack) if np.all(np.isfinite(slack)) else None

        lacking, rise = -float(v @ (self.S @ v)), 0.0
        for small in (MINOR, 1.0, 1.0 / MINOR):
            if lacking > 0.0 and not rise > 0.0:
                more = lacking + float(v @ (there(small)[1] @ v))
                rise = more / small if more > self._hidden(v) else 0.0  # rounding alone would lead to endless trials
        if not (lacking <= 0.0 or rise > 0.0):
            return None
        first = max(lacking, 0.0) / rise if rise > 0.0 else MINOR
        found = _least_step(definite, cost, first, most, self.enough)
        if found is None:
            return None
        s, rounding = found
        Y = factor(s)
        return max(cost(s), 0.0) + self._lost(rounding, row_dots(Y, Y))


def _least_step(
    definite: Callable[[float], Array | None],
    cost: Callable[[float], float],
    first: float,
    most: float,
    enough: float,
) -> tuple[float, Array] | None:
    """(s, definite(s)) for the least s, to a fifth, where `definite` is not None; to less if cost(s) <= `enough`.

    None as soon as cost(s) is not below `most`. Both grow with s. Trials leave `first`, where the search begins, by
    growing factors.
    """
    low, s, factor = 0.0, (1.0 + SLIGHT) * first, 2.0
    for _ in range(MOST_STEPS):
        if not (0.0 < s < math.inf and cost(s) < most):
            return None
        found = definite(s)
        if found is not None:
            break
        low, s, factor = s, factor * s, 2.0 * factor
    else:
        return None
    factor = 1.0 + 2.0 * SLIGHT
    while s > (1.0 + 2.0 * SLIGHT) * low and cost(s) > enough:
        middle = math.sqrt(low * s) if low > 0.0 else s / factor
        better = definite(middle)
        if better is None:
            low = middle
        else:
            s, found, factor = middle, better, factor * factor
    return s, found


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


def _step_of_cost(own: float, slope: float, bend: float, cost: float) -> float:
    """The s > 0 with own + s slope + s² bend / 2 = cost >= own; 0 where there is none."""
    root = slope + math.sqrt(slope * slope + 2.0 * max(bend, 0.0) * (cost - own))
    return 2.0 * (cost - own) / root if root > 0.0 else 0.0
