"""Preconditioner of a quadratic SDP on the factor: the Kronecker part of its Hessian, inverted exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import cast

import numpy as np

from psdopt.contracts.images import Images
from psdopt.contracts.roles import Preconditioner
from psdopt.devices import Deferred, matrix_on
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import SMALL_ORDER, SPECTRUM_ORDER
from psdopt.linalg.pencil import EigenBasis, pencil_inverse
from psdopt.linalg.tolerances import SLIGHT
from psdopt.problems.term_models import TermEvaluation
from psdopt.terms.base import combine
from psdopt.terms.forms import Form, IdentityForm
from psdopt.terms.quadratic import ProductTerm

#: Damping relative to the trace of A M A + b M: keeps P definite when Y is rank-deficient, and exceeds the rounding
#: that features accumulate along steps before they are computed afresh (some 4,000 roundings).
RELATIVE_DAMPING = 1e-11


class QuadraticPreconditioner(Preconditioner):
    """(evaluation) ↦ (R ↦ P⁻¹R) with P: D ↦ A D (YᵀAY) + D (b YᵀY + eta I), b = tr B / n.

    The factor Hessian over four is P plus the transposed cross terms A Y (DᵀAY) + B Y (DᵀY) and S D / 2.
    The last one is approximated by its mean, eta = 1.01 max(0, tr S) / (2 n), tr S / 2 = |A Y|² + b |Y|² + tr C, which
    vanishes at an interior optimum. If Y has more columns than M needs, only this damping keeps P definite with the
    right scale.

    The decomposition of A is computed at first use and stored: one O(n³) eigendecomposition if A is an array of
    order up to 1500, else a randomised one of 64 pairs with two block products.

    Parameters
    ----------
    A, B, C : the forms of the problem, of order n; None for 0.
    product, ridge : its terms tr((A M)²), whose first feature is YᵀAY, and tr(B M²), whose second is YᵀY; or None.
    """

    def __init__(
        self,
        A: Form | None,
        B: Form | None,
        C: Form | None,
        n: int,
        product: ProductTerm | None,
        ridge: ProductTerm | None,
    ) -> None:
        self.A, self.B, self.C, self.n = A, B, C, n
        self.product, self.ridge = product, ridge

    @cached_property
    def basis(self) -> EigenBasis:
        """Decomposition of A; a complete one, if computed for another purpose, may be assigned."""
        return _decompose(self.A)

    @cached_property
    def _diagonal(self) -> EigenBasis:
        return EigenBasis(np.zeros(1) if self.A is None else self.A.diagonal(), None)

    def at(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        return self._inverse(evaluation, self.basis)

    def diagonal_at(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        """The preconditioner with A replaced by its diagonal: no set-up beyond one pass over the data."""
        return self._inverse(evaluation, self._diagonal)

    def _inverse(self, evaluation: TermEvaluation, basis: EigenBasis) -> Callable[[Array], Array]:
        U = evaluation.images
        P = np.zeros((U.factor.shape[1],) * 2) if self.product is None else evaluation.feature_of(self.product)[0]
        Q = U.factor.T @ U.factor if self.ridge is None else evaluation.feature_of(self.ridge)[1]
        b = 0.0 if self.B is None else self.B.full_trace() / self.n
        size = b * U.size**2 + self._squared_norm_of_product(basis, U)

        def made() -> Callable[[Array], Array]:
            known = float(size)
            # slightly more than the mean: a step of one then does not end exactly at M = 0, which some sets lack
            half_trace = max(0.0, known + (0.0 if self.C is None else self.C.full_trace()))
            mean = (1.0 + SLIGHT**2) * half_trace / self.n
            return pencil_inverse(basis, b, np.asarray(P), np.asarray(Q), mean + RELATIVE_DAMPING * known)

        if evaluation.problem.device is None:
            return made()
        later = Deferred(made)  # all values are requested here and fetched at the first use
        return lambda R: cast(Array, later.value(R))

    def _squared_norm_of_product(self, basis: EigenBasis, U: Images) -> float:
        """|A Y|², from the image of Y if it is A Y, else from the decomposition."""
        if self.A is None:
            return 0.0
        if self.A.holds_array:
            return norm(combine(self.A.force(U), U.factor.shape)) ** 2
        return basis.squared_norm_of_product(U.factor)


def _decompose(A: Form | None) -> EigenBasis:
    if A is None:
        return EigenBasis(np.zeros(1), None)
    if isinstance(A, IdentityForm):
        return EigenBasis(np.full(1, A.scale), None)
    device = next((linear_map.device for linear_map in A.maps), None)
    if A.holds_array and A.n <= SPECTRUM_ORDER:
        dense = A.to_dense()
        return EigenBasis.full(dense if device is None else matrix_on(device, dense))

    def apply(B: Array) -> Array:
        images = Images(A.maps, B)
        return combine(A.force(images), B.shape)

    return EigenBasis.leading(apply, A.n, A.full_trace(), A.rank_bound, SMALL_ORDER, device=device)
