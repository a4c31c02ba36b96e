"""Preconditioner of an augmented Lagrangian on the factor: curvature by rows, and Gauss-Newton part of the penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrs

from psdopt.constraints.augmented.row_curvature import inverse_by_rows
from psdopt.constraints.explicit import Measured, explicit_forms
from psdopt.constraints.measurements import SparseForms, Stacked
from psdopt.contracts.images import Images
from psdopt.contracts.roles import Preconditioner
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.ridged import ridged_factor
from psdopt.linalg.tolerances import SLIGHT
from psdopt.terms.measured import MeasuredTerm

if TYPE_CHECKING:
    from psdopt.constraints.model import ConstrainedModel
    from psdopt.problems.term_models import TermEvaluation


class PenaltyPreconditioner(Preconditioner):
    """P = 2 Diag(s) + Jᵀ Diag(w) J on Y (n, r), with s > 0 near the diagonal of S and J D = (2 ⟨A_t Y, D⟩)_t.

    The A_t are those of the constraints and of the losses in F; w (m,) holds the second derivatives of
    penalty and losses. The inverse takes the system J Diag(2 s)⁻¹ Jᵀ + Diag(1/w) of order m, dense and factorised for
    m <= 1500. The convergence of conjugate gradient then does not depend on w. Beyond m = 1500, P is replaced by its
    diagonal blocks, those of single rows of Y; it has no others where each A_t is an entry of the diagonal.
    """

    def __init__(self, objective: Measured, term: MeasuredTerm, forms: SparseForms) -> None:
        self.objective, self.term, self.forms = objective, term, forms
        small = forms.size <= SPECTRUM_ORDER and len(forms.i) <= 2 * SPECTRUM_ORDER
        diagonal = bool(np.all(forms.i == forms.j) and np.all(np.diff(forms.B.indptr) <= 1))  # one entry each, at most
        self.coupled = small and not diagonal

    @classmethod
    def of(cls, problem: ConstrainedModel, term: MeasuredTerm) -> PenaltyPreconditioner | None:
        """The preconditioner; None if entries are not known or F has terms of another kind."""
        objective, forms = problem.objective_by_entries, problem.forms
        if objective is None or forms is None:
            return None
        if objective.forms is not None:
            forms = explicit_forms(Stacked([objective.forms, forms]))
        return None if forms is None else cls(objective, term, forms)

    def derivatives(self, evaluation: TermEvaluation) -> tuple[Array, Array]:
        """First and second derivatives of losses and penalty at the measured values, each (m,)."""
        terms = evaluation.problem.terms
        first, second = [], []
        for k in (*self.objective.terms, len(terms) - 1):
            term = terms[k]
            assert isinstance(term, MeasuredTerm)
            y, w = term.loss.derivatives(evaluation.feature(k))
            first.append(term.weight * y)
            second.append(term.weight * w)
        return np.concatenate(first), np.concatenate(second)

    def at(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        Y, forms = evaluation.factor, self.forms
        y, w = self.derivatives(evaluation)
        s = self.objective.diagonal + forms.matrix(y).diagonal()
        mean = float(np.mean(np.abs(s)))  # curvatures of rows of Y are raised to at least a slight share of their mean
        s = 2.0 * np.maximum(s, SLIGHT * mean if mean > 0.0 else 1.0)
        active = w > 0.0
        if not active.any():
            return lambda R: R / s[:, None]
        if not self.coupled:
            return inverse_by_rows(forms, Y, s, w)
        images = Images((), Y)
        K = 4.0 * forms.coupling(Y @ Y.T, np.diag(1.0 / s), images)  # [tr(A_s M A_t Diag(1/s))]
        K[np.diag_indices_from(K)] += np.where(active, 1.0 / np.where(active, w, 1.0), 0.0)
        K[~active] = 0.0
        K[:, ~active] = 0.0
        K[~active, ~active] = 1.0
        try:
            factor, units = ridged_factor(K)
        except np.linalg.LinAlgError as error:  # K is semidefinite but for what cancellation leaves of a huge M
            raise FloatingPointError(f"M is so large that its measurements are rounding: {error}") from error

        def inverse(R: Array) -> Array:
            Z = R / s[:, None]
            b = 2.0 * forms.pair(images, Images((), Z))
            b[~active] = 0.0
            y = units * dpotrs(factor.T, units * b, lower=1)[0]
            return np.asarray(Z - 2.0 * forms.times(y, Y) / s[:, None])

        return inverse

    def bend(self, evaluation: TermEvaluation, D: Array) -> Array:
        """Z = −P⁻¹ Jᵀ Diag(w) q for the stretch q_t = ⟨A_t, D Dᵀ⟩ of a step D: for large w, J Z = −q.

        A Newton step D meets the constraints to first order. Where w is large, F plus penalty falls along the straight
        line Y + mu D for small mu only; along the arc Y + mu D + mu² Z it falls up to mu = 1.
        """
        forms, images = self.forms, Images((), D)
        _, w = self.derivatives(evaluation)
        pull = forms.times(w * forms.pair(images, images), evaluation.factor)
        return np.asarray(-2.0 * evaluation.preconditioner()(pull))
