"""Semidefinite programs of random graphs, by size and seed: the families of SDPLIB that graphs give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints


def adjacency(n: int, degree: float, seed: int) -> sp.csr_array:
    """A random graph, sparse (n, n)."""
    rng = np.random.default_rng(seed)
    A = sp.triu(sp.random(n, n, density=min(1.0, degree / n), random_state=rng, format="csr"), 1, format="csr")
    A.data[:] = 1.0
    return sp.csr_array(A + A.T)


def laplacian(n: int, degree: float, seed: int) -> sp.csr_array:
    """Its Laplacian."""
    A = adjacency(n, degree, seed)
    return sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=0)).ravel()) - A)


def max_cut(n: int, degree: float = 8, seed: int = 0) -> Constrained:
    """min −⟨L/4, M⟩, M_ii = 1."""
    return Constrained(QuadraticSDP(C=-0.125 * laplacian(n, degree, seed)), constraints.diagonal(n, 1.0))


def partition(n: int, degree: float = 12, seed: int = 0) -> Constrained:
    """min ⟨L/4, M⟩, M_ii = 1, ⟨e eᵀ, M⟩ = 0: halves of equal size, as in gpp and equalG."""
    i, j = np.triu_indices(n)
    whole = constraints.SparseForms(i, j, sp.csr_array(np.where(i == j, 1.0, 2.0)[None, :]), n)
    groups = [constraints.diagonal(n, 1.0), constraints.sparse_forms(whole, 0.0)]
    return Constrained(QuadraticSDP(C=0.125 * laplacian(n, degree, seed)), groups)


def theta(n: int, share: float = 0.2, seed: int = 0) -> Constrained:
    """min −⟨e eᵀ, M⟩, tr M = 1, M_ij = 0 along the edges: Lovász's number."""
    i, j = sp.triu(adjacency(n, share * n, seed), 1).nonzero()
    groups = [constraints.trace(n, 1.0), constraints.entries(i, j, n, 0.0)]
    return Constrained(QuadraticSDP(C=-0.5 * np.ones((n, n))), groups)


def torus(n: int, seed: int = 0) -> Constrained:
    """min ¼ ⟨W, M⟩ − ¼ eᵀW e, M_ii = 1, W a grid of 100 × n/100 on a torus with weights ±1, as maxG11 and maxG32."""
    i, rng = np.arange(n).reshape(100, -1), np.random.default_rng(seed)
    a = np.concatenate([i.ravel(), i.ravel()])
    b = np.concatenate([np.roll(i, 1, axis=0).ravel(), np.roll(i, 1, axis=1).ravel()])
    W = sp.coo_array((rng.choice([-1.0, 1.0], 2 * n), (a, b)), shape=(n, n)).tocsr()
    W = W + W.T
    L = sp.diags_array(np.asarray(W.sum(axis=0)).ravel()) - W
    return Constrained(QuadraticSDP(C=-0.125 * sp.csr_array(L)), constraints.diagonal(n, 1.0))


#: By the name of the option of ``python -m benchmarks sdp``; sizes are orders.
GRAPHS: dict[str, Callable[..., Constrained]] = {
    "max_cut": max_cut,
    "degree_20": partial(max_cut, degree=20),
    "torus": torus,
    "partition": partition,
    "theta": theta,
}
