"""Proof that S = C + A*(y) is positive semidefinite where its rows differ by many orders of magnitude."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.conic import Conic
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import FACTOR_ORDER, ITERATED_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: Extended precision; not used on machines where it is no wider than a double. It decides for programs of the family
#: hinf, whose multipliers are about 1e4 times larger in some rows: without it they end without progress.
EXTENDED: Any = np.longdouble


def proven_semidefinite(conic: Conic, y: Array) -> bool:
    """Whether S = C + A*(y) ⪰ 0 is proven, rounding of its own entries included.

    Rounding of an entry of S is at most k eps times the sum of the sizes of its k terms. The row sums of these errors
    are subtracted from the diagonal, and the rest has to be definite. D S D is factorised, with powers of two in D and
    a diagonal near one, so that rounding of the factor is relative to each row and not to the largest. Therefore
    multipliers that are large in a few rows do not spoil the proof, whereas they spoil a bound on λ_min(S) relative to
    |S|. n³/3 flops for each block. A block of order up to 300 that fails is tried again with mantissas of 64 bits, if
    the machine has them.
    """
    if max(map(len, conic.blocks), default=0) > FACTOR_ORDER:
        return False
    left = _undecided(conic, y, conic.blocks, np.float64)
    # beyond this order a factor in extended precision, without LAPACK, takes seconds
    finer = np.finfo(EXTENDED).eps < EPS and all(len(rows) <= ITERATED_ORDER for rows in left)
    return not left or (bool(finer) and not _undecided(conic, y, left, EXTENDED))


def _undecided(conic: Conic, y: Array, blocks: list[NDArray[np.intp]], kind: Any) -> list[NDArray[np.intp]]:
    """The blocks that are not proven definite in floating-point numbers of this type."""
    forms, eps = conic.forms, float(np.finfo(kind).eps)
    B, own = sp.csc_array(forms.B), forms.i == forms.j
    half = np.where(own, 1.0, 0.5)
    entries = half * (B.T.astype(kind) @ y.astype(kind))
    sizes = half * (abs(B).T @ np.abs(y)) * (np.diff(B.indptr) + 2.0)
    rounding = np.asarray(abs(conic.C).sum(axis=0), dtype=np.float64).reshape(-1)  # C is as given; adding rounds once
    np.add.at(rounding, forms.i, sizes)
    np.add.at(rounding, forms.j, np.where(own, 0.0, sizes))
    diagonal = conic.C.diagonal().astype(kind)
    np.add.at(diagonal, forms.i[own], entries[own])
    diagonal -= eps * (1.0 + math.sqrt(EPS)) * rounding
    left, place = [], np.full(conic.n, -1)
    for rows in blocks:
        if not np.all(diagonal[rows] > 0.0):
            left.append(rows)
        elif len(rows) > 1:
            place[rows] = np.arange(len(rows))
            here = place[forms.i] >= 0
            i, j, w = place[forms.i[here]], place[forms.j[here]], entries[here]
            place[rows] = -1
            S = conic.C[rows][:, rows].toarray().astype(kind)
            S[i, j] += w
            S[j, i] += np.where(i == j, 0.0, w)
            S[np.diag_indices(len(rows))] = diagonal[rows]
            scale = np.exp2(-np.round(0.5 * np.log2(diagonal[rows].astype(np.float64)))).astype(kind)
            S *= scale
            S *= scale[:, None]
            if not _definite(S, eps):
                left.append(rows)
    return left


def _definite(H: Array, eps: float) -> bool:
    """Whether a Cholesky factor proves H ⪰ 0: of H less ROUNDINGS times Rump's bound on its rounding, (n + 1) eps tr H
    (BIT 46 (2006))."""
    shift = ROUNDINGS * (len(H) + 1) * eps * float(np.trace(H))
    if H.dtype == np.float64:
        found = factor_above(H, shift)
        return found is not None and found[1] >= 0.0
    R = H.copy()
    R[np.diag_indices(len(H))] -= shift
    for k in range(len(R)):
        pivot = R[k, k]
        if not pivot > 0.0:
            return False
        row = R[k, k + 1 :] / np.sqrt(pivot)
        R[k + 1 :, k + 1 :] -= np.multiply.outer(row, row)
    return True
