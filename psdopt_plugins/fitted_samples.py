"""Fitted samples among new ones keep their positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from psdopt.linalg import Array


def keeping_fitted(X: Any, embedding: Array, new: Any, placed: Array) -> Array:
    """`placed` (q, k), with rows replaced by `embedding` (n, k) if the row of `new` (q, d) equals one of X (n, d)."""
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(new, return_distance=False)[:, 0]
    gaps: Any = abs(X[nearest] - new)
    equal = np.asarray(gaps.sum(axis=1)).ravel() == 0.0
    placed[equal] = embedding[nearest[equal]]
    return placed
