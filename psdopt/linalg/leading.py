"""Leading positive eigenpairs of a symmetric K: Lanczos, and looks with fresh vectors for what it missed."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy.linalg.blas import dgemv

from psdopt.devices import on_host
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.checked_operator import CheckedOperator, column_norms, length
from psdopt.linalg.extreme import probable_bound
from psdopt.linalg.limits import SMALL_ORDER, SPECTRUM_ORDER
from psdopt.linalg.subset import eigenpairs
from psdopt.linalg.threads import one_blas_thread
from psdopt.linalg.tolerances import EPS

#: Probability, over the random vectors, that an eigenvalue above those returned was missed.
CHANCE = 1e-3
#: Steps of Lanczos that take the time in which LAPACK reduces an array of order n, as a share of n: measured 1/4 to 1/7
#: from order 200 to 1,000. A run whose values are clustered takes about MORE times the steps that its first error says.
REDUCTION, MORE = 0.2, 3.0
#: Steps that a test costs in a small space.
LEAST = 4


@dataclass(frozen=True)
class TopK:
    """Positive leading eigenpairs, descending; the optimal factor is `vectors * sqrt(values)`."""

    values: Array  # (j,), j <= k
    vectors: Array  # (n, j), orthonormal
    residuals: Array  # |K u - theta u|_2, from products made after the run
    error: float  # proven bound on the relative error of the sum of the values; infinite if none at `tol` was found
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
    vector, until it has found a missed pair, which is put aside too, or proves that no eigenvalue that matters to the
    sum is left, by the bound of :func:`psdopt.linalg.extreme.smallest_eigenpair`, with probability 1 - 1e-3 for each
    look. Where the entries of an array are at hand and those that the pairs leave of it are small enough together,
    |P K P|_F is the bound, which holds for certain and needs no look.

    Stops when `error` is at most `tol`: then the sum is right to `tol`, by a bound from the residuals of the pairs put
    aside and the bound on the rest (:func:`psdopt.linalg.leading.ceilings`), which uses no estimate of a gap. The
    values are lower bounds of the eigenvalues. `start` (n,) or (n, j) gives the first vector, the sum of its columns.
    LAPACK computes the pairs of an array of order at most 4 (4 k + 32), and up to order 1500 those of an array for
    which the first error of Lanczos says that it would take longer.
    If K has a `device` (:mod:`psdopt.devices`), vectors are on that device.
    Cost: `products` columns of K, at most 8 n (7 k + 64) flops for each, memory n (7 k + 64).

    Raises InvalidInputError for shapes that do not fit, FloatingPointError if K returns NaN or infinity.
    """
    op = CheckedOperator(K, "K")
    n = op.n
    if not 1 <= k <= n:
        raise InvalidInputError(f"k must be between 1 and the order {n} of K; found {k}")
    order = 4 * k + 32
    entries = op.entries() if n <= SPECTRUM_ORDER else None
    if n <= (max(200, 2 * order) if entries is None else 4 * order):
        return _by_lapack(op, entries, k)

    rng = np.random.default_rng(seed)
    fresh = op.placed(rng.standard_normal((n, 1)))
    most = size = math.inf
    if entries is not None:
        most, size = REDUCTION * n, length(np.asarray(entries, dtype=float).ravel("K"))
    aside = _Aside(op, k, tol, np.empty_like(fresh, shape=(n, 0)), np.empty(0), max_products - 2 * k, most, size)
    ended, capacity = False, max(order, SMALL_ORDER)
    if start is not None and np.any(given := np.asarray(on_host(start), float).reshape(n, -1).sum(axis=1)):
        aside.look(op.placed(given[:, None]), capacity)
        ended, aside.error = aside.slow, math.inf  # not random, so that it proves nothing
    while not ended:
        ended = aside.look(fresh, capacity)
        fresh = op.placed(rng.standard_normal((n, 1)))
    if aside.slow:
        return _by_lapack(op, entries, k)
    proven = aside.error <= tol
    return _finish(op, aside.values[:k], aside.vectors[:, :k], aside.error, op.products, proven)


