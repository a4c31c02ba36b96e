"""The ability "margins": margins ⟨A_r, M⟩ whose matrices A_r are signed sums of squares d dᵀ.

On M = V T Vᵀ with V (n, k) the margins, their adjoint and their Gram matrix are products with the (p, k) array of the
directions Vᵀd. A master problem of column generation needs no other data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.images import Images
from psdopt.errors import InvalidTypeError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, row_dots
from psdopt.linalg.limits import BLOCK
from psdopt.terms.base import combine
from psdopt.terms.measurements import Measurement


@dataclass(frozen=True)
class SignedSquares:
    """A_r = Σ_p B_rp d_p d_pᵀ restricted to span V: `directions` Z (p, k) has rows Vᵀd_p, `signs` B (m, p) sparse.

    All products below are O(p k²) time and O(p k) memory; no A_r (k, k) is formed.
    """

    directions: Array
    signs: sp.csr_array

    @property
    def size(self) -> int:
        """m, the number of margins."""
        return int(self.signs.shape[0])

    @property
    def order(self) -> int:
        """k, the number of columns of V."""
        return int(self.directions.shape[1])

    def forms(self, T: Array) -> Array:
        """⟨VᵀA_rV, T⟩ for all r, shape (m,), T symmetric (k, k)."""
        return np.asarray(self.signs @ row_dots(self.directions @ T, self.directions))

    def squares(self) -> Array:
        """v_iᵀA_rv_i for every column v_i of V, shape (m, k)."""
        return np.asarray(self.signs @ (self.directions**2))

    def combination(self, w: Array) -> Array:
        """Σ_r w_r VᵀA_rV, shape (k, k)."""
        H = self.directions.T @ (np.asarray(self.signs.T @ w)[:, None] * self.directions)
        return 0.5 * (H + H.T)

    def sizes(self) -> Array:
        """Σ_p |B_rp| |d_p|², an upper bound on the nuclear norm of VᵀA_rV, shape (m,)."""
        return np.asarray(abs(self.signs) @ row_dots(self.directions, self.directions))

    def transformed(self, T: Array) -> SignedSquares:
        """The same margins for V T."""
        return SignedSquares(self.directions @ T, self.signs)

    def rows(self, chosen: NDArray[np.intp]) -> SignedSquares:
        """The margins `chosen`, with only the directions they need."""
        signs = self.signs[chosen]
        used = np.unique(signs.indices)
        return SignedSquares(self.directions[used], signs[:, used])

    def gram(self) -> Array:
        """⟨VᵀA_rV, VᵀA_sV⟩ for all r, s, shape (m, m): entries B (Z Zᵀ)∘² Bᵀ, in blocks of rows. O(p² k) time.

        The products of a block are a few times BLOCK numbers, besides the result.
        """
        G = np.empty((self.size, self.size))
        count = max(BLOCK // max(len(self.directions), 1), 1)
        for start in range(0, self.size, count):
            deadline.ask()
            block = self.rows(np.arange(start, min(start + count, self.size)))
            products = block.directions @ self.directions.T
            products *= products
            G[start : start + block.size] = (self.signs @ (block.signs @ products).T).T
        return G

    def vectors(self) -> Array:
        """VᵀA_rV as rows (m, k(k+1)/2) whose inner products are those of the matrices."""
        i, j = np.triu_indices(self.order)
        Z = self.directions.T.copy()
        rows = Z[i]
        rows *= Z[j]
        rows *= np.where(i == j, 1.0, np.sqrt(2.0))[:, None]
        return np.asarray(self.signs @ rows.T)


class MarginStructure(Protocol):
    """The margins of F(M) = max {−Σ w_r ⟨A_r, M⟩ : 0 <= w <= cap, Σ w = 1}, as column generation uses them.

    `size` is m, the number of margins; `cap` the upper bound of a weight, 1/m <= cap <= 1. An `evaluation` below is a
    result of the problem's ``at(Y)``.
    """

    size: int
    cap: float

    def values(self, evaluation: Any) -> Array:
        """⟨A_r, M⟩ (m,)."""

    def combination(self, w: Array) -> Any:
        """−Σ_r w_r A_r (n, n) for weights w (m,), as an operator on blocks."""

    def squares(self, evaluation: Any) -> SignedSquares:
        """The margins of Y T Yᵀ as functions of T (k, k), Y (n, k) being the factor of the evaluation."""


@runtime_checkable
class HasMargins(Protocol):
    """A problem with the ability "margins"."""

    def margins(self) -> MarginStructure:
        """The margins of F, made once. O(1)."""


class MeasuredMargins:
    """The margins of a :class:`~psdopt.problems.term_sum.TermSum` whose first term measures them.

    Parameters
    ----------
    measurement : :meth:`squares` needs its matrices as signed squares, see
        :attr:`Measurement.signs <psdopt.terms.measurements.Measurement.signs>`. cap : upper bound of a weight.
    """

    def __init__(self, measurement: Measurement, cap: float) -> None:
        self.measurement, self.size, self.cap = measurement, measurement.size, cap

    @cached_property
    def signs(self) -> sp.csr_array | None:
        """Those of the measurement, made once."""
        return self.measurement.signs

    def values(self, evaluation: Any) -> Array:
        a: Array = evaluation.feature(0)
        return a

    def combination(self, w: Array) -> GradientOperator:
        def apply(V: Array) -> Array:
            return combine(self.measurement.adjoint(-w, Images(self.measurement.maps, V)), V.shape)

        return GradientOperator(self.measurement.n, apply, lambda V: None)

    def squares(self, evaluation: Any) -> SignedSquares:
        """As :meth:`MarginStructure.squares`. Raises InvalidTypeError if the measurement offers no signs."""
        if self.signs is None:
            raise InvalidTypeError(
                "measurement must offer signs and directions, as QuadraticForms, PairDistances and TripletDifferences "
                f"do; found {type(self.measurement).__name__}"
            )
        return SignedSquares(self.measurement.directions(evaluation.images), self.signs)
