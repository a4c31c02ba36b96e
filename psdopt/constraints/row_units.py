"""Units of the rows of M, from constraints and costs: d with M = D N D for an N whose rows are of like size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array


def row_exponents(forms: Any, bounds: tuple[Array, Array], costs: Array, weights: Array | None) -> Array:
    """Whole numbers e (n,): 2^e_i is about √M_ii, over the median of the rows of which anything is known.

    - Where the diagonal entry of row i is in constraints, 2^(2 e_i) is min_t |b_t| / |A_t,ii|, the size that they
      permit. b_t is the smaller nonzero bound of constraint t, and only A_t with a diagonal of one sign count, as if
      semidefinite.
    - Else, where constraints of a single entry (i, j) link it to a known row j, max_t |b_t| / (|A_t,ij| 2^e_j).
    - Where all other rows have a C_ii > 0, C_ii M_ii is as large for these, or about ν_i where no row is known by
      constraints and F has −ν log det of its block. Units of some of them alone would set these apart from their like.

    So e changes with the units of M: for D M D in the place of M it is e + log2 d, up to its median and rounding. Rows
    with none of these have the median; so have all if constraints and costs treat all rows alike.

    Parameters
    ----------
    forms : the A_t, sparse, over entries (i, j) of M. bounds : (m,) each, lower and upper. costs : the diagonal of C.
    weights : ν of each row, None for zeros.

    Cost: O(entries of the A_t).
    """
    exponents, known = _by_bounds(forms, *bounds, len(costs))
    priced = costs > 0.0
    halves = 0.5 * np.log2(np.where(priced, costs, 1.0))
    if not known.any():
        rows = np.ones(len(costs), dtype=bool) if weights is None else weights > 0.0
        if not np.all(priced[rows]):
            return exponents
        exponents[rows] = np.rint((0.0 if weights is None else 0.5 * np.log2(weights[rows])) - halves[rows])
        known = rows
    elif np.any(known & priced) and np.all(known | priced):
        others = ~known
        exponents[others] = np.rint(np.median((exponents + halves)[known & priced]) - halves[others])
        known = known | others
    return np.where(known, exponents - np.rint(np.median(exponents[known])), 0.0)


def _by_bounds(forms: Any, lower: Array, upper: Array, n: int) -> tuple[Array, NDArray[np.bool_]]:
    """(e, known) (n,) each by the constraints, e zero where they say nothing."""
    low, high = np.abs(lower), np.abs(upper)
    bound = np.minimum(np.where(low > 0.0, low, np.inf), np.where(high > 0.0, high, np.inf))
    own = forms.i == forms.j
    positive = forms.B @ (own * 1.0) > 0.0
    counts = np.diff(forms.B.indptr)
    t, k = np.repeat(np.arange(forms.size), counts), forms.B.indices
    signs = np.where(positive, 1.0, -1.0)[t] * forms.B.data
    mixed = np.bincount(t[own[k] & (signs < 0.0)], minlength=forms.size) > 0  # ⟨A_t, M⟩ may be small for a large M
    with np.errstate(over="ignore", under="ignore"):
        shares = np.abs(forms.B.data) / np.where(mixed, np.inf, bound)[t]
    K = np.zeros(len(forms.i))
    np.maximum.at(K, k, shares)
    some = (K > 0.0) & np.isfinite(K)
    exponents, known = np.zeros(n), np.zeros(n, dtype=bool)
    rows = forms.i[own & some]
    exponents[rows], known[rows] = np.rint(-0.5 * np.log2(K[own & some])), True
    linked = (counts == 1)[t] & ~own[k] & (shares > 0.0) & np.isfinite(shares)
    i, j, sizes = forms.i[k[linked]], forms.j[k[linked]], -np.log2(shares[linked])
    i, j, sizes = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(sizes, 2)
    while np.any(new := known[j] & ~known[i]):
        exponents[i[new]] = -np.inf
        np.maximum.at(exponents, i[new], np.rint(sizes[new] - exponents[j[new]]))
        known[i[new]] = True
    return exponents, known
