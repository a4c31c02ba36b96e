"""Linear regression with a positive semidefinite parameter: targets are measured values tr(W X_i)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import MomentPreconditioner, TermSum
from psdopt.checks import CheckedIndices, vector
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, row_source
from psdopt.terms import (
    HalfSquaredOneSided,
    LeastSquares,
    Loss,
    MeasuredTerm,
    Measurement,
    PairDistances,
    QuadraticForms,
)
from psdopt_plugins.estimators import sample_weights
from psdopt_plugins.pairs import checked_pairs
from psdopt_plugins.regression.measurements import GeneralForms, LeastSquaresWithOffset
from psdopt_plugins.regression.pair_rows import PairRowsPreconditioner


def psd_regression_problem(
    X: Any = None,
    y: Any = None,
    pairs: Any = None,
    direction: Any = None,
    *,
    n: int | None = None,
    offset: bool = False,
    weights: Any = None,
) -> TermSum:
    """min 1/(2 Σ w) Σ_i w_i (tr(W X_i) − y_i)² over W ⪰ 0, w_i = 1 by default (Meyer et al., eqs. 1, 9, 20).

    Parameters
    ----------
    X, pairs : the data of X_i.

        - X (m, n), array, sparse array, ``LinearOperator`` or rows that are read in blocks
          (:func:`psdopt.linalg.row_source`): X_i = x_i x_iᵀ from its rows;
        - X (N, n) with pairs (m, 2): X_i = (x_a − x_b)(x_a − x_b)ᵀ, squared distances under W; differences are not
          stored, only the N images of the rows;
        - pairs (m, 2) and `n`, X left out: X_i = (e_a − e_b)(e_a − e_b)ᵀ, squared distances in a kernel matrix W;
        - X (m, n, n), or a sequence of matrices: general X_i, whose symmetric parts count.

    y : targets, scalar or (m,).
    direction : None, or (m,) of −1, 0, +1: the loss of sample i is ½ max(0, direction_i (ŷ_i − y_i))² (section 8.2),
        +1 means ŷ <= y, −1 means ŷ >= y, 0 means equality.
    n : order of W if X is None.
    offset : whether to minimise 1/(2m) Σ_i (tr(W X_i) + c − y_i)² over c as well. For X_i = x_i x_iᵀ predictions are at
        least c, and without an offset at least 0. Not with `direction`.
    weights : w (m,), at least 0 and not all 0: a weight of 2 counts a sample twice, samples of weight 0 are left out.

    Returns
    -------
    A :class:`psdopt.TermSum`: convex; quadratic without directions. Its preconditioner is the data's second moment,
    :class:`~psdopt.MomentPreconditioner`, if X_i has rank one and X has entries; for pairs
    without X and without directions blocks, :class:`~psdopt_plugins.regression.pair_rows.PairRowsPreconditioner`;
    none if X is on a device.

    Raises
    ------
    InvalidInputError, InvalidTypeError for NaN, wrong shapes or lengths, bad pairs, other directions.

    Cost of a pass (value, gradient and line search at a factor (n, r)): one product with X and one with Xᵀ,
    O(m n r) or O(nnz r); with pairs O(m r) on top. Memory O(nnz(X) + (m + N + n) r), and O(n r²) for pairs without X.
    """
    pairs = None if pairs is None else checked_pairs(pairs, empty=False)
    measurement = _measurement(X, pairs, n)
    m = measurement.size
    targets = _targets(y, m)
    loss: Loss
    if offset and direction is not None:
        raise InvalidInputError("offset must be False where directions are given: bounds are not known up to an offset")
    w = sample_weights(weights, m)
    if (
        w is not None
        and not w.all()
        and (pairs is not None or isinstance(X, (np.ndarray, sp.csr_array, sp.csr_matrix)))
    ):
        # samples of weight 0 add nothing to F, and a loss that ignores measurements has no expansion in multipliers
        kept = np.flatnonzero(w)
        signs = None if direction is None else checked_directions(direction, m)[kept]
        some = (X, pairs[kept]) if pairs is not None else (X[kept], None)
        return psd_regression_problem(some[0], targets[kept], some[1], signs, n=n, offset=offset, weights=w[kept])
    total = float(m if w is None else w.sum())
    if direction is None:
        loss = LeastSquaresWithOffset(targets, w) if offset else LeastSquares(targets, w)
        weight = 0.5 / total
    else:
        loss = HalfSquaredOneSided(targets, checked_directions(direction, m), w)
        weight = 1.0 / total
    term = MeasuredTerm(measurement, loss, weight)
    if not MomentPreconditioner.measured(term):
        return TermSum([term], preconditioner=None)
    # with bounds the active pairs change from step to step: relative to the moment, blocks of all pairs take from a
    # third to eight times as many steps (eight on labelled digits); blocks of the active pairs are in between
    units = isinstance(measurement, PairDistances) and measurement.X is None
    plain = units and direction is None and not offset and w is None
    return TermSum([term], preconditioner=PairRowsPreconditioner(term) if plain else MomentPreconditioner([term]))


def _measurement(X: Any, pairs: CheckedIndices | None, n: int | None) -> Measurement:
    if pairs is not None:
        return PairDistances(pairs[:, 0], pairs[:, 1], X, n)
    if X is None:
        raise InvalidInputError("X must be given unless pairs and n are")
    if n is not None:
        raise InvalidInputError("n is for pairs without X; the order of W follows from X")
    if row_source(X) is not None:
        return QuadraticForms(X)
    listed = isinstance(X, Sequence) and len(X) > 0 and len(getattr(X[0], "shape", np.shape(X[0]))) == 2
    if listed or np.ndim(X) == 3:
        return GeneralForms(X)
    return QuadraticForms(X)


def _targets(y: Any, m: int) -> Array:
    if y is None:
        raise InvalidInputError("y, the targets, must be given")
    return vector(y, "y", m, "one per sample")


def checked_directions(direction: Any, m: int) -> Array:
    """`direction` as a float array (m,) of −1, 0 and +1, or one clear error."""
    signs = vector(direction, "direction", m, "one per sample")
    wrong = signs[~np.isin(signs, (-1.0, 0.0, 1.0))]
    if wrong.size:
        raise InvalidInputError(f"direction must be -1, 0 or +1; found {wrong[0]:g}")
    return signs
