"""Exact inverse of D ↦ A D P + D (b Q + eta I), the leading part of the factor Hessian of a quadratic SDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.linalg import lapack

from psdopt.devices import Device, DeviceArray, DeviceMatrix, placed, transposed
from psdopt.linalg.arrays import Array, as_array, inner, product


class EigenBasis:
    """A ≈ V diag(a) Vᵀ + rest · (I − V Vᵀ), A ⪰ 0: exact with k = n, else the leading part of the spectrum.

    `a` (k,), `V` (n, k) with orthonormal columns; V = None stands for A = Diag(a), a (n,) or one number. If V is on
    a device, so is `a`.
    """

    def __init__(self, a: Array, V: Array | None, rest: float | None = None) -> None:
        given = a
        if isinstance(V, DeviceArray):
            a, V = cast(Array, placed(a, V.device)), cast(Array, DeviceMatrix(V.raw, V.device))
        self.a = np.maximum(as_array(a), 0.0)
        #: `values` is `a` on the host, None where it came from a device.
        self.values = None if isinstance(given, DeviceArray) else np.maximum(given, 0.0)
        self.V, self.rest = V, rest
        self.largest = float(self.a.max())

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
        device: Device | None = None,
    ) -> EigenBasis:
        """k leading pairs by randomised subspace iteration: `passes` block products of width k + extra.

        The rest of the spectrum is replaced by its mean, from trace A. Halko, Martinsson, Tropp (2011).
        """
        width = min(k + extra, n)
        AB = np.random.default_rng(0).standard_normal((n, width))
        AB = AB if device is None else cast(Array, placed(AB, device))
        for _ in range(passes):
            B = np.linalg.qr(AB)[0]
            AB = apply(B)
        small = B.T @ AB
        values, vectors = np.linalg.eigh(0.5 * (small + small.T))
        keep = np.argsort(-values)[: min(k, n)]
        rest = max(trace - float(values[keep].sum()), 0.0) / max(rank_bound - len(keep), 1)
        return cls(values[keep], B @ vectors[:, keep], None if len(keep) == n else rest)

    def squared_norm_of_product(self, Y: Array) -> float:
        """|A Y|² from the decomposition. O(n k r)."""
        VY = Y if self.V is None else self.V.T @ Y
        scaled = self.a[:, None] * VY
        total = inner(scaled, scaled)
        if self.rest is not None:
            total = total + self.rest**2 * np.maximum(inner(Y, Y) - inner(VY, VY), 0.0)
        return total


def pencil_inverse(basis: EigenBasis, b: float, P: Array, Q: Array, eta: float) -> Callable[[Array], Array]:
    """R ↦ D with A D P + D (b Q + eta I) = R, for P = YᵀAY and Q = YᵀY (r, r); R itself for eta = 0.

    With P W = (b Q + eta I) W diag(p) and Wᵀ (b Q + eta I) W = I, D = V [(VᵀR W)_ij / (a_i p_j + 1)] Wᵀ. An eta
    above the rounding of b Q makes the inverse symmetric positive definite for every Y, singular ones included.
    Equivariant under Y → Y O. For b = 0 the preconditioned Gauss-Newton Hessian of the factor problem has the
    eigenvalues 1 and 2 only.

    Setup: one eigendecomposition of a pencil of order r; each use O(n k r + n r²). LinAlgError if b Q + eta I is not
    positive definite.
    """
    if not eta > 0.0:
        return lambda R: R
    pencil = b * Q
    pencil.flat[:: len(Q) + 1] += eta
    p, W, failed = lapack.dsygvd(P, pencil)
    if failed:
        raise np.linalg.LinAlgError("b Q + eta I is not positive definite, or P is not finite")
    p, WT, V = np.maximum(p, 0.0), W.T, basis.V
    if V is None or basis.rest is None:
        scale = basis.a[:, None] * p + 1.0
        if V is None:
            return lambda R: product(product(R, W) / scale, WT)
        return lambda R: product(V, product(product(product(V.T, R), W) / scale, WT))
    rest: Any = 1.0 / (basis.rest * p + 1.0)
    weights: Any = 1.0 / ((basis.a if basis.values is None else basis.values)[:, None] * p + 1.0) - rest
    if isinstance(V, DeviceArray) and basis.values is not None:  # small matrices share a transfer
        sent, r = placed(np.vstack([W, weights, rest]), V.device), len(W)
        W, weights, rest = sent[:r], sent[r:-1], sent[-1]
        WT = transposed(W)

    def apply(R: Array) -> Array:
        RW = R @ W
        return cast(Array, (RW * rest + V @ ((V.T @ RW) * weights)) @ WT)

    return apply
