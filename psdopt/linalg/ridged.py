"""Systems for multipliers, singular if constraints are redundant: Cholesky factor with a ridge, and refinement."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS, MINOR, ROUNDINGS

#: Ridges for a system that is not definite to working precision, as shares of a diagonal entry.
RIDGES = (0.0, ROUNDINGS * EPS, EPS / MINOR, EPS / MINOR**2)


def ridged_solver(M: Array) -> Callable[[Array], Array]:
    """right ↦ M⁻¹ right for a symmetric positive semidefinite M (m, m), by its upper triangle, with refinement.

    A singular M gets the least ridge that makes it definite, relative to its largest diagonal entry. If no such ridge
    is enough, ridges relative to the diagonal entry of each row are tried, ROUNDINGS times as large, since rounding has
    that form if rows differ by many orders. Refinement, until a round no longer halves the residual, then removes the
    effect of the ridge in the range of M; components along the null space stay small. M is not changed, and must not
    change while the solver is in use. m³/3 flops, 4 m² per use and 4 m² more for each round; memory m² besides M.
    Raises numpy.linalg.LinAlgError where M is not finite, or not definite with the largest ridge.
    """
    M = np.ascontiguousarray(M)
    factor = np.empty_like(M)
    diagonal = np.diagonal(M)
    top = float(np.max(diagonal, initial=0.0))
    if not math.isfinite(top):
        raise np.linalg.LinAlgError("the system of the multipliers is not finite")
    scale = np.ones(len(M))
    if not factored(M, top, factor):
        scale = 1.0 / np.sqrt(np.where(diagonal > EPS**2 * top, diagonal, top or 1.0))
        M = scale[:, None] * M * scale
        if not factored(M, ROUNDINGS, factor):
            raise np.linalg.LinAlgError("the system of the multipliers is not definite")

    # with rows stored one after the other, the upper triangle is LAPACK's lower one
    def once(right: Array) -> Array:
        return np.asarray(dpotrs(factor.T, right, lower=1)[0])

    def off(right: Array, w: Array) -> Array:
        return np.asarray(dsymv(-1.0, M.T, w, beta=1.0, y=right, lower=1))

    def solve(right: Array) -> Array:
        if len(M) == 0:
            return np.zeros(0)
        return np.asarray(scale * refined(once, off, scale * right))

    return solve


def sparse_ridged_solver(M: sp.csc_array) -> Callable[[Array], Array]:
    """:func:`ridged_solver` for a sparse M (m, m), both triangles given: the same ridges, refinement and errors.

    Costs a sparse factor with pivots on the diagonal, in an order of little fill.
    """
    diagonal = M.diagonal()
    top = float(np.max(diagonal, initial=0.0))
    if not np.isfinite(M.data).all():
        raise np.linalg.LinAlgError("the system of the multipliers is not finite")
    scale = np.ones(len(diagonal))
    factor = _sparse_factor(M, top)
    if factor is None:
        scale = 1.0 / np.sqrt(np.where(diagonal > EPS**2 * top, diagonal, top or 1.0))
        M = sp.csc_array(sp.diags_array(scale) @ M @ sp.diags_array(scale))
        factor = _sparse_factor(M, ROUNDINGS)
    if factor is None:
        raise np.linalg.LinAlgError("the system of the multipliers is not definite")
    once = factor.solve
    return lambda right: np.asarray(scale * refined(once, lambda b, w: b - M @ w, scale * right))


def _sparse_factor(M: sp.csc_array, unit: float) -> Any:
    """The sparse factors of M with the least of the ridges that makes it definite; None if none does."""
    one = sp.eye_array(M.shape[0], format="csc")
    for ridge in RIDGES:
        shifted = sp.csc_array(M + (ridge * unit) * one)
        try:
            factor = sp.linalg.splu(
                shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError:  # exactly singular
            continue
        if np.all(factor.U.diagonal() > 0.0) and np.array_equal(factor.perm_r, factor.perm_c):
            return factor
    return None


def refined(once: Callable[[Array], Array], off: Callable[[Array, Array], Array], right: Array) -> Array:
    """w with M w = `right` for once(b) near M⁻¹ b and off(b, w) = b − M w, until a round no longer halves the rest."""
    w = once(right)
    rest = off(right, w)
    for _ in range(ROUNDS):
        new = w + once(rest)
        left = off(right, new)
        if not norm(left) < 0.5 * norm(rest):
            break
        w, rest = new, left
    return w


def factored(M: Array, unit: float, factor: Array) -> bool:
    """Whether one of the ridges makes M definite; `factor` then holds its Cholesky factor with the least of them."""
    if len(M) == 0:
        return True
    for ridge in RIDGES:
        np.copyto(factor, M)
        factor.reshape(-1)[:: len(M) + 1] += ridge * unit
        if dpotrf(factor.T, lower=1, clean=0, overwrite_a=1)[1] == 0:
            return True
    return False
