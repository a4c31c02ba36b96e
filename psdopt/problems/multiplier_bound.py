"""Lower bound of ⟨C, M⟩ and squares of what measurements miss their bounds by, from multipliers of the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import largest_share
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.measured import MeasuredTerm


class MultiplierBound:
    """u ↦ c − Σ_t phi_t*(u_t), at most F(N) = c + ⟨C, N⟩ + Σ_t phi_t(⟨A_t, N⟩) for all N ⪰ 0 if C + Σ u_t A_t ⪰ 0.

    By phi_t(a) >= u a − phi_t*(u) (Fenchel), whichever u: at a solution u_t = phi_t'(a_t), and the bound is min F.
    A u for which the matrix is indefinite is scaled by a share θ < 1 for which C + θ Σ u_t A_t ⪰ 0 is proven, and an
    u_t of a sign that phi_t' never has counts as zero. O(m n² + n³); up to order SPECTRUM_ORDER.

    `linear` : N ↦ c + ⟨C, N⟩ as a problem, None for C = 0. `fits` : measured terms under half squares.
    """

    def __init__(self, linear: Problem | None, constant: float, fits: Sequence[MeasuredTerm]) -> None:
        self.linear, self.constant = linear, constant
        self.fits = list(fits)
        self.size = sum(term.measurement.size for term in self.fits)

    @cached_property
    def pull(self) -> Array:
        """C (n, n)."""
        n = self.fits[0].n
        return np.zeros((n, n)) if self.linear is None else dense_gradient(self.linear.at(np.zeros((n, 1))))

    def value(self, u: Any) -> float | None:
        """The bound of u (m,); None for anything else, and where no share is proven."""
        known = isinstance(u, np.ndarray) and u.shape == (self.size,) and np.isfinite(u).all()
        if not known or self.fits[0].n > SPECTRUM_ORDER:
            return None
        parts = np.split(u, np.cumsum([term.measurement.size for term in self.fits])[:-1])
        parts = [
            term.weight * _half(term).admissible(v / term.weight) for term, v in zip(self.fits, parts, strict=True)
        ]
        A = np.zeros_like(self.pull)
        for term, v in zip(self.fits, parts, strict=True):
            term.measurement.add_to(A, v)
        A = 0.5 * (A + A.T)
        share = largest_share(self.pull, A) if np.isfinite(A).all() else None
        if share is None:
            return None
        pairs = zip(self.fits, parts, strict=True)
        return self.constant - sum(term.weight * _half(term).conjugate(share * v / term.weight) for term, v in pairs)


def _half(term: MeasuredTerm) -> HalfSquaredOneSided:
    assert isinstance(term.loss, HalfSquaredOneSided)
    return term.loss