def ceilings(theta: Array, r: Array, k: int, goal: float) -> Array:
    """c (J + 1,): c_j bounds the rest of K such that the first j of J Ritz pairs prove the sum of k values to `goal`.

    `theta` (J,), descending, are the Ritz values and `r` (J,) the residuals |K u_i - theta_i u_i| of orthonormal u_i,
    orthogonal to all of them. Let K have no eigenvalue above c_j on the complement of the first j vectors. Then the sum
    of the k largest eigenvalues of K, those below 0 counted as 0, exceeds that of the first k of these j values, or of
    all if there are fewer, by at most `goal`. The best of these bounds is taken, where R_p holds the first p residuals
    and Theta the j values:

    - *j = p >= k.* For any f > 0, K <= U (Theta + R'R / f) U' + (c + f) (I - U U'). With f = theta_p - c the p largest
      eigenvalues of the right-hand side are those of Theta + R'R / f, so that their sum grows by at most
      |R_p|^2 / (theta_p - c): c = theta_p - |R_p|^2 / goal, called b_p.
    - *j > p >= k.* No eigenvalue on the complement of the first p vectors is above b_p if, by a Schur complement,
      c + sum_i r_i^2 / (b_p - theta_i) <= b_p over the pairs i = p+1..j behind them.
    - *j >= k, small residuals.* Each eigenvalue is at most max(theta_i, c) + |R_j|: where k |R_j| <= goal / 2,
      c = theta_k + goal / (2 k), whatever the distance of the k-th value to the next.
    - *j < k.* Half of `goal` is for the first j values and half for the others, each at most c.

    Cost O(J k + (J - k)^2). Squares must neither overflow nor vanish: divide values, residuals and goal by a scale.
    """
    J, S = len(theta), np.concatenate(([0.0], np.cumsum(r * r)))
    few, c = np.arange(min(k, J + 1)), np.empty(J + 1)
    c[: len(few)] = 0.5 * goal / (k - few)
    c[1 : len(few)] = np.minimum(c[1 : len(few)], theta[: len(few) - 1] - 2.0 * S[1 : len(few)] / goal)
    if k <= J:
        p, S = np.arange(k, J + 1), S[k:]
        b = theta[k - 1 :] - S / goal
        room = np.where(np.arange(J) < p[:, None], math.inf, b[:, None] - theta)
        terms = np.divide(r * r, room, out=np.full_like(room, math.inf), where=room > 0.0)
        behind = np.where(p < p[:, None], math.inf, np.cumsum(terms, axis=1)[:, k - 1 :])  # by p and j
        small = np.where(k * np.sqrt(S) <= 0.5 * goal, theta[k - 1] + 0.5 * goal / k, -math.inf)
        c[k:] = np.maximum((b[:, None] - behind).max(axis=0), small)
    return c


