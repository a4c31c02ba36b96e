"""Smallest eigenvectors by ARPACK, after a few Lanczos steps of our own that look at what they have."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from psdopt.linalg.arrays import Array
from psdopt.linalg.checked_operator import CheckedOperator
from psdopt.linalg.tolerances import EPS

#: Products after which one extreme eigenvector is left to ARPACK, which looks at nothing before 20 of them.
SHORT = 8
#: Steps before the first look: fewer could mistake a cluster that the start happens to lie in for the end.
LEAST = 3


def arpack_smallest(
    op: CheckedOperator, guess: Array, count: int, target: Callable[[], float], budget: int, rng: np.random.Generator
) -> Array:
    """`count` smallest Ritz vectors (n, count) of `op` to residual target(), or the best within `budget` products.

    One vector that stands far apart from the rest, as that of a gradient often does, is found by `SHORT` products or
    fewer; otherwise ARPACK starts from what they gave. Raises ValueError for constraints or count >= n.
    """
    if op.C.shape[1] or count >= op.n:
        raise ValueError("the eigsh backend takes no constraints and needs count < n; use backend='lanczos'")
    v0 = guess[:, 0] if guess.any() else rng.standard_normal(op.n)
    # products for the norm as well: ARPACK's tolerance is relative to |theta|, up to twice what one of them shows
    share = 0.8 if count == 1 else 0.5
    v0, found = short_lanczos(op.of_unit, v0, min(SHORT, budget) if count == 1 else 1, target)
    if found and count == 1:
        return v0[:, None]
    ncv = min(op.n, max(2 * count + 1, 20))
    tol, sweeps = share * target() / max(op.norm, 1e-300), max(1, budget // ncv)
    try:
        V = eigsh(op.operator(unit=True), k=count, which="SA", v0=v0, tol=tol, ncv=ncv, maxiter=sweeps)[1]
        return np.asarray(V, dtype=float)
    except ArpackNoConvergence as failure:
        return np.asarray(failure.eigenvectors if failure.eigenvectors.size else v0[:, None], dtype=float)


def short_lanczos(
    product: Callable[[Array], Array], start: Array, steps: int, target: Callable[[], float]
) -> tuple[Array, bool]:
    """(unit Ritz vector of the smallest Ritz value, whether its residual is at most target()).

    `product` maps a unit vector (n,) to S times it and is used at most `steps` times. The basis is orthogonalised in
    full, twice. Fewer than LEAST steps look at nothing and give the start back, scaled. Cost: the products and
    O(n steps²). Golub and Van Loan, Matrix Computations, section 10.1.
    """
    start = start / np.max(np.abs(start))
    Q = np.empty((len(start), steps + 1), order="F")
    Q[:, 0] = start / np.linalg.norm(start)
    T = np.zeros((steps, steps))
    values, W, found = np.zeros(1), np.ones((1, 1)), False
    for j in range(min(steps, len(start))):
        image = product(Q[:, j])
        basis = Q[:, : j + 1]
        along = basis.T @ image
        image = image - basis @ along
        again = basis.T @ image
        image -= basis @ again
        T[: j + 1, j] = T[j, : j + 1] = along + again
        length = math.sqrt(float(image @ image))
        ended = length <= 10 * EPS * math.sqrt(len(start)) * max(float(np.max(np.abs(along))), EPS)
        if j + 1 >= LEAST:
            values, W = np.linalg.eigh(T[: j + 1, : j + 1])
            found = ended or length * abs(W[-1, 0]) <= target()
        if ended or found:
            break
        Q[:, j + 1] = image / length
    return Q[:, : len(values)] @ W[:, 0], found
