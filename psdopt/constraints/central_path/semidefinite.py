"""PSD blocks of one order in standard form: the entries of the A_t there, and what an interior point needs of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.couplings import BatchedCouplings, Couplings
from psdopt.constraints.directed import DirectedCouplings
from psdopt.constraints.limits import SPARSE
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, both_ways, norm
from psdopt.linalg.cone_steps import cone_step, cone_steps, inverse_of, lower_factor, smoothed, triangular_inverse
from psdopt.linalg.definite import factor_above
from psdopt.linalg.tolerances import rounding


class Semidefinite:
    """X_k ⪰ 0 for k < K, all of order s, as one array (K, s, s).

    Parameters
    ----------
    rows : (K, s), the rows of M that each block has. C : (K, s, s). i, j : (p,), places within a block.
    B : (m, K p), the entries of the A_t at these places, block after block; those off the diagonal are doubled.
    weights : ν (K,) of −Σ_k ν_k log det X_k in the objective, None if there are none.
    products : those of one block, if they are known otherwise than by the entries.
    """

    def __init__(
        self,
        rows: NDArray[np.intp],
        C: Array,
        i: NDArray[np.intp],
        j: NDArray[np.intp],
        B: sp.csr_array,
        weights: Array | None = None,
        products: DirectedCouplings | None = None,
    ) -> None:
        self.rows, self.C, self.i, self.j, self.B, self.weights = rows, C, i, j, B, weights
        self.count, self.size = rows.shape
        self.degree = self.count * self.size
        if products is not None:
            self.products = products
        first = self.size**2 * np.arange(self.count)[:, None]
        self.at = (first + (i * self.size + j)).ravel()
        self.mirrored = (first + (j * self.size + i)).ravel()
        self.forth, self.back = both_ways(B)
        self.half = np.tile(np.where(i == j, 1.0, 0.5), self.count)
        entries = 2 * len(i) - int(np.count_nonzero(i == j))
        self.scattered = self.count == 1 and SPARSE * entries < self.size**2

    @cached_property
    def products(self) -> Couplings | BatchedCouplings | DirectedCouplings:
        """(X, Q) ↦ [tr(A_s X A_t Q)]."""
        if self.count > 1:
            return BatchedCouplings(self.i, self.j, self.B, self.count)
        return Couplings(self.i, self.j, self.B, self.size)

    @cached_property
    def dense(self) -> Array:
        """B (m, K p) as an array."""
        return np.asarray(self.B.toarray())

    @cached_property
    def compact(self) -> tuple[NDArray[np.intp], Couplings]:
        """The constraints with entries in the one block, and :attr:`products` for these alone."""
        used = np.flatnonzero(np.diff(self.B.indptr))
        return used, Couplings(self.i, self.j, sp.csr_array(self.B[used]), self.size)

    def measure(self, X: Array) -> Array:
        """(Σ_k ⟨A_tk, X_k⟩)_t, of the symmetric parts of the X_k."""
        flat = X.reshape(-1)
        twice: Array = flat.take(self.at) + flat.take(self.mirrored)
        return self.forth @ (0.5 * twice)

    def adjoint(self, v: Array) -> Array:
        """Σ_t v_t A_tk, (K, s, s)."""
        S = np.zeros(self.C.size)
        w = self.half * (self.back @ v)
        S[self.at] = w
        S[self.mirrored] = w
        return S.reshape(self.C.shape)

    def adjoint_times(self, v: Array, V: Array, S: Array | None = None) -> Array:
        """Σ_t v_t A_tk V_k for V (K, s, c): through the entries of the A_t if they are few relative to s², else by S,
        the sum itself."""
        if not self.scattered:
            product: Array = (self.adjoint(v) if S is None else S) @ V
            return product
        w = self.half * (self.back @ v)
        off = self.i != self.j
        coordinates = np.concatenate([self.i, self.j[off]]), np.concatenate([self.j, self.i[off]])
        entries = sp.csr_array((np.concatenate([w, w[off]]), coordinates), shape=(self.size, self.size))
        return np.asarray(entries @ V[0])[None]

    def start(self, b: Array) -> tuple[Array, Array]:
        """X, Z of SDPT3's start (Toh, Todd, Tutuncu 1999), block by block."""
        of, squares = np.repeat(np.arange(len(b)), np.diff(self.B.indptr)), self.half[self.B.indices] * self.B.data**2
        met, which = np.unique(of * self.count + self.B.indices // max(len(self.i), 1), return_inverse=True)
        (t, k), lengths = np.divmod(met, self.count), np.sqrt(np.bincount(which, squares))  # |A_tk|
        reach, largest = np.zeros(self.count), np.zeros(self.count)
        np.maximum.at(reach, k, (1.0 + np.abs(b[t])) / (1.0 + lengths))
        np.maximum.at(largest, k, lengths)
        least = max(10.0, math.sqrt(self.size))
        costs = np.sqrt(np.einsum("kij,kij->k", self.C, self.C))
        X, Z = np.maximum(least, self.size * reach), np.maximum(least, np.maximum(largest, costs))
        return X[:, None, None] * np.eye(self.size), Z[:, None, None] * np.eye(self.size)

    def factor(self, X: Array) -> Array:
        """L (K, s, s), X_k = L_k L_kᵀ; numpy.linalg.LinAlgError where one is not definite."""
        return lower_factor(X)

    def root(self, X: Array) -> Array:
        """H (K, s, s), X_k = H_k H_kᵀ for X ⪰ 0, longest columns first."""
        values, V = np.linalg.eigh(X)
        return np.asarray(V[:, :, ::-1] * np.sqrt(np.maximum(values[:, None, ::-1], 0.0)))

    def split(self, W: Array) -> tuple[Array, Array, Array]:
        """(W₊, W₋, H) with W = W₊ − W₋ and W₋ = H Hᵀ, by one eigendecomposition of each block."""
        deadline.ask()
        values, V = np.linalg.eigh(W)
        k = int(np.max(np.count_nonzero(values < 0.0, axis=1)))
        H = V[:, :, :k] * np.sqrt(np.maximum(-values[:, None, :k], 0.0))
        if 2 * k <= self.size:
            negative = H @ H.mT
            return W + negative, negative, H
        first = int(np.min(np.count_nonzero(values < 0.0, axis=1)))
        top = V[:, :, first:] * np.sqrt(np.maximum(values[:, None, first:], 0.0))
        positive = top @ top.mT
        return positive, positive - W, H

    def smoothed(self, W: Array) -> Callable[[float], tuple[Array, Array]]:
        """mu ↦ X, Z ⪰ 0 with X − Z = W and X_k Z_k = (mu + ν_k) I."""
        deadline.ask()
        values, V = np.linalg.eigh(W)

        def pair(mu: float) -> tuple[Array, Array]:
            ends = smoothed(values, mu if self.weights is None else mu + self.weights[:, None])
            X, Z = (H @ H.mT for H in (V * np.sqrt(e)[:, None, :] for e in ends))
            return X, Z

        return pair

    def definite(self, v: Array) -> bool:
        """Whether all C_k − A_k*(v) are definite beyond rounding."""
        A = self.adjoint(v)
        return all(
            factor_above(C - S, rounding(norm(C) + norm(S), self.size)) is not None
            for C, S in zip(self.C, A, strict=True)
        )

    def largest(self, Z: Array) -> float:
        """√s max_k |Z_k|: the size that rounding of λ_min(Z_k) is relative to."""
        return math.sqrt(self.size * float((Z * Z).sum(axis=(1, 2)).max(initial=0.0)))

    def gathered(self, Y: Array) -> Array:
        """X (K, s, s) of a factor Y (n, width)."""
        H = Y[self.rows]
        return np.asarray(H @ H.mT)

    def distance(self, X: Array, Z: Array) -> float:
        """Σ_k ⟨X_k, Z_k⟩; where ν_k > 0, √s |Λ_k − ν_k I| in its place, Λ_k the eigenvalues of X_k Z_k."""
        if self.weights is None:
            return float(np.vdot(X, Z))
        products, nu = X @ Z, self.weights
        traces, squares = np.trace(products, axis1=1, axis2=2), np.einsum("kij,kji->k", products, products)
        off = np.maximum(squares - 2.0 * nu * traces + self.size * nu**2, 0.0)
        return float(np.sum(np.where(nu > 0.0, np.sqrt(self.size * off), traces)))

    def log_dets(self, Z: Array) -> Array:
        """log det Z_k, (K,)."""
        return np.asarray(np.linalg.slogdet(Z)[1])

    def placed(self, Y: Array, H: Array, first: NDArray[np.intp] | None = None) -> None:
        """Put the factors H (K, s, r) into the rows of Y (n, width), in r columns from `first` (n,), default 0."""
        begin = 0 if first is None else first[self.rows[:, :1, None]]
        Y[self.rows[:, :, None], begin + np.arange(H.shape[2])] = H

    def spread(self, M: Array, X: Array) -> None:
        """Put X into its rows and columns of M (n, n)."""
        M[self.rows[:, :, None], self.rows[:, None, :]] = X

    def local(self, X: Array, Z: Array, L: Array, K: Array, R: Array | None, careful: bool) -> LocalSemidefinite:
        """The linearised equations at X = L Lᵀ and Z = K Kᵀ, with R = C − A*(v) − Z; `careful` : with a root of the
        metric."""
        return LocalSemidefinite(self, X, L, K, R, careful)


class SemidefiniteMetric:
    """D ↦ P D Q for X-like P = L Lᵀ and Z⁻¹-like Q = KᵀK, and its products A (P ⊗ Q) A*."""

    def __init__(self, part: Semidefinite, P: Array, Q: Array, L: Array, K: Array | None) -> None:
        self.part, self.P, self.Q, self.L, self.K = part, P, Q, L, K
        self._root: Array | None = None

    def add_to(self, M: Array, fresh: bool) -> None:
        """M (m, m) += [tr(A_s P A_t Q)], upper triangle; `fresh` : whether M is zero."""
        products = self.part.products
        if isinstance(products, BatchedCouplings):
            M += products.dense(self.P, self.Q)
        else:
            products.add(M, self.P[0], self.Q[0], fresh)

    def sparse(self) -> sp.csr_array:
        """[tr(A_s P A_t Q)] as a sparse array (m, m)."""
        if self.part.count > 1:
            products = self.part.products
            assert isinstance(products, BatchedCouplings)
            return products.sparse(self.P, self.Q)
        (used, products), m = self.part.compact, self.part.B.shape[0]
        M = np.zeros((len(used), len(used)))
        products.add(M, self.P[0], self.Q[0], fresh=True)
        M = np.triu(M) + np.triu(M, 1).T
        pairs = np.repeat(used, len(used)), np.tile(used, len(used))
        return sp.csr_array((M.reshape(-1), pairs), shape=(m, m))

    def root(self) -> Array:
        """(m, K s²), rows L_kᵀ A_tk K_kᵀ: the Gram matrix of these rows is [tr(A_s P A_t Q)]. 4 m K s³ flops."""
        deadline.ask()
        part, m = self.part, self.part.B.shape[0]
        assert self.K is not None
        forms = np.zeros((m, part.C.size))
        entries = part.B.toarray() * part.half
        forms[:, part.at] = entries
        forms[:, part.mirrored] = entries
        A = forms.reshape(m, *part.C.shape)
        self._root = (self.L.mT @ (A @ self.K.mT)).reshape(m, part.C.size)
        return self._root

    def image(self, w: Array, S: Array | None = None) -> tuple[Array, Array]:
        """(P A*(w) Q, A*(w) Q), by the root where it was formed; S = A*(w), if it is known."""
        if self._root is None:
            right = self.part.adjoint_times(w, self.Q, S)
            return self.P @ right, right
        assert self.K is not None
        right = np.asarray(self.part.adjoint_times(w, np.asarray(self.K.mT), S) @ self.K)
        return np.asarray(self.L @ (w @ self._root).reshape(self.part.C.shape) @ self.K), right

    def moved(self, w: Array) -> Array:
        """The symmetric part of P A*(w) Q."""
        return _symmetric(self.image(w)[0])


class LocalSemidefinite:
    """The linearised equations of the blocks at X and Z, in the HKM direction; see :mod:`.interior_steps`.

    `R` : C − A*(v) − Z, None where it is rounding. Attributes: `metric`, D ↦ X D Z⁻¹; `inverse`, A(Z⁻¹); `terms` of the
    right-hand side: A(X R Z⁻¹), −ν A(Z⁻¹) and, for the second-order term T of the last direction, A(T).
    """

    def __init__(self, part: Semidefinite, X: Array, L: Array, K: Array, R: Array | None, careful: bool) -> None:
        self.part, self.X, self.L, self.K, self.R = part, X, L, K, R
        self.H = np.linalg.inv(np.array([L, K])) if part.count > 1 else None
        self.Zi = inverse_of(K[0])[None] if self.H is None else np.asarray(self.H[1].mT @ self.H[1])
        self.metric = SemidefiniteMetric(part, X, self.Zi, L, triangular_inverse(K) if careful else None)
        self.RZi = None if R is None else R @ self.Zi
        self.moved = None if self.RZi is None else X @ self.RZi
        self.inverse = part.measure(self.Zi)
        self.terms = [] if self.moved is None else [part.measure(self.moved)]
        if part.weights is not None:
            self.X = X - part.weights[:, None, None] * self.Zi
            self.terms.append(part.measure(self.X - X))
        self.fixed = len(self.terms)
        self.T: Array | None = None

    def along(self, target: float, dv: Array) -> tuple[Array, Array]:
        """dX, dZ towards X Z = (target + ν) I that follow from dv."""
        S = self.part.adjoint(dv)
        dX, right = self.metric.image(dv, S)
        for term in (self.moved, self.T):
            if term is not None:
                dX -= term
        dX = _symmetric(dX)
        dX += target * self.Zi
        dX -= self.X
        self.dZZi = -right if self.RZi is None else self.RZi - right
        return dX, -S if self.R is None else self.R - S

    def reaches(self, dX: Array, dZ: Array, accuracy: float) -> tuple[float, float]:
        """The largest alpha, or a little less, with X + alpha dX ⪰ 0, and that of Z and dZ."""
        if self.H is None:
            return cone_step(self.L[0], dX[0], accuracy), cone_step(self.K[0], dZ[0], accuracy)
        ap, ad = cone_steps(self.H, np.array([dX, dZ]))
        return ap, ad

    def correct(self, dX: Array, dZ: Array) -> None:
        """Add the second-order term dX dZ Z⁻¹ of the last direction to all later ones."""
        self.T = dX @ self.dZZi
        self.terms[self.fixed :] = [self.part.measure(self.T)]


def _symmetric(D: Array) -> Array:
    D = D + D.mT
    D *= 0.5
    return D
