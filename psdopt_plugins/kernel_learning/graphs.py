"""Neighbour graphs of data and their Laplacians: the smoothness term tr(K L) of kernel learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian
from sklearn.neighbors import NearestNeighbors

from psdopt.checks import integer, is_name, positive
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, is_finite

#: Neighbours whose mean distance sets the width of the similarity (Hu & Kwok, section 4).
WIDTH_NEIGHBORS = 10


def heat_kernel_width(X: Any, n_neighbors: int = WIDTH_NEIGHBORS) -> float:
    """σ = half the mean distance between a sample and its `n_neighbors` nearest others (Hu & Kwok, section 4).

    X (m, d) dense or sparse. Raises InvalidInputError when all those distances are zero.
    """
    distances, _ = _neighbors(X, n_neighbors)
    return _half_mean(distances)


def knn_laplacian(
    X: Any, n_neighbors: int = 5, *, sigma: float | str = "auto", normalized: bool = True
) -> sp.csr_array:
    """Laplacian (m, m), sparse, of the symmetrised k-nearest-neighbour graph of the rows of X.

    Edges join i and j when either is among the `n_neighbors` nearest of the other, with weight
    W_ij = exp(−|x_i − x_j|² / (2 σ²)) (Hu & Kwok, section 4; printed as x²/2σ²).

    Parameters
    ----------
    X : (m, d) samples as rows, dense or sparse, finite, at least two.
    n_neighbors : at least 1; at most m − 1 are used.
    sigma : width σ > 0, or "auto" for :func:`heat_kernel_width` of X.
    normalized : True for I − D^{−1/2} W D^{−1/2}, eigenvalues in [0, 2]; False for D − W. The paper does not
        say which it uses.

    Raises InvalidInputError for bad arguments. Cost: one nearest-neighbour search, O(m k) memory.
    """
    given = None if is_name(sigma, "auto") else positive(sigma, "sigma (if not 'auto')")
    wanted = max(integer(n_neighbors, "n_neighbors"), WIDTH_NEIGHBORS if given is None else 1)
    distances, neighbors = _neighbors(X, wanted)
    width = _half_mean(distances[:, :WIDTH_NEIGHBORS]) if given is None else given
    near, index = distances[:, :n_neighbors], neighbors[:, :n_neighbors]
    m = len(near)
    weights = np.exp(-0.5 * (near / width) ** 2)
    rows = np.repeat(np.arange(m), near.shape[1])
    directed = sp.csr_array(sp.coo_array((weights.ravel(), (rows, index.ravel())), shape=(m, m)))
    return graph_laplacian(directed.maximum(directed.T), normalized=normalized)


def graph_laplacian(W: Any, *, normalized: bool = True) -> sp.csr_array:
    """Laplacian of a graph given by its symmetric non-negative weights W (m, m); the diagonal is ignored.

    D − W, or I − D^{−1/2} W D^{−1/2} with a zero row for a vertex without edges. Exactly symmetric,
    PSD in exact arithmetic. Raises InvalidInputError for negative or asymmetric weights.
    """
    W = sp.csr_array(W, dtype=np.float64, copy=True)
    if W.shape[0] != W.shape[1]:
        raise InvalidInputError(f"W must be square; found shape {W.shape}")
    weights = np.asarray(W.data)
    if W.nnz and (not np.all(np.isfinite(weights)) or weights.min() < 0.0):
        raise InvalidInputError("W must hold finite weights of at least 0")
    if abs(W - W.T).max() > 0.0:
        raise InvalidInputError("W must be symmetric; pass W.maximum(W.T) or (W + W.T) / 2")
    W.setdiag(0.0)  # SciPy subtracts the diagonal from the row sums: small weights would be lost beside it
    L: Any = laplacian(W, normed=normalized)
    return sp.csr_array(0.5 * (L + L.T))  # SciPy rounds the entries (i, j) and (j, i) of a normalised one differently


def _neighbors(X: Any, n_neighbors: int) -> tuple[Array, Any]:
    """Distances and indices (m, k) of the k nearest other samples, k at most m − 1."""
    count = integer(n_neighbors, "n_neighbors")
    if not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] < 2:
        raise InvalidInputError(f"X must be a 2-D array with at least two rows; found shape {X.shape}")
    if not is_finite(X):
        raise InvalidInputError("X must be finite; found NaN or infinite entries")
    search = NearestNeighbors(n_neighbors=min(count, X.shape[0] - 1)).fit(X)
    distances, index = search.kneighbors()
    return distances, index


def _half_mean(distances: Array) -> float:
    width = 0.5 * float(np.mean(distances))
    if width <= 0.0:
        raise InvalidInputError("sigma cannot be chosen: all samples coincide with their nearest ones; give a number")
    return width
