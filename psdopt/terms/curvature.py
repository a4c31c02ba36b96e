"""Lower bounds on the curvature of products of M and of losses of measurements x_tᵀ M x_t."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from psdopt.contracts.curvature import Curvature
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above, pair_above
from psdopt.linalg.limits import BLOCK, SMALL_ORDER
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


def fourth_moment_curvature(D: Array, weights: Array, most_flops: float) -> list[Curvature]:
    """The curvature of ½ Σ_t weights_t (d_tᵀ M d_t)² for the rows d_t of D (m, n), weights (m,) >= 0.

    With Σ = Σ_t weights_t d_t d_tᵀ = C Cᵀ and z_t = C⁻¹d_t, Σ_t weights_t (d_tᵀ E d_t)² = svec(CᵀEC)ᵀ H svec(CᵀEC) with
    H = Σ_t weights_t svec(z_t z_tᵀ) svec(z_t z_tᵀ)ᵀ of order q = n (n + 1)/2. The form is the Cholesky factor of H less
    its rounding, and κ the least eigenvalue, proven to a tenth by a factorisation. So C carries the units of the
    coordinates, and κ does not change with them. Costs m q² flops; where these exceed `most_flops`, the sum is over a
    part of the rows, and the curvature less in proportion. None if the d_t d_tᵀ do not span all symmetric matrices.
    """
    n = D.shape[1]
    q = n * (n + 1) // 2
    rows = np.flatnonzero(weights > 0.0)
    affordable = int(most_flops / q**2)
    if n > SMALL_ORDER or len(rows) < q or affordable < q:
        return []
    rows = rows[:: math.ceil(len(rows) / affordable)]
    D = D[rows] * (weights[rows] ** 0.25)[:, None]
    C = _moment_root(D) if len(rows) >= q else None
    if C is None:
        return []
    Z = solve_triangular(C, D.T, lower=True, check_finite=False).T
    i, j = np.triu_indices(n)
    double = np.where(i == j, 1.0, math.sqrt(2.0))
    H, block = np.zeros((q, q)), max(1, BLOCK // q)
    for start in range(0, len(Z), block):
        part = Z[start : start + block]
        vectors = part[:, i] * part[:, j] * double
        H += vectors.T @ vectors
    floor = ROUNDINGS * q * EPS * float(np.trace(H))  # bounds the rounding of a Cholesky factor
    form, least = factor_above(H, floor), pair_above(H, 2.0 * floor)
    return [] if form is None or least is None else [Curvature(least.lower_bound - floor, C, np.triu(form[0]))]


def _moment_root(D: Array) -> Array | None:
    """The Cholesky factor C of DᵀD, scaled so that the rows of C⁻¹D are of mean square length n; None if singular."""
    sizes = np.sqrt(np.einsum("ij,ij->j", D, D))
    if not (np.all(np.isfinite(sizes)) and float(sizes.min()) > 0.0):
        return None
    _, R = np.linalg.qr(D / sizes)
    signs = np.sign(np.diagonal(R))
    least = float(np.abs(np.diagonal(R)).min())
    if not least > ROUNDINGS * D.shape[1] * EPS:
        return None
    return np.asarray((R * signs[:, None]).T * sizes[:, None]) / math.sqrt(len(D))
