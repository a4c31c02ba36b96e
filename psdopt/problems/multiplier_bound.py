"""Lower bound of ⟨C, M⟩ and squares of what measurements miss their bounds by, from multipliers of the measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, ROUNDINGS, rounding
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries

#: What is taken off multipliers for which the matrix is singular up to rounding.
RESERVES = (MINOR * ROOT_EPS, ROOT_EPS, MINOR)


class MultiplierBound:
    """u ↦ c − Σ_t phi_t*(u_t), at most F(N) = c + ⟨C, N⟩ + Σ_t phi_t(⟨A_t, N⟩) for all N ⪰ 0 if C + Σ u_t A_t ⪰ 0.

    By phi_t(a) >= u a − phi_t*(u) (Fenchel), whichever u: at a solution u_t = phi_t'(a_t), and the bound is min F.
    A Cholesky factor proves it for u or, if C is definite, for a slightly smaller θ u; an u_t of a sign that phi_t'
    never has counts as zero. Rounding is subtracted, that of huge u included. O(m n² + n³); up to order
    SPECTRUM_ORDER.

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
        share = self._share(A, self._lost(parts))
        if share is None:
            return None
        bound, size = self.constant, abs(self.constant)
        for term, v in zip(self.fits, parts, strict=True):
            w = share * v / term.weight
            costs = term.weight * _half(term).conjugates(w)
            bound, size = bound - float(np.sum(costs)), size + float(np.sum(np.abs(costs)))
        return bound - rounding(size, self.size) if math.isfinite(size) else None

    def _share(self, A: Array, lost: Array) -> float | None:
        """A θ near 1 with C + θ A ⪰ 0, beyond the rounding `lost` of A and that of a Cholesky factor; else None."""
        sizes = np.abs(np.diagonal(self.pull)) + np.abs(np.diagonal(A)) + lost
        if not np.isfinite(A).all() or not np.isfinite(sizes).all():
            return None
        scale = 1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        lost = lost + ROUNDINGS * len(sizes) * EPS * sizes
        for theta in (1.0, *(1.0 - reserve for reserve in RESERVES)):
            S = (self.pull + theta * A - np.diag(lost)) * scale * scale[:, None]
            if factor_above(S, 0.0) is not None:
                return theta
        return None

    def _lost(self, parts: Sequence[Array]) -> Array:
        """d (n,) with |E| at most diag(d), E the rounding of Σ u_t A_t.

        |E_ij| <= eps p_i p_j with p_i² = Σ |u_t| |A_t|_ii where the A_t are sums of d dᵀ (Cauchy, Schwarz), so that E
        is at most eps n diag(p²); an entry of M loses eps |u_t| / 2 in both of its rows.
        """
        lost = np.zeros_like(np.diagonal(self.pull))
        for term, v in zip(self.fits, parts, strict=True):
            measurement, n = term.measurement, term.n
            if isinstance(measurement, Entries):
                sizes = sum(np.bincount(at, np.abs(v), n) for at in (measurement.i, measurement.j))
                lost += rounding(0.5, self.size) * sizes
            elif measurement.signs is not None:
                D = measurement.directions(Images(measurement.maps, np.eye(n)))
                lost += rounding(float(n), self.size) * ((abs(measurement.signs).T @ np.abs(v)) @ (D * D))
            else:
                lost += np.inf
        return lost


def _half(term: MeasuredTerm) -> HalfSquaredOneSided:
    assert isinstance(term.loss, HalfSquaredOneSided)
    return term.loss
