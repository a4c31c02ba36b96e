"""Lower bounds on the curvature of products of M and of losses of measurements x_tᵀ M x_t."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from psdopt.contracts.curvature import Curvature
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above, pair_above
from psdopt.linalg.limits import BLOCK, CACHED, SMALL_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: Flops for a matrix of fourth moments: as much as a few steps of a method cost, and half a second.
FEW_FLOPS, MOST_FLOPS = 2e8, 2e10


def product_curvature(A: Array, weight: float) -> list[Curvature]:
    """The curvature (2 weight, C) of weight · tr((A M)²), A = C Cᵀ up to rounding; none where A is singular.

    A is factorised in coordinates in which its diagonal is 1, less a multiple of rounding: C Cᵀ ⪯ A, so that the bound
    holds for A. O(n³).
    """
    diagonal = np.diagonal(A)
    if not (np.all(np.isfinite(A)) and float(diagonal.min()) > 0.0):
        return []
    scale = np.sqrt(diagonal)
    found = factor_above(A / scale / scale[:, None], ROUNDINGS * len(A) * EPS)
    return [] if found is None else [Curvature(2.0 * weight, scale[:, None] * np.triu(found[0]).T)]


def fourth_moment_curvature(D: Any, weights: Array, most_flops: float) -> list[Curvature]:
    """The curvature of ½ Σ_t weights_t (d_tᵀ M d_t)² for the rows d_t of D (m, n), weights (m,) >= 0.

    With Σ = Σ_t weights_t d_t d_tᵀ = C Cᵀ and z_t = C⁻¹d_t, Σ_t weights_t (d_tᵀ E d_t)² = svec(CᵀEC)ᵀ H svec(CᵀEC) with
    H = Σ_t weights_t svec(z_t z_tᵀ) svec(z_t z_tᵀ)ᵀ of order q = n (n + 1)/2. The form is the Cholesky factor of H less
    its rounding, and κ the least eigenvalue, proven to a tenth by a factorisation. So C carries the units of the
    coordinates, and κ does not change with them. Costs m q² flops; where these exceed `most_flops`, the sum is over a
    part of the rows, and the curvature less in proportion. None if the d_t d_tᵀ do not span all symmetric matrices.
    D is an array, or anything with a `shape` and ``D[rows]``: it is asked for blocks of rows, sorted, twice for each.
    Memory 40 q² bytes and the blocks.
    """
    n = D.shape[1]
    q = n * (n + 1) // 2
    rows = np.flatnonzero(weights > 0.0)
    affordable = int(most_flops / q**2)
    if n > SMALL_ORDER or len(rows) < q or affordable < q:
        return []
    rows = rows[:: math.ceil(len(rows) / affordable)]
    if len(rows) < q:
        return []
    block = max(1, CACHED // q, min(q, BLOCK // q))
    blocks = [rows[start : start + block] for start in range(0, len(rows), block)]
    C = _moment_root((_weighted(D, weights, some) for some in blocks), len(rows))
    if C is None:
        return []
    i, j = np.triu_indices(n)
    double = np.where(i == j, 1.0, math.sqrt(2.0))
    H = np.zeros((q, q))
    for some in blocks:
        Z = solve_triangular(C, _weighted(D, weights, some).T, lower=True, check_finite=False).T
        vectors = Z[:, i] * Z[:, j] * double
        H += vectors.T @ vectors
    floor = ROUNDINGS * q * EPS * float(np.trace(H))  # bounds the rounding of a Cholesky factor
    form, least = factor_above(H, floor), pair_above(H, 2.0 * floor)
    return [] if form is None or least is None else [Curvature(least.lower_bound - floor, C, np.triu(form[0]))]


def _weighted(D: Any, weights: Array, rows: NDArray[np.intp]) -> Array:
    """weights_t^¼ d_t for the given t."""
    return np.asarray(D[rows] * (weights[rows] ** 0.25)[:, None])


def _moment_root(blocks: Iterable[Array], count: int) -> Array | None:
    """The Cholesky factor C of DᵀD for the D (count, n) whose rows come in `blocks`, None if singular.

    C is scaled so that the rows of C⁻¹D are of mean square length n.
    """
    R: Array | None = None
    for some in blocks:
        R = np.asarray(np.linalg.qr(some if R is None else np.vstack([R, some]), mode="r"))
    assert R is not None
    sizes = np.sqrt(np.einsum("ij,ij->j", R, R))  # of the columns of D
    if not (np.all(np.isfinite(sizes)) and float(sizes.min()) > 0.0):
        return None
    R = R / sizes
    signs = np.sign(np.diagonal(R))
    least = float(np.abs(np.diagonal(R)).min())
    if not least > ROUNDINGS * R.shape[1] * EPS:
        return None
    return np.asarray((R * signs[:, None]).T * sizes[:, None]) / math.sqrt(count)
