"""The system of Newton's method on Lagrange's conditions: preconditioned conjugate gradient, matrix-free."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Self

import numpy as np

from psdopt.errors import NotDifferentiableError
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS, ROOT_EPS, VANISHED
from psdopt.running.derivatives.conditions import Conditions

#: Accuracy of the solutions, relative to their right-hand sides.
ACCURACY = EPS**0.625
#: A curvature along a direction that is zero beside |S|, up to the rounding of a polished point.
FLAT = VANISHED**1.5 * 0.1

#: R (n, r), q (k,) ↦ an approximation (X, v) of the solution of :class:`AdjointSystem`.
Inverse = Callable[[Array, Array], tuple[Array, Array]]


class UnsettledError(NotDifferentiableError):
    """M is too far from a minimiser to tell whether that moves smoothly."""


class AdjointSystem:
    """The linear system in a move X (n, r) of Y and v (k,) of y,

        S(y) X + ∇²F(M)[X Yᵀ + Y Xᵀ] Y + Σ_t v_t A_t Y = R,   −2 ⟨A_t, Y Xᵀ⟩ = q_t,

    for R without a part Y Ω, Ω skew: there the matrix is zero, and X has no such part either. It is symmetric, and
    positive definite on the X with q = 0 at a nondegenerate minimiser. Conjugate gradient among these X, with the same
    system for a simpler ∇²F as preconditioner, then the residual of both equations is treated in the same way.

    `make` : the preconditioner at a point.

    Raises NotDifferentiableError where curvature is negative or vanishes, or the residual does not.
    """

    def __init__(self, at: Conditions, make: Callable[[Conditions], Inverse]) -> None:
        self.at, self.make, self.inverse = at, make, make(at)

    def moved(self, at: Conditions) -> Self:
        """The system at a point near by, with the same preconditioner."""
        there = copy(self)
        there.at = at
        return there

    def solve(self, R: Array, q: Array, accuracy: float = ACCURACY) -> tuple[Array, Array]:
        """(X, v); `accuracy` is that of each equation relative to its right-hand side, as far as rounding allows it."""
        at = self.at
        if R.size == 0:  # M = 0
            return R, q
        left = R = at.horizontal(R)
        missing, other = q, norm(q)
        X, v, size, before = np.zeros_like(R), np.zeros_like(q), norm(R), math.inf
        while True:
            moved = max(norm(X), size / at.unit)
            sizes = max(size, at.unit * moved), max(other, moved * norm(at.Y))
            shares = [norm(each) / unit for each, unit in zip((left, missing), sizes, strict=True) if unit > 0.0]
            worst = max(shares, default=0.0)
            plain = max(size / at.unit, other / norm(at.Y))  # the size of X where no curvature is small
            goal = accuracy * max(plain / moved, ROOT_EPS) if moved > plain else accuracy
            if worst <= goal or not worst <= 0.5 * before:
                break
            before = worst
            met = norm(missing) <= goal * sizes[1]  # then a q of rounding size must not set the accuracy of R
            dX, dv = self.corrected(left, np.zeros_like(q) if met else missing, 0.5 * goal / worst)
            X, v = X + dX, v + dv
            left = at.horizontal(R - at.product(X) - at.force(v, at.Y))
            missing = q + 2.0 * at.values(at.Y, X)
        if not worst <= max(ROOT_EPS, accuracy):
            raise NotDifferentiableError(
                f"the system of the derivative is singular to working precision: a residual of {worst:.1e} remains"
            )
        return X, v

    def corrected(self, R: Array, q: Array, accuracy: float, most: int = MOST_PRODUCTS) -> tuple[Array, Array]:
        """One run of conjugate gradient, `most` steps at most, for q ≠ 0 from the solution of the preconditioner.

        Where the preconditioner alone gives half of the digits the run ends, so that the next treats both equations.
        """
        at, none, goal, halfway = self.at, np.zeros_like(q), accuracy * norm(R), math.sqrt(accuracy) * norm(R)
        applied = bool(np.any(q))
        X, v = np.zeros_like(R), none
        if applied:
            X, v = self.inverse(R, q)
            X = at.horizontal(X)
            R = at.horizontal(R - at.product(X) - at.force(v, at.Y))
            goal = max(goal, accuracy * at.unit * norm(X))
        P, size = X, math.inf
        for k in range(most):
            if norm(R) <= (halfway if k + applied == 1 else goal):
                break
            D, dv = self.inverse(R, none)
            D, v = at.horizontal(D), v + dv
            held = R - at.force(dv, at.Y) if len(q) else R  # what no multiplier takes
            old, size = size, inner(held, D)
            if norm(held) <= goal or not size > 0.0:
                break
            P = D if k == 0 else D + (size / old) * P
            HP = at.product(P)  # without a part Y Ω, as the system is symmetric and 0 on these
            along = inner(P, HP)
            curvature = along / (inner(P, P) * at.unit)
            if not curvature > FLAT:
                if norm(at.values(at.Y, P)) > ROOT_EPS * norm(P) * norm(at.Y):
                    break  # rounding, which is not among the X with q = 0
                found = f"found {curvature:.1e} of |S|"
                if curvature > -FLAT:
                    text = f"the curvature of F on the factor vanishes: M is not the only minimiser; {found}"
                    raise NotDifferentiableError(text)
                raise UnsettledError(f"the curvature of F on the factor is negative: M is a saddle; {found}")
            X = X + (size / along) * P
            R = held - (size / along) * HP
        return X, v
