"""Distances of pairs of samples under M, and differences of two of them in a triplet."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import CheckedIndices
from psdopt.contracts.images import Images
from psdopt.devices import Device, DeviceArray, once
from psdopt.devices.groups import GroupSums
from psdopt.linalg.arrays import Array, SymmetricPattern, as_array, line_dots, pair_dots
from psdopt.terms.base import Forces
from psdopt.terms.entry_coupling import distance_coupling
from psdopt.terms.indexed import (
    among,
    both_at,
    checked_indices,
    codes_of,
    device_of_measurements,
    require_distinct,
    rows_of,
)
from psdopt.terms.measurement import Measurement, RankOne


class PairDistances(RankOne):
    """a_t = (x_i − x_j)ᵀ M (x_i − x_j) for pairs (i_t, j_t) of rows of X, or M_ii + M_jj − 2 M_ij without X.

    Rows are subtracted before they are squared: a large common offset of the rows costs no accuracy.

    Parameters
    ----------
    i, j : integer arrays (m,), i_t ≠ j_t, of any library, read once on the host. X : data (N, n), array or
        shared :class:`LinearMap`; None is the identity, and then `n` is needed.

    Attributes: `adjacency`, w (m,) ↦ Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) as a sparse array over the rows of X.
    """

    takes_device_arrays = True

    def __init__(self, i: Any, j: Any, X: Any = None, n: int | None = None) -> None:
        self.X, rows, self.n = rows_of(X, n)
        self.maps = () if self.X is None else (self.X,)
        self.device = device_of_measurements(self.X, i=i, j=j)
        self.i, self.j = checked_indices({"i": i, "j": j}, rows)
        self._there: dict[Device, tuple[Any, Any]] = {}
        require_distinct(self.i, self.j, "i", "j")
        self.size = len(self.i)
        self.adjacency = SymmetricPattern(self.i, self.j, rows)

    def pair(self, U: Images, V: Images) -> Array:
        Y = U.of(self.X)
        return pair_dots(*both_at(self._there, Y, self.i, self.j), Y, V.of(self.X))

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        Y = U.of(self.X)
        return line_dots(*both_at(self._there, Y, self.i, self.j), Y, D.of(self.X))

    def adjoint(self, weights: Array, V: Images) -> Forces:
        # Σ_t w_t (e_i − e_j)(e_i − e_j)ᵀ Z is a product with the sparse Laplacian of the weights. It annihilates a
        # common offset of the rows up to rounding: the mean row is subtracted first, so that this rounding is small
        Z = V.of(self.X)
        Z = Z - Z.mean(axis=0)
        A = self.adjacency(weights)
        sums = as_array(A.sum(axis=1)).ravel() if isinstance(Z, DeviceArray) else A @ np.ones(len(Z))
        force = sums[:, None] * Z
        force -= A @ Z
        return [(self.X, force)]

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        if self.X is not None:
            return super().coupling(P, Q, identity, out)
        return distance_coupling(self.i, self.j, P, Q, out)

    def directions(self, V: Images) -> Array:
        Z = V.of(self.X)
        D = Z.take(self.i, axis=0)
        D -= Z.take(self.j, axis=0)
        return D

    def part(self, chosen: Any) -> PairDistances:
        data, (i, j) = among(self.X, self.i[chosen], self.j[chosen])
        return PairDistances(i, j, data, self.n)


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
    takes_device_arrays = True

    def __init__(self, i: Any, j: Any, k: Any, X: Any = None, n: int | None = None) -> None:
        shared, rows, self.n = rows_of(X, n)
        self.device = device_of_measurements(shared, i=i, j=j, k=k)
        i, j, k = checked_indices({"i": i, "j": j, "k": k}, rows)
        for left, right, names in ((i, j, ("i", "j")), (i, k, ("i", "k")), (j, k, ("j", "k"))):
            require_distinct(left, right, *names)
        self.size = len(i)
        codes, where = np.unique(np.concatenate([codes_of(i, j, rows), codes_of(i, k, rows)]), return_inverse=True)
        self.near, self.far = np.split(where, 2)
        first, second = (CheckedIndices(index, rows) for index in (codes // rows, codes % rows))
        self.pairs = PairDistances(first, second, shared, n)
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

    def part(self, chosen: Any) -> TripletDifferences:
        pairs, near, far = self.pairs, self.near[chosen], self.far[chosen]
        a, b, c, d = pairs.i[near], pairs.j[near], pairs.i[far], pairs.j[far]
        i = np.where((a == c) | (a == d), a, b)  # the one that both pairs have
        data, (i, j, k) = among(pairs.X, i, a + b - i, c + d - i)
        return TripletDifferences(i, j, k, data, self.n)

    def _differences(self, d: Array) -> Array:
        far, near = both_at(self._there, d, self.far, self.near)
        difference: Array = d[far]
        difference -= d[near]
        return difference

    def adjoint(self, weights: Array, V: Images) -> Forces:
        size = self.pairs.size
        if isinstance(weights, DeviceArray):
            device, both = weights.device, np.concatenate([weights, -weights])
            sums = once(self._sums, device, lambda: GroupSums(np.concatenate([self.far, self.near]), size, device))
            return self.pairs.adjoint(sums(both), V)
        on_pairs: Array = np.bincount(self.far, weights, size).astype(np.float64, copy=False)
        on_pairs -= np.bincount(self.near, weights, size)
        return self.pairs.adjoint(on_pairs, V)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        C = np.triu(self.pairs.coupling(P, Q, identity))
        C += np.triu(C, 1).T
        C = C[self.far] - C[self.near]
        return np.subtract(C[:, self.far], C[:, self.near], out=out)
