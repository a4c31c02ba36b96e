"""Proofs by banded factorisation: the smallest eigenpair of a sparse S whose rows can be ordered to a narrow band."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbtrf, dpbtrs

from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import ProvenPair, Solve, proven_pair
from psdopt.linalg.tolerances import EPS, SLIGHT


def narrow_order(S: sp.csr_array) -> tuple[NDArray[np.intp], int] | None:
    """(order, b) with S_ij = 0 for rows that are more than b apart in `order`; None if no narrow band was found.

    The order is that of Cuthill and McKee, reversed. O(entries). A band is narrow up to a slight share of the order:
    n b² flops are then few beside the n³/3 of a dense factor.
    """
    n = S.shape[0]
    order = np.asarray(sp.csgraph.reverse_cuthill_mckee(sp.csr_array(S), symmetric_mode=True), dtype=np.intp)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    rows = np.repeat(place, np.diff(S.indptr))
    band = int(np.abs(rows - place[S.indices]).max(initial=0))
    return (order, band) if band <= SLIGHT * n else None


def banded_pair_above(
    S: sp.csr_array, order: NDArray[np.intp], band: int, threshold: float, start: Array | None = None
) -> ProvenPair | None:
    """The smallest eigenpair of S, with a lower bound, if the bound can be proven to exceed `threshold`; else None.

    As :func:`~psdopt.linalg.definite.pair_above` for a dense S, from a band of width b: two factorisations of n b²
    flops each, memory n b.
    """
    P = sp.csr_array(S[order][:, order])
    A = _lower_band(P, band)
    pair = proven_pair(P, partial(_factor_above, A), threshold, None if start is None else start[order])
    if pair is None:
        return None
    vector = np.empty_like(pair.vector)
    vector[order] = pair.vector
    return ProvenPair(pair.value, vector, pair.residual, pair.lower_bound, pair.steps)


def _lower_band(P: sp.csr_array, band: int) -> Array:
    """The diagonal of P and `band` diagonals below it, (band + 1, n)."""
    A = np.zeros((band + 1, P.shape[0]))
    i = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    lower = i >= P.indices
    A[(i - P.indices)[lower], P.indices[lower]] = P.data[lower]
    return A


def _factor_above(A: Array, g: float) -> tuple[Solve, float] | None:
    """(b ↦ (S − g I)⁻¹ b, bound <= λ_min(S)) for a band A (b + 1, n) of S, its diagonal first; None if not definite.

    The bound is that of a dense factor: sums of at most b + 1 products in each entry (Rump, BIT 46 (2006)).
    """
    shifted = A.copy(order="F")
    shifted[0] -= g
    gamma = (len(A) + 1) * EPS
    rounding = gamma / (1.0 - gamma) * float(shifted[0].sum()) + EPS * float(np.abs(shifted[0]).max())
    if not math.isfinite(rounding):
        return None
    L, info = dpbtrf(shifted, lower=1, overwrite_ab=1)
    if info != 0:
        return None
    return lambda b: np.asarray(dpbtrs(L, b, lower=1)[0]), float(g - rounding)
