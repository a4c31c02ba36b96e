"""The spectraplex: positive semidefinite matrices of a fixed trace, with its linear oracle and projection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psdopt.checks import integer, positive
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Atom, Defect, Geometry, array_defect
from psdopt.contracts.matrix import LowRankPSD
from psdopt.errors import InvalidInputError
from psdopt.geometries.square_root import scaled_to_trace, trace_defect
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.least import least_eigenpairs
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.subset import spectrum


class Spectraplex(Geometry):
    """{M (n, n) symmetric, M ⪰ 0, tr M = trace}. Points are factors Y (n, r) with |Y|_F² = trace, any r.

    Its extreme points are the v vᵀ with |v|² = trace (Shen et al., theorem 3.4), so a linear function ⟨S, M⟩
    is least at the eigenvector of λ_min(S), with value trace · λ_min(S). The attribute `trace` makes the
    certificate report the duality gap ⟨S, M⟩ − trace · λ_min(S).

    Raises InvalidInputError unless n >= 1 and trace is finite and positive.
    """

    trace: float

    def __init__(self, n: int, trace: float = 1.0) -> None:
        self.n, self.trace = integer(n, "n"), positive(trace, "trace")
        self.abilities = frozenset({Ability.LINEAR_ORACLE, Ability.PROJECTION})

    def check_point(self, point: Any) -> Defect | None:
        """None if `point` is a factor (n, r), r >= 1, with |Y|² = trace up to rounding."""
        Y = np.asarray(point)
        fits = Y.ndim == 2 and Y.shape[0] == self.n and Y.shape[1] > 0
        wanted = f"a factor must have shape ({self.n}, r) with r >= 1"
        return array_defect(Y, fits, wanted) or trace_defect(Y, self.trace)

    def random_point(self, rng: np.random.Generator) -> Array:
        """An extreme point v (n, 1), uniformly distributed."""
        return self.from_factor(rng.standard_normal((self.n, 1)))

    def factor(self, point: Array) -> Array:
        return point

    def from_factor(self, Y: Array) -> Array:
        """Y scaled to |Y|² = trace, so that the rank stays; InvalidInputError for Y = 0. O(n r)."""
        return scaled_to_trace(np.asarray(Y, dtype=np.float64), self.trace)

    def centre(self) -> Array:
        """Factor (n, n) of (trace / n) I, the point farthest from the boundary."""
        return math.sqrt(self.trace / self.n) * np.eye(self.n)

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        """v with |v|² = trace and ⟨S, v vᵀ⟩ within `tol` of the minimum, up to rounding.

        `gap_bound` = trace · (vᵀSv/|v|² − proven lower bound of λ_min(S)), see
        :func:`~psdopt.linalg.extreme.smallest_eigenpair`; up to n = 500 the matrix of S is formed.
        `warm_start` (n,) is a guess of v.
        """
        return self.minimize_linear_many(S, tol, 1, warm_start)[0]

    def minimize_linear_many(self, S: Any, tol: float, count: int, warm_start: Array | None = None) -> list[Atom]:
        """The `count` <= n lowest eigenvectors of S as atoms, the best first, from one eigensolve.

        `gap_bound` of each is its distance from the lower bound of the minimum, so the first is the oracle's
        answer; the others are further columns for methods that take several. `warm_start` (n, j): guesses.
        """
        # several eigenvectors are often those of a cluster, which a decomposition finds at once
        backend = "dense" if self.n <= (DENSE_LIMIT if count == 1 else SPECTRUM_ORDER) else "lanczos"
        count = min(count, self.n)
        pair = least_eigenpairs(S, tol=tol / self.trace, start=warm_start, count=count, backend=backend, proven=True)
        vectors = math.sqrt(self.trace) * pair.vectors
        return [
            Atom(vectors[:, k], self.trace * value, self.trace * (value - pair.lower_bound), pair.products)
            for k, value in enumerate(map(float, pair.values))
        ]

    def project(self, M: Array) -> LowRankPSD:
        """Closest member in Frobenius norm to the symmetric part of M (n, n): simplex projection of its
        eigenvalues. One O(n³) eigensolve."""
        M = np.asarray(M, dtype=np.float64)
        if M.shape != (self.n, self.n):
            raise InvalidInputError(f"M must have shape ({self.n}, {self.n}); found {M.shape}")
        values, vectors = spectrum(0.5 * M + 0.5 * M.T)
        values = project_simplex(values, self.trace)
        keep = np.flatnonzero(values)[::-1]
        return LowRankPSD(vectors[:, keep] * np.sqrt(values[keep]))

    def __repr__(self) -> str:
        return f"Spectraplex(n={self.n}, trace={self.trace:g})"
