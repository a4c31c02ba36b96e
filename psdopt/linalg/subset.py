"""Some eigenpairs of a dense symmetric matrix, with a full decomposition as fallback; eigenpairs of Y Yᵀ from Y."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dsyevr, dsyevr_lwork

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS


def eigenpairs(matrix: Array, first: int, last: int) -> tuple[Array, Array]:
    """(values (k,), vectors (n, k)): eigenpairs number first, ..., last of a symmetric matrix (n, n), ascending.

    A few pairs cost a quarter to a third of all. In one of many millions of cases LAPACK's ``syevr`` fails with an
    internal error on an ordinary matrix; ``syev`` then finds all pairs. Raises FloatingPointError where the matrix is
    not finite. O(n³).
    """
    found = _some(matrix, first, last)
    if found is not None:
        return found
    if not np.isfinite(matrix).all():
        raise FloatingPointError("a matrix whose eigenvalues are needed is not finite")
    values, V = scipy.linalg.eigh(matrix, driver="ev", check_finite=False)
    return values[first : last + 1], V[:, first : last + 1]


def _some(matrix: Array, first: int, last: int, vectors: bool = True) -> tuple[Array, Array] | None:
    """:func:`eigenpairs` by ``syevr``, without vectors if they are not wanted; None where it fails."""
    deadline.ask()
    work, integers, _ = dsyevr_lwork(len(matrix))
    options = {"compute_v": vectors, "range": "I", "il": first + 1, "iu": last + 1}
    # a matrix stored by rows is its transpose to LAPACK: the triangle that is read is the lower one
    values, V, count, _, failed = dsyevr(matrix.T, lower=0, lwork=int(work), liwork=int(integers), **options)
    found = not failed and count == last - first + 1 and math.isfinite(values[0])
    return (values[:count], V) if found else None


def spectrum(matrix: Array) -> tuple[Array, Array]:
    """(values (n,), vectors (n, n)) of a symmetric matrix, ascending, unless the deadline has passed. O(n³)."""
    deadline.ask()
    values, V = np.linalg.eigh(matrix)
    return values, V


def least_eigenvalue(matrix: Array) -> float:
    """λ_min of a symmetric matrix (n, n). Raises as :func:`eigenpairs`."""
    values, _ = _some(matrix, 0, 0, vectors=False) or eigenpairs(matrix, 0, 0)
    return float(values[0])


def principal_axes(Y: Array, floor: float | None = None) -> tuple[Array, Array]:
    """(values (k,), W (r, k)): the eigenvalues of YᵀY above `floor` times the largest, descending, and their vectors.

    The values are the positive eigenvalues of M = Y Yᵀ; the columns of Y W are orthogonal, with these squared lengths.
    For Y (n, r), k <= r; k = 0 for Y = 0 and for r = 0. The default of `floor`, max(n, r) eps, is the rounding level of
    the largest eigenvalue. The signs of the columns of W are arbitrary. O(n r² + r³).
    """
    values, W = np.linalg.eigh(Y.T @ Y)
    level = (max(Y.shape) * EPS if floor is None else floor) * float(np.max(values, initial=0.0))
    kept = np.flatnonzero(values > level)[::-1]
    return values[kept], W[:, kept]
