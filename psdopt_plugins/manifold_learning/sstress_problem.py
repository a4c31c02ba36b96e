"""Multidimensional scaling by SSTRESS: squared distances in a low-dimensional space close to given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt import TermSum
from psdopt.checks import real_array
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array
from psdopt_plugins.regression.problem import psd_regression_problem


def sstress_problem(delta: Any, pairs: Any = None, *, n: int | None = None) -> TermSum:
    """min 1/(2m) Σ (|g_i − g_j|² − delta_ij)² over M = G Gᵀ ⪰ 0 (Meyer et al., section 8.4): SSTRESS / (2m).

    Parameters
    ----------
    delta : squared dissimilarities, >= 0: a symmetric (n, n) array with NaN for what is missing, or (m,) with `pairs`.
    pairs : (m, 2) integers, with `n` objects.

    M is determined up to M + a eᵀ + e aᵀ. Cost of a step O(m r).
    Raises InvalidInputError for bad shapes, negative or asymmetric entries, no known entry.
    """
    if pairs is None:
        delta = _numbers(delta)
        pairs, targets = known_entries(delta)
        n = len(delta)
    else:
        targets = _numbers(delta)
    if targets.size and targets.min() < 0.0:
        raise InvalidInputError(f"delta must be at least 0; found {targets.min():g}")
    return psd_regression_problem(None, targets, pairs, n=n)


def known_entries(D: Any) -> tuple[NDArray[np.intp], Array]:
    """Pairs (m, 2), i < j, and entries (m,) of a symmetric D (n, n) that are not NaN; one known side is enough."""
    dense = _numbers(D)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or len(dense) < 2:
        raise InvalidInputError(f"dissimilarities must be square, of order at least 2; found shape {dense.shape}")
    upper, lower = dense[np.triu_indices(len(dense), 1)], dense.T[np.triu_indices(len(dense), 1)]
    both = ~np.isnan(upper) & ~np.isnan(lower)
    if not np.allclose(upper[both], lower[both]):
        raise InvalidInputError("dissimilarities must be symmetric; found entries that differ across the diagonal")
    entries = np.where(np.isnan(upper), lower, upper)
    known = ~np.isnan(entries)
    if not np.any(known):
        raise InvalidInputError("dissimilarities must hold at least one known entry; found none")
    if np.any(np.isinf(entries)) or entries[known].min() < 0.0:
        raise InvalidInputError("dissimilarities must be finite and at least 0 (NaN where missing)")
    i, j = np.triu_indices(len(dense), 1)
    return np.column_stack([i[known], j[known]]).astype(np.intp), entries[known]


def _numbers(delta: Any) -> Array:
    """`delta` as floats, NaN allowed."""
    array = real_array(delta, "delta")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"delta must hold real numbers; found dtype {array.dtype}") from error
