"""Some eigenvalues of a dense symmetric matrix: by LAPACK's fastest algorithm, or, if that fails, by a full one."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from psdopt.linalg.arrays import Array


def eigenpairs(matrix: Array, first: int, last: int) -> tuple[Array, Array]:
    """(values (k,), vectors (n, k)): eigenpairs number first, ..., last of a symmetric matrix (n, n), ascending.

    A few of them cost a quarter of all. LAPACK's ``syevr`` fails with an internal error on one matrix of many millions,
    of no special kind; ``syev`` then finds all pairs. Raises FloatingPointError where the matrix is not finite.
    O(n³).
    """
    try:
        values, V = scipy.linalg.eigh(matrix, subset_by_index=[first, last], check_finite=False)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise FloatingPointError("a matrix whose eigenvalues are needed is not finite") from None
        values, V = scipy.linalg.eigh(matrix, driver="ev", check_finite=False)
        values, V = values[first : last + 1], V[:, first : last + 1]
    return values, V


def least_eigenvalue(matrix: Array) -> float:
    """λ_min of a symmetric matrix (n, n). Raises as :func:`eigenpairs`."""
    try:
        return float(scipy.linalg.eigvalsh(matrix, subset_by_index=[0, 0], check_finite=False)[0])
    except np.linalg.LinAlgError:
        return float(eigenpairs(matrix, 0, 0)[0][0])
