"""Smallest eigenpairs of a symmetric operator, with a lower bound on the smallest eigenvalue.

Every answer is checked by a separate product: `residual` is never the one that the backend reports. A small
residual alone proves only that *some* eigenvalue is near the Ritz value; `smallest_eigenpair` explains what the bound
adds.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from psdopt.checks import finite
from psdopt.devices import held, is_device_array, on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, as_array
from psdopt.linalg.checked_operator import CheckedOperator, column_norms, orthonormal
from psdopt.linalg.definite import pair_above
from psdopt.linalg.krylov import norm_estimate, smallest_ritz_vector
from psdopt.linalg.limits import PROBES, SMALL_ORDER, SPECTRUM_ORDER
from psdopt.linalg.subset import eigenpairs
from psdopt.linalg.tolerances import EPS

DENSE_LIMIT = 500  # at and below this order `auto` forms the matrix


@dataclass(frozen=True)
class ExtremePair:
    """Smallest Ritz pairs of S and what is known about lambda_min(S); fields explained in `smallest_eigenpair`."""

    values: Array  # (k,) ascending
    vectors: Array  # (n, k) orthonormal
    residual: float
    lower_bound: float
    failure_probability: float
    norm: float
    products: int
    backend: str
    converged: bool

    @property
    def value(self) -> float:
        """Smallest Ritz value: an upper bound on lambda_min."""
        return float(self.values[0])

    @property
    def vector(self) -> Array:
        """Unit Ritz vector of `value`, shape (n,)."""
        return self.vectors[:, 0]


def smallest_eigenpair(
    S: Any,
    *,
    tol: float = 0.0,
    scale: float | Literal["norm"] = 1.0,
    threshold: float | None = None,
    refutes: bool = False,
    start: Array | None = None,
    trust_start: bool = False,
    count: int = 1,
    max_products: int = 5000,
    backend: str = "auto",
    failure_probability: float = 1e-8,
    seed: int = 0,
) -> ExtremePair:
    """Return the `count` smallest eigenpairs of the symmetric operator S and a lower bound on lambda_min.

    S is anything with `.shape == (n, n)` and `S @ X` for X of shape (n, k): ndarray, sparse array, LinearOperator.

    **The bound.** With `residual = |S v - value v|_2` some eigenvalue of S lies within `value +- residual`;
    nothing says that it is the smallest one. `lower_bound`, called g here, is of three kinds:

    - *dense*: `value - rounding`, LAPACK's backward error. If `threshold` is given, n > 64 and S - threshold I has a
      Cholesky factor, it is a bound between `threshold` and `value` that another factor proves. `failure_probability`
      of the result is 0.
    - *lanczos*: let e be a unit eigenvector of lambda = lambda_min, R the random columns of the start block and
      `S Q = Q T + Q+ B E'` the recurrence of one cycle (E picks its last block, F its first). Then
      `e'Q (lambda - T) = e'Q+ B E'` gives `R'e = Z'b`, `|b| <= 1`, with Z(lambda) the product over the cycles of
      `B E'(lambda - T)^-1 F`, so that `lambda < g` needs `|R'e| <= max_{l < g} |Z(l)|_2`; but `|R'e|^2` is
      Beta(p/2, (n-p)/2) distributed for p random columns. g is the largest value of a geometric grid whose maximum
      (over that grid) stays below the `failure_probability` quantile: for an S chosen without knowledge of `seed`,
      `lambda_min < lower_bound` has at most this probability, at whatever step the run stops. Source: van Dorsselaer,
      Hochstenbach, van der Vorst, SIAM J. Matrix Anal. Appl. 22 (2000), here for blocks and restarts. The a priori
      counterpart, Kuczynski and Wozniakowski, same journal 13 (1992): after k single-vector steps
      `Prob[theta - lambda_min > eps (lambda_max - lambda_min)] <= 1.648 sqrt(n) exp(-sqrt(eps) (2k - 1))`, is weaker.
    - *eigsh, trust_start, failure_probability=1*: `value - residual - rounding`, `failure_probability` 1 in the result:
      a bound only if the pair found is the smallest. ARPACK sometimes misses the smallest and reports success.

    `norm` is a lower estimate of |S|_2 from the products of the run; `rounding = 4 sqrt(n) eps norm` allows
    for a backward error of this size in the products with S. If they are less accurate, so is the bound.

    **Stopping.** When all residuals, and on the certified lanczos route `value - lower_bound - rounding`, are at most
    `max(tol * scale, rounding)`, where `scale="norm"` means the norm above. If `threshold` is given, also as soon as
    `lower_bound >= threshold`; with `refutes` also as soon as all of these are at most half of the distance from
    `threshold` down to `value`, since no bound can reach `threshold` then. Otherwise the run stops near `max_products`
    columns, without an exception, with `converged=False`, the best pair so far and its weaker bound.

    **Options.** `start` (n,) or (n, j): guesses, the first `count` of them used, in addition to the random columns that
    the bound needs. `trust_start=True` uses no random columns: an accurate vector then costs two products, with a bound
    of the third kind (for linear minimisation oracles, which need a descent direction). `auto` is dense for n <= 500,
    lanczos above. The same `seed` gives the same result.

    **Cost.** lanczos: `products` columns of S and about 6 n · 64 flops for each, memory n (64 + block).
    dense: n columns, O(n^3). **Raises** InvalidInputError for shapes or options that do not fit,
    FloatingPointError if S returns NaN or infinity.
    """
    op = CheckedOperator(S)
    if not 1 <= count <= op.n:
        raise InvalidInputError(f"count must be between 1 and the order {op.n}; found {count}")
    if not tol >= 0.0 or (scale != "norm" and not float(scale) >= 0.0):
        raise InvalidInputError(f"tol and scale must be at least 0; found tol={tol}, scale={scale}")
    if not 0.0 < failure_probability <= 1.0:
        raise InvalidInputError(f"failure_probability must lie in (0, 1]; found {failure_probability}")
    if start is not None:
        start = held(start, "start") if is_device_array(start) else np.atleast_1d(finite(start, "start"))
    guess = np.empty((op.n, 0)) if start is None else as_array(start).reshape(max(len(start), 1), -1)[:, :count]
    if guess.shape[0] != op.n or not np.isfinite(guess).all() or (trust_start and not guess.any()):
        raise InvalidInputError(f"start must be finite, not zero, with {op.n} rows; found shape {guess.shape}")
    if backend == "auto":
        backend = "dense" if op.n <= DENSE_LIMIT and not trust_start else "lanczos"

    def target() -> float:
        return max(tol * (op.norm if scale == "norm" else float(scale)), op.rounding)

    def done(error: float, bound: float, value: float) -> bool:
        if threshold is None:
            return error <= target()
        enough = max(target(), 0.5 * (threshold - value)) if refutes else target()
        return error <= enough or bound - op.rounding >= threshold

    bound, chance = -np.inf, 1.0
    if backend == "dense":
        return _dense(op, count, threshold, on_host(guess))
    rng = np.random.default_rng(seed)
    if backend == "lanczos":
        chance = 1.0 if trust_start else failure_probability
        # as many random columns as pairs, for a space of fewer holds a multiple eigenvalue only so often
        width = 0 if trust_start else min(max(2, count), op.n)
        block = np.hstack([op.placed(rng.standard_normal((op.n, width))), guess])
        V, bound = _lanczos(op, block, width, count, chance, max_products, done, rng)
    elif backend == "eigsh":
        V = arpack_smallest(op, guess, count, target, max_products, rng)
    else:
        raise InvalidInputError(f"backend must be auto, dense, lanczos or eigsh; found {backend!r}")

    V = orthonormal(V)[0]
    SV = op(V)
    values, W = np.linalg.eigh(_symmetric(V.T @ SV))
    V, SV = V @ W, SV @ W
    residuals = column_norms(SV - V * values)
    bound = float(min(bound, values[0]) if chance < 1.0 else values[0] - residuals[0]) - op.rounding
    error = float(max(np.max(residuals), values[0] - bound - op.rounding if chance < 1.0 else 0.0))
    converged = V.shape[1] == count and done(error, bound + op.rounding, float(values[0]))
    return ExtremePair(values, V, float(residuals[0]), bound, chance, op.norm, op.products, backend, converged)


def _dense(op: CheckedOperator, count: int, threshold: float | None, guess: Array) -> ExtremePair:
    matrix = _symmetric(op.to_dense(SMALL_ORDER))
    if threshold is not None and count == 1 and op.n > SMALL_ORDER:  # else its spectrum costs no more
        proven = pair_above(matrix, threshold + op.rounding, guess[:, 0] if guess.any() else None)
        # if S has one huge eigenvalue, its spectrum loses less to rounding than a factor of S
        if proven is not None and (proven.lower_bound - op.rounding >= threshold or op.n > SPECTRUM_ORDER):
            values, bound = np.array([proven.value]), proven.lower_bound - op.rounding
            V = proven.vector[:, None]
            return ExtremePair(values, V, proven.residual, bound, 0.0, op.norm, op.products, "dense", True)
    values, V = eigenpairs(matrix, 0, count - 1)
    # one digit of the norm is enough for the size of rounding
    op.norm = max(float(np.max(np.abs(values))), norm_estimate(matrix))
    residual = float(column_norms(matrix @ V[:, :1] - V[:, :1] * values[:1])[0])
    bound = float(values[0]) - residual - op.rounding  # some eigenvalue is within the residual, and this is the least
    return ExtremePair(values, V, residual, bound, 0.0, op.norm, op.products, "dense", True)


def _lanczos(
    op: CheckedOperator,
    block: Array,
    width: int,
    count: int,
    chance: float,
    budget: int,
    done: Callable[[float, float, float], bool],
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Thick-restart block Lanczos; the Ritz vectors and the probabilistic bound (rounding not yet subtracted).

    SMALL_ORDER vectors, more for several pairs, are kept before a restart.
    The first `width` columns of `block` are the random ones. `done(error, bound, value)` stops it.
    """
    block = orthonormal(block)[0]
    capacity = min(op.n, max(SMALL_ORDER, 3 * count + 8 * block.shape[1])) + block.shape[1]
    Q, T = np.zeros_like(block, order="F", shape=(op.n, capacity)), np.zeros((capacity, capacity))
    size, fresh, unchecked, exact = 0, slice(0, width), 0, False
    chain: list[tuple[Array, Array, Array]] = []  # one entry per cycle: Ritz values, B E'W, W'F
    inside = 0 < width < op.n  # otherwise the random columns span the whole space and miss nothing
    quantile = np.sqrt(scipy.special.betaincinv(width / 2, (op.n - width) / 2, chance)) if inside else 1.0
    while True:
        p, end = block.shape[1], size + block.shape[1]
        Q[:, size:end] = block
        image = op(block)
        T[:end, size:end] = Q[:, :end].T @ image
        T[size:end, :end] = T[:end, size:end].T
        T[size:end, size:end] = _symmetric(T[size:end, size:end])
        image -= Q[:, :end] @ T[:end, size:end]
        size, unchecked = end, unchecked + 1
        block, B = orthonormal(image, Q[:, :size], 10 * EPS * op.n**0.5 * op.norm, op.n - size)
        full = size + block.shape[1] > capacity
        spent = op.products + block.shape[1] + count > budget
        if not (full or spent or unchecked >= 4 or size <= 2 * p or block.shape[1] == 0):
            continue
        unchecked = 0
        theta, W = np.linalg.eigh(T[:size, :size])
        op.norm = max(op.norm, float(np.max(np.abs(theta))))
        last, first = B @ W[size - p : size], W[fresh].T
        error, bound = float(np.max(column_norms(last[:, :count]), initial=0.0)), float(theta[0])
        exact = exact or block.shape[1] == 0  # an invariant subspace that contains the overlaps of R: Z = 0
        if chance < 1.0 and not exact:
            bound = probable_bound([*chain, (theta, last, first)], quantile, op.norm, op.rounding)
            error = max(error, float(theta[0]) - bound)
        if spent or (size >= count and (block.shape[1] == 0 or done(error, bound, float(theta[0])))):
            return Q[:, :size] @ W[:, :count], bound
        if full or block.shape[1] == 0:
            keep = min(size, count + max(4, (size - count) // 2))
            chain.append((theta, last, first))
            Q[:, :keep] = Q[:, :size] @ W[:, :keep]
            T[:] = 0.0
            T[range(keep), range(keep)] = theta[:keep]
            if block.shape[1] == 0:  # more pairs wanted than the subspace holds: add directions
                fill = op.placed(rng.standard_normal((op.n, min(count - size, op.n - size, 4))))
                block = orthonormal(fill - Q[:, :keep] @ (Q[:, :keep].T @ fill), Q[:, :keep])[0]
            size, fresh = keep, slice(keep, keep + block.shape[1])


def probable_bound(chain: list[tuple[Array, Array, Array]], quantile: float, norm: float, rounding: float) -> float:
    """Largest grid value g with `|Z(l)|_2 < quantile` for all grid values `l <= g` (Z: see `smallest_eigenpair`).

    Distances from the least Ritz value grow by √2 along the grid: that of g is at most √2 times the least possible.
    """
    bottom = float(chain[-1][0][0])
    least, most = max(rounding, 1e-300) / 16, min(10 * norm * len(chain) / quantile, sys.float_info.max)
    gaps = least * math.sqrt(2.0) ** np.arange(math.ceil(2.0 * (math.log2(most) - math.log2(least))))
    Z = np.eye(chain[0][2].shape[1])
    for theta, last, first in chain:
        distance = gaps[:, None] + np.maximum(theta - bottom, 0.0)  # never rounded to 0
        outer = (last.T[:, :, None] * first[:, None, :]).reshape(len(theta), -1)
        Z = ((-1.0 / distance) @ outer).reshape(len(gaps), len(last), -1) @ Z
    sizes = np.abs(Z[:, 0, 0]) if Z[0].size == 1 else np.linalg.norm(Z, 2, axis=(1, 2))
    fails = np.flatnonzero(~(sizes < quantile))
    lowest = int(fails[-1]) + 1 if fails.size else 0
    return bottom - float(gaps[lowest]) if lowest < len(gaps) else -np.inf


def _symmetric(X: Array) -> Array:
    return 0.5 * X + 0.5 * X.T


def arpack_smallest(
    op: CheckedOperator, guess: Array, count: int, target: Callable[[], float], budget: int, rng: np.random.Generator
) -> Array:
    """`count` smallest Ritz vectors (n, count) of `op` to residual target(), or the best within `budget` products.

    If the smallest eigenvalue is well separated, as that of a gradient often is, PROBES products or fewer find its
    vector; otherwise ARPACK, which tests convergence only after 20 products, starts from their result. Raises
    InvalidInputError for count >= n.
    """
    if count >= op.n:
        raise InvalidInputError("the eigsh backend needs count < n; use backend='lanczos'")
    v0 = guess[:, 0] if guess.any() else rng.standard_normal(op.n)
    v0, found = smallest_ritz_vector(op.of_unit, v0, min(PROBES, budget) if count == 1 else 1, target)
    if found and count == 1:
        return v0[:, None]
    ncv = min(op.n, max(2 * count + 1, 20))
    # ARPACK's tolerance is relative to |theta|, up to twice the norm that the products so far have shown
    tol, sweeps = 0.5 * target() / max(op.norm, 1e-300), max(1, budget // ncv)
    try:
        V = eigsh(op.operator(), k=count, which="SA", v0=v0, tol=tol, ncv=ncv, maxiter=sweeps)[1]
        return np.asarray(V, dtype=float)
    except ArpackNoConvergence as failure:
        return np.asarray(failure.eigenvectors if failure.eigenvectors.size else v0[:, None], dtype=float)
