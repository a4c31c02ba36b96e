"""The loss of counts: minus the logarithm of the likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psdopt.checks import finite
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt.terms import Loss


class NegativeLogLikelihood(Loss):
    """−Σ_t n_t log a_t for counts n_t of outcomes of probability a_t; below `floor` the parabola that fits −log there.

    So phi is convex, has two continuous derivatives and is finite at a = 0. As the parabola lies below −log, a lower
    bound on phi is one on −Σ n_t log a_t; where no a_t with n_t > 0 is below `floor`, both are equal.

    Parameters
    ----------
    counts : (m,), finite, at least 0. floor : (m,) or a number, probabilities below which no outcome that was seen is.
        The state of maximum likelihood has a_t >= n_t / Σ_s n_s where a_t = |⟨a_t|ψ⟩|² is that of a vector of length at
        most one: Σ_s (n_s / a_s) A_s has Σ_s n_s as its largest eigenvalue there.

    Raises InvalidInputError for counts that are negative, not finite or not (m,), or a floor that is not positive.
    """

    def __init__(self, counts: Any, floor: Any) -> None:
        self.counts = finite(counts, "counts").copy()
        if self.counts.ndim != 1 or np.any(self.counts < 0.0):
            found = f"shape {self.counts.shape}" if self.counts.ndim != 1 else f"{self.counts.min():g}"
            raise InvalidInputError(f"counts must be an array (m,) of numbers of at least 0; found {found}")
        self.floor, self.size = finite(floor, "floor"), len(self.counts)
        if self.floor.shape not in ((), self.counts.shape) or not np.all(self.floor > 0.0):
            raise InvalidInputError(f"floor must be a positive number or an array {self.counts.shape} of them")

    def _split(self, a: Array) -> tuple[Array, Array]:
        """max(a, floor), and (a − that) / floor."""
        kept = np.maximum(a, self.floor)
        return kept, (a - kept) / self.floor

    def value(self, a: Array) -> float:
        kept, off = self._split(a)
        return float(self.counts @ (-np.log(kept) - off + 0.5 * off * off))

    def derivative(self, a: Array) -> Array:
        kept, off = self._split(a)
        return np.asarray(self.counts * (off - 1.0) / kept)

    def second(self, a: Array) -> Array:
        return np.asarray(self.counts / self._split(a)[0] ** 2)

    def sensitivities(self, a: Array) -> Mapping[str, tuple[Array, Array]]:
        kept, off = self._split(a)
        return {"counts": (-np.log(kept) - off + 0.5 * off * off, (off - 1.0) / kept)}

    def corner(self, a: Array) -> float:
        """The least a_t beside the largest, of outcomes that were not seen: at 0 one more count has no derivative."""
        return float(np.min(a, where=self.counts == 0.0, initial=np.inf) / max(np.max(a), np.finfo(float).tiny))
