"""An objective ⟨C, M⟩ − Σ ν log det of blocks with explicit constraints: C and the A_t by their entries, and blocks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.limits import SPARSE
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import ITERATED_ORDER


class Conic:
    """min ⟨C, M⟩ − Σ_k ν_k log det M_k + constant over M ⪰ 0, lower <= A(M) <= upper, everything by entries.

    Attributes: `C` sparse symmetric (n, n); `forms`; `lower`, `upper` (m,); `weights` (n,), the ν_k in the rows of the
    diagonal block M_k, alike in all of them; None where F is linear.
    """

    def __init__(
        self,
        C: sp.csr_array,
        constant: float,
        forms: SparseForms,
        lower: Array,
        upper: Array,
        weights: Array | None = None,
    ) -> None:
        self.C, self.constant, self.forms, self.lower, self.upper = C, constant, forms, lower, upper
        self.n, self.m, self.weights = forms.n, forms.size, weights

    @cached_property
    def blocks(self) -> list[NDArray[np.intp]]:
        """Rows of the diagonal blocks that neither C nor any A_t connects; M is zero outside of them without loss."""
        links = sp.csr_array((np.ones(len(self.forms.i)), (self.forms.i, self.forms.j)), shape=(self.n, self.n))
        return diagonal_blocks(sp.csr_array(links + abs(self.C)))

    @cached_property
    def stacks(self) -> list[NDArray[np.intp]]:
        """The rows of :attr:`blocks`, those of one order s together, (K, s), by increasing s."""
        orders = np.array([len(rows) for rows in self.blocks], dtype=np.intp)
        return [np.array([self.blocks[k] for k in np.flatnonzero(orders == s)]) for s in np.unique(orders)]

    @cached_property
    def arrows(self) -> list[NDArray[np.intp]]:
        """Rows of the blocks on which C and every A_t have the form [[a, uᵀ], [u, a I]], first the row of a and u.

        Of such a block Y the problem sees q = (tr Y, 2 Y_i0) alone, and Y ⪰ 0 exists exactly where q is in the
        second-order cone q_0 >= |q_1|. O(entries).
        """
        forms, C, count = self.forms, sp.coo_array(self.C), len(self.blocks)
        places = np.unique(forms.B.indices)
        label, first = np.empty(self.n, dtype=np.intp), np.empty(self.n, dtype=np.intp)
        for k, rows in enumerate(self.blocks):
            label[rows], first[rows] = k, rows[0]
        i, j = (
            np.concatenate([of[places], on[C.data != 0.0]]) for of, on in zip((forms.i, forms.j), C.coords, strict=True)
        )
        edges = np.unique(np.sort([i[i != j], j[i != j]], axis=0), axis=1)
        degree = np.bincount(edges.ravel(), minlength=self.n)
        total = np.bincount(label[edges[0]], minlength=count)
        own = np.flatnonzero(forms.i == forms.j)
        of_rows = sp.csr_array((np.ones(len(own)), (forms.i[own], np.arange(len(own)))), shape=(self.n, len(own)))
        columns: list[Any] = [of_rows @ sp.csr_array(forms.B[:, own].T), self.C.diagonal()[:, None]]
        D = sp.csr_array(sp.hstack(columns))
        D.eliminate_zeros()
        # entries of very different sizes are compared one by one, where their numbers agree
        held = np.diff(D.indptr)
        unlike = held != held[first]
        others = np.flatnonzero(~unlike)
        unlike[others] = abs(D[others] - D[first[others]]).max(axis=1).toarray().ravel() > 0.0
        found = []
        for k, rows in enumerate(self.blocks):
            hubs = rows[degree[rows] == total[k]]
            curved = self.weights is not None and self.weights[rows[0]] > 0.0  # log det sees all of the block
            if len(rows) > 2 and not curved and len(hubs) and not np.any(unlike[rows]):
                found.append(np.concatenate([hubs[:1], rows[rows != hubs[0]]]))
        return found

    def arrow_rows(self, entries: Any = None) -> Any:
        """u (n,): in the rows of :attr:`arrows` but the first of each, the entries beside it of C + Σ_t entries_t E_t.

        entries : one for each place of the forms, given to both (i, j) and (j, i); None for C alone.
        """
        label, hub = np.full(self.n, -1), np.zeros(self.n, dtype=bool)
        for k, rows in enumerate(self.arrows):
            label[rows], hub[rows[0]] = k, True
        u = np.zeros(self.n, dtype=np.float64 if entries is None else entries.dtype)
        C = sp.coo_array(self.C)
        i, j = C.coords
        here = (label[i] >= 0) & hub[i] & (i != j)
        np.add.at(u, j[here], C.data[here])
        if entries is not None:
            i, j = self.forms.i, self.forms.j
            here = (label[i] >= 0) & (i != j)
            np.add.at(u, np.where(hub[i], j, i)[here], entries[here])
        return u

    @cached_property
    def matrices(self) -> list[NDArray[np.intp]]:
        """:attr:`stacks` without :attr:`arrows`."""
        hubs = {int(rows.min()) for rows in self.arrows}
        kept = [rows[[int(each.min()) not in hubs for each in rows]] for rows in self.stacks]
        return [rows for rows in kept if len(rows)]

    @property
    def cubes(self) -> float:
        """Σ s³ over the blocks of :attr:`matrices`."""
        return float(sum(len(rows) * float(rows.shape[1]) ** 3 for rows in self.matrices))

    def dense(self, rows: NDArray[np.intp], entries: Any = None) -> Any:
        """C + Σ_t entries_t E_t in the blocks with these rows (K, s), as (K, s, s), in the type of the `entries`.

        entries : one for each place of the forms, given to both (i, j) and (j, i); None for C alone.
        """
        count, s = rows.shape
        label, local = np.full(self.n, -1), np.zeros(self.n, dtype=np.intp)
        label[rows], local[rows] = np.arange(count)[:, None], np.arange(s)
        S = np.zeros((count, s, s), dtype=np.float64 if entries is None else entries.dtype)
        C = sp.coo_array(self.C)
        i, j = C.coords
        here = label[i] >= 0
        np.add.at(S, (label[i[here]], local[i[here]], local[j[here]]), C.data[here])
        if entries is not None:
            here = label[self.forms.i] >= 0
            i, j, w = self.forms.i[here], self.forms.j[here], entries[here]
            np.add.at(S, (label[i], local[i], local[j]), w)
            np.add.at(S, (label[i], local[j], local[i]), np.where(i == j, 0.0, w))
        return S

    @cached_property
    def equations(self) -> NDArray[np.intp]:
        """The number of equations, with slacks, that each constraint is, (m,): two for an interval, none where A_t = 0
        or without a bound."""
        bounds = np.isfinite(self.lower).astype(np.intp) + (np.isfinite(self.upper) & (self.lower != self.upper))
        return np.where(self.forms.norms > 0.0, bounds, 0)

    @cached_property
    def meetings(self) -> float:
        """A bound on the nonzeros of the Schur complement of the :attr:`equations`: the sum over all blocks of the
        squared numbers of equations with entries in the block, and one for each slack. O(entries)."""
        label = np.empty(self.n, dtype=np.intp)
        for k, rows in enumerate(self.blocks):
            label[rows] = k
        t, k = np.repeat(np.arange(self.m), np.diff(self.forms.B.indptr)), label[self.forms.i[self.forms.B.indices]]
        count = max(len(self.blocks), 1)
        met = np.unique(t * count + k)
        return float(np.square(np.bincount(met % count, self.equations[met // count])).sum() + self.equations.sum())

    @property
    def sparse(self) -> bool:
        """Whether a sparse factor of the Schur complement is cheaper than a dense one."""
        order = int(self.equations.sum())
        return order > ITERATED_ORDER and SPARSE * self.meetings <= float(order) ** 2

    @property
    def complement_flops(self) -> float:
        """Estimated flops of a factor of the Schur complement; the fill of a sparse one is not known before."""
        return min(self.m**3 / 3.0, self.meetings**1.5 if self.sparse else np.inf)

    def slack(self, y: Array) -> sp.csr_array:
        """S = C + A*(y), sparse (n, n)."""
        return sp.csr_array(self.C + self.forms.matrix(y))


def diagonal_blocks(S: sp.csr_array) -> list[NDArray[np.intp]]:
    """Rows of each diagonal block of a sparse symmetric S (n, n), connected components of its entries. O(entries)."""
    links = S.copy()  # S itself is not changed
    links.eliminate_zeros()  # they connect nothing
    count, label = sp.csgraph.connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))[:-1]
    return [np.asarray(rows, dtype=np.intp) for rows in np.split(order, ends)]


def barrier_value(nu: Array, size: int, log_dets: Array) -> Array:
    """min over X ≻ 0 of ⟨S, X⟩ − ν log det X = ν (s (1 − log ν) + log det S), for S ≻ 0 of order s = `size`, ν > 0."""
    return np.asarray(nu * (size * (1.0 - np.log(nu)) + log_dets))
