"""Measurements by quadratic forms and by entries; distances are in :mod:`psdopt.terms.distances`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np

from psdopt.contracts.images import Images
from psdopt.devices import Device, DeviceArray
from psdopt.linalg.arrays import (
    Array,
    SymmetricPattern,
    gathered_row_dots,
    mixed_row_dots,
    row_dots,
    sparse_product,
)
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.operators import WeightedRows
from psdopt.linalg.row_blocks import RowBlocks, linear_map
from psdopt.terms.base import Forces
from psdopt.terms.distances import PairDistances, TripletDifferences
from psdopt.terms.entry_coupling import entry_coupling
from psdopt.terms.indexed import Indices, both_at, checked_indices, device_of_measurements, rows_of, taken
from psdopt.terms.measurement import Measurement, RankOne

__all__ = ["Entries", "Indices", "Measurement", "PairDistances", "QuadraticForms", "RankOne", "TripletDifferences"]


class QuadraticForms(RankOne):
    """a_t = x_tᵀ M x_t for the rows x_t of X (m, n); X is data or a shared :class:`LinearMap`."""

    takes_device_arrays = True

    def __init__(self, X: Any) -> None:
        self.X = linear_map(X, "X")
        self.X.by_columns = True
        self.maps = (self.X,)
        self.size, self.n = self.X.shape
        self.device = self.X.device

    def pair(self, U: Images, V: Images) -> Array:
        return row_dots(U.of(self.X), V.of(self.X))

    def at(self, U: Images) -> Array:
        own = type(self).pair is QuadraticForms.pair and self.has_entries
        return self.X.row_squares(U.factor) if own else self.pair(U, U)

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return [(self.X, cast(Array, WeightedRows((weights, V.of(self.X)))))]

    @property
    def has_entries(self) -> bool:
        return self.device is None and (self.X.is_matrix or isinstance(self.X, RowBlocks))

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        if self.has_entries:
            S += self.X.weighted_gram(weights)
        else:
            super().add_to(S, weights, identity)

    def directions(self, V: Images) -> Array:
        return V.of(self.X)

    def part(self, chosen: Any) -> QuadraticForms:
        return QuadraticForms(taken(self.X, chosen))


#: A gathered inner product, or an entry of a sparse matrix, takes so many times as long as one within a product of
#: blocks. Such a product is formed if entries are dense enough, at orders of which memory holds several matrices.
GATHERING = 8


class Entries(Measurement):
    """a_t = M_ij for index pairs (i_t, j_t) of an M of order n; i = j is the diagonal."""

    couples = True
    takes_device_arrays = True

    def __init__(self, i: Any, j: Any, n: int) -> None:
        _, rows, self.n = rows_of(None, n)
        self.device = device_of_measurements(None, i=i, j=j)
        self.i, self.j = checked_indices({"i": i, "j": j}, rows)
        self.j = self.i if np.array_equal(self.i, self.j) else self.j  # entries of the diagonal need no second order
        # all of the diagonal in its order: no row need be gathered
        self._whole = self.j is self.i and np.array_equal(self.i, np.arange(rows))
        self._there: dict[Device, tuple[Any, Any]] = {}
        self.size = len(self.i)
        self._ends = np.stack([self.i, self.j])
        self._dense = rows <= FACTOR_ORDER and self.size * GATHERING > rows**2

    @cached_property
    def pattern(self) -> SymmetricPattern:
        """Σ_t w_t (e_i e_jᵀ + e_j e_iᵀ) for weights w (m,); the places are sorted at first use, and are not pickled."""
        return SymmetricPattern(self.i, self.j, self.n)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "pattern"}

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        if self._whole:
            return 2.0 * row_dots(U.factor, D.factor), row_dots(D.factor, D.factor)
        on_device = isinstance(U.factor, DeviceArray)
        ends: Any = both_at(self._there, U.factor, self.i, self.j) if on_device else self._ends
        return mixed_row_dots(ends, U.factor, D.factor)

    def pair(self, U: Images, V: Images) -> Array:
        if self._whole:
            return row_dots(U.factor, V.factor)
        i, j = both_at(self._there, U.factor, self.i, self.j)
        if self._dense and not isinstance(U.factor, DeviceArray):
            products = U.factor @ V.factor.T
            if V is not U:
                products = 0.5 * (products + products.T)
            return np.asarray(products.take(i * self.n + j))
        direct = gathered_row_dots(i, j, U.factor, V.factor)
        return direct if V is U or i is j else 0.5 * (direct + gathered_row_dots(i, j, V.factor, U.factor))

    def adjoint(self, weights: Array, V: Images) -> Forces:
        if self._whole:
            return [(None, weights[:, None] * V.factor)]
        on_host = self._dense and not isinstance(weights, DeviceArray)
        if on_host and 2 * np.count_nonzero(weights) * GATHERING > self.n**2:
            return [(None, self.pattern.dense(0.5 * weights) @ V.factor)]
        return [(None, sparse_product(self.pattern(0.5 * weights), V.factor))]

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        halves = 0.5 * weights
        for rows, columns in ((self.i, self.j), (self.j, self.i)):
            if S.flags.c_contiguous:  # a view then, where numbers of places are as fast as a pattern of entries
                np.add.at(S.reshape(-1), rows * self.n + columns, halves)
            else:
                np.add.at(S, (rows, columns), halves)

    def part(self, chosen: Any) -> Entries:
        return Entries(self.i[chosen], self.j[chosen], self.n)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        return entry_coupling(self.i, self.j, P, Q, out)
