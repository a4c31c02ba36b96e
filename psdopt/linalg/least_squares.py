"""Sparse least-squares problems of certificates and starts, to rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse.linalg import lsqr

from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS


def least_squares(A: Any, b: Array) -> Array:
    """The shortest x (p,) that minimises |A x − b|, for A (q, p) sparse or an operator; by LSQR, to rounding.

    LSQR may end short of rounding, after 200 + 20 √k steps, k the smaller of q and p. Cost of a step: a product
    with A and one with Aᵀ.
    """
    most = MOST_PRODUCTS + MOST_PRODUCTS // 10 * math.isqrt(min(A.shape))
    return np.asarray(lsqr(A, b, atol=EPS, btol=EPS, iter_lim=most)[0])
