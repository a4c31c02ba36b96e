"""Leading positive eigenpairs of a symmetric K: Lanczos, and looks with fresh vectors for what it missed."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from psdopt.devices import on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.checked_operator import CheckedOperator, length
from psdopt.linalg.extreme import probable_bound
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.subset import eigenpairs
from psdopt.linalg.threads import one_blas_thread
from psdopt.linalg.tolerances import EPS

#: Probability, over the random vectors, that an eigenvalue above those returned was missed.
CHANCE = 1e-3
#: Steps of Lanczos that take the time in which LAPACK reduces an array of order n, as a share of n: measured 1/4 to 1/7
#: from order 200 to 1,000. A run whose values are clustered takes about MORE times the steps that its first error says.
REDUCTION, MORE = 0.2, 3.0


@dataclass(frozen=True)
class TopK:
    """Positive leading eigenpairs, descending; the optimal factor is `vectors * sqrt(values)`."""

    values: Array  # (j,), j <= k
    vectors: Array  # (n, j), orthonormal
    residuals: Array  # |K u - theta u|_2, from products made after the run
    error: float  # relative error of the sum of the values, with what may be missed
    products: int  # columns K was applied to
    blocks: int  # calls of K @ X
    converged: bool


@one_blas_thread()
def top_eigenpairs(
    K: Any, k: int, *, tol: float = 1e-6, start: Array | None = None, max_products: int = 20000, seed: int = 0
) -> TopK:
    """Return the at most k largest positive eigenpairs of K (n, n); K is anything with `.shape` and `@` for blocks.

    Y Y' with Y = Q W_k diag(theta_k)_+^1/2, from the leading eigenpairs of T = Q'KQ, is the minimiser of
    |Y Y' - K|_F^2 over the range of Q. Q grows by Lanczos with thick restarts (Wu and Simon 2000) from one random
    vector: no other Q made of as many products with K holds more. From one vector no eigenvalue is found twice,
    however. Therefore the pairs found are put aside and Lanczos *looks* at the rest of the space from a fresh random
    vector, until it has found a missed pair, which is put aside too, or proves that no eigenvalue is left above the
    k-th, by the bound of :func:`psdopt.linalg.extreme.smallest_eigenpair`, with probability 1 - 1e-3 for each look.

    Stops when `error` is at most `tol` times the sum of the values: `sum_i min(r_i, r_i^2 / (theta_i - theta_{3k/2}))`
    with r_i the residual, an estimate, and k times the excess of the bound over the k-th value. The values are lower
    bounds of the eigenvalues. `start` (n,) or (n, j) gives the first vector, the sum of its columns.
    LAPACK computes the pairs of an array of order at most 4 (4 k + 32), and up to order 1500 those of an array for
    which the first error of Lanczos says that it would take longer.
    If K has a `device` (:mod:`psdopt.devices`), vectors are on that device.
    Cost: `products` columns of K, at most 8 n (6 k + 32) flops for each, memory n (6 k + 32).

    Raises InvalidInputError for shapes that do not fit, FloatingPointError if K returns NaN or infinity.
    """
    op = CheckedOperator(K, "K")
    n = op.n
    if not 1 <= k <= n:
        raise InvalidInputError(f"k must be between 1 and the order {n} of K; found {k}")
    capacity = 4 * k + 32
    entries = op.entries() if n <= SPECTRUM_ORDER else None
    if n <= (max(200, 2 * capacity) if entries is None else 4 * capacity):
        return _by_lapack(op, entries, k)

    rng = np.random.default_rng(seed)
    fresh = op.placed(rng.standard_normal((n, 1)))
    most = math.inf if entries is None else REDUCTION * n
    aside = _Aside(op, k, tol, np.empty_like(fresh, shape=(n, 0)), np.empty(0), max_products - 2 * k, most)
    ended = False
    if start is not None and np.any(given := np.asarray(on_host(start), float).reshape(n, -1).sum(axis=1)):
        aside.look(op.placed(given[:, None]), capacity)  # not random, so that it proves nothing
        ended = aside.slow
    while not ended:
        ended = aside.look(fresh, capacity)
        fresh = op.placed(rng.standard_normal((n, 1)))
    if aside.slow:
        return _by_lapack(op, entries, k)
    error = aside.error + aside.open
    return _finish(op, aside.vectors, k, error, op.products, error <= tol)


@dataclass
class _Aside:
    """Pairs put aside, and the relative errors of the sum: of these pairs, and by what may be missing."""

    op: CheckedOperator
    k: int
    tol: float
    vectors: Array  # (n, j), orthonormal
    values: Array  # (j,)
    budget: int
    most: float  # steps that take as long as LAPACK
    slow: bool = False  # whether there would be more, so that the first look was ended
    error: float = 0.0
    open: float = math.inf
    lost: float = 0.0  # how far the pairs after the k-th can raise the spectrum of the rest

    def look(self, q: Array, capacity: int) -> bool:
        """Lanczos from q (n, 1) on the complement of `vectors`; its leading pairs are put aside. True at the end."""
        op, k, n, j = self.op, self.k, self.op.n, len(self.values)
        Q = np.empty_like(q, order="F", shape=(n, j + capacity + 1))
        Q[:, :j] = self.vectors
        q = q - self.vectors @ (self.vectors.T @ q)
        Q[:, j : j + 1] = q / np.linalg.norm(q)
        T = np.zeros((capacity, capacity + 1))
        size = begin = known = steps = 0
        check, before = k + k // 2 + 4 if j == 0 else 4, (0, math.inf)
        cycles: list[tuple[Array, Array, Array]] = []
        while True:
            end, steps = j + size + 1, steps + 1
            q = Q[:, end - 1 : end]
            image = op(q) if op.device is not None else op.of_unit(q[:, 0])[:, None]
            if size:  # what the recurrence knows goes first: then one pass of orthogonalisation does
                image = image - Q[:, j + known : j + size] @ T[known:size, size : size + 1]
            along = q.T @ image
            image = image - q * along
            h = Q[:, :end].T @ image
            image -= Q[:, :end] @ h
            T[: size + 1, size] += on_host(h)[j:, 0]
            T[size, size] += float(on_host(along)[0, 0])
            T[size, : size + 1] = T[: size + 1, size]
            beyond, size = float(np.linalg.norm(image)) if op.device is not None else length(image[:, 0]), size + 1
            ends = op.products >= self.budget
            if beyond <= op.rounding:  # an invariant subspace
                beyond, ends = 0.0, True
            else:
                Q[:, end : end + 1] = image / beyond
                T[size - 1, size], known = beyond, size - 1
            if steps < check and size < capacity and not ends:
                continue
            theta, W = np.linalg.eigh(T[:size, :size])
            theta, W = theta[::-1], W[:, ::-1]
            cycle = (-theta, beyond * W[-1:], W[begin : begin + 1].T)
            leading, error, goal = self._judged(theta, np.abs(cycle[1][0]), [*cycles, cycle])
            if j == 0 and before[0] == 0 and error > goal:
                self.slow = MORE * steps * math.log(error / goal) > self.most * max(-math.log(error), 0.0)
                if self.slow:
                    return True
            if ends or error <= goal:
                spent = op.products >= self.budget
                if leading:
                    self.error += error
                    leading += self._behind(theta, np.abs(cycle[1][0]), leading)
                    self.vectors = np.hstack([self.vectors, Q[:, j : j + size] @ W[:, :leading]])
                    self.values = np.r_[self.values, theta[:leading]]
                    return spent
                if self.open > goal and self.lost > 0.0:  # many values at the level: the pairs after the k-th go back
                    self.values, self.vectors, _ = _ritz(op, self.vectors, k)
                    self.lost = 0.0
                    return spent
                return spent or error <= goal or beyond == 0.0
            # half of the way on which the error would fall to its goal as fast as it did last
            step = max(1, size // 8)
            if error < before[1] < math.inf:
                pace = math.log(before[1] / error) / (steps - before[0])
                step = max(1, min(int(0.5 * math.log(error / goal) / pace), capacity))
            before, check = (steps, error), steps + step
            if size == capacity:
                keep = k + (size - k) // 3
                cycles.append(cycle)
                Q[:, j : j + keep] = Q[:, j : j + size] @ W[:, :keep]
                Q[:, j + keep : j + keep + 1] = Q[:, j + size : j + size + 1]
                T[:] = 0.0
                T[range(keep), range(keep)] = theta[:keep]
                T[:keep, keep] = cycle[1][0, :keep]
                size, begin, known = keep, keep, 0

    def _judged(self, theta: Array, r: Array, cycles: list[tuple[Array, Array, Array]]) -> tuple[int, float, float]:
        """(leading pairs of this look among the k, relative error of the sum, its goal)."""
        k, n, j = self.k, self.op.n, len(self.values)
        floor = 10 * EPS * n**0.5 * max(self.op.norm, float(np.max(np.abs(theta))))
        level = max(float(np.sort(self.values)[-k]) if j >= k else 0.0, floor)
        total = float(np.sum(np.maximum(np.sort(np.r_[self.values, theta])[::-1][:k], 0.0)))
        total = max(total, floor, 1e-300)
        leading = min(k, int(np.sum(theta > (level + 0.25 * self.tol * total / k if j else floor))))
        if leading:
            t, r = theta[:leading], r[:leading]
            # a look ends with a bound near the level; the first values are compared with those well behind
            gap = np.maximum(t - (level if j else theta[min(k + k // 2, len(theta)) - 1]), 1e-300)
            return leading, float(np.sum(np.minimum(r, r * (r / gap)))) / total, 0.5 * (0.75 * self.tol - self.error)
        quantile = math.sqrt(scipy.special.betaincinv(0.5, (n - j - 1) / 2, CHANCE))
        bound = float(theta[0])
        if cycles[-1][1].any():  # else the space is invariant and holds the part of all eigenvectors along the first
            bound = -probable_bound(cycles, quantile, self.op.norm, self.op.rounding)
        self.open = k * max(0.0, bound + self.lost - level) / total
        return 0, k * max(0.0, bound - level) / total, 0.25 * self.tol

    def _behind(self, theta: Array, r: Array, leading: int) -> int:
        """How many pairs after the k-th of the first look go aside too, as they raise the rest by little: `lost`."""
        k = self.k
        if len(self.values) or leading < k:
            return 0
        distance = np.maximum(theta[k - 1] - theta[k : k + k // 2], 1e-300)
        lost = np.cumsum(r[k : k + k // 2] ** 2 / distance)
        pairs = int(np.sum(lost <= 0.25 * distance))
        self.lost = float(lost[pairs - 1]) if pairs else 0.0
        return pairs


def _by_lapack(op: CheckedOperator, entries: Array | None, k: int) -> TopK:
    """From the `entries` of K, or from its products with I."""
    U = eigenpairs(op.to_dense(op.n) if entries is None else entries, op.n - k, op.n - 1)[1]
    return _finish(op, op.placed(U), k, 0.0, 1, True)


def _finish(op: CheckedOperator, U: Array, k: int, error: float, blocks: int, converged: bool) -> TopK:
    """Rayleigh-Ritz on the columns of U with new products: at most k pairs, none that is not positive."""
    if U.shape[1] == 0:
        return TopK(np.empty(0), U, np.empty(0), error, op.products, blocks, converged)
    values, V, residuals = _ritz(op, U, k)
    return TopK(values, V, residuals, error, op.products, blocks + 1, converged)


def _ritz(op: CheckedOperator, U: Array, k: int) -> tuple[Array, Array, Array]:
    """Values, vectors and residuals of at most k positive Ritz pairs on the columns of U."""
    U = np.linalg.qr(U)[0]
    KU = op(U)
    theta, W = np.linalg.eigh(0.5 * (U.T @ KU + KU.T @ U))
    positive = np.flatnonzero(theta > 10 * EPS * len(U) ** 0.5 * float(np.max(np.abs(theta), initial=0.0)))[::-1][:k]
    values, V = theta[positive], np.linalg.qr(U @ W[:, positive])[0]
    V *= np.where(np.sum(V * (U @ W[:, positive]), axis=0) < 0, -1.0, 1.0)
    return values, V, np.linalg.norm(KU @ W[:, positive] - V * values, axis=0)
