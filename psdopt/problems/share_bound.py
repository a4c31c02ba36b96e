"""Lower bound of F(M) = ⟨C, M⟩ + g(M), g >= 0 convex: the tangent of g times the largest θ <= 1 with C + θ G ⪰ 0."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.definite import factor_above
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, ROUNDINGS


class ShareBound(Duality):
    """Bounds min F over M ⪰ 0 for F(M) = c + ⟨C, M⟩ + g(M), g convex and nowhere negative, as in hinges with a pull C.

    For θ in [0, 1], g(N) >= θ g(N) >= θ (g(M) + ⟨G, N − M⟩) with G = ∇g(M). Therefore, if C + θ G ⪰ 0, F(N) >= c + θ
    (g(M) − ⟨G, M⟩) for every N ⪰ 0, whatever its trace. θ is the largest share that an eigenvalue of (G, C) allows; a
    Cholesky factor of C + θ G, scaled to a unit diagonal, proves it up to ROUNDINGS · n · eps.

    At an optimum C + G ⪰ 0, θ = 1, and the bound is min F. Unlike a proof by a matrix near M, this needs no evaluation
    at n columns. Cost: ∇F(M) as an array (n, n), the gradient of the linear part once per problem, and O(n³). Up to
    order DENSE_LIMIT, S is formed if the caller does not hand it over; beyond, up to SPECTRUM_ORDER, the bound needs an
    S from the caller.

    `linear` : N ↦ c + ⟨C, N⟩ as a problem; None if F has no linear part. `least` : c if C ⪰ 0 is known, else None.
    """

    def __init__(self, linear: Problem | None, constant: float, least: float | None) -> None:
        self.linear, self.constant, self.least = linear, constant, least

    @cached_property
    def pull(self) -> Array | None:
        """C (n, n); None if F has no linear part or C would be too large."""
        if self.linear is None or self.linear.n > SPECTRUM_ORDER:
            return None
        return dense_gradient(self.linear.at(np.zeros((self.linear.n, 1))))

    def dual_bound(self, evaluation: Evaluation, dual: Any = None, S: Array | None = None) -> float | None:
        formed = S is not None or evaluation.problem.n <= DENSE_LIMIT
        if not formed or self.pull is None:
            return self.least
        Y = on_host(evaluation.factor)
        G = (dense_gradient(evaluation) if S is None else S) - self.pull
        curved = float(evaluation.value) - self.constant - inner(self.pull @ Y, Y)
        if not (math.isfinite(curved) and np.all(np.isfinite(G)) and np.all(np.isfinite(self.pull))):
            return self.least
        share = _largest_share(self.pull, G)
        if share is None:
            return self.least
        bound = self.constant + share * (curved - inner(G @ Y, Y))
        return bound if self.least is None else max(bound, self.least)


def _largest_share(C: Array, G: Array) -> float | None:
    """A large θ in [0, 1] with C + θ G ⪰ 0, from an eigenvalue; None if none is proven."""
    sizes = np.abs(np.diagonal(C)) + np.abs(np.diagonal(G))
    largest = max(float(sizes.max()), float(np.abs(C).max()), float(np.abs(G).max()))
    if largest == 0.0:
        return 1.0
    scale = 1.0 / np.sqrt(np.maximum(sizes, EPS**2 * largest))
    C, G = (A * scale * scale[:, None] for A in (C, G))
    allowed = -ROUNDINGS * len(C) * EPS
    if factor_above(C + G, allowed) is not None:
        return 1.0
    try:
        lowest = scipy.linalg.eigh(G, C - allowed * np.eye(len(C)), eigvals_only=True, subset_by_index=[0, 0])[0]
    except np.linalg.LinAlgError:  # C is not positive semidefinite
        return None
    most = min(1.0, -1.0 / float(lowest)) if lowest < 0.0 else 1.0
    # reduced until a factorisation proves it: the rounding of the eigenvalue grows with the condition of C
    shares = (most * (1.0 - reserve) for reserve in (MINOR * ROOT_EPS, ROOT_EPS, MINOR))
    return next((share for share in shares if factor_above(C + share * G, allowed) is not None), None)
