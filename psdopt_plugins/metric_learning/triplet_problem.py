"""Triplets (i, j, k), "i is nearer to j than to k", and the margin by which a metric satisfies them."""

from __future__ import annotations

from typing import Any

from psdopt import MarginProblem
from psdopt.linalg import linear_map
from psdopt.terms import TripletDifferences
from psdopt_plugins.pairs import checked_triplets
from psdopt_plugins.rows import only_touched


def triplet_margin_problem(
    X: Any, triplets: Any, C: float | None = None, n: int | None = None, smoothing: float = 0.0
) -> MarginProblem:
    """max ρ − C Σ ξ_r s.t. d_M(i, k) − d_M(i, j) >= ρ − ξ_r, ξ >= 0, for matrices of trace one (Shen et al., eq. 3).

    The library minimises, so F(M) is **minus** that objective: the margin reached is −result.value. Solve it over
    ``Spectraplex(n)``, with :class:`~psdopt.margins.column_generation.ColumnGeneration`. Triplets that contradict
    each other are allowed and cost slack.

    Parameters
    ----------
    X : (N, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``; d_M(i, j) = (x_i − x_j)ᵀM(x_i − x_j).
        Of rows that are read in blocks (:func:`psdopt.linalg.row_source`) those that occur in triplets are loaded.
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
    if X is None:
        rows = checked_triplets(triplets)
    else:
        data = linear_map(X, "X")
        X, rows = only_touched(data, checked_triplets(triplets, data.shape[0]))
    return MarginProblem(TripletDifferences(rows[:, 0], rows[:, 1], rows[:, 2], X, n), C, smoothing)
