"""The system of derivatives where the curvature of F is a multiple of the identity: one for the multipliers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.errors import NotDifferentiableError
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.spectral import Spectral
from psdopt.running.derivatives.system import ACCURACY, AdjointSystem, Inverse


class MultiplierSystem(AdjointSystem):
    """The same system for ∇²F = κ I, where the `inverse` L without multipliers is exact.

    X = L(R − Σ_t v_t A_t Y), so that v has a system of order k, positive definite where the A_t Y are independent,

        T v = q/2 + [⟨A_t, Y L(R)ᵀ⟩],   T v = [⟨A_t, Y L(Σ_s v_s A_s Y)ᵀ⟩],

    that of Newton's method on the dual (Qi and Sun, SIAM J. Matrix Anal. Appl. 28 (2006)): L is the derivative of the
    projection onto the cone. Conjugate gradient, with T for one eigenvalue of M in place of all of an octave as
    preconditioner: n³ flops for each octave, and k³/3. A product with T costs 4 n² r flops and two with the A_t.

    `weigh` : this preconditioner, where it is known from a point near by.

    That the curvature is κ I was seen along one direction only. The residual that remains shows any other curvature,
    since it is formed with the products of F, and then the system with the preconditioner `general` is solved.
    """

    inverse: Spectral

    def __init__(
        self,
        at: Conditions,
        make: Callable[[Conditions], Spectral],
        general: Callable[[Conditions], Inverse],
        weigh: Callable[[Array], Array] | None = None,
    ) -> None:
        super().__init__(at, make)
        self.general = general
        if weigh is None:
            held, k = constrained_fit_of(at.problem).tied(at.evaluation, at.rows), len(at.rows)
            first, *more = self.inverse.stepped()[1]
            weigh = held.solver(*first, np.empty((k, k)), *more)
        self.weigh = weigh

    def solve(self, R: Array, q: Array, accuracy: float = ACCURACY) -> tuple[Array, Array]:
        try:
            return super().solve(R, q, accuracy)
        except NotDifferentiableError:
            return AdjointSystem(self.at, self.general).solve(R, q, accuracy)

    def corrected(self, R: Array, q: Array, accuracy: float, most: int = MOST_PRODUCTS) -> tuple[Array, Array]:
        at, v, P, old = self.at, np.zeros_like(q), np.zeros_like(q), 1.0
        X, _ = self.inverse(R, q)
        left = 0.5 * q + at.values(at.Y, X)
        goal = 0.5 * accuracy * max(norm(q), norm(X) * norm(at.Y))
        for _ in range(most):
            if norm(left) <= goal:
                break
            D = self.weigh(left)
            size = inner(left, D)
            P, old = D + (size / old) * P, size
            moved, _ = self.inverse(at.force(P, at.Y), q)
            rates = at.values(at.Y, moved)
            along = inner(P, rates)
            if not along > 0.0:
                break  # dependent A_t Y: what remains of the residual shows it
            step = size / along
            v, X, left = v + step * P, X - step * moved, left - step * rates
        return at.horizontal(X), v
