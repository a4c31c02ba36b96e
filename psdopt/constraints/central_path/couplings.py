"""[tr(A_s X A_t Z⁻¹)], the Schur complement of a primal-dual step, by the structure of each A_t."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.limits import NUMBERS, SPARSE
from psdopt.linalg.arrays import Array, both_ways, for_products
from psdopt.linalg.entries import add_block
from psdopt.linalg.limits import CACHED
from psdopt.linalg.tolerances import rounding
from psdopt.terms.entry_coupling import entry_coupling

#: Of no rows, which multiply nothing.
NO_VECTORS = sp.csr_array((0, 0))
Few = tuple[NDArray[np.intp], NDArray[np.intp], Array]
Whole = tuple[NDArray[np.intp], sp.csr_array | Array]


class Couplings:
    """(X, Z⁻¹) ↦ [tr(A_s X A_t Z⁻¹)] for the A_t (n, n) of the rows of B, by their entries at the places (i, j).

    Rows are of three kinds. `outer`, A_t = ± a_t a_tᵀ: (a_sᵀ X a_t)(a_sᵀ Z⁻¹ a_t). `light`, of few entries: products of
    single entries of X and Z⁻¹, gathered and summed. `heavy`: X A_t Z⁻¹ by matrix products of the rows that A_t has.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], B: sp.csr_array, n: int) -> None:
        self.i, self.j, self.B, self.n = i, j, B, n
        counts = np.diff(B.indptr)
        rest = counts > 0
        self.outer, self.vectors, self.signs = self._rank_one(rest.nonzero()[0], counts)
        rest[self.outer] = False
        self.light, self.heavy = self._split(rest, counts)
        self.arrange()

    def arrange(self) -> None:
        """Prepare the index arrays of `light` and `heavy` rows."""
        B = self.B
        self.single = bool(np.all(np.diff(B.indptr)[self.light] == 1))
        if self.single:  # an entry each, diagonal ones first: products come in the order of the rows
            places = B.indices[B.indptr[self.light]]
            first = np.argsort(self.i[places] != self.j[places], kind="stable")
            self.light, self.places = self.light[first], places[first]
            count = len(first)
            one = B.data[B.indptr[self.light]], np.arange(count), np.arange(count + 1)
            self.B_light = sp.csr_array(one, shape=(count, count))
        else:
            self.B_light = sp.csr_array(B[self.light])
            self.places, _ = np.unique(self.B_light.indices, return_index=True)
            self.B_light = sp.csr_array(self.B_light[:, self.places])
        self.few, self.whole = self._heavy()
        if len(self.heavy):
            self.forth, self.at, self.mirrored = for_products(B), self.i * self.n + self.j, self.j * self.n + self.i

    def add(self, M: Array, X: Array, Zi: Array, fresh: bool = False) -> None:
        """M (m, m) += the products, in the upper triangle only; entries below the diagonal are undefined afterwards.

        `fresh` : whether M is zero, so that products may overwrite it. O(L² + nnz L) for L outer rows, O(p²) for p
        places of light ones, 4 k n² flops for a heavy one with entries in k rows.
        """
        outer, light = self.outer, self.light
        if len(outer):
            a = self.vectors
            left, right = (np.ascontiguousarray((a @ P).T) for P in (X, Zi))  # X aᵀ, Z⁻¹ aᵀ for all a: (n, L)
            K = a @ left
            K *= a @ right
            if np.any(self.signs < 0.0):
                K *= self.signs
                K *= self.signs[:, None]
            add_block(M, outer, K)
            if len(self.places):
                i, j = self.i[self.places], self.j[self.places]
                W = left[i] * right[j]
                W += left[j] * right[i]
                W *= 0.5 * self.signs
                crossed = self.B_light @ W
                M[light[:, None], outer] += crossed
                M[outer[:, None], light] += crossed.T
        if len(self.places):
            self._add_light(M, X, Zi, fresh and len(outer) == 0)
        waiting: list[tuple[NDArray[np.intp], Array]] = []
        for rows, U in self._heavy_products(X, Zi):
            flat = U.reshape(len(rows), -1)
            places = flat.take(self.at, axis=1)
            places += flat.take(self.mirrored, axis=1)
            places *= 0.5
            waiting.append((rows, places))
            if sum(each.size for _, each in waiting) >= 8 * CACHED:
                self._spread(M, *map(np.concatenate, zip(*waiting, strict=True)))
                waiting.clear()
        if waiting:
            self._spread(M, *map(np.concatenate, zip(*waiting, strict=True)))

    def _heavy_products(self, X: Array, Zi: Array) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """The X A_t Z⁻¹ (k, n, n) of the heavy rows, and which: 1 MiB at a time, as larger ones leave the cache."""
        k = max(1, 4 * CACHED // self.n**2)
        for rows, touched, A in self.few:
            for first in range(0, len(rows), k):
                part = slice(first, first + k)
                at = touched[part]
                yield rows[part], np.swapaxes(X[at], 1, 2) @ (A[part] @ Zi[at])
        for rows, whole in self.whole:
            for first in range(0, len(rows), k):
                part = slice(first, first + k)
                right = np.asarray((whole if sp.issparse(whole) else whole[part]) @ Zi)
                yield rows[part], X @ right.reshape(-1, self.n, self.n)

    def _spread(self, M: Array, rows: NDArray[np.intp], places: Array) -> None:
        """M += [⟨A_s, U_t⟩] in the columns `rows` of heavy A_t, and in these rows for all other s; `places` (k, p) are
        those of (U_t + U_tᵀ)/2."""
        rest = np.concatenate([self.outer, self.light])
        columns = self.forth @ places.T
        M[rest[:, None], rows] += columns[rest]
        M[rows[:, None], rest] += columns[rest].T
        M[self.heavy[:, None], rows] += columns[self.heavy]

    def _add_light(self, M: Array, X: Array, Zi: Array, fresh: bool) -> None:
        k, at, w = len(self.light), (self.i[self.places], self.j[self.places]), self.B_light.data
        own = slice(self.light[0], self.light[0] + k)
        if fresh and self.single and np.all(w == w[0]) and np.array_equal(self.light, np.arange(own.start, own.stop)):
            entry_coupling(*at, float(w[0]) ** 2 * X, Zi, M[own, own])
            return
        K = np.triu(entry_coupling(*at, X, Zi))
        K += np.triu(K, 1).T
        if self.single:
            K *= w
            K *= w[:, None]
        else:
            K = self.B_light @ np.asarray(self.B_light @ K).T
        add_block(M, self.light, K)

    def _rank_one(
        self, used: NDArray[np.intp], counts: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], sp.csr_array, Array]:
        """Rows with A_t = s_t a_t a_tᵀ, the a_t (L, n) and the s_t; none where these are single diagonal entries.

        Vectors a_t with more than n/2 entries are excluded: aᵀX a may be only what cancellation leaves, as under aᵀM a
        = 0, and the run of a partition then stalled.
        """
        found: dict[int, tuple[NDArray[np.intp], Array, float]] = {}
        for t in used[counts[used] > 1]:
            count = int(counts[t])
            k = (math.isqrt(8 * count + 1) - 1) // 2
            if k * (k + 1) // 2 != count or 2 * k > max(self.n, 2):
                continue
            part = slice(self.B.indptr[t], self.B.indptr[t + 1])
            places, w = self.B.indices[part], self.B.data[part]
            root = _root(self.i[places], self.j[places], w, k)
            if root is not None:
                found[int(t)] = root
        if not found:
            return np.zeros(0, dtype=np.intp), NO_VECTORS, np.zeros(0)
        one = used[counts[used] == 1]
        first = self.B.indptr[one]
        for t, place, w in zip(one.tolist(), self.B.indices[first].tolist(), self.B.data[first].tolist(), strict=True):
            if self.i[place] == self.j[place]:
                found[t] = self.i[place : place + 1], np.sqrt(np.abs([w])), math.copysign(1.0, w)
        rows = np.array(sorted(found), dtype=np.intp)
        at, a, signs = zip(*(found[t] for t in rows.tolist()), strict=True)
        starts = np.concatenate([[0], np.cumsum([len(each) for each in at])])
        vectors = sp.csr_array((np.concatenate(a), np.concatenate(at), starts), shape=(len(rows), self.n))
        return rows, vectors, np.array(signs)

    def _heavy(self) -> tuple[list[Few], list[Whole]]:
        """(rows (l,), the k rows that each A_t has (l, k), A_t restricted to these (l, k, k)) for each k of at most
        n/2; of the other heavy rows (rows (l,), A_t (l, n, n)), or (row (1,), A_t) where A_t is sparse."""
        by_size: dict[int, list[tuple[int, NDArray[np.intp], Array]]] = {}
        dense: list[tuple[int, Array]] = []
        whole: list[Whole] = []
        for t in self.heavy:
            part = slice(self.B.indptr[t], self.B.indptr[t + 1])
            k, w = self.B.indices[part], 0.5 * self.B.data[part]
            touched, at = np.unique(np.concatenate([self.i[k], self.j[k]]), return_inverse=True)
            i, j = at[: len(k)], at[len(k) :]
            if 2 * len(touched) > self.n:
                i, j = touched[i], touched[j]
                both = np.concatenate([w, w]), (np.concatenate([i, j]), np.concatenate([j, i]))
                shape = self.n, self.n
                if SPARSE * (2 * len(w) - np.count_nonzero(i == j)) < self.n**2:
                    whole.append((np.array([t]), sp.csr_array(both, shape=shape)))
                else:
                    A = np.zeros(shape)
                    np.add.at(A, both[1], both[0])
                    dense.append((int(t), A))
                continue
            small = np.zeros((len(touched), len(touched)))
            np.add.at(small, (i, j), w)
            np.add.at(small, (j, i), w)
            by_size.setdefault(len(touched), []).append((int(t), touched, small))
        groups = [[np.array(each) for each in zip(*group, strict=True)] for group in by_size.values()]
        if dense:
            whole.append((np.array([t for t, _ in dense]), np.array([A for _, A in dense])))
        return [(rows, touched, small) for rows, touched, small in groups], whole

    def _split(self, taken: NDArray[np.bool_], counts: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows `taken` in two parts: with products gathered entry by entry, and with two matrix products each.

        Costs are compared in entries of sparse products: a pair of places gathers four scattered entries, each of which
        counts as four; dense products do `SPARSE` multiplications in the time of one entry; the
        calls of a heavy row cost as much as a block of entries that fits the cache. The limits 0, 1, 2, 4, ...
        on the entries of a light row are tried; products of rows of one entry take no more numbers than M.
        """
        best, found, entries = np.inf, 0, counts[taken]
        own = self.B.indices[taken.repeat(counts)]
        fewest = np.full(self.B.shape[1], np.inf)  # entries of the shortest of these rows with an entry in a place
        np.minimum.at(fewest, own, entries.repeat(entries))
        for most in sorted({0, *(1 << (count - 1).bit_length() for count in set(entries.tolist()))}):
            few = entries <= most
            places, heavy = int(np.count_nonzero(fewest <= most)), entries[~few]
            products = int(entries[few].sum()) * places if most > 1 else 0
            dense = self.n**2 * np.minimum(2 * heavy, self.n) / SPARSE
            each = CACHED + dense + heavy * self.n + 2.0 * len(self.i)
            cost = 16.0 * places**2 + products + float(each.sum())
            if cost < best and places**2 <= (NUMBERS if most > 1 else max(NUMBERS, len(counts) ** 2)):
                best, found = cost, most
        few = counts <= found
        return (taken & few).nonzero()[0], (taken & ~few).nonzero()[0]


def _root(i: NDArray[np.intp], j: NDArray[np.intp], w: Array, k: int) -> tuple[NDArray[np.intp], Array, float] | None:
    """(rows (k,), a (k,), s) where w are the entries of s a aᵀ at (i, j), those off the diagonal doubled; else None."""
    at, where = np.unique(np.concatenate([i, j]), return_inverse=True)
    if len(at) != k:
        return None
    p, q = where[: len(i)], where[len(i) :]
    A = np.zeros((k, k))
    A[p, q] = A[q, p] = np.where(p == q, 1.0, 0.5) * w
    d = np.diagonal(A)
    sign = math.copysign(1.0, d[0])
    if np.any(sign * d <= 0.0):
        return None
    a = np.sqrt(np.abs(d)) * np.where(sign * A[0] < 0.0, -1.0, 1.0)  # the first row gives the signs
    off = np.abs(A - sign * np.outer(a, a))
    return (at, a, sign) if float(off.max()) <= rounding(float(np.abs(w).max()), k) else None


class BatchedCouplings:
    """(X, Q) ↦ B diag(T_1, ..., T_K) Bᵀ, with T_k (p, p) = [tr(E_a X_k E_b Q_k)] for E_a = (e_i e_jᵀ + e_j e_iᵀ)/2.

    i, j (p,) : the places; B (m, K p) : the entries of the A_t there. K p² products of entries, and those of sparse
    arrays, whose pattern the blocks alone determine.
    """

    def __init__(self, i: NDArray[np.intp], j: NDArray[np.intp], B: sp.csr_array, count: int) -> None:
        self.i, self.j, self.B, p = i, j, B, len(i)
        self.forth, self.back = both_ways(B)
        first = p * np.arange(count, dtype=np.intp)
        self._columns = np.broadcast_to((first[:, None] + np.arange(p))[:, None, :], (count, p, p)).reshape(-1)
        self._ends = p * np.arange(count * p + 1, dtype=np.intp)

    def dense(self, X: Array, Q: Array) -> Array:
        """The products, (m, m), for X, Q (K, s, s)."""
        few = self.forth
        if not isinstance(few, np.ndarray):
            return np.asarray(self.sparse(X, Q).toarray())
        T, m = self._pairs(X, Q), len(few)
        left = few.reshape(m, len(T), 1, len(self.i)) @ T
        return np.asarray(left.reshape(few.shape) @ few.T)

    def sparse(self, X: Array, Q: Array) -> sp.csr_array:
        """:meth:`dense` as a sparse array."""
        T = self._pairs(X, Q)
        size = self.B.shape[1]
        blocks = sp.csr_array((T.reshape(-1), self._columns, self._ends), shape=(size, size))
        return sp.csr_array(self.B @ (blocks @ sp.csr_array(self.back)))

    def _pairs(self, X: Array, Q: Array) -> Array:
        """All T_k, (K, p, p)."""
        K, p, ends = len(X), len(self.i), (self.i, self.j)
        places = [X.shape[-1] * a[:, None] + b for a in ends for b in ends]
        X, Q, T = X.reshape(K, -1), Q.reshape(K, -1), np.zeros((K, p, p))
        for a, b in zip(places, reversed(places), strict=True):
            T += X.take(a, axis=1) * Q.take(b, axis=1)
        T *= 0.25
        return T
