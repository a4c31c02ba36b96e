"""Problems with constraints: cuts of graphs, and a curved F with bounds of every kind."""

import numpy as np

from psdopt import Constrained, QuadraticSDP, constraints
from tests.graphs import random_laplacian


def cut(n: int, seed: int = 0) -> Constrained:
    return Constrained(QuadraticSDP(C=-random_laplacian(n, seed) / 8), constraints.diagonal(n, 1.0))


def curved(n: int = 8, seed: int = 0) -> Constrained:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n))
    return Constrained(
        QuadraticSDP(A=G @ G.T / n, B=0.5, C=G + G.T),
        [constraints.trace(n, 2.0), constraints.entries([0, 1], [1, 2], n, lower=-0.1, upper=[0.05, 0.2])],
    )
