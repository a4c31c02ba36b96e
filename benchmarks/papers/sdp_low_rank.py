"""Random semidefinite programs with solutions of low rank, by size and seed: completion, synchronisation, sensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from psdopt import Constrained, QuadraticSDP, constraints


def completion(n: int, rank: int = 3, share: float = 6.0, seed: int = 0, noise: float = 0.0) -> Constrained:
    """min ½ tr M, M_{i, n+j} = x_ij for `share` times rank (2 n − rank) entries of X (n, n), X of low rank.

    At 6 times its degrees of freedom X is the minimiser; near 4 times the minimiser is nearly X and of a higher rank.
    Entries are known up to `noise` times normal numbers.
    """
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((2, n, rank))
    known = rng.choice(n * n, min(n * n, int(share * rank * (2 * n - rank))), replace=False)
    i, j = np.divmod(np.sort(known), n)
    known_entries = (U[i] * V[j]).sum(axis=1) + noise * rng.standard_normal(len(i))
    group = constraints.entries(i, n + j, 2 * n, known_entries)
    return Constrained(QuadraticSDP(C=0.25 * sp.eye_array(2 * n, format="csr")), group)


def near_completion(n: int, seed: int = 0) -> Constrained:
    """The same with 3.85 times the degrees of freedom."""
    return completion(n, share=3.85, seed=seed)


def noisy_completion(n: int, seed: int = 0) -> Constrained:
    """The same at 6 times with noise of 0.1: exact rows of a matrix of full rank, and solutions of a high one."""
    return completion(n, seed=seed, noise=0.1)


def synchronisation(n: int, size: int = 3, degree: float = 10.0, noise: float = 0.1, seed: int = 0) -> Constrained:
    """min −⟨G, M⟩, M_kk = I: rotations R_k of O(size) from noisy R_k R_lᵀ along a random graph; n is the order of M."""
    rng, nodes = np.random.default_rng(seed), n // size
    R = np.linalg.qr(rng.standard_normal((nodes, size, size)))[0]
    density = min(1.0, degree / nodes)
    k, m = sp.triu(sp.random(nodes, nodes, density=density, random_state=rng, format="csr"), 1).nonzero()
    G = R[k] @ R[m].transpose(0, 2, 1) + noise * rng.standard_normal((len(k), size, size))
    a, b = np.indices((size, size))
    rows, columns = (size * k)[:, None, None] + a, (size * m)[:, None, None] + b
    C = sp.coo_array((-G.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)).tocsr()
    p, q = np.triu_indices(size)
    i, j = (size * np.arange(nodes)[:, None] + at for at in (p, q))
    group = constraints.entries(i.ravel(), j.ravel(), n, np.tile((p == q).astype(float), nodes))
    return Constrained(QuadraticSDP(C=0.25 * sp.csr_array(C + C.T)), group)


def sensors(n: int, degree: float = 10.0, seed: int = 0) -> Constrained:
    """min tr M under the exact squared distances of near pairs of n points in the unit square."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    i, j = cKDTree(X).query_pairs(np.sqrt(degree / (np.pi * n)), output_type="ndarray").T
    group = constraints.distances(i, j, ((X[i] - X[j]) ** 2).sum(axis=1), n=n)
    return Constrained(QuadraticSDP(C=0.5 * sp.eye_array(n, format="csr")), group)


#: By the name of the option of ``python -m benchmarks low-rank``; sizes are orders of X in the first three.
LOW_RANK: dict[str, Callable[..., Constrained]] = {
    "completion": completion,
    "near_completion": near_completion,
    "noisy_completion": noisy_completion,
    "synchronisation": synchronisation,
    "sensors": sensors,
}
