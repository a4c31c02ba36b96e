"""A conic problem block by block in standard form, for methods that decompose matrices: min ⟨C, X⟩, A(X) = b, X ⪰ 0."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.block import Block
from psdopt.constraints.central_path.equilibrium import in_units, row_units
from psdopt.constraints.conic import Conic
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import rounding


class StandardForm:
    """min Σ_k ⟨C_k, X_k⟩ + cᵀx over X_k ⪰ 0, x >= 0, Σ_k A_k(X_k) + A x = b, scaled to |A_t| = |b| = |C| = 1.

    Blocks of order one and the slacks of inequalities are the linear part x. An interval gives two rows.

    With the basis `W` (n, q) of a face, M = W N Wᵀ: the X_k are blocks of N, and factors are factors of M. N, or M
    itself, is first brought to the units of :func:`~psdopt.constraints.central_path.equilibrium.row_units`, D N D.

    Attributes: `units`, the diagonal of D, None where it is one; `conic` in these units; `blocks`; `singles`, rows of M
    that are blocks of order one; `A` sparse (rows, len(x)), `c`; `b`.
    """

    def __init__(self, conic: Conic, W: sp.csr_array | None = None) -> None:
        units = row_units(conic)
        self.units: Array | None = None if np.all(units == 1.0) else units
        conic = conic if self.units is None else in_units(conic, units)
        self.conic, self.W = conic, W
        lower, upper = conic.lower, conic.upper
        equal = lower == upper
        some = conic.forms.norms > 0.0  # on a face some A_t vanish and need no multiplier
        low, high = some & np.isfinite(lower) & ~equal, some & np.isfinite(upper) & ~equal
        pieces = [_by_weight(conic, np.flatnonzero(some & equal)), np.flatnonzero(low), np.flatnonzero(high)]
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
        self.A = sp.csr_array(sp.hstack([*parts, slack], format="csr"))
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

    @cached_property
    def normal_factor(self) -> Any:
        """The sparse factors of A A* (m, m), with a ridge: redundant constraints make it singular."""
        gram = sp.csr_array(self.A @ self.At)
        for block in self.blocks:
            gram = gram + sp.csr_array(block.B @ sp.diags_array(block.half) @ block.back)
        ridge = rounding(float(gram.diagonal().max(initial=0.0)), self.m) + np.finfo(float).tiny
        return sp.linalg.splu(sp.csc_array(gram + ridge * sp.eye_array(self.m)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in vars(self).items() if name != "normal_factor"}

    def measure(self, Xs: list[Array], x: Array) -> Array:
        """Σ_k A_k(X_k) + A x, (rows,); b has norm 1."""
        return sum((block.measure(X) for block, X in zip(self.blocks, Xs, strict=True)), np.asarray(self.A @ x))

    def multipliers(self, v: Array) -> Array:
        """y (m of the conic problem,) of the dual variables v of the scaled rows; S = C + A*(y) is gamma Z."""
        y = np.zeros(self.conic.m)
        np.add.at(y, self.source, -self.gamma * self.row_scale * v)
        return y

    def trace(self, Xs: list[Array], x: Array) -> float:
        """tr N in the units of the form."""
        return self.beta * (sum(float(np.trace(X)) for X in Xs) + float(x[: len(self.singles)].sum()))

    def factor(self, Xs: list[Array], x: Array) -> Array:
        """Y (n, width) whose Y Yᵀ has the diagonal blocks beta X_k; entries outside of the blocks are arbitrary."""
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
        Y = Y if self.units is None else self.units[:, None] * Y
        return Y if self.W is None else np.asarray(self.W @ Y)


def _by_weight(conic: Conic, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The constraints `rows`, ordered by kind: those of one diagonal entry, of one entry, and all others."""
    B, i, j = conic.forms.B, conic.forms.i, conic.forms.j
    counts = np.diff(B.indptr)[rows]
    single = counts == 1
    own = np.zeros(len(rows), dtype=bool)
    place = B.indices[B.indptr[rows[single]]]
    own[single] = i[place] == j[place]
    return rows[np.argsort(np.where(own, 0, np.where(single, 1, 2)), kind="stable")]
