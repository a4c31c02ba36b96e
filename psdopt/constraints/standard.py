"""A conic problem block by block in standard form, for methods that decompose matrices: min ⟨C, X⟩, A(X) = b, X ⪰ 0."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.conic import Conic
from psdopt.linalg.arrays import Array, norm
from psdopt.terms.entry_coupling import EntryCoupling

#: Seconds that a gathered product of entries and a flop of a matrix product take, for the choice between the two alone.
GATHERED, FLOP, CALL = 4e-9, 6e-11, 5e-5
#: Constraints of at most so many entries are tried as the light ones.
LIGHT = (0, 1, 2, 4, 8, 32, 128)
#: No more than this many places of light constraints: their products are a matrix of that order.
MOST_PLACES = 6000


@dataclass
class Block:
    """One PSD block: its `rows` in M, C (s, s), and the constraints' entries in it, B (rows, p places)."""

    rows: NDArray[np.intp]
    C: Array
    i: NDArray[np.intp]
    j: NDArray[np.intp]
    B: sp.csr_array

    def __post_init__(self) -> None:
        self.size = len(self.rows)
        counts = np.diff(self.B.indptr)
        self.used = np.flatnonzero(counts)
        self.light, self.heavy = self._split(counts)
        self.back = sp.csr_array(self.B.T)
        self.arrange()

    def arrange(self) -> None:
        """What `light` and `heavy` rows take."""
        self.B_light = sp.csr_array(self.B[self.light])
        self.places = np.unique(self.B_light.indices) if len(self.light) else np.zeros(0, dtype=np.intp)
        self.B_light = sp.csr_array(self.B_light[:, self.places]) if len(self.places) else self.B_light
        self.couple = EntryCoupling(self.i[self.places], self.j[self.places], self.size) if len(self.places) else None

    def _split(self, counts: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows whose products are gathered entry by entry, and rows that take two matrix products each."""
        best, found = np.inf, 0
        for most in LIGHT:
            light = self.used[counts[self.used] <= most]
            places = len(np.unique(self.B[light].indices)) if len(light) else 0
            heavy = len(self.used) - len(light)
            cost = GATHERED * 8 * places**2 + heavy * (4 * FLOP * self.size**3 + GATHERED * len(self.i) + CALL)
            if cost < best and places <= MOST_PLACES:
                best, found = cost, most
        few = counts[self.used] <= found
        return self.used[few], self.used[~few]

    def measure(self, X: Array) -> Array:
        """(⟨A_t, X⟩)_t, X (s, s) taken by its symmetric part."""
        return np.asarray(self.B @ (0.5 * (X[self.i, self.j] + X[self.j, self.i])))

    def adjoint(self, v: Array) -> Array:
        """Σ_t v_t A_t, (s, s)."""
        w = np.asarray(self.back @ v)
        S = np.zeros((self.size, self.size))
        half = np.where(self.i == self.j, 1.0, 0.5) * w
        S[self.i, self.j] = half
        S[self.j, self.i] = half
        return S

    def add_schur(self, M: Array, X: Array, Zi: Array) -> None:
        """M += [tr(A_s X A_t Z⁻¹)], (m, m)."""
        if self.couple is not None:
            K = np.triu(self.couple(X, Zi))
            K += np.triu(K, 1).T
            if np.all(np.diff(self.B_light.indptr) == 1):  # an entry each: nothing is to be added up
                k, w = self.B_light.indices, self.B_light.data
                K = K if np.array_equal(k, np.arange(len(K))) else K[np.ix_(k, k)]
                K *= w
                K *= w[:, None]
            else:
                K = self.B_light @ np.asarray(self.B_light @ K).T
            if len(self.light) == len(M):
                M += K
            else:
                M[np.ix_(self.light, self.light)] += K
        for t in self.heavy:
            part = slice(self.B.indptr[t], self.B.indptr[t + 1])
            k, w = self.B.indices[part], self.B.data[part]
            i, j = self.i[k], self.j[k]
            half = np.where(i == j, 0.5, 0.5) * w
            A = sp.csr_array(
                (np.concatenate([half, half]), (np.concatenate([i, j]), np.concatenate([j, i]))),
                shape=(self.size, self.size),
            )
            U = np.asarray(A @ Zi)
            U = X @ U
            column = self.measure(U)
            M[self.light, t] += column[self.light]
            M[t, self.light] += column[self.light]
            M[self.heavy, t] += column[self.heavy]


class StandardForm:
    """min Σ_k ⟨C_k, X_k⟩ + cᵀx over X_k ⪰ 0, x >= 0, Σ_k A_k(X_k) + A x = b, scaled to |A_t| = |b| = |C| = 1.

    Blocks of order one and the slacks of inequalities are the linear part x. An interval gives two rows.

    With `W` (n, q) the X are those of N, M = W N Wᵀ on a face, and factors are those of M.

    Attributes: `blocks`; `singles`, rows of M that are blocks of order one; `A` sparse (rows, len(x)), `c`; `b`.
    """

    def __init__(self, conic: Conic, W: sp.csr_array | None = None) -> None:
        self.conic, self.W = conic, W
        lower, upper = conic.lower, conic.upper
        equal = lower == upper
        low, high = np.isfinite(lower) & ~equal, np.isfinite(upper) & ~equal
        pieces = [np.flatnonzero(kind) for kind in (equal, low, high)]
        self.source = np.concatenate(pieces)
        bound = np.concatenate([lower[pieces[0]], lower[pieces[1]], upper[pieces[2]]])
        signs = np.concatenate([np.full(len(pieces[1]), -1.0), np.ones(len(pieces[2]))])
        norms = conic.forms.norms[self.source]
        self.row_scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
        b = bound * self.row_scale
        self.beta, C_norm = norm(b) or 1.0, norm(conic.C.data) if conic.C.nnz else 0.0
        self.gamma = C_norm or 1.0
        self.b, self.m = b / self.beta, len(b)
        B = sp.csr_array(sp.diags_array(self.row_scale) @ conic.forms.B[self.source])
        blocks = conic.blocks
        self.singles = np.array([rows[0] for rows in blocks if len(rows) == 1], dtype=np.intp)
        self.blocks = self._psd(B, [rows for rows in blocks if len(rows) > 1])
        diagonal = conic.C.diagonal() / self.gamma
        place = {int(i): k for k, (i, j) in enumerate(zip(conic.forms.i, conic.forms.j, strict=True)) if i == j}
        free = [place.get(int(row), -1) for row in self.singles]
        columns = sp.csc_array(B)
        parts = [columns[:, [k]] if k >= 0 else sp.csc_array((self.m, 1)) for k in free]
        first = self.m - len(signs)
        slack = sp.csc_array(
            (signs, (first + np.arange(len(signs)), np.arange(len(signs)))), shape=(self.m, len(signs))
        )
        self.A = (
            sp.csr_array(sp.hstack([*parts, slack], format="csr")) if parts or len(signs) else sp.csr_array((self.m, 0))
        )
        self.At = sp.csr_array(self.A.T)
        self.c = np.concatenate([diagonal[self.singles], np.zeros(len(signs))])
        self.order = sum(block.size for block in self.blocks) + len(self.c)

    def _psd(self, B: sp.csr_array, groups: list[NDArray[np.intp]]) -> list[Block]:
        forms, n = self.conic.forms, self.conic.n
        label, local = np.full(n, -1), np.zeros(n, dtype=np.intp)
        for k, rows in enumerate(groups):
            label[rows], local[rows] = k, np.arange(len(rows))
        columns, of = sp.csc_array(B), label[forms.i]
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(len(groups) + 1))
        found = []
        for k, rows in enumerate(groups):
            places = order[starts[k] : starts[k + 1]]
            C = np.asarray(self.conic.C[rows][:, rows].toarray()) / self.gamma
            part = sp.csr_array(columns[:, places])
            found.append(Block(rows, C, local[forms.i[places]], local[forms.j[places]], part))
        return found

    def multipliers(self, v: Array) -> Array:
        """y (m of the conic problem,) of the dual variables v of the scaled rows; S = C + A*(y) is gamma Z."""
        y = np.zeros(self.conic.m)
        np.add.at(y, self.source, -self.gamma * self.row_scale * v)
        return y

    def factor(self, Xs: list[Array], x: Array) -> Array:
        """Y (n, width) whose Y Yᵀ has the diagonal blocks beta X_k; rows of different blocks overlap freely."""
        halves = []
        for X in Xs:
            values, V = np.linalg.eigh(X)
            halves.append(V[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0)))
        return self.assembled(halves, x)

    def assembled(self, halves: list[Array], x: Array) -> Array:
        """:meth:`factor` from factors H_k (size, r_k) of the X_k = H_k H_kᵀ."""
        Y = np.zeros((self.conic.n, max([1, *(half.shape[1] for half in halves)])))
        for block, half in zip(self.blocks, halves, strict=True):
            Y[block.rows, : half.shape[1]] = half
        Y[self.singles, 0] = np.sqrt(np.maximum(x[: len(self.singles)], 0.0))
        Y = np.asarray(Y * math.sqrt(self.beta), dtype=np.float64)
        return Y if self.W is None else np.asarray(self.W @ Y)
