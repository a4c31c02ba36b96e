"""A quadratic F on coordinates in which its Hessian is diagonal, and the lower bound that any Ψ ⪰ 0 proves there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.checks import finite
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Evaluation
from psdopt.contracts.roles import Duality
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.subset import spectrum


@dataclass(frozen=True, eq=False)
class DiagonalForm:
    """F(B N Bᵀ) = constant + Σ_ij (h_ij N_ij² / 2 + c_ij N_ij) for symmetric N (n, n).

    tr((A M)²) + b tr(M²) + 2 tr(C M) has this form with B = V diag(s)⁻¹, A = V diag(a) Vᵀ, s_i = (a_i² + b)^¼:
    h_ij = 2 (a_i a_j + b) / (s_i s_j)², of diagonal 2, and c = 2 BᵀCB. M ⪰ 0 if and only if N ⪰ 0.

    `basis` : B (n, n), of orthogonal columns. `h` : (n, n), positive. `c` : (n, n), symmetric.
    """

    basis: Array
    h: Array
    c: Array
    constant: float

    @cached_property
    def free(self) -> tuple[Array, Array]:
        """(values (n,), vectors (n, n)) of N = −c/h, the minimiser over all symmetric N, ascending. O(n³), once."""
        return spectrum(-self.c / self.h)

    def value(self, N: Array) -> float:
        """F(B N Bᵀ)."""
        return self.constant + inner(0.5 * self.h * N + self.c, N)

    def bound(self, psi: Array) -> float:
        """A lower bound of F on the cone from any Ψ ⪰ 0 (n, n): the least of F(B N Bᵀ) − ⟨Ψ, N⟩ over symmetric N."""
        return self.constant - self.gap(0.0, psi)[0]

    def gap(self, N: Array | float, psi: Array) -> tuple[float, Array]:
        """(value(N) − bound(Ψ) − ⟨Ψ, N⟩ >= 0, R = h N + c − Ψ): Σ R²/(2 h), with none of the terms that cancel."""
        rest = self.h * N + self.c - psi
        return 0.5 * inner(rest / self.h, rest), rest

    def matrix(self, factor: Array) -> LowRankPSD:
        """B N Bᵀ for N = factor · factorᵀ."""
        return LowRankPSD(self.basis @ factor)

    def coordinates(self, M: LowRankPSD) -> Array:
        """N (n, n) of M = B N Bᵀ."""
        Z: Array = (self.basis / np.sum(self.basis**2, axis=0)).T @ M.factor
        return Z @ Z.T


class DiagonalDuality(Duality):
    """The bound of :meth:`DiagonalForm.bound` from a factor L (n, k) of Ψ = L Lᵀ that a method hands over as `dual`.

    Ψ is semidefinite whatever L is, so that nothing has to be trusted. `form` returns the diagonal form.
    """

    def __init__(self, form: Callable[[], DiagonalForm]) -> None:
        self.form = form

    def dual_bound(self, evaluation: Evaluation, dual: Any = None) -> float | None:
        if dual is None:
            return None
        L, n = finite(dual, "dual"), len(evaluation.factor)
        if L.ndim != 2 or len(L) != n:
            raise InvalidInputError(f"dual must be a factor of shape ({n}, k); found {L.shape}")
        return self.form().bound(L @ L.T)
