"""Exact inverse of D ↦ A D P + D (b Q + eta I), the leading part of the factor Hessian of a quadratic SDP."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from psdopt.linalg.arrays import Array

#: Damping relative to the mean eigenvalue of the pencil: keeps it definite when Y is rank-deficient.
RELATIVE_DAMPING = 1e-10
#: Weight of the curvature of S within the span of Y, found best of 0.15, 0.5, 1.5 over KTA on four data sets.
COLUMN_CURVATURE = 0.15
# Only numpy.linalg is used here and in the loops that call this: numpy and scipy carry a BLAS each,
# and alternating between the two makes their thread pools spin against each other.


class EigenBasis:
    """A ≈ V diag(a) Vᵀ + rest · (I − V Vᵀ), A ⪰ 0: exact with k = n, else the leading part of the spectrum.

    `a` (k,), `V` (n, k) with orthonormal columns; V = None stands for A = a[0] · I.
    """

    def __init__(self, a: Array, V: Array | None, rest: float | None = None) -> None:
        self.a = np.maximum(np.asarray(a, dtype=np.float64), 0.0)
        self.V, self.rest = V, rest

    @classmethod
    def full(cls, A: Array) -> EigenBasis:
        """One symmetric eigendecomposition of a dense A (n, n), O(n³)."""
        a, V = np.linalg.eigh(A)
        return cls(a, V)

    @classmethod
    def leading(
        cls,
        apply: Callable[[Array], Array],
        n: int,
        trace: float,
        rank_bound: int,
        k: int = 60,
        extra: int = 10,
        passes: int = 2,
        seed: int = 0,
    ) -> EigenBasis:
        """k leading pairs by randomised subspace iteration: `passes` block products of width k + extra.

        The rest of the spectrum is replaced by its mean, from trace A. Halko, Martinsson, Tropp (2011).
        """
        width = min(k + extra, n)
        B = np.random.default_rng(seed).standard_normal((n, width))
        for last in [False] * (passes - 1) + [True]:
            B = np.linalg.qr(B)[0]
            AB = apply(B)
            if not last:
                B = AB
        small = B.T @ AB
        values, vectors = np.linalg.eigh(0.5 * (small + small.T))
        keep = np.argsort(-values)[: min(k, n)]
        rest = max(trace - float(values[keep].sum()), 0.0) / max(rank_bound - len(keep), 1)
        return cls(values[keep], B @ vectors[:, keep], None if len(keep) == n else rest)

    @property
    def mean(self) -> float:
        """A typical eigenvalue of A, used to combine P and Q into one definite matrix."""
        return float(self.a.mean()) if self.rest is None else float(0.5 * (self.a.mean() + self.rest))

    def squared_norm_of_product(self, Y: Array) -> float:
        """|A Y|² from the decomposition. O(n k r)."""
        if self.V is None:
            return float(self.a[0] ** 2 * np.vdot(Y, Y))
        VY = self.V.T @ Y
        total = float(np.sum((self.a[:, None] * VY) ** 2))
        if self.rest is not None:
            total += self.rest**2 * max(float(np.vdot(Y, Y)) - float(np.vdot(VY, VY)), 0.0)
        return total


def pencil_inverse(
    basis: EigenBasis, b: float, P: Array, Q: Array, damping: float, T: Array | None = None
) -> Callable[[Array], Array]:
    """R ↦ D with A D P + D (b Q + eta I) = R, for P = YᵀAY and Q = YᵀY (r, r).

    With W simultaneously diagonalising the pair, Wᵀ(ā P + b Q + eta I)W = I, WᵀPW = diag(p),
    q = diag(Wᵀ(b Q + eta I)W):  D = V [(VᵀR W)_ij / (a_i p_j + q_j)] Wᵀ. eta is `damping` plus a rounding
    level of the pencil. Symmetric positive definite for every Y, singular ones included. For b = 0 the
    preconditioned Gauss-Newton Hessian of the factor problem has the eigenvalues 1 and 2 only.

    With T = YᵀSY, S the gradient of F, the term S D / 2 is represented by D C, C = COLUMN_CURVATURE · |R| for
    R = Q^-½ T Q^-½, the restriction of S to the span of Y. At a stationary point that vanishes; in directions
    where Y is far too small it is what limits the step, and without it the exact search has to. All of it is
    equivariant under Y → Y O.

    Setup O(r³), each use O(n k r + n r²).
    """
    r = len(P)
    shifted = b * Q
    if T is not None:
        shifted = shifted + COLUMN_CURVATURE * _restriction_size(Q, T)
    N = basis.mean * P + shifted
    size = float(np.trace(N)) / r
    eta = RELATIVE_DAMPING * size + damping
    if not eta > 0.0:
        return lambda R: R
    inverse = _inverse_cholesky(N, eta, size)
    reduced = inverse @ P @ inverse.T
    p, U = np.linalg.eigh(0.5 * (reduced + reduced.T))
    W = inverse.T @ U
    p = np.maximum(p, 0.0)
    shifted[np.diag_indices(r)] += eta
    q = np.einsum("ij,ij->j", W, shifted @ W)
    tiny = np.finfo(float).tiny
    scaled = 1.0 / (basis.a[:, None] * p + np.maximum(q, 0.0) + tiny)
    V = basis.V
    if V is None:
        return lambda R: ((R @ W) * scaled) @ W.T
    if basis.rest is None:
        return lambda R: V @ (((V.T @ R) @ W * scaled) @ W.T)
    rest = 1.0 / (basis.rest * p + np.maximum(q, 0.0) + tiny)

    def apply(R: Array) -> Array:
        RW = R @ W
        return np.asarray((RW * rest + V @ ((V.T @ RW) * (scaled - rest))) @ W.T)

    return apply


def _restriction_size(Q: Array, T: Array) -> Array:
    """|Q^-½ T Q^-½|, the matrix absolute value; directions in which Q vanishes to rounding count as zero."""
    s, V = np.linalg.eigh(Q)
    usable = s > len(s) * np.finfo(float).eps * max(float(s[-1]), 0.0)
    root = np.where(usable, 1.0 / np.sqrt(np.where(usable, s, 1.0)), 0.0)
    R = (V.T @ T @ V) * root[:, None] * root
    values, X = np.linalg.eigh(0.5 * (R + R.T))
    VX = V @ X
    return np.asarray((VX * np.abs(values)) @ VX.T)


def _inverse_cholesky(N: Array, eta: float, size: float) -> Array:
    identity = np.eye(len(N))
    while True:
        try:
            return np.asarray(np.linalg.inv(np.linalg.cholesky(N + eta * identity)))
        except np.linalg.LinAlgError:
            eta = max(10.0 * eta, 1e-14 * size)
