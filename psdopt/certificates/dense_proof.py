"""Bounds on the gap for moderate n: M is perturbed until its gradient is positive semidefinite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
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
    to SPECTRUM_ORDER (:func:`may_be_formed`). Memory: a few arrays (n, n) and images of n columns.

    `S` : ∇F(M) (n, n), symmetric, from :func:`dense_gradient`. `lowest` : a unit vector v of small vᵀSv, if one is
    known. If v shows that S is not semidefinite, S is not factorised.
    """

    def __init__(self, evaluation: Evaluation, S: Array, lowest: Array | None = None) -> None:
        self.lowest = lowest
        self.problem, self.evaluation, self.n, self.S = evaluation.problem, evaluation, evaluation.problem.n, S
        self.quadratic = Ability.QUADRATIC in self.problem.abilities
        self.factor = on_host(evaluation.factor)
        self.own = inner(S @ self.factor, self.factor)
        self.finite = bool(np.all(np.isfinite(S)))
        self.floor = -math.inf  # a lower bound on λ_min(S), once a proof has found one

    def gap(self, most: float = math.inf, tried: float = math.inf) -> float | None:
        """A proven bound on F(M) − min F, less than `most`; None if none is found.

        The best of those for each Z, or the first that is :attr:`enough`; the first at all if F is not quadratic.
        Unless F is quadratic, a P other than M is sought only if the :attr:`shortfall`, divided by the share of `most`
        that ⟨S, M⟩ leaves, is below `tried`.
        """
        if not self.finite:
            return None
        if not self._refuted() and (rounding := self._definite(self.S)) is not None:
            proven = max(self.own, 0.0) + self._lost(rounding, row_dots(self.factor, self.factor))
            return proven if not proven > most else None
        if not (most > 0.0 and norm(self.factor) > 0.0):
            return None
        if self.quadratic:
            found = (self._least_bound(Z, most) for Z in _shifts(self.problem))
        elif self.n > DENSE_LIMIT or not self.shortfall < tried * (1.0 - abs(self.own) / most):
            return None
        else:
            found = (self._least_perturbed(L, most) for L in self._directions())
        best = math.inf
        for bound in found:
            best = min(best, math.inf if bound is None else bound)
            if best <= self.enough or (best < math.inf and not self.quadratic):
                break
        return best if best < math.inf else None

    def gap_from_identity(self, most: float) -> float | None:
        """The bound of :meth:`gap` with P = M + s I only, for a quadratic F whose `lowest` v is known.

        If the curvature along v is large, even an eigenvalue of S far below zero, in units of F / tr M, costs the bound
        little. If v shows that the bound exceeds `most`, nothing is factorised.
        """
        if self.lowest is None or not (self.quadratic and self.finite and most > 0.0 and norm(self.factor) > 0.0):
            return None
        return self._least_bound(next(_shifts(self.problem)), most)

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
        strongly convex with modulus sigma. Without sigma, the loss is Σ_i e_i N_ii: neglected for a quadratic F, of
        whose terms e is the rounding; else N_ii is taken to be P_ii, as ∇F(0), and e with it, may be out of proportion.
        """
        sigma = self.problem.lower_curvature
        if not sigma > 0.0:
            return 0.0 if self.quadratic else float(e @ diagonal)
        return float(e @ diagonal + (e @ e) / (2.0 * sigma))

    def _scale(self, S: Array) -> Array:
        """1/√(size of the diagonals of S, ∇F(M) and ∇F(0)) (n,)."""
        sizes = np.abs(np.diagonal(S)) + np.abs(np.diagonal(self.S)) + _origin(self.problem).sizes
        largest = max(float(sizes.max()), float(S.max()), -float(S.min()))
        return np.asarray(1.0 / np.sqrt(np.maximum(sizes, max(EPS**2 * largest, np.finfo(float).tiny))))

    def _directions(self) -> Iterator[Array]:
        """Factors L of Z = L Lᵀ for any F: scaled coordinates, the identity, the inverse of the curvature's trace."""
        share = norm(self.factor) ** 2 / self.n
        scale = self._scale(self.S)
        yield np.diag(scale * math.sqrt(share * self.n) / norm(scale))
        yield math.sqrt(share) * np.eye(self.n)
        curvature = dense_gradient(self.evaluation.append(math.sqrt(1e-4 * share) * np.eye(self.n))) - self.S
        for root in _inverse_roots(curvature, 1.0):
            yield root * (math.sqrt(share * self.n) / norm(root))

    def _least_bound(self, shift: _Shift, most: float) -> float | None:
        """The cost ⟨S, M⟩ + s ⟨H, M⟩ + s² ⟨H, Z⟩ / 2 of the least s with S + s H ⪰ 0, if it is below `most`."""
        H, slope = shift.H, inner(shift.H @ self.factor, self.factor)
        if not math.isfinite(slope + shift.bend):
            return None
        v = self.lowest if self.lowest is not None else self._least[1]
        lacking, rise = -float(v @ (self.S @ v)), float(v @ (H @ v))
        if lacking > 0.0 and not rise > 0.0:
            return None

        def cost(s: float) -> float:
            return self.own + s * (slope + 0.5 * s * shift.bend)

        least = max(lacking, 0.0) / rise if rise > 0.0 else 0.0
        first = _step_of_cost(self.own, slope, shift.bend, self.enough) / (1.0 + SLIGHT)
        found = _least_step(lambda s: self._definite(self.S + s * H), cost, max(least, first), most, self.enough)
        if found is None:
            return None
        s, rounding = found
        self.floor = -s * float(np.linalg.norm(H, np.inf)) - float(rounding.max())
        lost = self._lost(rounding, row_dots(self.factor, self.factor) + s * shift.diagonal)
        return max(cost(s), 0.0) + lost

    def _least_perturbed(self, L: Array, most: float) -> float | None:
        """:meth:`_least_bound` for Z = L Lᵀ and any F, from evaluations at M + s L Lᵀ.

        The rise of vᵀS'v over a small s, v the direction of least vᵀSv, says where the search begins.
        """
        value, r, v = float(self.evaluation.value), self.evaluation.factor.shape[1], self._least[1]
        both = self.evaluation.append(L)  # the maps are applied to L once, for every s

        @cache
        def there(s: float) -> Evaluation:
            return both.mix(np.diag(np.r_[np.ones(r), np.full(self.n, math.sqrt(s))]))

        def cost(s: float) -> float:
            P = there(s)
            found = value - float(P.value) + 0.5 * inner(P.factor_gradient(), P.factor)
            return found if math.isfinite(found) else math.inf

        def definite(s: float) -> Array | None:
            S = dense_gradient(there(s))
            return self._definite(S) if np.all(np.isfinite(S)) else None

        lacking, rise = -float(v @ (self.S @ v)), 0.0
        for small in (MINOR, 1.0, 1.0 / MINOR):
            if lacking > 0.0 and not rise > 0.0:
                rise = (lacking + float(v @ (there(small).gradient @ v[:, None])[:, 0])) / small
        if not (lacking <= 0.0 or rise > 0.0):
            return None
        first = max(lacking, 0.0) / rise if rise > 0.0 else MINOR
        found = _least_step(definite, cost, first, most, self.enough)
        if found is None:
            return None
        s, rounding = found
        return max(cost(s), 0.0) + self._lost(rounding, row_dots(there(s).factor, there(s).factor))


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
    root = slope + math.sqrt(slope**2 + 2.0 * max(bend, 0.0) * (cost - own))
    return 2.0 * (cost - own) / root if root > 0.0 else 0.0


