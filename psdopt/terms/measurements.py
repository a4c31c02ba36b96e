"""Linear measurements a_t = ⟨A_t, M⟩ that are never formed one by one: quadratic forms, distances, entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import indices, integer
from psdopt.devices import Device, DeviceArray, device_of, indices_on, on_host, once
from psdopt.devices.groups import GroupSums
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.images import Images
from psdopt.linalg.arrays import (
    Array,
    SymmetricPattern,
    as_array,
    code_dtype,
    line_dots,
    mixed_row_dots,
    pair_dots,
    row_dots,
    scale_rows,
    sparse_product,
)
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_blocks import linear_map
from psdopt.terms.base import Forces, combine
from psdopt.terms.entry_coupling import EntryCoupling, distance_blocks

Indices = NDArray[np.intp]


class Measurement(ABC):
    """M ↦ (⟨A_1, M⟩, ..., ⟨A_m, M⟩) for symmetric A_t (n, n), all at once.

    Attributes: `n` order of M; `size` = m; `maps` the linear maps whose images are needed; `couples`, whether
    :meth:`coupling` is there; `device` where X, or the indices if there is no X, were handed in (None for NumPy's).
    """

    n: int
    size: int
    maps: tuple[LinearMap, ...] = ()
    couples: bool = False
    device: Device | None = None

    @abstractmethod
    def pair(self, U: Images, V: Images) -> Array:
        """⟨A_t, (U Vᵀ + V Uᵀ)/2⟩ for all t, shape (m,), U and V of one shape (n, r). O(m r)."""

    @abstractmethod
    def adjoint(self, weights: Array, V: Images) -> Forces:
        """Σ_t weights_t A_t V as forces, weights (m,). O(m r)."""

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        """S += Σ_t weights_t A_t for a dense S (n, n); `identity` holds the images of I, where they are at hand."""
        if identity is None:
            identity = Images(self.maps, np.eye(self.n))
        S += combine(self.adjoint(weights, identity), S.shape)

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        """(a1, a2), (m,) each, with a + mu a1 + mu² a2 the measurements of (U + mu D)(U + mu D)ᵀ. O(m r)."""
        return 2.0 * self.pair(U, D), self.pair(D, D)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        """[tr(A_s P A_t Q)], s <= t, for symmetric P and Q (n, n): the upper triangle of an (m, m) array.

        Only if it `couples`. The entries below the diagonal are undefined. `identity` holds the images of I; `out` is
        an array (m, m) that may be overwritten and returned. No application; O(m² + m n), with data O(m² n + m n²).
        """
        raise InvalidTypeError(f"{type(self).__name__} offers no coupling")

    # optional: what column generation needs of the margins of a problem
    @property
    def signs(self) -> sp.csr_array | None:
        """B (m, p) sparse with A_t = Σ_p B_tp d_p d_pᵀ for vectors d_p (n,); None where no such sum is known."""
        return None

    def directions(self, V: Images) -> Array:
        """(p, k): the vectors d_p of :attr:`signs` on the columns of V (n, k), rows d_pᵀV."""
        raise InvalidTypeError(f"{type(self).__name__} offers no signs and directions")


class RankOne(Measurement):
    """Measurements a_t = x_tᵀ M x_t, so that tr(A_s P A_t Q) = (x_sᵀ P x_t)(x_sᵀ Q x_t)."""

    couples = True

    @property
    def signs(self) -> sp.csr_array:
        return sp.csr_array(sp.eye_array(self.size))

    @abstractmethod
    def directions(self, V: Images) -> Array:
        """x_tᵀV (m, k) for V (n, k)."""

    @abstractmethod
    def _congruence(self, P: Array, identity: Images) -> Array:
        """[x_sᵀ P x_t], (m, m)."""

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        return np.multiply(self._congruence(P, identity), self._congruence(Q, identity), out=out)


class QuadraticForms(RankOne):
    """a_t = x_tᵀ M x_t for the rows x_t of X (m, n); X is data or a shared :class:`LinearMap`."""

    def __init__(self, X: Any) -> None:
        self.X = _as_map(X)
        self.maps = (self.X,)
        self.size, self.n = self.X.shape
        self.device = self.X.device

    def pair(self, U: Images, V: Images) -> Array:
        return row_dots(U.of(self.X), V.of(self.X))

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return [(self.X, scale_rows(weights, V.of(self.X)))]

    def directions(self, V: Images) -> Array:
        return V.of(self.X)

    def _congruence(self, P: Array, identity: Images) -> Array:
        X = identity.of(self.X)
        return np.asarray(X @ P @ X.T)


class PairDistances(RankOne):
    """a_t = (x_i − x_j)ᵀ M (x_i − x_j) for pairs (i_t, j_t) of rows of X, or M_ii + M_jj − 2 M_ij without X.

    Rows are subtracted before they are squared: a large common offset of the rows costs no accuracy.

    Parameters
    ----------
    i, j : integer arrays (m,), i_t ≠ j_t, of any library: they are read on the host, once. X : data (N, n), array or
        shared :class:`LinearMap`; None is the identity, and then `n` is needed.

    Attributes: `adjacency`, w (m,) ↦ Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) as a sparse array over the rows of X.
    """

    def __init__(self, i: Any, j: Any, X: Any = None, n: int | None = None) -> None:
        self.X, rows, self.n = _rows(X, n)
        self.maps = () if self.X is None else (self.X,)
        self.device = _place(self.X, i=i, j=j)
        self.i, self.j = _indices({"i": i, "j": j}, rows)
        self._there: dict[Device, tuple[Any, Any]] = {}
        _distinct(self.i, self.j, "i", "j")
        self.size = len(self.i)
        self.adjacency = SymmetricPattern(self.i, self.j, rows)

    def pair(self, U: Images, V: Images) -> Array:
        Y = U.of(self.X)
        return pair_dots(*self._ends_at(Y), Y, V.of(self.X))

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        Y = U.of(self.X)
        return line_dots(*self._ends_at(Y), Y, D.of(self.X))

    def _ends_at(self, Y: Array) -> tuple[Indices, Indices]:
        """i and j where Y is."""
        if isinstance(Y, DeviceArray):
            return _both_on(self._there, Y.device, self.i, self.j)
        return self.i, self.j

    def adjoint(self, weights: Array, V: Images) -> Forces:
        # Σ_t w_t (e_i − e_j)(e_i − e_j)ᵀ Z is a product with the sparse Laplacian of the weights. It annihilates a
        # common offset of the rows up to rounding: the mean row is subtracted first, so that this rounding is small
        Z = V.of(self.X)
        Z = Z - Z.mean(axis=0)
        A = self.adjacency(weights)
        force = scale_rows(as_array(A.sum(axis=1)).ravel(), Z)
        force -= A @ Z
        return [(self.X, force)]

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        if self.X is not None:
            return super().coupling(P, Q, identity, out)
        C = np.empty((self.size, self.size)) if out is None else out
        for columns, _, (left, right) in distance_blocks(P, Q, self.i, self.j):
            np.multiply(left, right, out=C[: columns.stop, columns])
        return C

    def directions(self, V: Images) -> Array:
        Z = V.of(self.X)
        D = Z.take(self.i, axis=0)
        D -= Z.take(self.j, axis=0)
        return D

    def _congruence(self, P: Array, identity: Images) -> Array:
        D = self.directions(identity)
        return np.asarray(D @ P @ D.T)


class TripletDifferences(Measurement):
    """a_t = d(i_t, k_t) − d(i_t, j_t), d the pair distance under M: positive when k is farther than j.

    Distances that several triplets share are computed once.

    Parameters
    ----------
    i, j, k : integer arrays (m,), i_t ≠ j_t, i_t ≠ k_t, j_t ≠ k_t. X, n : as in :class:`PairDistances`.

    Attributes: `pairs`, the distinct ones as :class:`PairDistances`; `near`, `far` (m,), the positions in them of
    (i_t, j_t) and (i_t, k_t).
    """

    couples = True

    def __init__(self, i: Any, j: Any, k: Any, X: Any = None, n: int | None = None) -> None:
        shared, rows, self.n = _rows(X, n)
        self.device = _place(shared, i=i, j=j, k=k)
        i, j, k = _indices({"i": i, "j": j, "k": k}, rows)
        for left, right, names in ((i, j, ("i", "j")), (i, k, ("i", "k")), (j, k, ("j", "k"))):
            _distinct(left, right, *names)
        self.size = len(i)
        # sorted separately: many triplets share their near pair, few their far pair
        near, in_near = _numbered(_codes(i, j, rows))
        far, in_far = _numbered(_codes(i, k, rows))
        codes, where = np.unique(np.concatenate([near, far]), return_inverse=True)
        self.near, self.far = where[: len(near)][in_near], where[len(near) :][in_far]
        self.pairs = PairDistances(codes // rows, codes % rows, shared, n)
        self.maps = self.pairs.maps
        self._there: dict[Device, tuple[Any, Any]] = {}
        self._sums: dict[Device, GroupSums] = {}

    def pair(self, U: Images, V: Images) -> Array:
        return self._differences(self.pairs.pair(U, V))

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        first, second = self.pairs.along(U, D)
        return self._differences(first), self._differences(second)

    @property
    def signs(self) -> sp.csr_array:
        columns = np.column_stack([self.far, self.near]).ravel()
        entries: Any = (np.tile([1.0, -1.0], self.size), columns, np.arange(0, 2 * self.size + 1, 2))
        return sp.csr_array(entries, shape=(self.size, self.pairs.size))

    def directions(self, V: Images) -> Array:
        return self.pairs.directions(V)

    def _differences(self, d: Array) -> Array:
        far, near = self.far, self.near
        if isinstance(d, DeviceArray):
            far, near = _both_on(self._there, d.device, far, near)
        difference = d[far]
        difference -= d[near]
        return difference

    def adjoint(self, weights: Array, V: Images) -> Forces:
        if isinstance(weights, DeviceArray):
            return self.pairs.adjoint(self._on_pairs(weights), V)
        size = self.pairs.size
        on_pairs: Array = np.bincount(self.far, weights, size).astype(np.float64, copy=False)
        on_pairs -= np.bincount(self.near, weights, size)
        return self.pairs.adjoint(on_pairs, V)

    def _on_pairs(self, weights: Any) -> Any:
        """The same sums for weights on a device."""
        device = weights.device
        sums = once(
            self._sums, device, lambda: GroupSums(np.concatenate([self.far, self.near]), self.pairs.size, device)
        )
        both: Any = np.concatenate([weights, -weights])
        return sums(both)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        C = np.triu(self.pairs.coupling(P, Q, identity))
        C += np.triu(C, 1).T
        C = C[self.far] - C[self.near]
        return np.subtract(C[:, self.far], C[:, self.near], out=out)


class Entries(Measurement):
    """a_t = M_ij for index pairs (i_t, j_t) of an M of order n; i = j is the diagonal."""

    couples = True

    def __init__(self, i: Any, j: Any, n: int) -> None:
        _, rows, self.n = _rows(None, n)
        self.device = _place(None, i=i, j=j)
        self.i, self.j = _indices({"i": i, "j": j}, rows)
        self._there: dict[Device, tuple[Any, Any]] = {}
        self.size = len(self.i)
        self.pattern, self._ends = SymmetricPattern(self.i, self.j, rows), np.stack([self.i, self.j])

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        if isinstance(U.factor, DeviceArray):
            return mixed_row_dots(self._ends_at(U.factor), U.factor, D.factor)
        return mixed_row_dots(self._ends, U.factor, D.factor)

    def pair(self, U: Images, V: Images) -> Array:
        i, j = self._ends_at(U.factor)
        direct = row_dots(U.factor.take(i, axis=0), V.factor.take(j, axis=0))
        if V is U:
            return direct
        return 0.5 * (direct + row_dots(V.factor.take(i, axis=0), U.factor.take(j, axis=0)))

    def _ends_at(self, Y: Array) -> Any:
        if isinstance(Y, DeviceArray):
            return _both_on(self._there, Y.device, self.i, self.j)
        return self.i, self.j

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return [(None, sparse_product(self.pattern(0.5 * weights), V.factor))]

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        self.pattern.add_to(S, 0.5 * weights)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        return self._coupling(P, Q, out)

    @cached_property
    def _coupling(self) -> EntryCoupling:
        return EntryCoupling(self.i, self.j, self.n)


def _place(X: LinearMap | None, **arrays: Any) -> Device | None:
    """Where measurements are taken: where X is, or else the first of the arrays of indices."""
    if X is not None:
        return X.device
    devices = [device_of(values, name) for name, values in arrays.items()]
    return next((device for device in devices if device is not None), None)


def _both_on(kept: dict[Device, tuple[Any, Any]], device: Device, left: Indices, right: Indices) -> tuple[Any, Any]:
    """Two arrays of indices on `device`, sent there at first use."""
    return once(kept, device, lambda: (indices_on(device, left), indices_on(device, right)))


def _as_map(X: Any) -> LinearMap:
    return linear_map(X, "X")


def _rows(X: Any, n: int | None) -> tuple[LinearMap | None, int, int]:
    """(map or None, number of rows that indices may point to, order of M)."""
    if X is not None:
        shared = _as_map(X)
        if n is not None and n != shared.shape[1]:
            raise InvalidInputError(f"n must be {shared.shape[1]}, the number of columns of X; found {n}")
        return shared, *shared.shape
    n = integer(n, "n (when X is None)")
    return None, n, n


def _indices(arrays: dict[str, Any], rows: int) -> list[Indices]:
    """Index arrays of one length, with entries in [0, rows), or one clear error."""
    checked = [np.array(indices(on_host(values, name), name, rows, empty=False)) for name, values in arrays.items()]
    if len({len(index) for index in checked}) > 1:
        found = ", ".join(f"{name}: {len(index)}" for name, index in zip(arrays, checked, strict=True))
        raise InvalidInputError(f"index arrays must share one length; found {found}")
    return checked


def _codes(left: Indices, right: Indices, rows: int) -> NDArray[np.signedinteger[Any]]:
    """One number for every unordered pair of indices below `rows`."""
    codes = np.multiply(np.minimum(left, right), rows, dtype=code_dtype(rows), casting="unsafe")
    codes += np.maximum(left, right)
    return codes


def _numbered(codes: NDArray[np.signedinteger[Any]]) -> tuple[NDArray[np.signedinteger[Any]], Indices]:
    """The distinct codes in order, and the position of each code among them. Runs of equal codes are looked up once."""
    first = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    distinct, position = np.unique(codes[first], return_inverse=True)
    return distinct, np.repeat(position, np.diff(first, append=len(codes)))


def _distinct(left: Indices, right: Indices, left_name: str, right_name: str) -> None:
    same = np.flatnonzero(left == right)
    if len(same):
        raise InvalidInputError(
            f"{left_name} and {right_name} must differ; found both equal to {left[same[0]]} at position {same[0]}"
        )
