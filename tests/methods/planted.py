"""Quadratic SDPs with a planted optimum."""

import numpy as np

from psdopt import QuadraticSDP


def planted(n=30, rank=4, seed=0, values=None):
    """A QSDP with a known optimum of these eigenvalues, strictly complementary; its optimal value; the optimum."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    A = A @ A.T / n
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q[:, :rank] * (np.linspace(1.0, 3.0, rank) if values is None else values)) @ Q[:, :rank].T
    S = (Q[:, rank:] * np.linspace(0.5, 2.0, n - rank)) @ Q[:, rank:].T
    C = 0.5 * (S - 2 * A @ M @ A - 0.2 * M)
    return QuadraticSDP(A, 0.1, C), float(np.trace(C @ M)), M


def zero(problem):
    return np.zeros((problem.n, 1))
