"""Naive twins of geometry: projections, written straight from their definitions, dense."""

import numpy as np

from psdopt.linalg.arrays import Array


def project_simplex(x: Array, total: float = 1.0) -> Array:
    """Closest point of {y ≥ 0, Σy = total}, by trying every number of positive entries."""
    order = np.sort(x)[::-1]
    best = np.full(len(x), total / len(x))
    for k in range(1, len(x) + 1):
        shift = (float(np.sum(order[:k])) - total) / k
        candidate = np.maximum(x - shift, 0.0)
        if abs(float(np.sum(candidate)) - total) <= 1e-9 * total:
            best = candidate
            break
    return np.asarray(best)


def project_spectraplex(M: Array, trace: float = 1.0) -> Array:
    """Closest M ⪰ 0 with tr M = trace: the spectrum projected onto the simplex."""
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    return np.asarray((vectors * project_simplex(values, trace)) @ vectors.T)
