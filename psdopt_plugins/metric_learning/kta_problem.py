"""Kernel target alignment: the kernel X M Xᵀ is fitted to the kernel of the labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import QuadraticSDP
from psdopt.checks import weight
from psdopt.devices import on_host, transposed
from psdopt.errors import InvalidTypeError
from psdopt.linalg import Array, LinearMap, RowBlocks, as_dense, linear_map
from psdopt.terms import GramForm, MatrixForm
from psdopt_plugins.estimators import sample_weights
from psdopt_plugins.metric_learning.objective import (
    forms_gram,
    linear_part,
    one_hot,
    regularizer_for,
    without_large_arrays,
)

#: Names that `regularizer` may take.
REGULARIZERS = ("identity", "frobenius", "trace")


def kta_problem(
    X: Any, y: Any, lam: float, regularizer: str = "identity", gram: bool | str = "auto", weights: Any = None
) -> QuadraticSDP:
    """min lam |X M Xᵀ − Y Yᵀ|_F² + Reg(M) over M ⪰ 0 (d, d), Y (m, c) the one-hot labels.

    With weights w the loss is lam Σ_ij w_i w_j (x_iᵀMx_j − y_iᵀy_j)²: √w_i multiplies row i of X and of Y.

    A = √lam XᵀX, C = −lam XᵀYYᵀX + c I, B = b I, with (b, c) from the regulariser (Yuan et al., eq. 7). The
    value includes the constants, so F is the true objective; for "identity" they are d + lam |YYᵀ|².

    Parameters
    ----------
    X : (m, d) samples as rows, ndarray, SciPy sparse array, ``LinearOperator``, an array on a device, on which the run
        then takes place, or rows that are read in blocks
        (:func:`psdopt.linalg.row_source`): these are read once, for XᵀX and YᵀX, unless gram=False.
    y : (m,) labels of at least two classes.
    lam : weight of the alignment, >= 0. The loss grows with m² and with the fourth power of X's units.
    regularizer : "identity" |M − I|², "frobenius" |M|² or "trace" tr(M), which favours low rank.
    gram : True forms XᵀX (d, d) once, so that a step costs O(d² r) instead of O(m d r); False does not form it;
        "auto" forms it where m >= 2 d, for an array X up to d = 1500, for a sparse one up to d = 500. Its entries are
        rounded to eps |X|²: where an offset is 10⁶ times the spread of X, centre X, or use False.

    weights : w (m,), at least 0 and not all 0: a weight of 2 counts a sample twice. X is then an array or a sparse
        array, of which a scaled copy is made.

    Raises
    ------
    InvalidTypeError for weights of an X of another kind.
    InvalidInputError for NaN, wrong shapes, one class, a negative lam; UnknownNameError for the regulariser.

    Cost of one step along D (d, r): one product with X and one with Xᵀ, or one with XᵀX; YᵀX (c, d) is formed once,
    at O(m d), so that labels cost O(c d r). No (m, m) array is ever formed, and for sparse X and operators no (d, d)
    array beyond d = 500 unless gram=True.
    """
    data = linear_map(X, "X")
    m, d = data.shape
    lam = weight(lam, "lam")
    reg = regularizer_for(regularizer, d, REGULARIZERS)
    Y = one_hot(on_host(y, "y"), m)
    if (w := sample_weights(weights, m)) is not None:
        root = sp.diags_array(np.sqrt(w)).tocsr()
        data, Y = _scaled_rows(data, root), root @ Y
    classes_squared: Any = Y.T @ Y
    constant = reg.constant + lam * float((classes_squared.diagonal() ** 2).sum())
    XX: Array | None = None
    if isinstance(data, RowBlocks) and gram is not False:
        XX, XY = data.moments(Y)
        sums = XY.T
    else:
        sums = _class_sums(data, Y)
        XX = _gram(data) if forms_gram(data, gram) else None
    linear = linear_part(GramForm(LinearMap(sums, "Y'X"), -lam), reg)
    scale = math.sqrt(lam)
    if XX is not None:
        A = MatrixForm(LinearMap(scale * XX, "X'X", owned=True), psd=True)
        return QuadraticSDP(A, reg.b, linear, constant=constant)
    problem = QuadraticSDP(GramForm(data, scale), reg.b, linear, constant=constant)
    return without_large_arrays(problem, data)


def _scaled_rows(X: LinearMap, scale: sp.csr_array) -> LinearMap:
    if isinstance(X, RowBlocks) or not X.is_matrix:
        raise InvalidTypeError("weights need an X in memory, an array or a sparse array; found one that is neither")
    if X.device is not None:
        return LinearMap(X.data * scale.diagonal()[:, None], "X", owned=True)
    return LinearMap(scale @ X.data, "X", owned=True)


def _class_sums(X: LinearMap, Y: sp.csr_array) -> Any:
    """YᵀX (c, d), dense: sums of the rows of each class, formed once, so that no step needs the labels of all rows."""
    if X.is_matrix and X.device is None and not isinstance(X, RowBlocks):
        return as_dense(Y.T @ X.data)
    return transposed(X.adjoint(Y.toarray()))


def _gram(X: LinearMap) -> Any:
    """XᵀX (d, d), dense and exactly symmetric."""
    K = as_dense(X.data.T @ X.data) if X.is_matrix else X.adjoint(X.to_dense())
    return 0.5 * (K + K.T)
