"""Principal axes of geodesic distances, from landmarks: where an unfolding starts."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import dijkstra

from psdopt.linalg import Array
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
