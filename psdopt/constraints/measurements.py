"""Further measurements for constraints: the trace, general sparse forms, and stacks of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import CheckedIndices, brief, integer, real, real_array
from psdopt.contracts.images import Images
from psdopt.devices import DeviceArray
from psdopt.errors import InvalidInputError, InvalidTypeError, PsdoptError
from psdopt.linalg.arrays import Array, applied, for_products, inner, is_finite, only_diagonal, row_dots
from psdopt.linalg.tolerances import asymmetry_allowed
from psdopt.terms.base import Forces, combine
from psdopt.terms.indexed import checked_indices, rows_of
from psdopt.terms.measurements import Entries, Indices, Measurement


class Trace(Measurement):
    """a_1 = tr M: one measurement. O(n r)."""

    couples = True
    takes_device_arrays = True

    def __init__(self, n: int) -> None:
        self.n, self.size = integer(n, "n"), 1

    def pair(self, U: Images, V: Images) -> Array:
        if isinstance(U.factor, DeviceArray):
            return row_dots(U.factor.reshape(1, -1), V.factor.reshape(1, -1))
        return np.array([inner(U.factor, V.factor)])

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return [(None, weights[0] * V.factor)]

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        np.einsum("ii->i", S)[:] += weights[0]  # a view of the diagonal

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        C = np.empty((1, 1)) if out is None else out
        C[0, 0] = inner(P, Q)
        return C


class SparseForms(Measurement):
    """a_t = ⟨A_t, M⟩ = Σ_k B_tk M_{i_k j_k}, for p places (i_k, j_k) and a sparse B (m, p): never m matrices.

    Off the diagonal A_t has B_tk / 2 at (i_k, j_k) and at (j_k, i_k). A place that is given twice, in either order,
    counts as one, with the sum of its columns of B. Cost of a measurement O(p r + entries of B).

    Parameters
    ----------
    i, j : integer arrays (p,). B : sparse or dense (m, p), finite. n : order of M.

    Attributes: `i`, `j` (p,), the distinct places with i <= j; `B` (m, p), a CSR array; `norms` (m,), |A_t|_F.

    Raises
    ------
    InvalidInputError where indices lie outside, B does not have p columns, or holds NaN; InvalidTypeError where
    indices are no integers.
    """

    couples = True

    def __init__(self, i: Any, j: Any, B: Any, n: int) -> None:
        _, _, n = rows_of(None, n)
        i, j = checked_indices({"i": i, "j": j}, n)
        matrix = _sparse(B, "B")
        if matrix.ndim != 2 or matrix.shape[1] != len(i):
            raise InvalidInputError(f"B must be (m, {len(i)}), a column for each place; found shape {matrix.shape}")
        if matrix.shape[0] == 0:
            raise InvalidInputError("B must have at least one row; found none")
        self._set(i, j, matrix, n)

    def _set(self, i: Indices, j: Indices, matrix: sp.csr_array, n: int) -> None:
        """The attributes, from checked places and a matrix of this object alone."""
        if not is_finite(matrix):
            raise InvalidInputError("B must be finite; found NaN or infinite entries")
        codes = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
        if np.any(np.diff(codes) <= 0):  # places in another order, or listed again
            codes, where = np.unique(codes, return_inverse=True)
            join = sp.csr_array((np.ones(len(where)), (np.arange(len(where)), where)), shape=(len(where), len(codes)))
            matrix = sp.csr_array(matrix @ join)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        self.B: sp.csr_array = matrix
        self.i, self.j = (codes // n).astype(np.intp), (codes % n).astype(np.intp)
        self.n, self.size = n, int(self.B.shape[0])

    @classmethod
    def known(cls, i: Indices, j: Indices, B: sp.csr_array, n: int) -> SparseForms:
        """From checked places and a B (m, p) of the new forms alone."""
        forms = cls.__new__(cls)
        forms._set(i, j, B, n)
        return forms

    @classmethod
    def of(cls, matrices: Sequence[Any]) -> SparseForms:
        """From symmetric matrices A_t (n, n), sparse or dense, one by one.

        Raises InvalidInputError, with the position, for one of another order, not symmetric, or not finite.
        """
        if not isinstance(matrices, (Sequence, np.ndarray)) or isinstance(matrices, str):
            raise InvalidTypeError(f"matrices must be a sequence of symmetric matrices; found {brief(matrices)}")
        if len(matrices) == 0:
            raise InvalidInputError("matrices must hold at least one matrix; found none")
        rows, codes, numbers, n = [], [], [], 0
        for t, given in enumerate(matrices):
            A = _symmetric(given, t, n)
            n = A.shape[0]
            upper = sp.triu(A, format="coo")
            upper.eliminate_zeros()  # they connect nothing
            i, j = upper.coords
            rows.append(np.full(len(i), t))
            codes.append(i.astype(np.int64) * n + j)
            numbers.append(np.where(i == j, 1.0, 2.0) * upper.data)
        places, where = np.unique(np.concatenate(codes), return_inverse=True)
        if len(places) == 0:
            raise InvalidInputError("matrices must not all be zero")
        B = sp.csr_array((np.concatenate(numbers), (np.concatenate(rows), where)), shape=(len(matrices), len(places)))
        return cls(places // n, places % n, B, n)

    @cached_property
    def entries(self) -> Entries:
        """The entries of M at the places; their pattern is sorted at first use."""
        return Entries(CheckedIndices(self.i, self.n), CheckedIndices(self.j, self.n), self.n)

    @cached_property
    def halves(self) -> Array:
        """1 for places on the diagonal, ½ for others, (p,): |A_t|² is the sum of halves_k B_tk²."""
        return np.where(self.i == self.j, 1.0, 0.5)

    @cached_property
    def norms(self) -> Array:
        """|A_t|_F, (m,)."""
        return np.sqrt(applied(self._forth**2, self.halves))

    def sizes(self, d: Array) -> Array:
        """Σ_ij |A_t,ij| d_i d_j for d (n,), (m,): the largest possible |⟨A_t, M⟩| if |M_ij| <= d_i d_j."""
        return self.magnitudes(d[self.i] * d[self.j])

    def magnitudes(self, w: Array) -> Array:
        """|B| w for w (p,), (m,)."""
        return applied(self._magnitudes, w)

    def terms(self, y: Array) -> Array:
        """Σ_t |B_tk| |y_t|, (p,): the sizes of the terms of A*(y) at each place."""
        sizes = self._magnitudes
        return np.asarray(sizes * np.abs(y) if sizes.ndim == 1 else sizes.T @ np.abs(y))

    @cached_property
    def _magnitudes(self) -> Any:
        return abs(self._forth)

    @cached_property
    def _forth(self) -> Any:
        diagonal = only_diagonal(self.B)
        return for_products(self.B) if diagonal is None else diagonal

    @cached_property
    def _back(self) -> Any:
        """Bᵀ, sparse or diagonal, so that what is not finite in one w_t stays in its A_t."""
        return self._forth if self._forth.ndim == 1 else self.B.T

    def pair(self, U: Images, V: Images) -> Array:
        return applied(self._forth, self.entries.pair(U, V))

    def pair_squares(self, U: Array, V: Array) -> Array:
        """Σ_k (B_tk)² (U Vᵀ + V Uᵀ)_{i_k j_k}, half of it for places off the diagonal, (m,), of dense U, V (n, r)."""
        return applied(self._forth**2, 2.0 * self.halves * self.entries.pair(Images((), U), Images((), V)))

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        first, second = self.entries.along(U, D)
        return np.asarray(self.B @ first), np.asarray(self.B @ second)

    def on_places(self, weights: Array) -> Array:
        """Bᵀ w (p,): entries of Σ_t w_t A_t at the places, both orders of a pair added up."""
        return applied(self._back, weights)

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return self.entries.adjoint(self.on_places(weights), V)

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        self.entries.add_to(S, self.on_places(weights))

    def matrix(self, weights: Array) -> sp.csr_array:
        """Σ_t w_t A_t as a sparse (n, n) array."""
        return self.entries.pattern.filled(0.5 * self.on_places(weights))

    def times(self, weights: Array, V: Array) -> Array:
        """Σ_t w_t A_t V, (n, r), for a dense V (n, r)."""
        return combine(self.adjoint(weights, Images((), V)), V.shape)

    @cached_property
    def row_pairs(self) -> tuple[sp.csr_array, NDArray[np.intp], NDArray[np.intp]]:
        """Row i of A_t for each pair (i, t) where it is not zero, (q, n); the t (q,); pairs ends_i to ends_{i+1} are of
        row i, ends (n + 1,)."""
        t = np.repeat(np.arange(self.size), np.diff(self.B.indptr))
        i, j, off = self.i[self.B.indices], self.j[self.B.indices], self.i[self.B.indices] != self.j[self.B.indices]
        rows, columns = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        data = np.concatenate([np.where(off, 0.5, 1.0) * self.B.data, 0.5 * self.B.data[off]])
        codes, where = np.unique(rows * self.size + np.concatenate([t, t[off]]), return_inverse=True)
        A = sp.csr_array((data, (where, columns)), shape=(len(codes), self.n))
        ends = np.searchsorted(codes // self.size, np.arange(self.n + 1))
        return A, codes % self.size, ends

    def gram(self, weights: Array) -> Array:
        """(⟨A_t, Σ_s w_s A_s⟩)_t, (m,)."""
        return applied(self._forth, self.halves * self.on_places(weights))

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        K = np.triu(self.entries.coupling(P, Q, identity))
        K += np.triu(K, 1).T
        C = np.asarray(self.B @ np.asarray(self.B @ K).T)
        if out is None:
            return C
        out[:] = C
        return out


class Stacked(Measurement):
    """Measurements of several groups, one after the other. `parts` : the groups. `rows` : the slice of each group."""

    def __init__(self, parts: Sequence[Measurement]) -> None:
        self.parts = tuple(parts)
        self.n = parts[0].n
        ends = np.cumsum([0, *(part.size for part in parts)])
        self.rows = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.size = int(ends[-1])
        self.device = next((part.device for part in parts if part.device is not None), None)
        self.takes_device_arrays = all(part.takes_device_arrays for part in parts)
        self.hermitian = any(part.hermitian for part in parts)
        self.maps = tuple(dict.fromkeys(m for part in parts for m in part.maps))

    def pair(self, U: Images, V: Images) -> Array:
        return np.concatenate([part.pair(U, V) for part in self.parts])

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        pairs = [part.along(U, D) for part in self.parts]
        return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])

    def adjoint(self, weights: Array, V: Images) -> Forces:
        groups = zip(self.parts, self.rows, strict=True)
        return [force for part, rows in groups for force in part.adjoint(weights[rows], V)]

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        for part, rows in zip(self.parts, self.rows, strict=True):
            part.add_to(S, weights[rows], identity)


def _sparse(given: Any, name: str) -> sp.csr_array:
    try:
        if sp.issparse(given):
            return sp.csr_array(real(given, name), dtype=np.float64, copy=True)  # operations may sort its entries
        return sp.csr_array(np.atleast_1d(real_array(given, name).astype(np.float64)))
    except PsdoptError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be a real matrix; found {type(given).__name__}: {error}") from error


def _symmetric(given: Any, t: int, n: int) -> sp.csr_array:
    name = f"matrices[{t}]"
    A = _sparse(given, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or (n and A.shape[0] != n):
        allowed = f"of order {n}" if n else "square"
        raise InvalidInputError(f"{name} must be {allowed}; found shape {A.shape}")
    if not is_finite(A):
        raise InvalidInputError(f"{name} must be finite; found NaN or infinite entries")
    skew = abs(A - A.T)
    largest = float(abs(A).max()) if A.nnz else 0.0
    if skew.nnz and float(skew.max()) > asymmetry_allowed(largest, A.shape[0]):
        raise InvalidInputError(f"{name} must be symmetric; found |A - A^T| up to {float(skew.max()):.3g}")
    return A


__all__ = ["Indices", "SparseForms", "Stacked", "Trace"]
