"""Systems for multipliers, singular if constraints are redundant: Cholesky factor with a ridge, and refinement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from psdopt.linalg.arrays import Array, for_products, norm
from psdopt.linalg.entries import add_sparse
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS, MINOR, ROUNDINGS

#: Ridges for a system that is not definite to working precision, as shares of each diagonal entry.
RIDGES = tuple(ROUNDINGS * EPS * share for share in (0.0, 1.0, 1.0 / MINOR, 1.0 / MINOR**2))


def ridged_solver(M: Array) -> Callable[[Array], Array]:
    """right ↦ M⁻¹ right for a symmetric positive semidefinite M (m, m), by its upper triangle, with refinement.

    M is factorised in the units D in which its diagonal is one, D M D + ridge I, with the least ridge that makes it
    definite, since rows differ by many orders and rounding is relative to each. Refinement, until a round no longer
    halves the residual, then removes the effect of the ridge in the range of M; components along the null space stay
    small. M is not changed, and must not change while the solver is in use. m³/3 flops, 4 m² per use and 4 m² more for
    each round; memory m² besides M. Raises numpy.linalg.LinAlgError where M is not finite, or not definite with the
    largest ridge.
    """
    M = np.ascontiguousarray(M)
    factor, scale = ridged_factor(M)
    if not len(M):
        return np.zeros_like
    # with rows stored one after the other, the upper triangle is LAPACK's lower one
    return lambda right: refined(
        lambda b: scale * dpotrs(factor.T, scale * b, lower=1)[0],
        lambda b, w: dsymv(-1.0, M.T, w, beta=1.0, y=b, lower=1),
        scale,
        right,
    )


def sparse_ridged_solver(M: sp.csc_array) -> Callable[[Array], Array]:
    """:func:`ridged_solver` for a sparse M (m, m), both triangles given: the same units, ridges, refinement and errors.

    Costs a sparse factor with pivots on the diagonal, in an order of little fill.
    """
    scale = _units(M.diagonal(), np.isfinite(M.data).all())
    D = sp.diags_array(scale)
    factor = _sparse_factor(sp.csc_array(D @ M @ D))
    return lambda right: refined(lambda b: scale * factor.solve(scale * b), lambda b, w: b - M @ w, scale, right)


def arrow_ridged_solver(d: Array, E: sp.csr_array, M: Array) -> Callable[[Array], Array]:
    """:func:`ridged_solver` for [[diag d, E], [Eᵀ, M]], d (f,), E (f, k) sparse and M (k, k) by its upper triangle.

    The first f unknowns are eliminated: k³/3 flops, and products of the sparse rows of E. M is not changed.
    """
    f, M = len(d), np.ascontiguousarray(M)
    scale = _units(np.concatenate([d, M.diagonal()]), np.isfinite(E.data).all())
    own, units = scale[:f], scale[f:]
    joined: Any = for_products(sp.csr_array(sp.diags_array(own) @ E @ sp.diags_array(units)))
    for ridge in RIDGES:
        top = d * own**2 + ridge
        if not np.all(top > 0.0):
            continue
        rest = _shifted(M, units, ridge)
        if isinstance(joined, np.ndarray):
            rest -= joined.T @ (joined * (1.0 / top)[:, None])
        else:
            add_sparse(rest, sp.csr_array(joined.T @ sp.diags_array(-1.0 / top) @ joined))
        if dpotrf(rest.T, lower=1, clean=0, overwrite_a=1)[1] == 0:
            break
    else:
        raise np.linalg.LinAlgError("the system of the multipliers is not definite")

    def once(b: Array) -> Array:
        b = scale * b
        first = b[:f] / top
        others = dpotrs(rest.T, b[f:] - joined.T @ first, lower=1)[0]
        return np.asarray(scale * np.concatenate([first - (joined @ others) / top, others]))

    def off(b: Array, w: Array) -> Array:
        first, others = w[:f], w[f:]
        below = dsymv(-1.0, M.T, others, beta=1.0, y=b[f:] - E.T @ first, lower=1)
        return np.concatenate([b[:f] - d * first - E @ others, below])

    return lambda right: refined(once, off, scale, right)


def ridged_factor(M: Array) -> tuple[Array, Array]:
    """(L, d): the Cholesky factor of d_i M_ij d_j + ridge I in the lower triangle of Lᵀ, d_i = M_ii^-½. m³/3 flops."""
    scale = _units(M.diagonal(), True)
    for ridge in RIDGES if len(M) else ():
        factor = _shifted(M, scale, ridge)
        if dpotrf(factor.T, lower=1, clean=0, overwrite_a=1)[1] == 0:
            return factor, scale
    if len(M):
        raise np.linalg.LinAlgError("the system of the multipliers is not definite")
    return np.empty_like(M), scale


def _shifted(M: Array, scale: Array, ridge: float) -> Array:
    """d_i M_ij d_j + ridge I, a new array."""
    shifted: Array = M * scale
    shifted *= scale[:, None]
    shifted.reshape(-1)[:: len(M) + 1] += ridge
    return shifted


def _sparse_factor(M: sp.csc_array) -> Any:
    one = sp.eye_array(M.shape[0], format="csc")
    for ridge in RIDGES:
        shifted = sp.csc_array(M + ridge * one)
        try:
            factor = sp.linalg.splu(
                shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError:  # exactly singular
            continue
        if np.all(factor.U.diagonal() > 0.0) and np.array_equal(factor.perm_r, factor.perm_c):
            return factor
    raise np.linalg.LinAlgError("the system of the multipliers is not definite")


def _units(diagonal: Array, rest_finite: bool) -> Array:
    if not (rest_finite and np.isfinite(diagonal).all()):
        raise np.linalg.LinAlgError("the system of the multipliers is not finite")
    top = float(diagonal.max(initial=0.0))
    # what is below the square of the rounding of the largest is rounding itself
    return 1.0 / np.sqrt(np.where(diagonal > EPS**2 * top, diagonal, top or 1.0))


def refined(
    once: Callable[[Array], Array], off: Callable[[Array, Array], Array], scale: Array | float, right: Array
) -> Array:
    """w with M w = `right` for once(b) near M⁻¹ b and off(b, w) = b − M w, until scale off is rounding or a round no
    longer halves it."""
    w = once(right)
    rest = off(right, w)
    # of the largest entry, as the squares of a nearly singular system's w may overflow
    rounding = ROUNDINGS * EPS * (norm(scale * right) + float(np.abs(w / scale).max(initial=0.0)))
    for _ in range(ROUNDS if norm(scale * rest) > rounding else 0):
        new = w + once(rest)
        left = off(right, new)
        if not norm(scale * left) < 0.5 * norm(scale * rest):
            break
        w, rest = new, left
    return w
