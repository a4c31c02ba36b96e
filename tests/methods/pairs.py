"""Fits to entries of graphs, for methods that split."""

import numpy as np
import scipy.sparse as sp

from psdopt.problems.entry_fit import EntryFit


def laplacian(rng, n, scale=1.0):
    """A connected weighted graph: a ring and random chords."""
    W = np.triu((rng.random((n, n)) < 0.2) * rng.random((n, n)), 1)
    W[np.arange(n - 1), np.arange(1, n)] += 0.5
    W = W + W.T
    return scale * (np.diag(W.sum(axis=1)) - W)


def pair_problem(seed=0, n=24, gamma=2.0, scale=1.0, as_data=sp.csr_array):
    """Kernel learning on a random graph with n consistent pairs of two planted classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    i, j = np.triu_indices(n, 1)
    chosen = rng.choice(len(i), n, replace=False)
    i, j = i[chosen], j[chosen]
    d = np.arange(n)
    targets = np.concatenate([np.ones(n), (labels[i] == labels[j]).astype(float)])
    weights = scale * np.concatenate([np.full(n, 0.5 * gamma), np.full(n, gamma)])
    return EntryFit(as_data(laplacian(rng, n, scale)), np.concatenate([d, i]), np.concatenate([d, j]), targets, weights)