class _Shift(NamedTuple):
    """Z and H = ∇²F[Z] (n, n) of a quadratic F, with the `diagonal` (n,) of Z, and `bend` = ⟨H, Z⟩."""

    H: Array
    diagonal: Array
    bend: float


def _shifts(problem: Problem) -> Iterator[_Shift]:
    """The Z of a quadratic F: I, and up to order DENSE_LIMIT K^-½ and K⁻¹, K = ∇²F[I]. Each is made once.

    K^-½ has the units of M where F is a tr((A M)²), K⁻¹ where F is a loss of measurements x_tᵀMx_t.
    """
    K = _origin(problem).curvature
    yield _Shift(K, np.ones(problem.n), float(np.trace(K)))
    if problem.n > DENSE_LIMIT:
        return

    def made() -> list[_Shift]:
        if not np.all(np.isfinite(K)):
            return []
        zero = problem.at(np.zeros((problem.n, 1)))
        start, shifts = dense_gradient(zero), []
        for power in (0.5, 1.0):
            for L in _inverse_roots(K, power):
                H = dense_gradient(problem.at(L)) - start
                shifts.append(_Shift(H, row_dots(L, L), inner(H @ L, L)))
        return shifts

    yield from problem.once("shifts", made)


def _inverse_roots(K: Array, power: float) -> Iterator[Array]:
    """L with L Lᵀ = K^-power, eigenvalues of K at least rounding of the largest; nothing if K has no positive one."""
    if np.all(np.isfinite(K)):
        values, U = spectrum(K)
        if values[-1] > 0.0:  # else F does not depend on the trace, such as a fit of off-diagonal entries
            yield U * np.maximum(values / values[-1], ROUNDINGS * EPS) ** (-0.5 * power)


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
