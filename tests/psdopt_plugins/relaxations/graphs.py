"""Random graphs and networks of sensors, dense."""

import numpy as np
import scipy.sparse as sp

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def graph(n: int, seed: int, signed: bool = False) -> np.ndarray:
    """(n, n) weights of half of the edges."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5), 1)
    W = W if signed else np.abs(W)
    return W + W.T


def network(n: int = 12, reach: float = 0.75, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    P = np.random.default_rng(seed).random((n, 2))
    points = np.concatenate([P, CORNERS])
    i, j = np.triu_indices(n + 4, 1)
    lengths = np.linalg.norm(points[i] - points[j], axis=1)
    kept = (lengths < reach) & (i < n)
    return P, np.stack([i, j], axis=1)[kept], lengths[kept]


def distances(P: np.ndarray, pairs: np.ndarray, lengths: np.ndarray) -> sp.csr_array:
    N = len(P) + len(CORNERS)
    half = sp.csr_array((lengths, tuple(pairs.T)), shape=(N, N))
    return sp.csr_array(half + half.T)
