"""The face of the cone that constraints ⟨A_t, M⟩ = 0 with A_t ⪰ 0 leave: M = P M P, P the projection to null spaces.

For M ⪰ 0 such a constraint says A_t M = 0. No feasible M is definite then, and its multiplier need not be bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

#: Flops that the decompositions of the A_t in question may take together.
AFFORDABLE = 2e10
#: Eigenvalues of A_t below this share of the largest must be zero but for rounding; else A_t is left alone.
CLEAR = 1e-8


@dataclass(frozen=True)
class Face:
    """Feasible M have M U = 0. `rows` are the constraints that say so, U = `basis` (n, q) has orthonormal columns."""

    rows: NDArray[np.intp]
    basis: Array

    def onto(self, V: Array) -> Array:
        """P V, P = I − U Uᵀ. O(n q) per column."""
        return np.asarray(V - self.basis @ (self.basis.T @ V))

    def restricted(self, S: object) -> Array | LinearOperator:
        """P S P for a sparse or dense S, or an operator where S is one. O(n² q) for entries."""
        if isinstance(S, LinearOperator):
            onto = self.onto
            return LinearOperator(
                S.shape, matvec=lambda v: onto(S @ onto(v.reshape(-1, 1))).reshape(-1),
                matmat=lambda V: onto(np.asarray(S @ onto(V))), dtype=np.float64,
            )  # fmt: skip
        dense = S.toarray() if isinstance(S, sp.csr_array) else np.asarray(S, dtype=np.float64)
        half = self.onto(dense)
        whole = self.onto(half.T)
        return np.asarray(0.5 * (whole + whole.T))


def found_face(forms: SparseForms | None, lower: Array, upper: Array) -> Face | None:
    """The face of those constraints, or None where there is none. Cost: eigenvalues of each A_t in question."""
    if forms is None:
        return None
    candidates = np.flatnonzero((lower == 0.0) | (upper == 0.0))
    if len(candidates) == 0:
        return None
    on_diagonal = forms.i == forms.j
    rows, parts, flops = [], [], 0.0
    for t in candidates:
        part = slice(forms.B.indptr[t], forms.B.indptr[t + 1])
        places, numbers = forms.B.indices[part], forms.B.data[part]
        places, numbers = places[numbers != 0.0], numbers[numbers != 0.0]
        diagonal = numbers[on_diagonal[places]]
        sign = 1.0 if diagonal.sum() > 0.0 else -1.0
        bound = upper[t] if sign > 0.0 else lower[t]
        if len(diagonal) == 0 or bound != 0.0 or np.any(sign * diagonal < 0.0):
            continue
        support = np.unique(np.concatenate([forms.i[places], forms.j[places]]))
        if len(diagonal) < len(support):
            continue  # a zero on the diagonal beside other entries
        if len(places) == len(support):
            rows.append(t)
            parts.append(sp.csc_array((np.ones(len(support)), (support, np.arange(len(support)))),
                                      shape=(forms.n, len(support))))  # fmt: skip
            continue
        flops += 10.0 * len(support) ** 3
        if flops > AFFORDABLE:
            return None
        A = np.zeros((len(support), len(support)))
        i, j = np.searchsorted(support, forms.i[places]), np.searchsorted(support, forms.j[places])
        np.add.at(A, (i, j), 0.5 * sign * numbers)
        np.add.at(A, (j, i), 0.5 * sign * numbers)
        values, V = np.linalg.eigh(A)
        allowed = 8.0 * len(support) * EPS * values[-1]
        used = values > CLEAR * values[-1]
        if np.all(np.abs(values[~used]) <= allowed):
            rows.append(t)
            column = sp.csc_array(
                (V[:, used].ravel(), (np.repeat(support, used.sum()), np.tile(np.arange(used.sum()), len(support)))),
                shape=(forms.n, int(used.sum())),
            )
            parts.append(column)
    if not rows:
        return None
    stacked = sp.hstack(parts, format="csc").toarray()
    if stacked.shape[1] == 1:
        return Face(np.array(rows), stacked)
    U, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    return Face(np.array(rows), np.ascontiguousarray(U[:, sizes > CLEAR * sizes[0]]))
