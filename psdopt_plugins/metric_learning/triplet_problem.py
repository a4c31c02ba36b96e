"""Triplets (i, j, k), "i is nearer to j than to k", and the margin by which a metric keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt import MarginProblem
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import linear_map
from psdopt.terms import TripletDifferences
from psdopt_plugins.metric_learning.pairs import nearest_pairs
from psdopt_plugins.rows import only_touched

Triplets = NDArray[np.intp]


def triplet_margin_problem(
    X: Any, triplets: Any, C: float | None = None, n: int | None = None, smoothing: float = 0.0
) -> MarginProblem:
    """max ρ − C Σ ξ_r s.t. d_M(i, k) − d_M(i, j) >= ρ − ξ_r, ξ >= 0, for matrices of trace one (Shen et al., eq. 3).

    The library minimises, so F(M) is **minus** that objective: the margin reached is −result.value. Solve it over
    ``Spectraplex(n)``, with :class:`~psdopt.margins.column_generation.ColumnGeneration`. Triplets that contradict
    each other are legitimate data: they cost slack.

    Parameters
    ----------
    X : (N, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``; d_M(i, j) = (x_i − x_j)ᵀM(x_i − x_j).
        Of rows that are read in blocks (:func:`psdopt.linalg.row_source`) those that the triplets touch are taken.
        None: M is a kernel matrix of order `n` and d_M(i, j) = M_ii + M_jj − 2 M_ij.
    triplets : (m, 3) integer rows (i, j, k), three different indices each.
    C : cost of a violation, at least 1/m; C = 1/(ν m) lets about a fraction ν of the triplets stay below the margin.
        None: hard margin, F(M) = −min_r (d_M(i, k) − d_M(i, j)); so does every C >= 1.
    smoothing : mu of the smoothed loss, for methods that need a gradient.

    Raises
    ------
    InvalidInputError for NaN, wrong shapes, no triplets, indices out of range or repeated within a triplet, C m < 1.

    Cost: no A_r (d, d) is formed. ⟨A_r, YYᵀ⟩ and Σ w_r A_r V cost one product with X (and one with Xᵀ) and O(m r);
    distances that triplets share are computed once.
    """
    rows = checked_triplets(triplets)
    if X is not None:
        X, rows = only_touched(linear_map(X, "X"), rows)
    return MarginProblem(TripletDifferences(rows[:, 0], rows[:, 1], rows[:, 2], X, n), C, smoothing)


def checked_triplets(triplets: Any) -> Triplets:
    """`triplets` as an integer array (m, 3), m >= 1, or one clear error. Indices are checked where they are used."""
    rows = np.asarray(triplets)
    if rows.size == 0:
        raise InvalidInputError("triplets must hold at least one triplet (i, j, k); found none")
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise InvalidInputError(f"triplets must have shape (m, 3), rows (i, j, k); found {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise InvalidTypeError(f"triplets must hold integers; found dtype {rows.dtype}")
    return rows.astype(np.intp)


def nearest_triplets(X: Any, y: NDArray[Any], n_neighbors: int = 1) -> Triplets:
    """(i, j, k) for every sample i, j among its `n_neighbors` nearest of its class, k among those of other classes.

    Shen et al. (section 6) take one of each. Samples without another of their class give none. O(N n_neighbors²)
    triplets; exact Euclidean neighbours of X (N, d), dense or sparse.

    Raises InvalidInputError unless n_neighbors >= 1, or if no triplet arises: one class only, or every class of
    one sample.
    """
    similar, dissimilar = nearest_pairs(X, y, n_neighbors)
    if len(similar) == 0 or len(dissimilar) == 0:
        found = f"{len(np.unique(y))} class(es) among {len(y)} samples"
        raise InvalidInputError(f"y must hold at least 2 classes, one of them with 2 samples; found {found}")
    dissimilar = dissimilar[np.argsort(dissimilar[:, 0], kind="stable")]
    counts = np.bincount(dissimilar[:, 0], minlength=len(y))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    repeats = counts[similar[:, 0]]
    base = np.repeat(similar, repeats, axis=0)
    offset = np.arange(len(base)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    others = dissimilar[starts[base[:, 0]] + offset, 1]
    triplets: Triplets = np.column_stack([base, others])
    return triplets
