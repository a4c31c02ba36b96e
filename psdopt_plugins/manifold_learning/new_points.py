"""Positions from distances to landmarks: where an unfolding starts, and where a sample that was not fitted lies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import NearestNeighbors

from psdopt.linalg import Array, as_dense, row_dots
from psdopt_plugins.limits import MINOR
from psdopt_plugins.manifold_learning.graph import Edges

#: Most landmarks; their shortest paths cost O(LANDMARKS edges log n).
LANDMARKS = 80


def geodesic_axes(edges: Edges, columns: int) -> Array:
    """Y (n, columns), centred: landmark MDS (de Silva, Tenenbaum 2003) of shortest paths in the (connected) graph.

    Landmarks are drawn with a fixed seed. Columns without a positive eigenvalue are zero.
    """
    chosen = np.random.default_rng(0).choice(edges.n, min(LANDMARKS, edges.n), replace=False)
    squared = dijkstra(edges.path_graph(), directed=False, indices=chosen) ** 2
    among = squared[:, chosen]
    mean = among.mean(axis=0)
    gram = -0.5 * (among - mean - mean[:, None] + mean.mean())
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    values, vectors = values[::-1][:columns], vectors[:, ::-1][:, :columns]
    roots = np.sqrt(np.maximum(values, 0.0))
    scaled = np.divide(vectors, roots, out=np.zeros_like(vectors), where=roots > 0.0)
    Y = -0.5 * (squared - mean[:, None]).T @ scaled
    return np.asarray(Y - Y.mean(axis=0))


def landmark_placement(G: Array, squared: Array) -> Array:
    """Rows g (q, k): the least squares solution, over g and c, of c − 2 gᵀg_j + |g_j|² = δ_j for the known δ_j.

    The unknown c stands for |g|². Without missing δ and with centred G it is g = ½ (GᵀG)⁻¹ Gᵀ (s − δ), s_j = |g_j|²,
    which is exact where the δ are squared distances from a point in the space of G (landmark multidimensional scaling).

    G : (n, k) places of the samples that were fitted. squared : δ (q, n), NaN where it is not known. O(q n k + n k²),
    and O(n k²) for each row with something missing.
    """
    equations = np.column_stack([np.ones(len(G)), -2.0 * G])
    wanted = squared - row_dots(G, G)
    placed = np.zeros((len(wanted), G.shape[1]))
    missing = np.isnan(wanted).any(axis=1)
    if not missing.all():
        placed[~missing] = np.linalg.lstsq(equations, wanted[~missing].T)[0][1:].T
    for q in np.flatnonzero(missing):
        known = ~np.isnan(wanted[q])
        if known.any():
            placed[q] = np.linalg.lstsq(equations[known], wanted[q, known])[0][1:]
    return placed


def local_placement(X: Any, embedding: Array, new: Any, n_neighbors: int) -> Array:
    """Rows Σ w_j y_j (q, k) over the `n_neighbors` nearest fitted samples x_j of each new sample x.

    w minimises |x − Σ w_j x_j|² + ridge |w|² subject to Σ w_j = 1, ridge = 1e-3 Σ |x − x_j|²: locally linear, so it
    is right where the embedding is smooth and x lies among its neighbours.

    X : (n, d) fitted samples, embedding (n, k); new : (q, d). O(q (n d + j² d + j³)) for j neighbours.
    """
    count = min(n_neighbors, X.shape[0])
    near = NearestNeighbors(n_neighbors=count).fit(X).kneighbors(new, return_distance=False)
    placed = np.empty((new.shape[0], embedding.shape[1]))
    for q, neighbours in enumerate(near):
        gaps = as_dense(X[neighbours]) - as_dense(new[[q]])
        gram = gaps @ gaps.T
        ridge = MINOR * float(np.trace(gram))
        if ridge > 0.0:
            gram[np.diag_indices(count)] += ridge
            weights = np.linalg.solve(gram, np.ones(count))
            placed[q] = (weights / weights.sum()) @ embedding[neighbours]
        else:
            placed[q] = embedding[neighbours].mean(axis=0)
    return placed
