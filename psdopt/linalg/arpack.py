"""Smallest eigenvectors by ARPACK, after a few Lanczos steps of our own that test convergence at every step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.checked_operator import CheckedOperator
from psdopt.linalg.krylov import smallest_ritz_vector
from psdopt.linalg.limits import PROBES


def arpack_smallest(
    op: CheckedOperator, guess: Array, count: int, target: Callable[[], float], budget: int, rng: np.random.Generator
) -> Array:
    """`count` smallest Ritz vectors (n, count) of `op` to residual target(), or the best within `budget` products.

    If the smallest eigenvalue is well separated, as that of a gradient often is, PROBES products or fewer find its
    vector; otherwise ARPACK, which tests convergence only after 20 products, starts from their result. Raises
    InvalidInputError for count >= n.
    """
    if count >= op.n:
        raise InvalidInputError("the eigsh backend needs count < n; use backend='lanczos'")
    v0 = guess[:, 0] if guess.any() else rng.standard_normal(op.n)
    v0, found = smallest_ritz_vector(op.of_unit, v0, min(PROBES, budget) if count == 1 else 1, target)
    if found and count == 1:
        return v0[:, None]
    ncv = min(op.n, max(2 * count + 1, 20))
    # ARPACK's tolerance is relative to |theta|, up to twice the norm that the products so far have shown
    tol, sweeps = 0.5 * target() / max(op.norm, 1e-300), max(1, budget // ncv)
    try:
        V = eigsh(op.operator(unit=True), k=count, which="SA", v0=v0, tol=tol, ncv=ncv, maxiter=sweeps)[1]
        return np.asarray(V, dtype=float)
    except ArpackNoConvergence as failure:
        return np.asarray(failure.eigenvectors if failure.eigenvectors.size else v0[:, None], dtype=float)
