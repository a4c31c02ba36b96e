"""Factors of M with equal blocks, for problems that see M as a Hermitian matrix only.

With J = [0, −I; I, 0], all M ⪰ 0 with the same (M + J M Jᵀ)/2 have the same H (:mod:`psdopt.terms.hermitian`): k² + k
dimensions for an H of rank k, with ranks of M from k to 2 k. This average is the one M that moves with H. Its factor is
Y = [W, J W]/√2 for H = Z Z*, W = [Re Z; Im Z], and moves by X = [P, J P]; those of the form Y Ω, Ω skew, have a P that
stands for Z times a skew Hermitian matrix. So the rotations of Y remain to be left out, as for any other M.
"""

from __future__ import annotations

import numpy as np

from psdopt.contracts.matrix import LowRankPSD
from psdopt.linalg.arrays import Array
from psdopt.linalg.complex_arrays import turned
from psdopt.linalg.tolerances import EPS


def hermitian_axes(matrix: LowRankPSD) -> Array:
    """W (2n, k), k the rank of H, for Z with orthogonal columns, longest first. O(n r²)."""
    U, s, _ = np.linalg.svd(matrix.hermitian(), full_matrices=False)
    Z = (U * s)[:, s**2 > EPS * max(matrix.factor.shape) * np.max(s, initial=0.0) ** 2]
    return np.vstack([Z.real, Z.imag])


def whole(W: Array) -> Array:
    """[W, J W]/√2 (2n, 2k)."""
    return np.asarray(np.hstack([W, turned(W)]) / np.sqrt(2.0))


def part(X: Array) -> Array:
    """W for the nearest matrix :func:`whole` (W) to X."""
    k = X.shape[1] // 2
    return np.asarray((X[:, :k] - turned(X[:, k:])) / np.sqrt(2.0))
