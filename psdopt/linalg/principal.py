"""Principal axes of M = Y Yᵀ from its factor, without those that are zero to rounding."""

from __future__ import annotations

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS


def principal_axes(Y: Array, floor: float | None = None) -> tuple[Array, Array]:
    """(values (k,), W (r, k)): the eigenvalues of YᵀY above `floor` times the largest, descending, and their vectors.

    The values are the positive eigenvalues of M = Y Yᵀ; the columns of Y W are orthogonal, with these squared lengths.
    For Y (n, r), k <= r; k = 0 for Y = 0. The default of `floor`, max(n, r) eps, is the rounding level of the largest
    eigenvalue. The signs of the columns of W are arbitrary. O(n r² + r³).
    """
    values, W = np.linalg.eigh(Y.T @ Y)
    level = (max(Y.shape) * EPS if floor is None else floor) * max(float(values[-1]), 0.0)
    kept = np.flatnonzero(values > level)[::-1]
    return values[kept], W[:, kept]
