"""The bi-convex split of a fit to matrix entries: rows are independent for a fixed other block."""

from __future__ import annotations

import numpy as np

from psdopt.contracts.images import Images
from psdopt.contracts.splitting import BiconvexSplit
from psdopt.linalg.arrays import Array, inner, row_dots
from psdopt.linalg.checked_operator import Negative
from psdopt.linalg.definite import bound_above
from psdopt.linalg.extreme import DENSE_LIMIT, smallest_eigenpair
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_updates import RowUpdates
from psdopt.linalg.tolerances import MINOR
from psdopt.problems.term_models import TermEvaluation
from psdopt.problems.term_sum import TermSum


class EntrySplit(BiconvexSplit):
    """F(V, U) = tr(VᵀL U) + ½ Σ_ij w_ij (v_i·u_j − t_ij)², W and T symmetric (Hu & Kwok, eq. 5).

    The sum runs over ordered pairs, so every entry off the diagonal is listed in both orders with the same
    weight: only then does the U-update equal the V-update with the blocks exchanged.
    """

    def __init__(self, problem: TermSum, L: LinearMap | None, updates: RowUpdates, bound: float) -> None:
        self.problem, self.L, self.n, self.updates, self.coupling_bound = problem, L, problem.n, updates, bound
        weights = updates.weights
        self._rows = np.repeat(np.arange(self.n), np.diff(weights.indptr))
        self._columns, self._weights, self._targets = weights.indices, weights.data, updates.target_values
        size = float(np.mean(np.abs(self._targets))) or 1.0
        self.scale = float(np.mean(self._weights)) * size

    def image(self, Y: Array) -> Array:
        return np.zeros_like(Y) if self.L is None else self.L.apply(Y)

    def update(self, U: Array, LU: Array, anchor: Array, rho: float) -> Array:
        return self.updates.solve(U, anchor - LU / rho, rho)

    def value(self, V: Array, U: Array, LU: Array) -> float:
        residual = row_dots(V[self._rows], U[self._columns]) - self._targets
        return inner(V, LU) + 0.5 * inner(self._weights * residual, residual) + self.problem.constant

    def evaluation(self, Y: Array, LY: Array) -> TermEvaluation:
        arrays = {} if self.L is None else {self.problem.maps.index(self.L): LY}
        return TermEvaluation(self.problem, Images(self.problem.maps, Y, arrays))


def coupling_bound(L: LinearMap | None) -> float:
    """An upper bound on λ_max(L), at most a thousandth high; 0 if λ_max(L) is negative or there is no L."""
    if L is None:
        return 0.0
    if L.is_matrix and L.shape[0] <= DENSE_LIMIT:
        return max(0.0, bound_above(L.to_dense(), MINOR))
    pair = smallest_eigenpair(Negative(L), tol=MINOR, scale="norm")
    return max(0.0, -pair.lower_bound)
