"""An objective ⟨C, M⟩ − Σ ν log det of blocks with explicit constraints: C and the A_t by their entries, and blocks."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.cliques import Cliques, cliques_of
from psdopt.constraints.directed import DirectedForms
from psdopt.constraints.limits import SPARSE, SPLIT
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.row_units import row_exponents
from psdopt.constraints.stacks import Stack, stacked
from psdopt.linalg.arrays import Array, as_dense, entries_kept, scaled, with_data
from psdopt.linalg.entries import by_entries, components
from psdopt.linalg.limits import ITERATED_ORDER, SMALL_ORDER


class Conic:
    """min ⟨C, M⟩ − Σ_k ν_k log det M_k + Σ_t s_t² / (2 δ_t) + constant over M ⪰ 0, A(M) + s in the set `allowed`.

    Attributes: `C` sparse symmetric (n, n); `forms`; `lower`, `upper` (m,), `cones` of the set and their `groups`;
    `weights` (n,), the ν_k in the rows of the diagonal block M_k, alike in all of them; None without log dets;
    `softness` δ (m,), with s_t = 0 where δ_t = 0; None where A(M) itself has to be in the set. Everything is given by
    its entries.
    """

    def __init__(
        self,
        C: sp.csr_array,
        constant: float,
        forms: SparseForms,
        allowed: Allowed,
        weights: Array | None = None,
        softness: Array | None = None,
    ) -> None:
        self.C, self.constant, self.forms, self.allowed = C, constant, forms, allowed
        self.lower, self.upper, self.cones = allowed.lower, allowed.upper, allowed.cones
        self.groups = () if allowed.cones is None else allowed.cones.groups
        self.n, self.m, self.weights, self.softness = forms.n, forms.size, weights, softness

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, NDArray[np.intp]]:
        """i, j (P,), i <= j, the places of the forms and of entries of C; C there (P,); the places of the forms among
        them (p,)."""
        i, j, numbers = np.repeat(np.arange(self.n), np.diff(self.C.indptr)), self.C.indices, self.C.data
        upper = (i <= j) & (numbers != 0.0)
        own, given = self.forms.i * self.n + self.forms.j, (i * self.n + j)[upper]
        codes, _ = np.unique(np.concatenate([own, given]), return_index=True)  # sorts: hashes take 70 times as long
        C = np.bincount(np.searchsorted(codes, given), numbers[upper], len(codes)).astype(np.float64)
        return codes // self.n, codes % self.n, C, np.searchsorted(codes, own)

    def entries(self, y: Array) -> Any:
        """S = C + A*(y) at the :attr:`places`, (P,), in the type of y."""
        _, _, C, at = self.places
        S = C.astype(y.dtype)
        S[at] += self.forms.halves * self.forms.on_places(y)
        return S

    def size(self, d: Array) -> float:
        """Σ_ij |C_ij| d_i d_j for d (n,): the largest possible |⟨C, M⟩| if |M_ij| <= d_i d_j."""
        i, sizes = self._sizes
        return float(sizes @ (d[i] * d[self.C.indices]))

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.intp], Array]:
        return np.repeat(np.arange(self.n), np.diff(self.C.indptr)), np.abs(self.C.data)

    @cached_property
    def label(self) -> NDArray[np.intp]:
        """The number of the diagonal block that each row is in, (n,): those of rows that no place connects differ."""
        i, j = self.forms.i, self.forms.j
        if self.C.data.all() and np.array_equal(i, j):  # C is symmetric
            return np.asarray(sp.csgraph.connected_components(self.C, connection="strong")[1], dtype=np.intp)
        i, j, _, _ = self.places
        return components(i, j, self.n)

    @cached_property
    def blocks(self) -> list[NDArray[np.intp]]:
        """Rows of the diagonal blocks, by :attr:`label`; M is zero outside of them without loss."""
        return _by_label(self.label)

    @cached_property
    def hubs(self) -> dict[int, int]:
        """The row of a and u in the blocks, by number, on which C and every A_t have the form [[a, uᵀ], [u, a I]].

        Of such a block Y the problem sees q = (tr Y, 2 Y_i0) alone, and Y ⪰ 0 exists exactly where q is in the
        second-order cone q_0 >= |q_1|. Blocks of order two and those in a log det do not count. O(entries).
        """
        label, (i, j, C, at) = self.label, self.places
        sizes = np.bincount(label)
        large = sizes[label] > 2
        if self.weights is not None:
            large &= self.weights == 0.0  # log det sees all of the block
        used = C != 0.0
        used[at[self.forms.B.indices]] = True
        beside = used & (i != j)
        total = np.bincount(label[i[beside]], minlength=len(sizes))
        degree = np.bincount(np.concatenate([i[beside], j[beside]]), minlength=self.n)
        (found,) = (large & (degree == total[label])).nonzero()
        if not len(found):
            return {}
        # the diagonal entries of C and each A_t in a block: as many as rows, and all alike, or none
        t, k = np.repeat(np.arange(self.m), np.diff(self.forms.B.indptr)), at[self.forms.B.indices]
        codes = np.append(label[i[k]] * (self.m + 1) + t, label[i] * (self.m + 1) + self.m)
        numbers, own = np.append(self.forms.B.data, C), np.append((i == j)[k], i == j)
        kept = np.flatnonzero(own & (numbers != 0.0))
        kept = kept[np.argsort(codes[kept], kind="stable")]
        codes, starts, counts = np.unique(codes[kept], return_index=True, return_counts=True)
        low, high = (extreme.reduceat(numbers[kept], starts) for extreme in (np.minimum, np.maximum))
        blocks = codes // (self.m + 1)
        unlike = blocks[(counts != sizes[blocks]) | (low != high)]
        found = found[~np.isin(label[found], unlike)]
        numbers, first = np.unique(label[found], return_index=True)
        return dict(zip(numbers.tolist(), found[first].tolist(), strict=True))

    @cached_property
    def stacks(self) -> list[Stack]:
        """The blocks, those of one order together by increasing order, arrows apart and after the others."""
        return stacked(self.blocks, self.n, *self.places[:2], self.hubs)

    @property
    def matrices(self) -> list[Stack]:
        """The :attr:`stacks` of blocks that are no arrows."""
        return [stack for stack in self.stacks if not stack.arrow]

    @property
    def cubes(self) -> float:
        """Σ s³ over the blocks of :attr:`matrices`."""
        return float(sum(len(stack) * float(stack.order) ** 3 for stack in self.matrices))

    @cached_property
    def equations(self) -> NDArray[np.intp]:
        """The number of equations, with slacks, that each constraint is, (m,): two for an interval, one in a cone, none
        where A_t = 0 or without a bound."""
        bounds = np.isfinite(self.lower).astype(np.intp) + (np.isfinite(self.upper) & (self.lower != self.upper))
        found = np.where(self.forms.norms > 0.0, bounds, 0)
        for rows in self.groups:
            found[rows] = 1
        return found

    @cached_property
    def meetings(self) -> float:
        """A bound on the nonzeros of the Schur complement of the :attr:`equations`: the sum over all blocks, and cones,
        of the squared numbers of equations with entries in them, and one for each slack. O(entries)."""
        t = np.repeat(np.arange(self.m), np.diff(self.forms.B.indptr))
        k = self.label[self.forms.i[self.forms.B.indices]]
        count = max(len(self.blocks), 1)
        met, _ = np.unique(t * count + k, return_index=True)
        cones = sum(rows.size * rows.shape[1] for rows in self.groups)
        squares = np.square(np.bincount(met % count, self.equations[met // count])).sum()
        return float(squares + self.equations.sum() + cones)

    @property
    def sparse(self) -> bool:
        """Whether a sparse factor of the Schur complement is cheaper than a dense one."""
        order = int(self.equations.sum())
        return order > ITERATED_ORDER and SPARSE * self.meetings <= float(order) ** 2

    @property
    def complement_flops(self) -> float:
        """Estimated flops of a factor of the Schur complement; the fill of a sparse one is not known before."""
        flops = min(self.m**3 / 3.0, self.meetings**1.5 if self.sparse else np.inf)
        p = float(len(self.forms.i))  # if all rows are soft, entries may take the place of the rows
        return flops if self.softness is None else min(flops, self.m * p**2 + p**3)

    @property
    def flops(self) -> float:
        """Estimated flops of a step of an interior point method, 40 Σ s³ for blocks of order s and the complement."""
        return 40.0 * self.cubes + self.complement_flops

    @cached_property
    def split(self) -> tuple[Conic, Cliques] | None:
        """This problem over the cliques of its large sparse blocks, whose copies of entries are set equal by further
        constraints after its own; None unless a step then takes far fewer flops. Arrows stay whole."""
        large = [len(rows) > SMALL_ORDER and k not in self.hubs for k, rows in enumerate(self.blocks)]
        if self.weights is not None or not any(large):
            return None
        cliques = cliques_of(*self.places[:2], self.blocks, np.array(large))
        if len(cliques.rows) == len(self.blocks):
            return None
        conic = self.over(cliques)
        return (conic, cliques) if SPLIT * conic.flops < self.flops else None

    def over(self, cliques: Cliques) -> Conic:
        """This problem over the matrices of the `cliques`, with the equations between their copies of entries."""
        i, j, C, at = self.places
        (i, j), (own, above), n = cliques.placed(i, j), cliques.copies(), len(cliques.origin)
        same = sp.eye_array(own.shape[1], format="csr")
        B = sp.csr_array(sp.block_diag([self.forms.B, sp.hstack([same, -same])]))
        forms = SparseForms(np.concatenate([i[at], own[0], above[0]]), np.concatenate([j[at], own[1], above[1]]), B, n)
        costs = sp.coo_array((np.where(i == j, 0.5, 1.0) * C, (i, j)), shape=(n, n))
        soft = None if self.softness is None else np.append(self.softness, np.zeros(own.shape[1]))
        allowed = self.allowed.with_equations(own.shape[1])
        return Conic(sp.csr_array(costs + costs.T), self.constant, forms, allowed, softness=soft)

    @property
    def cheapest(self) -> Conic:
        """The problem :attr:`split`, or this one."""
        return self if self.split is None else self.split[0]

    def slack(self, y: Array) -> sp.csr_array:
        """S = C + A*(y), sparse (n, n), without zeros."""
        pattern, which = self._pattern
        data = self.entries(y)[which]
        return with_data(pattern, data) if data.all() else entries_kept(with_data(pattern, data), data != 0.0)

    @cached_property
    def _pattern(self) -> tuple[sp.csr_array, NDArray[np.intp]]:
        """Both triangles of the :attr:`places`, and the place of each of their entries."""
        i, j, _, _ = self.places
        (off,) = (i != j).nonzero()
        which = np.concatenate([np.arange(len(i)), off])
        pattern = by_entries(which, np.concatenate([i, j[off]]), np.concatenate([j, i[off]]), (self.n, self.n))
        return pattern, pattern.data

    def dense_slack(self, y: Array) -> Array:
        """S as a dense array."""
        S = as_dense(self.C)
        self.forms.add_to(S, y)
        return S

    def row_units(self) -> Array:
        """d (n,), powers of two of :func:`~psdopt.constraints.row_units.row_exponents`, alike on each arrow."""
        exponents = row_exponents(self.forms, (self.lower, self.upper), self.C.diagonal(), self.weights)
        for stack in self.stacks:
            if stack.arrow:
                exponents[stack.rows] = np.rint(np.mean(exponents[stack.rows], axis=1, keepdims=True))
        return np.asarray(np.exp2(exponents))

    def in_units(self, d: Array) -> Conic:
        """The problem in N, M = D N D with D = diag(d): D C D, D A_t D, and the same bounds. Exact for powers of two.

        Log dets of blocks change by constants, which are left out.
        """
        forms = self.forms
        B = scaled(forms.B, columns=d[forms.i] * d[forms.j])
        there = forms.in_units(d) if isinstance(forms, DirectedForms) else SparseForms(forms.i, forms.j, B, self.n)
        return Conic(scaled(self.C, d, d), self.constant, there, self.allowed, self.weights, self.softness)


def diagonal_blocks(S: sp.csr_array) -> list[NDArray[np.intp]]:
    """Rows of each diagonal block of a sparse symmetric S (n, n), connected components of its entries. O(entries)."""
    links = S.copy()  # S itself is not changed
    links.eliminate_zeros()  # they connect nothing
    return _by_label(sp.csgraph.connected_components(links, directed=False)[1])


def _by_label(label: NDArray[Any]) -> list[NDArray[np.intp]]:
    order, ends = label.argsort(kind="stable"), np.bincount(label).cumsum().tolist()
    return [order[a:b] for a, b in pairwise([0, *ends])]


def barrier_value(nu: Array, size: int, log_dets: Array) -> Array:
    """min over X ≻ 0 of ⟨S, X⟩ − ν log det X = ν (s (1 − log ν) + log det S), for S ≻ 0 of order s = `size`, ν > 0."""
    return np.asarray(nu * (size * (1.0 - np.log(nu)) + log_dets))
