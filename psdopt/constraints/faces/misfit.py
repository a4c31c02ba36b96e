"""What the equations miss on a face that was searched for, whose basis is as exact as the root of a rounding.

If feasible M are V N Vᵀ and W is near V, the ⟨A_t, W N Wᵀ⟩ need not reach b for any N. Multipliers y prove −σ(y) only
where equations hold, so that an error r of the equations is one of ⟨y, r⟩ of the bound: huge y with WᵀA*(y)W near 0
would prove anything. The part of r that some N takes up changes N alone.
"""

from __future__ import annotations

import numpy as np

from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array
from psdopt.linalg.entries import chosen_rows


def misfit(carried: SparseForms, norms: Array, lower: Array, upper: Array, noise: float) -> Array:
    """b_t − ⟨A_t, W N Wᵀ⟩ for all equations t (m,), for the N that meets them best; 0 for inequalities.

    `carried` : the WᵀA_tW (q, q). `norms` (m,) : |A_t|, the units of the equations. `noise` : the relative error of W;
    combinations of equations that are as small are zero. Cost: a singular value decomposition of (m, q²).
    """
    equations = np.flatnonzero((lower == upper) & (norms > 0.0))
    missed = np.zeros(len(norms))
    if len(equations) == 0:
        return missed
    units, b = norms[equations], lower[equations]
    rows = chosen_rows(carried.B, equations).toarray() * np.sqrt(carried.halves) / units[:, None]
    N = np.linalg.lstsq(rows, b / units, rcond=noise)[0]
    missed[equations] = b - units * (rows @ N)
    return missed
