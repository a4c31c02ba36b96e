"""Sparse least-squares problems of certificates and starts, to rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from psdopt.linalg.arrays import Array, for_products
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS


def least_squares(A: Any, b: Array) -> Array:
    """The shortest x (p,) that minimises |A x − b|, for A (q, p) sparse or an operator; by LSQR, to rounding.

    A small sparse A is decomposed.
    LSQR may end short of rounding, after 200 + 20 √k steps, k the smaller of q and p. Cost of a step: a product
    with A and one with Aᵀ.
    """
    if sp.issparse(A) and isinstance(dense := for_products(A), np.ndarray):
        return np.asarray(np.linalg.lstsq(dense, b, rcond=None)[0])
    most = MOST_PRODUCTS + MOST_PRODUCTS // 10 * math.isqrt(min(A.shape))
    return np.asarray(lsqr(A, b, atol=EPS, btol=EPS, iter_lim=most)[0])
