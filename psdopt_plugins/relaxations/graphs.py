"""Weighted undirected graphs as symmetric sparse arrays: checked, without loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array, is_finite, symmetric_map


def weights_of(W: Any, name: str = "W") -> sp.csr_array:
    """W (n, n) as a symmetric CSR array without its diagonal, zeros left out; a graph needs n >= 2 vertices.

    Raises InvalidInputError for a W that is not square, symmetric and finite, InvalidTypeError for an operator, whose
    entries are not at hand. O(entries).
    """
    data = symmetric_map(W, name)
    if not data.is_matrix:
        raise InvalidTypeError(f"{name} must be an array, dense or sparse; found {type(W).__name__}")
    n = data.shape[0]
    if n < 2:
        raise InvalidInputError(f"{name} must hold a graph of at least 2 vertices; found n = {n}")
    A = sp.csr_array(data.data, dtype=np.float64)
    A = sp.csr_array(0.5 * (A + A.T))
    A = sp.csr_array(A - sp.diags_array(A.diagonal()))
    A.eliminate_zeros()
    A.sort_indices()
    if not is_finite(A):
        raise InvalidInputError(f"{name} must be finite; found NaN or infinite entries")
    return A


def laplacian(A: sp.csr_array) -> sp.csr_array:
    """Diag(A e) − A."""
    return sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=1), dtype=np.float64).ravel()) - A)


def edges_of(A: sp.csr_array) -> tuple[Array, Array, Array]:
    """(i, j, weight) of every edge once, i < j."""
    upper = sp.coo_array(sp.triu(A, k=1))
    i, j = upper.coords
    return i.astype(np.intp), j.astype(np.intp), np.asarray(upper.data, dtype=np.float64)
