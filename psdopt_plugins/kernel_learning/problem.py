"""Learning a kernel close to a given one from similar and dissimilar pairs."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from psdopt import Ability, LowRankPSD, QuadraticSDP
from psdopt.checks import weight
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array, LinearMap, symmetric_map
from psdopt.terms import Form, GramForm, IdentityForm, MatrixForm, WeightedGramForm
from psdopt_plugins.limits import FACTOR_ORDER


class InverseForm(GramForm):
    """scale · N⁻¹ = scale · PᵀP for N = R Rᵀ ≻ 0 and P = R⁻¹ (n, n): exactly symmetric and PSD.

    P is formed once, O(n³), from an array N of the same size, so that a block costs matrix products, O(n² r).
    (Triangular solves would save half the flops, but SciPy's and NumPy's BLAS in one loop compete for threads.)
    """

    def __init__(self, P: LinearMap, scale: float = 1.0) -> None:
        super().__init__(P, scale)

    @property
    def holds_array(self) -> bool:
        """True, since N was given as an (n, n) array."""
        return True


class QuadraticKernelProblem(QuadraticSDP):
    """F(K) = tr(N⁻¹KN⁻¹K) + tr((tau N⁻¹ + lam T) K), N = R Rᵀ; see :func:`quadratic_kernel_problem`.

    `root` is R, lower triangular (n, n), or the number √s for N = s I.
    """

    def __init__(self, root: Array | float, T: LinearMap, tau: float, lam: float) -> None:
        n = T.shape[0]
        self.root, self.T, self.tau, self.lam = root, T, tau, lam
        A: Form
        shift: Form
        if isinstance(root, float):
            A, shift = IdentityForm(n, root**-2), IdentityForm(n, 0.5 * tau * root**-2)
        else:
            P = LinearMap(np.linalg.inv(root), "N^-1/2")
            A, shift = InverseForm(P), InverseForm(P, 0.5 * tau)
        parts = [MatrixForm(T, 0.5 * lam)] + ([shift] if tau > 0.0 else [])
        super().__init__(A, None, parts)
        self.abilities -= {Ability.CLOSED_FORM}
        if n <= FACTOR_ORDER and not (isinstance(T.data, LinearOperator)):
            self.abilities |= {Ability.CLOSED_FORM}

    def solve_in_closed_form(self, rank: int | None = None) -> LowRankPSD | None:
        """K = R [(−(tau I + lam RᵀTR)/2)₊]_rank Rᵀ, from R alone: N⁻¹ is not used. O(n³)."""
        if Ability.CLOSED_FORM not in self.abilities:
            return None
        n, R = self.n, self.root
        inside = self.T.to_dense() * R**2 if isinstance(R, float) else R.T @ np.asarray(self.T.data @ R)
        W = LowRankPSD.from_dense(-0.5 * (self.tau * np.eye(n) + self.lam * inside), rank)
        return self.unwhitened(W)

    def whitened(self) -> QuadraticSDP:
        """The same problem in terms of W = R⁻¹KR⁻ᵀ: tr(W²) + tr((tau I + lam RᵀTR) W), with equal values and ranks.

        It does not contain N⁻¹, so that an ill-conditioned N does no harm. One step along D (n, r) costs a product
        with R, one with Rᵀ, O(n² r) each, and one with T. :meth:`unwhitened` maps W to K.
        """
        if isinstance(self.root, float):
            loss: Form = MatrixForm(self.T, 0.5 * self.lam * self.root**2)
        else:
            loss = WeightedGramForm(LinearMap(self.root, "N^1/2"), self.T.data, 0.5 * self.lam)
        shift = [IdentityForm(self.n, 0.5 * self.tau)] if self.tau > 0.0 else []
        return QuadraticSDP(None, 1.0, [loss, *shift])

    def unwhitened(self, W: LowRankPSD) -> LowRankPSD:
        """K = R W Rᵀ."""
        return LowRankPSD(self.root * W.factor if isinstance(self.root, float) else self.root @ W.factor)


def quadratic_kernel_problem(N: Any, T: Any, tau: float, lam: float) -> QuadraticKernelProblem:
    """min tr(N⁻¹KN⁻¹K) + tr((tau N⁻¹ + lam T) K) over K ⪰ 0 (n, n) (Yuan et al., eq. 10).

    A = N⁻¹, B = 0, C = (tau N⁻¹ + lam T)/2 (the printed C is twice that). With T the Laplacian of signed
    pairs, tr(T K) = Σ s_ij (K_ii + K_jj − 2 K_ij): small for similar, large for dissimilar pairs. At every rank
    limit K = N^½ [(−(tau I + lam N^½TN^½)/2)₊] N^½; it is 0 unless λ_min(lam N^½TN^½) < −tau.

    Parameters
    ----------
    N : (n, n) positive definite base kernel, ndarray; or a positive number s for s I. Decomposed once
        (Cholesky factor and its inverse, O(n³)).
    T : (n, n) symmetric, sparse array, ndarray or ``LinearOperator``.
    tau : weight of the trace, >= 0; larger values lower the rank.
    lam : weight of the pairs, >= 0.

    Raises
    ------
    InvalidInputError if N is not symmetric, finite and positive definite, T not symmetric of the same order,
    or a weight negative; InvalidTypeError for a sparse N or an operator.

    Cost of one step along D (n, r): two products with the inverse Cholesky factor, O(n² r), and one with T. For
    an ill-conditioned N use ``problem.whitened()``.
    """
    weights = symmetric_map(T, "T")
    return QuadraticKernelProblem(_root(N, weights.shape[0]), weights, weight(tau, "tau"), weight(lam, "lam"))


def _root(N: Any, n: int) -> Array | float:
    """Lower triangular R with N = R Rᵀ, or √s for N = s I."""
    if isinstance(N, Real):
        number = float(N)
        if not (math.isfinite(number) and number > 0.0):
            raise InvalidInputError(f"N must be positive definite; found the number {number}")
        return math.sqrt(number)
    if sp.issparse(N) or isinstance(N, LinearOperator):
        raise InvalidTypeError(f"N must be a dense (n, n) array or a positive number; found {type(N).__name__}")
    dense = symmetric_map(N, "N", n).data
    dense = 0.5 * (dense + dense.T)
    try:
        return np.asarray(np.linalg.cholesky(dense))
    except np.linalg.LinAlgError as error:
        values = np.linalg.eigvalsh(dense)
        jitter = 1e-8 * max(abs(values[0]), abs(values[-1]))
        raise InvalidInputError(
            f"N must be positive definite; found smallest eigenvalue {values[0]:.3g} against the largest "
            f"{values[-1]:.3g}. Add jitter to the diagonal, such as N + {jitter:.1g} * I"
        ) from error
