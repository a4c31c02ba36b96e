"""Naive twins of geometry: horizontal parts and projections, written straight from their definitions, dense."""

import numpy as np

from psdopt.linalg.arrays import Array


def horizontal_by_least_squares(Y: Array, Z: Array) -> Array:
    """Z minus its component along {YΩ : Ω skew}, by a dense least-squares fit over a basis of skew matrices."""
    n, r = Y.shape
    basis = []
    for i in range(r):
        for j in range(i):
            W = np.zeros((r, r))
            W[i, j], W[j, i] = 1.0, -1.0
            basis.append((Y @ W).ravel())
    if not basis:
        return Z.copy()
    V = np.array(basis).T
    weights, *_ = np.linalg.lstsq(V, Z.ravel(), rcond=None)
    return np.asarray(Z - (V @ weights).reshape(n, r))


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
