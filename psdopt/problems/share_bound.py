"""Lower bound of F(M) = ⟨C, M⟩ + g(M), g >= 0 convex: the tangent of g times the largest θ <= 1 with C + θ G ⪰ 0."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, inner, row_dots
from psdopt.linalg.definite import largest_share
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS
from psdopt.problems.multiplier_bound import MultiplierBound


class ShareBound(Duality):
    """Bounds min F over M ⪰ 0 for F(M) = c + ⟨C, M⟩ + g(M), g convex and nowhere negative, as in hinges with a pull C.

    For θ in [0, 1], g(N) >= θ g(N) >= θ (g(M) + ⟨G, N − M⟩) with G = ∇g(M). Therefore, if C + θ G ⪰ 0, F(N) >= c + θ
    (g(M) − ⟨G, M⟩) for every N ⪰ 0, whatever its trace. θ is the largest share that an eigenvalue of (G, C) allows; a
    Cholesky factor of C + θ G, scaled to a unit diagonal, proves it up to e = ROUNDINGS · n · eps, the error of G.
    The bound is lowered by e Σ_i (|C_ii| + θ |G_ii|) M_ii: all that e can hide at an N with the diagonal of M.

    At an optimum C + G ⪰ 0, θ = 1, and the bound is min F. Unlike a proof by a matrix near M, this needs no evaluation
    at n columns. Cost: ∇F(M) as an array (n, n), the gradient of the linear part once per problem, and O(n³). Up to
    order DENSE_LIMIT, S is formed if the caller does not hand it over; beyond, up to SPECTRUM_ORDER, the bound needs an
    S from the caller.

    `linear` : N ↦ c + ⟨C, N⟩ as a problem; None if F has no linear part. `least` : c if C ⪰ 0 is known, else None.
    `by_multipliers` : the bound from dual variables of a method, where F has one.
    """

    def __init__(
        self,
        linear: Problem | None,
        constant: float,
        least: float | None,
        by_multipliers: MultiplierBound | None = None,
    ) -> None:
        self.linear, self.constant, self.least, self.by_multipliers = linear, constant, least, by_multipliers

    @cached_property
    def pull(self) -> Array | None:
        """C (n, n); None if F has no linear part or C would be too large."""
        if self.linear is None or self.linear.n > SPECTRUM_ORDER:
            return None
        return dense_gradient(self.linear.at(np.zeros((self.linear.n, 1))))

    def dual_bound(self, evaluation: Evaluation, dual: Any = None, S: Array | None = None) -> float | None:
        given = None if dual is None or self.by_multipliers is None else self.by_multipliers.value(dual)
        found = [bound for bound in (given, self._of_share(evaluation, S)) if bound is not None]
        return max(found, default=None)

    def _of_share(self, evaluation: Evaluation, S: Array | None) -> float | None:
        formed = S is not None or evaluation.problem.n <= DENSE_LIMIT
        if not formed or self.pull is None:
            return self.least
        Y = on_host(evaluation.factor)
        G = (dense_gradient(evaluation) if S is None else S) - self.pull
        curved = float(evaluation.value) - self.constant - inner(self.pull @ Y, Y)
        if not (math.isfinite(curved) and np.all(np.isfinite(G)) and np.all(np.isfinite(self.pull))):
            return self.least
        share = largest_share(self.pull, G)
        if share is None:
            return self.least
        sizes = np.abs(np.diagonal(self.pull)) + share * np.abs(np.diagonal(G))
        lost = ROUNDINGS * len(G) * EPS * inner(sizes, row_dots(Y, Y))
        bound = self.constant + share * (curved - inner(G @ Y, Y)) - lost
        return bound if self.least is None else max(bound, self.least)
