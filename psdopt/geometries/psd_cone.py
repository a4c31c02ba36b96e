"""The full cone of positive semidefinite matrices, closed, with no rank limit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from psdopt.checks import integer
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Atom, Defect, Geometry, array_defect
from psdopt.contracts.matrix import LowRankPSD
from psdopt.errors import InvalidInputError
from psdopt.geometries.positive_definite import PositiveDefinite
from psdopt.geometries.square_root import random_factor
from psdopt.linalg.arrays import Array
from psdopt.linalg.least import least_eigenpairs

#: Ability of a cone: its extreme rays are v vᵀ, |v| = 1, and :meth:`PSDCone.minimize_linear` finds the best one.
CONIC_ORACLE = "conic-oracle"


class PSDCone(Geometry):
    """{M (n, n) symmetric, M ⪰ 0}. Points are factors Y (n, r) of any width r.

    Offers the Euclidean projection (positive part of the spectrum, one O(n³) eigensolve) and the best
    extreme ray for a linear function (leading eigenvector of −S). The ability is called "conic-oracle", not
    "linear-oracle", which promises a minimiser: over the whole cone a linear function has none.

    Raises InvalidInputError unless n >= 1.
    """

    def __new__(cls, n: int = 1, metric: str | None = None) -> Any:
        if metric is None:
            return super().__new__(cls)
        warnings.warn(
            f"PSDCone(n, metric=...) is now called PositiveDefinite(n, metric={metric!r})",
            DeprecationWarning,
            stacklevel=2,
        )
        return PositiveDefinite(n, metric)

    def __init__(self, n: int, metric: None = None) -> None:
        self.n = integer(n, "n")
        self.abilities = frozenset({Ability.FULL_CONE, Ability.PROJECTION, CONIC_ORACLE})

    def check_point(self, point: Any) -> Defect | None:
        Y = np.asarray(point)
        fits = Y.ndim == 2 and Y.shape[0] == self.n
        return array_defect(Y, fits, f"a factor must have shape ({self.n}, any)")

    def random_point(self, rng: np.random.Generator) -> Array:
        return random_factor(rng, self.n, self.n)

    def factor(self, point: Array) -> Array:
        return point

    def from_factor(self, Y: Array) -> Array:
        return np.asarray(Y, dtype=np.float64)

    def project(self, M: Array) -> LowRankPSD:
        """Positive part of the spectrum of the symmetric part of M (n, n)."""
        M = np.asarray(M, dtype=np.float64)
        if M.shape != (self.n, self.n):
            raise InvalidInputError(f"M must have shape ({self.n}, {self.n}); found {M.shape}")
        return LowRankPSD.from_dense(M)

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        """Unit v with vᵀSv within `tol` of λ_min(S): the steepest extreme ray of the cone for ⟨S, ·⟩.

        ⟨S, N⟩ >= (value − gap_bound) tr N for every N ⪰ 0, with probability 1 − 1e-8 over the random columns
        that the Lanczos iteration starts from (exactly up to n = 300, where S is formed). `warm_start` (n,).
        """
        pair = least_eigenpairs(S, tol=tol, start=warm_start, proven=True)
        return Atom(pair.vector, pair.value, pair.value - pair.lower_bound, pair.products)

    def __repr__(self) -> str:
        return f"PSDCone(n={self.n})"
