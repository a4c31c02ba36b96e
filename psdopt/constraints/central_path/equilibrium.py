"""Units for the rows of M in which bounds and entries of the A_t are of one size."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.conic import Conic
from psdopt.constraints.directed import DirectedForms
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array, scaled


def row_units(conic: Conic) -> Array:
    """d (n,), powers of two: d_i² is about min_t |b_t| / |A_t,ii|, the size of M_ii that the constraints permit.

    Here b_t is the smaller nonzero bound of constraint t, and only A_t with a diagonal of one sign count, as if
    semidefinite. A row of M whose diagonal entry is in no such constraint gets the median of the others. Where no row
    is in one, those of a block with −ν log det in F get d_i² about ν / C_ii, the size of M_ii without constraints. All
    d are divided by their median, so that they are one if the constraints treat all rows alike. O(entries of the A_t).
    """
    forms, n = conic.forms, conic.n
    low, high = np.abs(conic.lower), np.abs(conic.upper)
    bound = np.minimum(np.where(low > 0.0, low, np.inf), np.where(high > 0.0, high, np.inf))
    own = forms.i == forms.j
    positive = forms.B @ (own * 1.0) > 0.0
    t, k = np.repeat(np.arange(forms.size), np.diff(forms.B.indptr)), forms.B.indices
    signs = np.where(positive, 1.0, -1.0)[t] * forms.B.data
    mixed = np.bincount(t[own[k] & (signs < 0.0)], minlength=forms.size) > 0  # ⟨A_t, M⟩ may be small for a large M
    bound = np.where(mixed, np.inf, bound)
    with np.errstate(over="ignore", under="ignore"):
        shares = np.abs(forms.B.data) / bound[t]
    K = np.zeros(len(forms.i))
    np.maximum.at(K, k, shares)
    own &= (K > 0.0) & np.isfinite(K)
    exponents = np.zeros(n)
    diagonal = conic.C.diagonal()
    if not own.any() and conic.weights is not None and np.all((diagonal > 0.0) | (conic.weights == 0.0)):
        used = conic.weights > 0.0
        powers = np.round(0.5 * np.log2(conic.weights[used] / diagonal[used]))
        exponents[used] = powers - np.round(np.median(powers))
    if own.any():
        powers = np.round(-0.5 * np.log2(K[own]))
        exponents[forms.i[own]] = powers - np.round(np.median(powers))
    return np.asarray(np.exp2(exponents))


def in_units(conic: Conic, d: Array) -> Conic:
    """The problem in N, M = D N D with D = diag(d): D C D, D A_t D, and the same bounds. Exact for powers of two.

    Log dets of blocks change by constants, which are left out.
    """
    forms = conic.forms
    B = scaled(forms.B, columns=d[forms.i] * d[forms.j])
    there = forms.in_units(d) if isinstance(forms, DirectedForms) else SparseForms(forms.i, forms.j, B, conic.n)
    return Conic(scaled(conic.C, d, d), conic.constant, there, conic.allowed, conic.weights, conic.softness)
