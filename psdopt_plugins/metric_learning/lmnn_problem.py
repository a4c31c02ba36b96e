"""Large-margin nearest neighbours: targets pulled in, impostors pushed out by a margin; whole, or in batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Evaluation, TermSum, gram_scaled
from psdopt.checks import CheckedIndices, weight
from psdopt.linalg import Array, LinearMap, inner
from psdopt.terms import LinearTerm, MeasuredTerm, SquaredHinge, TripletDifferences, WeightedGramForm
from psdopt_plugins.estimators import sample_weights
from psdopt_plugins.online import BatchLoss, Curvature, Rows
from psdopt_plugins.pairs import checked_pairs, checked_triplets, pair_laplacian

Indices = NDArray[np.integer[Any]]


def lmnn_problem(X: Any, targets: Any, triplets: Any, lam: float, weights: Any = None) -> TermSum:
    """min Σ_(i,j) w_i d_M(i, j) + lam Σ_(i,j,k) w_i w_k max(0, 1 + d_M(i, j) − d_M(i, k))² over M ⪰ 0 (d, d).

    d_M(i, j) = (x_i − x_j)ᵀM(x_i − x_j); Hao et al., eq. 8, with a misprinted index corrected: the hinge compares
    i's impostor k with i's target j. S = Σ w_i X_ij + 2 lam Σ w_i w_k h (X_ij − X_ik), X_ij = (x_i − x_j)(x_i − x_j)ᵀ.

    Parameters
    ----------
    X : (m, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``; or a :class:`LinearMap` of one.
    targets : integer array (p, 2) of rows (i, j), i ≠ j; a repeated row counts again.
    triplets : integer array (q, 3) of rows (i, j, k), distinct; may be empty. Of both, those that are
        :class:`psdopt.checks.CheckedIndices` are not looked through again.
    lam : weight of the margins, >= 0.
    weights : w (m,) of the samples, at least 0 and not all 0; None: 1.

    Raises
    ------
    InvalidInputError for wrong shapes, no target at all, indices out of range, repeated indices in a row, lam < 0.

    Cost of a step along D (d, r): one product with X and one with Xᵀ, O((p + q) r).
    """
    data = X if isinstance(X, LinearMap) else LinearMap(X, "X")
    m = data.shape[0]
    lam = weight(lam, "lam")
    pairs = checked_pairs(targets, m, "targets", empty=False)
    w = sample_weights(weights, m)
    owned = None if w is None else w[pairs.array[:, 0]]
    pull = LinearTerm(WeightedGramForm(data, pair_laplacian(pairs.array, m, owned)))
    rows = checked_triplets(triplets, m, empty=True)
    if len(rows) == 0 or lam == 0.0:
        return TermSum([pull])
    hinge = SquaredHinge(1.0, weights=None if w is None else w[rows.array[:, 0]] * w[rows.array[:, 2]])
    push = MeasuredTerm(TripletDifferences(rows[:, 0], rows[:, 1], rows[:, 2], data), hinge, lam)
    return TermSum([pull, push], preconditioner=across_columns)


def across_columns(evaluation: Evaluation) -> Callable[[Array], Array]:
    """R (d, r) ↦ R (YᵀY + δI)⁻¹, δ the mean eigenvalue of YᵀY. O(d r² + r³).

    A curvature C of F in M gives the Hessian D ↦ C D YᵀY in Y, which is small for short columns of Y. δ stands for
    the contribution of S, which is not smaller for short columns: a small damping takes several times as many steps.
    """
    return partial(gram_scaled, evaluation.factor, damping=1.0)


def triplet_rows(X: Any, triplets: CheckedIndices) -> Rows:
    """slice ↦ the differences x_i − x_j of its triplets (i, j, k), then their x_i − x_k, (2 q, d)."""
    stack = partial(sp.vstack, format="csr") if sp.issparse(X) else np.concatenate

    def rows(part: slice) -> Any:
        i, j, k = triplets.array[part].T
        return stack([X[i] - X[j], X[i] - X[k]])

    return rows


def triplet_loss(lam: float) -> BatchLoss:
    """Σ d_M(i, j) + lam max(0, 1 + d_M(i, j) − d_M(i, k))², of the squared lengths of :func:`triplet_rows`."""

    def loss(part: slice, squares: Array) -> tuple[float, Array, Curvature]:
        near, far = np.split(squares, 2)
        lacking = np.maximum(0.0, 1.0 + near - far)
        pushes = 2.0 * lam * lacking
        slopes = np.concatenate([1.0 + pushes, -pushes])

        def curvature(along: Array, V: Array) -> float:
            change = (along[: len(near)] - along[len(near) :])[lacking > 0.0]
            return 2.0 * lam * inner(change, change) + max(0.0, 0.5 * inner(slopes, np.vecdot(V, V)))

        return float(near.sum()) + lam * inner(lacking, lacking), slopes, curvature

    return loss
