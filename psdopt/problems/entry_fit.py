"""Weighted least squares on entries of M plus a linear term: completion and kernel learning from pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from psdopt.checks import integer_or_none, vector
from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.row_updates import RowUpdates
from psdopt.linalg.tolerances import ROOT_EPS, SLIGHT
from psdopt.problems.entry_split import EntrySplit, coupling_bound
from psdopt.problems.term_models import TermEvaluation
from psdopt.problems.term_sum import TermSum
from psdopt.terms.base import Term
from psdopt.terms.forms import MatrixForm, squared_norm
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries
from psdopt.terms.quadratic import LinearTerm

#: Without L, the ridge is this share of the mean curvature of an entry, weight · |y_i|², so that a run does not depend
#: on the units of the targets. At 0.1 conjugate gradient takes a fifth more steps on a completion.
RIDGE = 0.03


class EntryFit(TermSum):
    """min tr(L M) + Σ_t weight_t (M_{i_t j_t} − target_t)² over M ⪰ 0.

    A sum of a :class:`LinearTerm` and a :class:`MeasuredTerm` that also declares a bi-convex split (for
    ADMM) and a preconditioner. The latter is the row-diagonal part of the factor Hessian, inverted by the same
    batched row solves as ADMM's updates: row i of P⁻¹R is

        (L_ii I + Σ_j w_ij (1 + [i = j]) y_j y_jᵀ)⁻¹ r_i / 2,   w_ij the weight of (M_ij − t_ij)² per order of (i, j),

    with L_ii raised to the size of a row of L if it is smaller, or, without L, replaced by the size of the weights and
    of Y.

    Parameters
    ----------
    L : symmetric (n, n), ndarray, sparse array or ``LinearOperator``; None for no linear term, and then `n`.
    i, j : integer arrays (m,), no unordered pair twice; i = j is a diagonal entry.
    targets : scalar or (m,), finite. weights : scalar or (m,), positive.

    Raises InvalidInputError for NaN, wrong shapes, an asymmetric L, repeated entries, weights that are not positive.

    Cost per iteration of a factor method: one product with L, O((n + Σ_i t_i²) r) for t_i entries in row i.
    """

    def __init__(
        self, L: Any, i: Any, j: Any, targets: Any, weights: Any = 1.0, *, n: int | None = None, constant: float = 0.0
    ) -> None:
        n = integer_or_none(n, "n")
        self.L: LinearMap | None = None if L is None else symmetric_map(L, "L", n)
        order = n if self.L is None else self.L.shape[0]
        if order is None:
            raise InvalidInputError("n must be given when L is None")
        entries = Entries(i, j, order)
        self.i, self.j, self._pattern = entries.i, entries.j, entries.pattern
        if self._pattern.repeated is not None:
            raise InvalidInputError(f"entries must be listed once; found {self._pattern.repeated} more than once")
        self.targets = vector(targets, "targets", entries.size)
        self.weights = vector(weights, "weights", entries.size)
        if not np.all(self.weights > 0.0):
            raise InvalidInputError(f"weights must be above 0; found {float(self.weights.min()):g}")
        self._mean_weight = float(np.mean(self.weights))
        fit = MeasuredTerm(entries, LeastSquares(self.targets, self.weights))
        terms: list[Term] = [fit] if self.L is None else [LinearTerm(MatrixForm(self.L)), fit]
        super().__init__(terms, constant, _precondition)  # not a bound method, which would create a reference cycle
        self.abilities |= {Ability.SPLIT}

    def split(self) -> EntrySplit:
        """The split F(V, U); at first use one extreme eigenvalue of L."""
        bound = self.once("coupling bound", partial(coupling_bound, self.L))
        return EntrySplit(self, self.L, self._updates, bound)

    @cached_property
    def data_places(self) -> Mapping[str, tuple[int, str]]:
        own = {"L": "C", "targets": "target", "weights": "weights"}
        return {name: (k, of) for name, of in own.items() for k, term in enumerate(self.terms) if of in term.data}

    @cached_property
    def _updates(self) -> RowUpdates:
        """The row solves of the split; the preconditioner's differ in the weights of the diagonal."""
        return RowUpdates(*self._ordered(2.0))

    @cached_property
    def _rows(self) -> RowUpdates:
        """The row solves of the preconditioner, in which a diagonal entry depends on row i through both indices."""
        return self._updates.of_weights(self._ordered(4.0)[0])

    def _ordered(self, diagonal: float) -> tuple[sp.csr_array, sp.csr_array]:
        """Weights and targets as symmetric CSR arrays of one pattern, for ½ Σ over ordered pairs.

        weight_t (M_ij − t)² is ½ weight_t for each order of i ≠ j, and ½ (2 weight_t) where i = j; `diagonal`
        replaces that factor 2.
        """
        # the pattern counts a diagonal entry twice
        own = self.i == self.j
        weights = np.where(own, 0.5 * diagonal * self.weights, self.weights)
        return self._pattern.filled(weights), self._pattern.filled(np.where(own, 0.5 * self.targets, self.targets))

    @cached_property
    def _diagonal(self) -> Array | None:
        """|L_ii| (n,), or the typical size of the rest of a row if that is larger; None if L = 0.

        For a graph Laplacian the diagonal is larger. An indefinite L has eigenvalues of the size of its rows, and so
        has S = L + Diag(w) + ... ⪰ 0.
        """
        if self.L is None:
            return None
        sizes = np.abs(MatrixForm(self.L).diagonal())
        beside = math.sqrt(max(squared_norm(self.L) - float(sizes @ sizes), 0.0) / self.n)
        least = max(SLIGHT * float(np.mean(sizes)), beside)
        return np.maximum(sizes, least) if least > 0.0 else None


def _precondition(evaluation: TermEvaluation) -> Callable[[Array], Array]:
    fit = cast(EntryFit, evaluation.problem)
    size = evaluation.size
    curvature = fit._mean_weight * (size * size) / fit.n  # a power might be rounded differently in other units
    if fit._diagonal is None:
        ridge = np.full(fit.n, RIDGE * curvature or 1.0)
    else:
        # a row with more columns than entries has a singular system without a ridge
        ridge = np.maximum(fit._diagonal, ROOT_EPS * curvature)
    return lambda R: fit._rows.solve(evaluation.factor, R * (0.5 / ridge)[:, None], ridge)
