"""The face of the cone that constraints ⟨A_t, M⟩ = 0 with A_t ⪰ 0 leave: M = W N Wᵀ, W a basis of the null spaces.

For M ⪰ 0 such a constraint means A_t M = 0. Then no feasible M is definite, and the multiplier may be unbounded. A
combination of constraints may say the same (:mod:`~psdopt.constraints.faces.combined_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse.linalg import LinearOperator

from psdopt.constraints.faces.congruence import carried_forms
from psdopt.constraints.faces.hidden_face import SEPARATE, hidden_combination, inside
from psdopt.constraints.faces.misfit import misfit
from psdopt.constraints.limits import CANCELLED, SPARSE
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array, norm, scaled
from psdopt.linalg.limits import FACTOR_ORDER, SPECTRUM_ORDER
from psdopt.linalg.operators import block_operator
from psdopt.linalg.tolerances import EPS, ROOT_EPS, rounding


@dataclass(frozen=True)
class Piece:
    """Rows that some A_t connect, and orthonormal columns (len(rows), k) that span the ranges of these A_t."""

    rows: NDArray[np.intp]
    across: Array

    def within(self) -> Array:
        """Orthonormal columns (len(rows), len(rows) − k) of the null space. O(s² k) for s rows."""
        s, k = self.across.shape
        if k == s:
            return np.zeros((s, 0))
        rest = np.asarray(qr(self.across, mode="full")[0][:, k:])
        largest = rest[np.argmax(np.abs(rest), axis=0), np.arange(s - k)]
        return np.asarray(rest * np.sign(largest))  # sign convention: the largest entry is positive


@dataclass(frozen=True)
class Face:
    """Feasible M have M U = 0, U = `basis` (n, k) orthonormal, and are W N Wᵀ, W = `within` (n, n − k).

    `rows` : the constraints ⟨A_t, M⟩ = 0 that hold on the whole face. `pieces` : U in pieces, one for each set of rows
    of M that the defining A_t connect. `stages` : matrices (k, m), each row a combination w with wᵀb = 0 and A*(w) ⪰ 0,
    in the first stage on the cone, in later stages on the face left by earlier ones. `searched` : whether a w was found
    by a numerical search; such a face is never used to prove infeasibility. `carried` : the WᵀA_tW of all constraints
    by their entries (:func:`~psdopt.constraints.faces.congruence.carried_forms`), None where these are too many, or
    where only M = 0 is left. `missed` (m,) : what the equations miss on a searched face with `carried`, else None
    (:func:`~psdopt.constraints.faces.misfit.misfit`).
    """

    n: int
    rows: NDArray[np.intp]
    pieces: tuple[Piece, ...]
    stages: tuple[sp.csr_array, ...]
    searched: bool = False
    carried: SparseForms | None = field(default=None, compare=False, repr=False)
    missed: Array | None = field(default=None, compare=False, repr=False)

    @property
    def count(self) -> int:
        """The number of constraints in `rows` and in the combinations."""
        return len(np.union1d(self.rows, np.concatenate([weights.indices for weights in self.stages])))

    @property
    def order(self) -> int:
        """n − k, the order of N."""
        return self.n - sum(int(piece.across.shape[1]) for piece in self.pieces)

    @property
    def basis(self) -> Array:
        """U (n, k)."""
        U = self._across
        return U.toarray() if isinstance(U, sp.csr_array) else U

    @cached_property
    def _across(self) -> Array | sp.csr_array:
        """U as a sparse or dense array, whichever multiplies faster."""
        U = self._assembled([(piece.rows, piece.across) for piece in self.pieces])
        return U if SPARSE * U.nnz < U.shape[0] * U.shape[1] else np.asarray(U.toarray())

    @cached_property
    def within(self) -> sp.csr_array | None:
        """W (n, n − k), block by block: rows that no A_t touches have a single 1. None for blocks of over 3000 rows."""
        if any(len(piece.rows) > FACTOR_ORDER for piece in self.pieces):
            return None
        untouched = np.setdiff1d(np.arange(self.n), np.concatenate([piece.rows for piece in self.pieces]))
        blocks = [(untouched[k : k + 1], np.ones((1, 1))) for k in range(len(untouched))]
        blocks += [(piece.rows, piece.within()) for piece in self.pieces]
        return self._assembled(sorted(blocks, key=lambda block: int(block[0][0])))

    def _assembled(self, blocks: list[tuple[NDArray[np.intp], Array]]) -> sp.csr_array:
        """The columns of all blocks side by side, each in the rows of its block."""
        ends = np.cumsum([0, *(block.shape[1] for _, block in blocks)])
        i = [np.repeat(rows, block.shape[1]) for rows, block in blocks]
        j = [
            np.tile(np.arange(a, a + block.shape[1]), len(rows)) for (rows, block), a in zip(blocks, ends, strict=False)
        ]
        numbers = np.concatenate([block.ravel() for _, block in blocks])
        return sp.csr_array((numbers, (np.concatenate(i), np.concatenate(j))), shape=(self.n, int(ends[-1])))

    def onto(self, V: Array) -> Array:
        """P V, P = I − U Uᵀ. O(n k) per column."""
        return np.asarray(V - self._across @ (self._across.T @ V))

    def filled(self, lower: Array, upper: Array, M: Array) -> bool:
        """Whether M (n, n) shows a feasible matrix that is definite within the face: then no smaller one holds all."""
        W, (low, high) = self.within, (lower.copy(), upper.copy())
        low[self.rows], high[self.rows] = -np.inf, np.inf
        if W is None or self.carried is None:
            return False
        return inside(self.carried, low, high, np.asarray(W.T @ (W.T @ M).T))

    def restricted(self, S: object) -> Array | LinearOperator:
        """P S P: an array for a sparse or dense S, in O(n² q); an operator for an operator S."""
        if isinstance(S, LinearOperator):

            def times(V: Array) -> Array:
                return self.onto(np.asarray(S @ self.onto(V)))

            return block_operator(S.shape, times, times)
        dense = S.toarray() if isinstance(S, sp.csr_array) else np.asarray(S, dtype=np.float64)
        half = self.onto(dense)
        whole = self.onto(half.T)
        return np.asarray(0.5 * (whole + whole.T))


def found_face(
    forms: SparseForms | None,
    lower: Array,
    upper: Array,
    search: bool = True,
    seen: bool = False,
    least: float = ROOT_EPS,
) -> Face | None:
    """The face that these constraints define; None where there is none. Cost: eigenvalues of each candidate A_t.

    Simple combinations of equations are tried as well (:func:`~psdopt.constraints.faces.combined_rows.combined`). If
    these define no face, which may have been `seen`, a combination is searched for
    (:func:`~psdopt.constraints.faces.hidden_face.hidden_combination`), unless `search` is false. More A_t may be
    semidefinite on the face found, and define a face of the face: the smallest one found is returned. Ranges of A_t
    that are apart by no more than `least` count as equal, which leaves a larger face.
    """
    if forms is None:
        return None
    stages: list[sp.csr_array] = []
    parts: list[tuple[NDArray[np.intp], Array]] = []
    there: SparseForms | None = forms
    face, W, rows, searched = None, None, np.zeros(0, dtype=np.intp), False
    while there is not None:
        # the basis of a face that was searched for is as exact as the root of a rounding: what is smaller on it is 0
        noise = SEPARATE if searched else 0.0
        small = there.norms <= noise * forms.norms
        low, high = np.where(small, -np.inf, lower), np.where(small, np.inf, upper)
        first = not stages and seen
        found, further, weights = NOTHING if first else _rows_of_stage(there, low, high, noise)
        if not found and search:
            found, further, weights = _searched(there, low, high, noise)
            searched = searched or bool(found)
        if not found:
            break
        parts += further if W is None else [_spanned(W[:, support] @ columns) for support, columns in further]
        stages.append(weights)
        rows = np.union1d(rows, [t for t in found if t < forms.size]).astype(np.intp)
        face = Face(forms.n, rows, tuple(_connected(parts, forms.n, least)), tuple(stages), searched)
        W = face.within if face.order > 0 else None
        if W is None:
            break
        rows = np.union1d(rows, _vanishing(forms, W, (lower == 0.0) & (upper == 0.0), weights.indices))
        there = carried_forms(forms, W, rows)
        missed = misfit(there, forms.norms, lower, upper, SEPARATE) if there is not None and searched else None
        face = replace(face, rows=rows, carried=there, missed=missed)
        vars(face)["within"] = W
    return face


#: Rows of a stage (numbers from m on are combinations), columns that span the ranges of their A_t, their w (k, m).
Stage = tuple[list[int], list[tuple[NDArray[np.intp], Array]], sp.csr_array]
NOTHING: Stage = ([], [], sp.csr_array((0, 0)))


def _rows_of_stage(forms: SparseForms, lower: Array, upper: Array, noise: float) -> Stage:
    """Semidefinite rows; if there are none, combinations found without a search."""
    found, parts = _semidefinite(forms, lower, upper)
    if found:
        return found, parts, _turned(forms, sp.csr_array(sp.eye_array(forms.size, format="csr")[found]))
    from psdopt.constraints.faces.combined_rows import combined  # fractions, which few programs need, load slowly

    return _of_combinations(forms, *combined(forms, lower, upper, noise))


def _searched(forms: SparseForms, lower: Array, upper: Array, noise: float) -> Stage:
    """The combination that a search finds, without entries of A*(w) that are rounding."""
    w = hidden_combination(forms, lower, upper, noise)
    if w is None:
        return NOTHING
    entries = forms.on_places(w)
    lost = CANCELLED * forms.n * EPS * (abs(forms.B).T @ np.abs(w))
    kept = np.where(np.abs(entries) > lost, entries, 0.0)
    return _of_combinations(forms, w[None, :], kept[None, :], norm(w * forms.norms))


def _of_combinations(forms: SparseForms, weights: Array, entries: Array, terms: float = 0.0) -> Stage:
    """The semidefinite ones among the combinations `weights` (k, m), with `entries` (k, p) of their A*(w).

    `terms` : the size of the w_t A_t, if the entries contain rounding of these.
    """
    if not len(entries):
        return NOTHING
    none = np.zeros(len(entries))
    among, parts = _semidefinite(SparseForms.known(forms.i, forms.j, sp.csr_array(entries), forms.n), none, none, terms)
    return [forms.size + t for t in among], parts, _turned(forms, sp.csr_array(weights[among]))


def _turned(forms: SparseForms, weights: sp.csr_array) -> sp.csr_array:
    """`weights` (k, m) with signs for which tr A*(w) > 0."""
    traces = weights @ (forms.B @ (forms.i == forms.j).astype(np.float64))
    return scaled(weights, np.where(traces > 0.0, 1.0, -1.0))


def _vanishing(
    forms: SparseForms, W: sp.csr_array, zeros: NDArray[np.bool_], among: NDArray[np.integer]
) -> NDArray[np.intp]:
    """The constraints of `among` with b_t = 0 and WᵀA_tW = 0; two random N = g gᵀ rule out the others."""
    rows = np.unique(among)
    rows = rows[zeros[rows]]
    G = np.random.default_rng(0).standard_normal((W.shape[1], 2))
    left = np.zeros(len(rows))
    for g in G.T:
        v = W @ g.reshape(-1, 1)
        images = Images((), v)
        off = np.abs(forms.pair(images, images)[rows])
        terms = abs(forms.B[rows]) @ np.abs(v[forms.i, 0] * v[forms.j, 0])
        left = np.maximum(left, off / np.where(terms > 0.0, terms, 1.0))
    return np.asarray(rows[left <= rounding(1.0, forms.n)], dtype=np.intp)


def _spanned(columns: Array) -> tuple[NDArray[np.intp], Array]:
    """Rows in which `columns` (n, k) are not zero, and `columns` in these rows."""
    rows = np.flatnonzero(np.any(columns != 0.0, axis=1))
    return rows, columns[rows]


def _semidefinite(
    forms: SparseForms, lower: Array, upper: Array, terms: float = 0.0
) -> tuple[list[int], list[tuple[NDArray[np.intp], Array]]]:
    """Constraints that imply A_t M = 0, and for each of them the rows of A_t and columns that span its range.

    Eigenvalues below √eps times the largest must be rounding relative to the largest, or to `terms` if this is larger,
    or A_t is not used. All spectra together cost no more than one of order SPECTRUM_ORDER, or no A_t is used.
    """
    on_diagonal = forms.i == forms.j
    candidates = np.flatnonzero(((lower == 0.0) | (upper == 0.0)) & (forms.magnitudes(1.0 * on_diagonal) > 0.0))
    rows: list[int] = []
    parts: list[tuple[NDArray[np.intp], Array]] = []
    cubes = 0.0
    for t in candidates:
        part = slice(forms.B.indptr[t], forms.B.indptr[t + 1])
        places, numbers = forms.B.indices[part], forms.B.data[part]
        places, numbers = places[numbers != 0.0], numbers[numbers != 0.0]
        diagonal = numbers[on_diagonal[places]]
        sign = 1.0 if diagonal.sum() > 0.0 else -1.0
        bound = upper[t] if sign > 0.0 else lower[t]
        if len(diagonal) == 0 or bound != 0.0 or np.any(sign * diagonal < 0.0):
            continue
        support = np.unique(np.concatenate([forms.i[places], forms.j[places]]))
        if len(diagonal) < len(support):
            continue  # a zero on the diagonal, but other entries in its row
        if len(places) == len(support):
            rows.append(int(t))
            parts += [(support[k : k + 1], np.ones((1, 1))) for k in range(len(support))]
            continue
        cubes += float(len(support)) ** 3
        if cubes > SPECTRUM_ORDER**3:
            return [], []
        A = np.zeros((len(support), len(support)))
        i, j = np.searchsorted(support, forms.i[places]), np.searchsorted(support, forms.j[places])
        np.add.at(A, (i, j), 0.5 * sign * numbers)
        np.add.at(A, (j, i), 0.5 * sign * numbers)
        values, V = np.linalg.eigh(A)
        allowed = rounding(max(values[-1], terms), len(support) ** 2)
        used = values > ROOT_EPS * values[-1]
        if np.all(np.abs(values[~used]) <= allowed):
            rows.append(int(t))
            parts.append((support, V[:, used]))
    return rows, parts


def _connected(parts: list[tuple[NDArray[np.intp], Array]], n: int, least: float) -> Iterator[Piece]:
    """Orthonormal bases of all `parts`, each columns (s, k) on s rows, joined by the rows that they share."""
    first = np.concatenate([np.full(len(rows), rows[0]) for rows, _ in parts])
    links = sp.csr_array((np.ones(len(first)), (first, np.concatenate([rows for rows, _ in parts]))), shape=(n, n))
    label = sp.csgraph.connected_components(links, directed=False)[1]
    of = np.array([label[rows[0]] for rows, _ in parts])
    members = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[members], np.arange(label.max() + 2))
    order = np.argsort(of, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
        k = of[group[0]]
        rows = np.asarray(members[starts[k] : starts[k + 1]], dtype=np.intp)
        stacked = np.zeros((len(rows), sum(parts[g][1].shape[1] for g in group)))
        at = 0
        for g in group:
            support, columns = parts[g]
            stacked[np.searchsorted(rows, support), at : at + columns.shape[1]] = columns
            at += columns.shape[1]
        if stacked.shape[1] > 1:
            U, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
            stacked = np.ascontiguousarray(U[:, sizes > least * sizes[0]])
        yield Piece(rows, stacked)
