"""The margin structure of a problem: ⟨A_r, M⟩ with every A_r a signed sum of a few squares d dᵀ.

This is what a master problem of column generation needs of the data: on M = V T Vᵀ with V (n, k) all the
margins, their adjoint and their Gram matrix are products with the (p, k) array of directions Vᵀd.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.errors import InvalidTypeError
from psdopt.images import Images
from psdopt.linalg.arrays import Array, row_dots, scale_rows
from psdopt.terms.measurements import Measurement, PairDistances, QuadraticForms, TripletDifferences

#: Rows of a Gram matrix that are made at a time: memory 2 CHUNK p beside the result.
CHUNK = 512


@dataclass(frozen=True)
class SignedSquares:
    """A_r = Σ_p B_rp d_p d_pᵀ restricted to span V: `directions` Z (p, k) has rows Vᵀd_p, `signs` B (m, p) sparse.

    All products below are O(p k²) time and O(p k) memory; no A_r (k, k) is formed.
    """

    directions: Array
    signs: sp.csr_array

    @cached_property
    def _adjoint(self) -> Any:
        """Bᵀ; SciPy makes a new object of it each time it is asked."""
        return self.signs.T

    @property
    def size(self) -> int:
        """m, the number of margins."""
        return int(self.signs.shape[0])

    @property
    def order(self) -> int:
        """k, the number of columns of V."""
        return int(self.directions.shape[1])

    def forms(self, T: Array) -> Array:
        """⟨VᵀA_rV, T⟩ for all r, shape (m,), T symmetric (k, k)."""
        return np.asarray(self.signs @ row_dots(self.directions @ T, self.directions))

    def squares(self) -> Array:
        """v_iᵀA_rv_i for every column v_i of V, shape (m, k)."""
        return np.asarray(self.signs @ (self.directions**2))

    def combination(self, w: Array) -> Array:
        """Σ_r w_r VᵀA_rV, shape (k, k)."""
        H = self.directions.T @ scale_rows(np.asarray(self._adjoint @ w), self.directions)
        return 0.5 * (H + H.T)

    def sizes(self) -> Array:
        """Σ_p |B_rp| |d_p|², an upper bound on the nuclear norm of VᵀA_rV, shape (m,)."""
        return np.asarray(abs(self.signs) @ row_dots(self.directions, self.directions))

    def transformed(self, T: Array) -> SignedSquares:
        """The same margins for V T."""
        moved = SignedSquares(self.directions @ T, self.signs)
        moved.__dict__["_adjoint"] = self._adjoint
        return moved

    def rows(self, chosen: NDArray[np.intp]) -> SignedSquares:
        """The margins `chosen`, with only the directions they need."""
        signs = self.signs[chosen]
        used = np.unique(signs.indices)
        return SignedSquares(self.directions[used], signs[:, used])

    def gram(self) -> Array:
        """⟨VᵀA_rV, VᵀA_sV⟩ for all r, s, shape (m, m): entries B (Z Zᵀ)∘² Bᵀ, in blocks of rows. O(p² k) time."""
        G = np.empty((self.size, self.size))
        for start in range(0, self.size, CHUNK):
            block = self.rows(np.arange(start, min(start + CHUNK, self.size)))
            products = block.directions @ self.directions.T
            products *= products
            G[start : start + block.size] = (self.signs @ (block.signs @ products).T).T
        return G

    def vectors(self) -> Array:
        """VᵀA_rV as rows (m, k(k+1)/2) whose inner products are those of the matrices."""
        Z, k = self.directions, self.order
        rows = np.empty((len(Z), k * (k + 1) // 2))
        at = 0
        for i in range(k):
            width = k - i
            np.multiply(Z[:, i : i + 1], Z[:, i:], out=rows[:, at : at + width])
            rows[:, at + 1 : at + width] *= np.sqrt(2.0)
            at += width
        return np.asarray(self.signs @ rows)


@lru_cache(maxsize=64)
def _triangle(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    i, j = np.triu_indices(k)
    return i, j


def vector_of(T: Array) -> Array:
    """The symmetric T (k, k) as a vector (k(k+1)/2,) of the same norm, ordered as in SignedSquares.vectors."""
    i, j = _triangle(len(T))
    return np.asarray(T[i, j] * np.where(i == j, 1.0, np.sqrt(2.0)))


def matrix_of(q: Array, k: int) -> Array:
    """The inverse of :func:`vector_of`."""
    i, j = _triangle(k)
    T = np.zeros((k, k))
    T[i, j] = T[j, i] = q * np.where(i == j, 1.0, np.sqrt(0.5))
    return T


class MarginStructure:
    """Directions and signs of a measurement: distances of pairs, differences over triplets, quadratic forms.

    Raises InvalidTypeError for a measurement whose A_r are not known as signed squares.
    """

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self._base, self.signs = _structure(measurement)

    def at(self, images: Images) -> SignedSquares:
        """The margins on the span of the columns of `images`."""
        base = self._base
        if isinstance(base, QuadraticForms):
            return SignedSquares(images.of(base.X), self.signs)
        XV = images.of(base.X)
        return SignedSquares(XV[base.i] - XV[base.j], self.signs)


def _structure(measurement: Measurement) -> tuple[QuadraticForms | PairDistances, sp.csr_array]:
    if isinstance(measurement, (QuadraticForms, PairDistances)):
        return measurement, sp.csr_array(sp.eye_array(measurement.size))
    if isinstance(measurement, TripletDifferences):
        pairs, t = measurement.pairs, measurement
        columns = np.column_stack([t.far, t.near]).ravel()
        entries: Any = (np.tile([1.0, -1.0], t.size), columns, np.arange(0, 2 * t.size + 1, 2))
        return pairs, sp.csr_array(entries, shape=(t.size, pairs.size))
    raise InvalidTypeError(
        "measurement must be QuadraticForms, PairDistances or TripletDifferences, whose matrices are signed squares; "
        f"found {type(measurement).__name__}"
    )
