"""The parts W = W₊ − W₋ of a dense symmetric matrix, in a sequence of such matrices by a few products with each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.low_pass import low_pass
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import ROOT_EPS

#: Pairs beyond zero that are kept: one for so many below zero, and at least one for so many rows. At the edge of a
#: semicircle the degree that a filter needs falls as the cube root of their number: half of k cost the least products.
GUARD, ROWS = 2, 32
#: The degree of the first filter, and flops of all products in units of n³: a decomposition costs about ten.
DEGREE, FLOPS = 3, 4
#: The largest eigenvalue of the next matrix is taken to be at most this many times the last one.
MARGIN = 1.1


@dataclass(frozen=True)
class Edge:
    """The eigenpairs of ±W next to zero, from below, as the start for the next matrix.

    `vectors` (n, k + g) : orthonormal, the k below zero and g beyond. `least`, `cut` : the first and last of their
    values. `largest` : of all, as of the last decomposition. `sign` : that with which the fewer eigenvalues are below
    zero. `degree` : of the filters that the last matrix needed. `short` : how far below zero eigenvalues of the other
    part may be, zero after a decomposition.
    """

    vectors: Array
    least: float
    cut: float
    largest: float
    sign: float
    degree: int
    short: float = 0.0


def halves(W: Array, near: Edge | None = None, allowed: float = 0.0) -> tuple[Array, Array, Array, Edge | None]:
    """(W₊, W₋, H, edge) with W = W₊ − W₋ and W₋ = H Hᵀ, for W (n, n) near the one that had the edge `near`.

    Where the number k of eigenvalues below zero, or of those above, is small, a Chebyshev filter and a Rayleigh-Ritz
    step on the last k + g vectors of that side give it with residuals R, and the other part Q = W ± U Θ Uᵀ follows.
    |Q − (Q)₊| and √2 |R| bound the error in W₊ and W₋, as projections on a cone do not expand: √2 |R| is at most
    `allowed` / 2, and a Cholesky factor shows that Q has no eigenvalue below −`allowed` / (2 √n). Else W is decomposed.

    If the fewer are above zero, H is that Cholesky factor: H Hᵀ = W₋ + `allowed` / (2 √n) I.
    Cost: some 2 (degree + 1) n² (k + g) + n³/3 flops, or 10 n³ for a decomposition.
    """
    if near is None or not allowed > 0.0:
        return _decomposed(W, DEGREE)
    return _followed(W, near, allowed) or _decomposed(W, near.degree)


def _decomposed(W: Array, degree: int) -> tuple[Array, Array, Array, Edge | None]:
    n = len(W)
    values, V = spectrum(W)
    k = int(np.count_nonzero(values < 0.0))
    H = V[:, :k] * np.sqrt(-values[:k])
    sign = 1.0 if 2 * k <= n else -1.0
    if sign > 0.0:
        small = H @ H.T
        plus, minus = W + small, small
    else:
        top = V[:, k:] * np.sqrt(values[k:])
        plus = top @ top.T
        minus = plus - W
        values, V, k = -values[::-1], V[:, ::-1], n - k
    kept = k + _beyond(k, n)
    if n <= ITERATED_ORDER or 3 * kept > n:
        return plus, minus, H, None
    return (
        plus,
        minus,
        H,
        Edge(V[:, :kept].copy(), float(values[0]), float(values[kept - 1]), float(values[-1]), sign, degree),
    )


def _followed(W: Array, near: Edge, allowed: float) -> tuple[Array, Array, Array, Edge | None] | None:
    """:func:`halves` by the filter; None where its error is not proven to be small enough."""
    A = W if near.sign > 0.0 else -W
    U, least, cut, largest, degree, spent = near.vectors, near.least, near.cut, near.largest, near.degree, 0
    most = FLOPS * len(W) // (2 * U.shape[1])
    while True:
        width = MARGIN * largest - least
        if not least < 0.0 < cut < largest or spent >= most:
            return None
        # a filter may amplify the first vector by 1 / √eps at most: its rounding is what disturbs the others
        steep = math.acosh(1.0 + 2.0 * (cut - least) / (MARGIN * largest - cut))
        degree = max(1, min(degree, most - spent, int(math.log(2.0 / ROOT_EPS) / steep)))
        spent += degree
        U = np.linalg.qr(low_pass(partial(_shifted, A, least), U, width, degree, (cut - least) / width))[0]
        image = A @ U
        values, T = np.linalg.eigh(U.T @ image)
        U, image, least, cut = U @ T, image @ T, float(values[0]), float(values[-1])
        k = int(np.count_nonzero(values < 0.0))
        if k + _beyond(k, len(W)) // 2 > len(values):
            return None
        error = math.sqrt(8.0) * norm(image[:, :k] - U[:, :k] * values[:k])
        if error <= allowed:
            break
    root = U[:, :k] * np.sqrt(-values[:k])
    small = root @ root.T
    large = A + small
    short = 0.5 * allowed / math.sqrt(len(W))
    factor = factor_above(large, -short)
    if factor is None:
        return None
    kept = min(len(values), k + _beyond(k, len(W)))
    following = spent if spent > degree else max(spent - (error < 0.1 * allowed), 2)
    edge = Edge(U[:, :kept], least, float(values[kept - 1]), largest, near.sign, following, short)
    return (large, small, root, edge) if near.sign > 0.0 else (small, large, np.tril(factor[0].T), edge)


def _shifted(A: Array, shift: float, V: Array) -> Array:
    """(A − shift I) V."""
    image = A @ V
    image -= shift * V
    return np.asarray(image)


def _beyond(k: int, n: int) -> int:
    """g for k and n."""
    return max(k // GUARD, n // ROWS)
