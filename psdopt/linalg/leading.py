"""Leading positive eigenpairs of a symmetric K: `min |Y Y' - K|_F^2`, minimised exactly over growing spaces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.devices import DeviceArray, on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.checked_operator import CheckedOperator
from psdopt.linalg.subset import eigenpairs
from psdopt.linalg.tolerances import EPS, ROUNDINGS


@dataclass(frozen=True)
class TopK:
    """Positive leading eigenpairs, descending; the optimal factor is `vectors * sqrt(values)`."""

    values: Array  # (j,), j <= k
    vectors: Array  # (n, j), orthonormal
    residuals: Array  # |K u - theta u|_2, from products made after the run
    error: float  # estimated relative error of the sum of the values
    products: int  # columns K was applied to
    blocks: int  # calls of K @ X
    converged: bool


def top_eigenpairs(
    K: Any, k: int, *, tol: float = 1e-6, start: Array | None = None, max_products: int = 20000, seed: int = 0
) -> TopK:
    """Return the at most k largest positive eigenpairs of K (n, n); K is anything with `.shape` and `@` for blocks.

    The factor gradient at Y is `2 (Y Y'Y - K Y)`; with the metric `(Y'Y)^-1` and Y in Ritz form, the steepest descent
    directions are the residuals `K u_i - theta_i u_i`. Conjugate gradients take the best combination of the last two
    directions; here F is minimised exactly over *all* directions since the last restart, at one product K D for b new
    columns per step: with Q the orthonormal basis and T = Q'KQ, the minimiser is Y = Q W_k diag(theta_k)_+^1/2, the
    positive leading eigenpairs of T. After the first step all residuals lie in the same b-dimensional range, so b < k
    columns suffice: the method is block Lanczos with thick restarts (Wu and Simon 2000; LMSVD, Liu, Wen and Zhang
    2013, for the factor view). b = k/5 within 4..16; Q has at most 5 k + 2 b columns, a restart keeps about half.

    Stops when the estimated error of `sum_i theta_i`, `sum_i min(r_i, r_i^2 / (theta_i - theta_{3k/2}))` with r_i the
    residual, is at most `tol` times the sum; a value that may still become positive counts as an error. The values are
    lower bounds of the eigenvalues; that none is missed is not proven. `start` (n, j) replaces j <= b random columns.
    If K has a `device` (:mod:`psdopt.devices`), blocks and vectors are on that device.
    Cost: `products` columns of K, 4 n (5 k) flops for each (one pass of orthogonalisation, a second one where the
    first cancels), memory n (5 k + 2 b).

    Raises InvalidInputError for shapes that do not fit, FloatingPointError if K returns NaN or infinity.
    """
    op = CheckedOperator(K, "K")
    n, blocks = op.n, 0
    if not 1 <= k <= n:
        raise InvalidInputError(f"k must be between 1 and the order {n} of K; found {k}")
    b = min(max(4, k // 5), 16)
    capacity = 5 * k + 2 * b
    if n <= max(200, 2 * capacity):
        M = op.to_dense(n)
        theta, U = eigenpairs(0.5 * (M + M.T), n - k, n - 1)
        return _finish(op, op.placed(U), 0.0, 1, True)

    rng = np.random.default_rng(seed)
    block = rng.standard_normal((n, b))
    if start is not None:
        given = np.asarray(on_host(start), float).reshape(n, -1)[:, :b]
        block[:, : given.shape[1]] = given
    block = op.placed(block)
    block = _orthonormal(block, np.empty_like(block, shape=(n, 0)), np.inf)
    Q, T = np.empty_like(block, order="F", shape=(n, capacity)), np.zeros((capacity, capacity))
    size, check_at = 0, k + k // 2 + b
    while True:
        end = size + b
        Q[:, size:end] = block
        image = op(block)
        image = image if isinstance(image, DeviceArray) else np.asfortranarray(image)
        H = Q[:, :end].T @ image
        T[:end, size:end] = H
        T[size:end, :end] = H.T
        image -= (H.T @ Q[:, :end].T).T  # transposed, so that columns stay contiguous, which is faster
        size, blocks = end, blocks + 1
        spent = op.products + b + k > max_products
        raw, left = image, np.linalg.norm(image, axis=0)
        lost = float(np.max(np.sqrt(np.sum(H * H, axis=0) + left**2) / np.maximum(left, 1e-300)))
        block = _orthonormal(image, Q[:, :size], lost)
        full = size + b > capacity
        if size < check_at and not full and not (spent and size >= k):
            continue
        check_at = size + k
        theta, W = np.linalg.eigh(0.5 * (T[:size, :size] + T[:size, :size].T))
        theta, W = theta[::-1], W[:, ::-1]
        r = np.linalg.norm((block.T @ raw) @ W[size - b : size, :k], axis=0)
        total = float(np.sum(np.maximum(theta[:k], 0.0)))
        floor = 10 * EPS * n**0.5 * float(np.max(np.abs(theta)))
        gap = np.maximum(theta[:k] - theta[min(k + k // 2, size - 1)], 1e-300)
        missing = np.where(theta[:k] > floor, np.minimum(r, r * (r / gap)), np.maximum(theta[:k] + r - floor, 0.0))
        error = float(np.sum(missing)) / max(total, floor, 1e-300)
        if error <= tol or spent:
            return _finish(op, Q[:, :size] @ W[:, :k], error, blocks, error <= tol)
        if full:
            keep = k + (size - k - b) // 3
            Q[:, :keep] = Q[:, :size] @ W[:, :keep]
            T[:] = 0.0
            T[range(keep), range(keep)] = theta[:keep]
            size, check_at = keep, keep + k


def _finish(op: CheckedOperator, U: Array, error: float, blocks: int, converged: bool) -> TopK:
    """Rayleigh-Ritz on the columns of U with new products; pairs that are not positive are dropped."""
    U = np.linalg.qr(U)[0]
    KU = op(U)
    theta, W = np.linalg.eigh(0.5 * (U.T @ KU + KU.T @ U))
    positive = np.flatnonzero(theta > 10 * EPS * len(U) ** 0.5 * float(np.max(np.abs(theta), initial=0.0)))[::-1]
    values, V = theta[positive], np.linalg.qr(U @ W[:, positive])[0]
    V *= np.where(np.sum(V * (U @ W[:, positive]), axis=0) < 0, -1.0, 1.0)
    residuals = np.linalg.norm(KU @ W[:, positive] - V * values, axis=0)
    return TopK(values, V, residuals, error, op.products, blocks + 1, converged)


def _orthonormal(X: Array, basis: Array, lost: float) -> Array:
    """Orthonormal columns, orthogonal to `basis`, with the span of X (random-like columns where X is deficient).

    The first orthogonalisation has shortened X by the factor `lost`, which increases its relative rounding by this
    factor. If `lost` times the condition number of X exceeds ROUNDINGS, X is orthogonalised again.
    """
    scale = np.linalg.norm(X, axis=0)
    if scale.min() > 0.0:
        for _ in range(3):
            scale = np.linalg.norm(X, axis=0)
            try:
                L = np.linalg.cholesky((X / scale).T @ (X / scale))
            except np.linalg.LinAlgError:
                break
            X = (np.linalg.inv(L) @ (X / scale).T).T
            lost /= float(np.diag(L).min())
            if np.diag(L).min() > 0.1:
                return X - basis @ (basis.T @ X) if lost > ROUNDINGS else X
    rng = np.random.default_rng(len(X))
    X = np.linalg.qr(X)[0] + 1e-3 * rng.standard_normal(X.shape) * (scale.min() == 0.0)
    for _ in range(3):
        X = np.linalg.qr(X - basis @ (basis.T @ X))[0]
    return X
