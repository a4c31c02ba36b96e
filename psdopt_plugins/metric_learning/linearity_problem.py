"""Linearity model: squared distances of similar pairs down, of dissimilar pairs up."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt import QuadraticSDP
from psdopt.checks import weight
from psdopt.linalg import Array, LinearMap, linear_map
from psdopt.terms import Form, MatrixForm, WeightedGramForm
from psdopt_plugins.metric_learning.objective import (
    forms_gram,
    linear_part,
    regularizer_for,
    without_large_arrays,
)
from psdopt_plugins.pairs import signed_pairs
from psdopt_plugins.rows import only_touched

#: Names that `regularizer` may take. With tr(M) the objective would be linear: 0 or unbounded.
REGULARIZERS = ("identity", "frobenius")


def linearity_problem(
    X: Any, pairs: Any, lam: float, regularizer: str = "identity", gram: bool | str = "auto"
) -> QuadraticSDP:
    """min Reg(M) + lam Σ S_ij (x_i − x_j)ᵀM(x_i − x_j) over M ⪰ 0 (d, d), the sum over unordered pairs.

    S_ij = +1 for similar and −1 for dissimilar pairs, T = diag(S e) − S: B = I and C = (lam/2) XᵀTX − I, or
    without −I for "frobenius" (Yuan et al., eq. 6, whose printed loss is identically zero; the distance is
    meant). Closed form M = (I − (lam/2) XᵀTX)₊.

    Parameters
    ----------
    X : (m, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``, or rows that are read in blocks
        (:func:`psdopt.linalg.row_source`), of which those that occur in pairs are loaded.
    pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of rows (i, j, ±1).
        A pair given twice, in either order, counts once.
    lam : weight of the pairs, >= 0.
    regularizer : "identity" |M − I|² or "frobenius" |M|². The trace is not offered: the objective would be
        linear in M, with minimum 0 or −∞.
    gram : True forms XᵀTX (d, d) once; False does not form it; "auto" forms it for a dense X with m >= 2 d and
        d <= 1024.

    Raises
    ------
    InvalidInputError for NaN, wrong shapes, bad pairs (see
    :func:`~psdopt_plugins.pairs.signed_pairs`), a negative lam; UnknownNameError for the
    regulariser.

    Cost of one step along D (d, r): one product with X, one with Xᵀ and O(p r). For sparse X and operators
    no (d, d) array is formed unless gram=True.
    """
    data = linear_map(X, "X")
    given = signed_pairs(pairs, data.shape[0])
    data, ends = only_touched(data, given.ends)
    m, d = data.shape
    lam = weight(lam, "lam")
    reg = regularizer_for(regularizer, d, REGULARIZERS)
    T = given.among(ends, m).laplacian()
    loss: Form = WeightedGramForm(data, T, 0.5 * lam)
    formed = forms_gram(data, gram)
    if formed:
        dense = loss.to_dense() if not data.is_sparse else 0.5 * lam * (data.data.T @ (T @ data.data)).toarray()
        loss = MatrixForm(LinearMap(0.5 * (dense + np.transpose(dense)), "X'TX"))
    problem = QuadraticSDP(None, reg.b, linear_part(loss, reg), constant=reg.constant)
    return problem if formed else without_large_arrays(problem, data)


def scatter_problem(scatter: Array, lam: float, regularizer: str = "identity") -> QuadraticSDP:
    """min Reg(M) + lam tr(Z M), Z = Σ S_ij (x_i − x_j)(x_i − x_j)ᵀ (d, d): :func:`linearity_problem` of Z."""
    reg = regularizer_for(regularizer, len(scatter), REGULARIZERS)
    loss = MatrixForm(LinearMap(0.5 * weight(lam, "lam") * scatter, "X'TX"))
    return QuadraticSDP(None, reg.b, linear_part(loss, reg), constant=reg.constant)
