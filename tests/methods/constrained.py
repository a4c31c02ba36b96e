"""Problems with constraints: cuts and theta numbers of graphs, intervals, random programs, a curved F."""

import numpy as np
import scipy.sparse as sp

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


def theta(n: int, density: float, seed: int) -> Constrained:
    """min −⟨J, M⟩, tr M = 1, M_ij = 0 on edges: minus the theta number of a random graph."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    edge = rng.random(len(i)) < density
    held = [constraints.trace(n, 1.0), constraints.entries(i[edge], j[edge], n, 0.0)]
    return Constrained(QuadraticSDP(C=-0.5 * np.ones((n, n))), held)


def intervals(n: int = 6) -> Constrained:
    """A random ⟨C, M⟩ with tr M = 3, entries in an interval and a bounded diagonal."""
    C = np.random.default_rng(7).standard_normal((n, n))
    i, j = np.triu_indices(n, 1)
    within = [constraints.entries(i, j, n, lower=-0.2, upper=0.3), constraints.diagonal(n, upper=1.0)]
    return Constrained(QuadraticSDP(C=(C + C.T) / 2), [constraints.trace(n, 3.0), *within])


def random_program(n: int, m: int, seed: int) -> Constrained:
    """Strictly feasible on both sides, equations of random sparse matrices."""
    rng = np.random.default_rng(seed)
    A = [sp.random(n, n, density=0.3, random_state=rng) for _ in range(m)]
    A = [sp.csr_array(a + a.T + sp.eye_array(n)) for a in A]
    G = rng.standard_normal((n, n))
    M, Z = G @ G.T, np.eye(n) + 0.1 * np.diag(rng.random(n))
    C = Z - sum(y * a.toarray() for y, a in zip(rng.standard_normal(m), A, strict=True))
    b = np.array([np.sum(a.toarray() * M) for a in A])
    return Constrained(QuadraticSDP(C=C / 2), constraints.sparse_forms(A, b))
