"""Sparse least-squares problems of certificates and starts, to rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr as scipy_lsqr

from psdopt.linalg.arrays import Array, for_products, norm
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS


def least_squares(A: Any, b: Array) -> Array:
    """The shortest x (p,) that minimises |A x − b|, for A (q, p) sparse or an operator; by LSQR, to rounding.

    A small sparse A is decomposed.
    LSQR may end short of rounding, after 200 + 20 √k steps, k the smaller of q and p. Cost of a step: a product
    with A and one with Aᵀ.
    """
    dense = for_products(A) if sp.issparse(A) else A
    if isinstance(dense, np.ndarray):
        return np.asarray(np.linalg.lstsq(dense, b, rcond=None)[0])
    most = MOST_PRODUCTS + MOST_PRODUCTS // 10 * math.isqrt(min(A.shape))
    return np.asarray(scipy_lsqr(A, b, atol=EPS, btol=EPS, iter_lim=most)[0])


#: LSQR ends where A is known to have a condition number above this.
MOST_CONDITION = 1e8


def lsqr(
    forth: Callable[[Array], Array],
    back: Callable[[Array], Array],
    b: Array,
    steps: int,
    atol: float = 1e-6,
    btol: float = 1e-6,
) -> Array:
    """The shortest x that minimises |A x − b|, A = `forth` and Aᵀ = `back`, for x and b of any shapes.

    Ends after `steps`, where |Aᵀr| <= atol |A| |r| or |r| <= btol |b| + atol |A| |x| for r = b − A x, or where A is
    ill-conditioned. Cost of a step: a product with A and one with Aᵀ; on a device only numbers come to the host.
    Paige and Saunders (1982).
    """
    atol = max(atol, EPS)
    size = beta = float(norm(b))
    u = b / beta if beta > 0.0 else b
    v = back(u)
    alpha = float(norm(v))
    x = 0.0 * v
    if not (beta > 0.0 and alpha > 0.0):
        return x
    v = v / alpha
    w, rho_bar, phi_bar, whole, spread = v, alpha, beta, 0.0, 0.0
    for _ in range(steps):
        u = forth(v) - alpha * u
        length, beta = norm(w), float(norm(u))
        if beta > 0.0:
            u = u / beta
            whole = math.hypot(whole, alpha, beta)
            v = back(u) - beta * v
            alpha = float(norm(v))
            v = v / alpha if alpha > 0.0 else v
        rho = math.hypot(rho_bar, beta)
        cosine, sine = rho_bar / rho, beta / rho
        phi, phi_bar, rho_bar, theta = cosine * phi_bar, sine * phi_bar, -cosine * alpha, sine * alpha
        x = x + (phi / rho) * w
        w = v - (theta / rho) * w
        spread = math.hypot(spread, float(length) / rho)
        solved = phi_bar <= btol * size + atol * whole * float(norm(x))
        least = alpha * abs(cosine) <= atol * whole  # |Aᵀr| over |r|
        if solved or least or whole * spread > MOST_CONDITION:
            break
    return x
