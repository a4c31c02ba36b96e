"""Products with the curvature of an augmented Lagrangian whose constraints are on single diagonal entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from psdopt.constraints.augmented.preconditioner import is_diagonal
from psdopt.linalg.arrays import Array, row_dots, sparse_product
from psdopt.terms.measured import MeasuredTerm

if TYPE_CHECKING:
    from psdopt.constraints.conic import Conic
    from psdopt.problems.term_sum import TermEvaluation


class RowCurvature:
    """D ↦ ∇²F(Y)[D] = 2 (S D + Diag(c) D'), row i of D' being 2 ⟨y_i, d_i⟩ y_i, for a linear F plus `term`.

    Each A_t is one entry B_ti of the diagonal. S = C + Σ_t phi_t' A_t is one sparse matrix,
    and c_i = Σ_t phi_t'' B_ti². Forming S and c costs O(entries of C), and a product r times that: one pass over S
    instead of one for each term. An object, not a function, so that checkpoints can hold it.
    """

    def __init__(self, conic: Conic, term: MeasuredTerm) -> None:
        self.conic, self.term = conic, term

    @classmethod
    def of(cls, conic: Conic | None, term: MeasuredTerm) -> RowCurvature | None:
        """The products; None unless F is linear by entries and all constraints are on diagonal entries."""
        return cls(conic, term) if conic is not None and is_diagonal(conic.forms) else None

    def __call__(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        Y, forms = evaluation.factor, self.conic.forms
        first, second = self.term.loss.derivatives(evaluation.feature_of(self.term))
        S = 2.0 * self.conic.slack(first)
        c = np.zeros(len(Y))
        np.add.at(c, forms.i, np.asarray(forms.B.multiply(forms.B).T @ second))
        bend = (4.0 * c)[:, None] * Y

        def product(D: Array) -> Array:
            rows = row_dots(Y, D)[:, None] * bend
            return sparse_product(S, D, start=rows)

        return product