@dataclass
class _Aside:
    """Pairs put aside, descending, and what is known of the sum of their first k values."""

    op: CheckedOperator
    k: int
    tol: float
    vectors: Array  # (n, j), orthonormal
    values: Array  # (j,)
    budget: int
    most: float  # steps that take as long as LAPACK
    size: float  # |K|_F, infinite if no entry is known
    slow: bool = False  # whether there would be more, so that the first look was ended
    looks: int = 0  # that have put pairs aside
    sharp: bool = False  # whether residuals are small enough for values that crowd at the k-th
    ceiling: float = 0.0  # no eigenvalue of the rest above it proves the sum
    error: float = math.inf  # relative error of the sum, proven

    def look(self, q: Array, capacity: int) -> bool:
        """Lanczos from q (n, 1) on the complement of `vectors`; its leading pairs are put aside. True at the end."""
        op, k, n, j = self.op, self.k, self.op.n, len(self.values)
        Q = np.empty_like(q, order="F", shape=(n, j + capacity + 1))
        Q[:, :j] = self.vectors
        q = q - self.vectors @ (self.vectors.T @ q)
        Q[:, j : j + 1] = q / np.linalg.norm(q)
        T = np.zeros((capacity, capacity))  # its lower triangle
        size = begin = steps = 0
        check, before = LEAST if j else k + k // 2 + LEAST, (0, math.inf)
        cycles: list[tuple[Array, Array, Array]] = []
        while True:
            end, steps = j + size + 1, steps + 1
            image = op(Q[:, end - 1 : end]) if op.device is not None else op.of_unit(Q[:, end - 1])
            # the large parts, along the last two vectors, go first: what one pass then leaves is orthogonal to rounding
            near = end - 2 if size > begin else 0
            large, image, _ = _without(Q[:, near:end], image)
            h, image, beyond = _without(Q[:, :end], image)
            h[near:] += large
            T[size, : size + 1] = h[j:]
            size += 1
            ends = op.products >= self.budget
            if beyond <= op.rounding:  # an invariant subspace
                beyond, ends = 0.0, True
            else:
                Q[:, end : end + 1] = image.reshape(n, 1) / beyond
            if steps < check and size < capacity and not ends:
                continue
            theta, W = np.linalg.eigh(T[:size, :size])
            theta, W = theta[::-1], W[:, ::-1]
            cycle = (-theta, beyond * W[-1:], W[begin : begin + 1].T)
            pairs, error, goal = self._judged(theta, np.abs(cycle[1][0]), [*cycles, cycle], ends)
            if j == 0 and before[0] == 0 and error > goal:
                self.slow = MORE * steps * math.log(error / goal) > self.most * max(-math.log(error), 0.0)
                if self.slow:
                    return True
            if pairs:
                self._put(Q[:, j : j + size] @ W[:, :pairs], theta[:pairs], np.abs(cycle[1][0, :pairs]))
                return op.products >= self.budget or self.error <= self.tol
            if ends or self.error <= self.tol:
                return True
            # the next test is where the error would have fallen to its goal at its last pace, within the share of the
            # steps below which a test costs as much as they do, and that beyond which the pace says little
            step = max(LEAST, size // 8)
            if error < before[1] < math.inf:
                pace = math.log(before[1] / error) / (steps - before[0])
                step = max(step, min(int(math.log(error / goal) / pace), size // 2))
            before, check = (steps, error), steps + step
            if size == capacity:
                keep = k + (size - k) // 3
                cycles.append(cycle)
                Q[:, j : j + keep] = Q[:, j : j + size] @ W[:, :keep]
                Q[:, j + keep : j + keep + 1] = Q[:, j + size : j + size + 1]
                T[:] = 0.0
                T[range(keep), range(keep)] = theta[:keep]
                size, begin = keep, keep

    def _judged(
        self, theta: Array, r: Array, cycles: list[tuple[Array, Array, Array]], ends: bool
    ) -> tuple[int, float, float]:
        """(pairs of this look that go aside now, what is small at its end, how small)."""
        op, j, floor = self.op, len(self.values), self._floor(float(np.max(np.abs(theta))))
        if j == 0 and theta[0] > floor:
            return self._first(theta, r, floor, ends)
        ceiling = max(self.ceiling, floor) if j < self.k else self.ceiling
        missed = min(self.k, int(np.sum(theta > ceiling)))
        if missed:
            error = self.k * r[:missed] if self.sharp else _errors(theta, r, missed, missed)
            relative = float(np.sum(error)) / self._total(np.r_[self.values, theta], floor)
            return (missed if relative <= self._share or ends else 0), relative, self._share
        bound = float(theta[0])
        if cycles[-1][1].any():  # else the space is invariant and holds the part of all eigenvectors along the first
            quantile = math.sqrt(scipy.special.betaincinv(0.5, (op.n - j - 1) / 2, CHANCE))
            bound = -probable_bound(cycles, quantile, op.norm, op.rounding)
        if bound <= ceiling:
            self.error = 0.5 * self.tol
        return 0, (bound - theta[0]) / max(ceiling - theta[0], 1e-300), 1.0

    def _first(self, theta: Array, r: Array, floor: float, ends: bool) -> tuple[int, float, float]:
        """:meth:`_judged` of the first look: with how many pairs aside the goal of the next look is easiest."""
        k, found = self.k, min(self.k, int(np.sum(theta > floor)))
        total, goal = float(np.sum(theta[:found])), 0.5 * self.tol
        small, share = k * float(np.linalg.norm(r[:found])) / total, self._share
        if self.sharp:
            return (found if small <= share or ends else 0), small, share
        error = float(np.sum(_errors(theta, r, found, k + k // 2))) / total
        if error > goal and found == k and not ends:
            return 0, error, goal
        most = len(theta) if found == k else found
        c = ceilings(theta[:most] / total, r[:most] / total, k, goal)[found:] * total
        # |P K P|_F on the complement of the first vectors, which no eigenvalue there exceeds
        squares = 1.0 - np.cumsum((theta / self.size) ** 2 + 2.0 * (r / self.size) ** 2)[found - 1 : most]
        if np.any(self.size * np.sqrt(np.maximum(squares, 0.0) + self.op.n * EPS) <= c):
            self.error = goal
            return found, error, goal
        following = np.append(theta, -math.inf)[found : min(most, k + k // 2) + 1]
        distance = c[: len(following)] - following
        best = int(np.argmax(distance))
        # half of the distance is left to the next look, whose steps grow as it shrinks
        if distance[best] >= (0.5 * (theta[found - 1] - following[-1]) if found == k else math.inf) or ends:
            return found + best, error, goal
        return (found if small <= share else 0), error, goal

    @property
    def _share(self) -> float:
        """Of `tol`, for the pairs of one look: the sum over all looks is at most a sixth."""
        return float(0.1 * self.tol / (self.looks + 1) ** 2)

    def _floor(self, size: float) -> float:
        """Eigenvalues below it are rounding."""
        return max(10 * EPS * math.sqrt(self.op.n) * max(self.op.norm, size), 1e-300)

    def _total(self, values: Array, floor: float) -> float:
        return max(float(np.sum(np.maximum(np.sort(values)[::-1][: self.k], 0.0))), floor)

    def _put(self, U: Array, theta: Array, r: Array) -> None:
        """Put pairs aside with those before. If too many crowd at the k-th value, begin anew with sharper ones."""
        self.looks += 1
        if len(self.values):
            theta, U, r = _ritz(self.op, np.hstack([self.vectors, U]))
        if len(theta) > 3 * self.k and not self.sharp:
            self.sharp, self.looks, theta, U, r = True, 0, theta[:0], U[:, :0], r[:0]
        self.values, self.vectors = theta, U
        total = self._total(theta, self._floor(0.0))
        self.ceiling = total * float(ceilings(theta / total, r / total, self.k, 0.5 * self.tol)[-1])


def _without(basis: Array, image: Array) -> tuple[Array, Array, float]:
    """The coefficients (j,) of a vector along orthonormal columns, what is left of it, and its length.

    Vectors are (n,) on the host and overwritten, (n, 1) on a device.
    """
    if isinstance(image, np.ndarray):
        h = dgemv(1.0, basis, image, trans=1)
        image = dgemv(-1.0, basis, h, 1.0, image, overwrite_y=1)
        return h, image, length(image)
    h = basis.T @ image
    image = image - basis @ h
    return on_host(h)[:, 0], image, float(np.linalg.norm(image))


def _errors(theta: Array, r: Array, count: int, behind: int) -> Array:
    """Estimates of the errors of the first Ritz values, by their distances to the one of number `behind` after them."""
    gap = np.maximum(theta[:count] - theta[min(behind, len(theta) - 1)], 1e-300)
    return np.asarray(np.minimum(r[:count], r[:count] * (r[:count] / gap)))


def _by_lapack(op: CheckedOperator, entries: Array | None, k: int) -> TopK:
    """From the `entries` of K, or from its products with I."""
    values, U = eigenpairs(op.to_dense(op.n) if entries is None else entries, op.n - k, op.n - 1)
    return _finish(op, values[::-1], op.placed(U[:, ::-1]), 0.0, 1, True)


def _finish(op: CheckedOperator, values: Array, U: Array, error: float, blocks: int, converged: bool) -> TopK:
    """The pairs whose values are positive, with vectors orthonormal to rounding and residuals from new products."""
    floor = 10 * EPS * op.n**0.5 * float(np.max(np.abs(values), initial=0.0))
    found = int(np.sum(values > floor))
    values, U = values[:found], U[:, :found]
    U = U @ (1.5 * np.eye(found) - 0.5 * (U.T @ U))  # LAPACK's lose two digits; a step of Newton's method
    residuals = column_norms(op(U) - U * values) if found else np.empty(0)
    return TopK(values, U, residuals, error, op.products, blocks + (found > 0), converged)


def _ritz(op: CheckedOperator, U: Array) -> tuple[Array, Array, Array]:
    """Values, descending, vectors and residuals of the Ritz pairs on the columns of U, from new products."""
    KU = op(U)
    theta, W = np.linalg.eigh(0.5 * (U.T @ KU + KU.T @ U))
    theta, W = theta[::-1], W[:, ::-1]
    UW = U @ W
    V = np.linalg.qr(UW)[0]
    V *= np.where(np.sum(V * UW, axis=0) < 0, -1.0, 1.0)
    return theta, V, np.linalg.norm(KU @ W - V * theta, axis=0)
