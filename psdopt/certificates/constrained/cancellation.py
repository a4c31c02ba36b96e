"""S = ∇F(M) + A*(y) where the y_t A_t cancel each other, and σ(y) where the y_t b_t do.

A computed S differs from the exact one by eps times the sizes of its terms. For most multipliers these are as large as
∇F and S, whose rounding every bound on λ_min(S) counts. Multipliers of equations that nearly depend on each other may
be larger by many powers of ten: then rounding alone can make S semidefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, as_dense
from psdopt.linalg.compensated import grouped_products
from psdopt.linalg.tolerances import ROUNDINGS


def most_support(problem: ConstrainedModel, y: Array) -> float:
    """σ(y), or that of the right-hand sides b − r which a face that was searched for can meet, if it is larger."""
    face = problem.face
    return problem.support(y) - (0.0 if face is None or face.missed is None else min(float(y @ face.missed), 0.0))


def without_cancellation(problem: ConstrainedModel, evaluation: Evaluation, y: Array, S: Any) -> Any:
    """S, or the same with an A*(y) that is exact to its own rounding, where the terms of a block exceed others by far.

    That is where |Σ |y_t| |A_t|| > ROUNDINGS (|∇F| + |S|) in a diagonal block, and always on a face of the cone, where
    entries off the face may hide those on it. Only where entries of the A_t are known and S is an array on the host.
    Cost: O(entries of the A_t).
    """
    forms, conic = problem.forms, problem.conic
    if forms is None or problem.device is not None or not isinstance(S, (np.ndarray, sp.csr_array)):
        return S
    label = np.zeros(problem.n, dtype=np.intp) if conic is None or len(conic.blocks) == 1 else conic.label
    with np.errstate(over="ignore"):
        entries = forms.halves * forms.terms(y)
        squares = np.where(forms.i == forms.j, 1.0, 2.0) * entries**2
        terms, own = np.sqrt(np.bincount(label[forms.i], squares, int(label.max()) + 1)), _sizes(S, label)
        far = terms > ROUNDINGS * own
        if problem.face is None and not far.any():
            return S
        G = dense_gradient(evaluation) if conic is None else conic.C
        if problem.face is None and not np.any(far & (terms > ROUNDINGS * (own + _sizes(G, label)))):
            return S
        A = exact_adjoint(forms, y)
    if isinstance(S, np.ndarray):
        return as_dense(G) + A.toarray()
    return sp.csr_array(sp.csr_array(G) + A)


def _sizes(S: Any, label: NDArray[np.intp]) -> Array:
    """The norm of each diagonal block of S, by its number in each row."""
    if isinstance(S, sp.csr_array):
        return np.asarray(np.sqrt(np.bincount(label.repeat(np.diff(S.indptr)), S.data**2, int(label.max()) + 1)))
    return np.asarray(np.sqrt(np.bincount(label, np.einsum("ij,ij->i", S, S), int(label.max()) + 1)))


def exact_adjoint(forms: SparseForms, y: Array) -> sp.csr_array:
    """A*(y) (n, n), exact to the rounding of its entries, not of their terms."""
    B = forms.B
    sums = grouped_products(B.data, np.repeat(y, np.diff(B.indptr)), B.indices.astype(np.intp), B.shape[1])
    upper = sp.coo_array((forms.halves * sums, (forms.i, forms.j)), shape=(forms.n, forms.n)).tocsr()
    return sp.csr_array(upper + sp.triu(upper, 1).T)
