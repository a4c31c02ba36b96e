"""The strongest peer on maximum cuts: conjugate gradient on a product of spheres, one Cholesky factor as proof.

Forty lines of NumPy and SciPy, without the library: what a reader would write from the formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

Array = NDArray[np.float64]
#: The first |gradient| / |F| at which a proof is tried, and its share after each proof that fails.
FIRST, AGAIN = 3e-6, 0.3


def spheres(C: Any, tol: float, most: int = 20_000) -> tuple[float, float]:
    """(F, proven gap) of min ⟨C, M⟩, M_ii = 1, for a sparse C (n, n): F − min F <= gap, inf after `most` steps.

    M = V Vᵀ with rows of length one. S = C − Diag(y), y_i = (C V Vᵀ)_ii; S + eps I ⪰ 0 proves F − min F <= n eps.
    """
    n = C.shape[0]
    columns = min(math.isqrt(2 * n) + 1, 14 if n < 1000 else 30)
    V = _unit(np.random.default_rng(0).standard_normal((n, columns)))
    dense, target, d, old = C.toarray(), FIRST, None, None
    value, last = 0.0, 1.0
    for _ in range(most):
        CV = C @ V
        y = _rows(V, CV)
        value, g = float(y.sum()), 2.0 * (CV - y[:, None] * V)
        square = float(np.vdot(g, g))
        if math.sqrt(square) <= target * abs(value):
            eps = 0.9 * tol * abs(value) / n
            try:
                cholesky(dense - np.diag(y - eps), overwrite_a=True, check_finite=False)
            except LinAlgError:
                target *= AGAIN
            else:
                return value, n * eps
        if d is None or old is None:
            d = -g
        else:  # Polak and Ribière, carried along by projection
            beta = max(0.0, float(np.vdot(g, g - _tangent(old, V))) / last)
            d = beta * _tangent(d, V) - g
            d = d if np.vdot(d, g) < 0.0 else -g
        curvature = 2.0 * float(np.vdot(d, C @ d) - _rows(d, d) @ y)
        slope = float(np.vdot(g, d))
        s = -slope / curvature if curvature > 0.0 else 1.0 / (1.0 + float(np.linalg.norm(d)))
        for _ in range(20):
            W = _unit(V + s * d)
            if np.vdot(W, C @ W) <= value + 1e-4 * s * slope + 1e-14 * abs(value):
                break
            s *= 0.5
        V, old, last = W, g, square
    return value, math.inf


def _rows(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", A, B))


def _unit(V: Array) -> Array:
    return np.asarray(V / np.linalg.norm(V, axis=1)[:, None])


def _tangent(D: Array, V: Array) -> Array:
    return np.asarray(D - _rows(D, V)[:, None] * V)
