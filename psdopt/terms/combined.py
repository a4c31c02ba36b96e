"""Sparse combinations of the numbers of another measurement."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import instance
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, for_products
from psdopt.linalg.operators import LinearMap
from psdopt.terms.base import Forces
from psdopt.terms.measurement import Measurement


class Combined(Measurement):
    """a_s = Σ_t B_st ⟨A_t, M⟩ for the matrices A_t of another measurement: its matrices are Σ_t B_st A_t.

    So |x z|² of a complex row x, with z in its real and imaginary parts, is the sum of two real quadratic forms
    (:func:`~psdopt.terms.hermitian_squares`).

    Parameters
    ----------
    measurement : m numbers, of data in memory. B : sparse or dense (k, m), finite.

    Raises
    ------
    InvalidTypeError for anything but a measurement, or one on a device; InvalidInputError where B does not have a
    column for each number, or is not finite. Cost: that of `measurement` and the entries of B.
    """

    def __init__(self, measurement: Measurement, B: Any) -> None:
        self.measurement = instance(measurement, "measurement", Measurement)
        if measurement.device is not None:
            raise InvalidTypeError(f"measurement must be of data in memory; found {measurement.device}")
        self.B = sp.csr_array(LinearMap(B, "B").data)
        if self.B.shape[1] != measurement.size:
            found = f"found shape {self.B.shape}"
            raise InvalidInputError(f"B must have {measurement.size} columns, one for each measured number; {found}")
        self.n, self.maps, self.couples = measurement.n, measurement.maps, measurement.couples
        self.size, self.hermitian = int(self.B.shape[0]), measurement.hermitian

    @cached_property
    def _forth(self) -> Any:
        return for_products(self.B)

    @cached_property
    def _back(self) -> Any:
        return for_products(sp.csr_array(self.B.T))

    def pair(self, U: Images, V: Images) -> Array:
        return np.asarray(self._forth @ self.measurement.pair(U, V))

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        first, second = self.measurement.along(U, D)
        return np.asarray(self._forth @ first), np.asarray(self._forth @ second)

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return self.measurement.adjoint(np.asarray(self._back @ weights), V)

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        self.measurement.add_to(S, np.asarray(self._back @ weights), identity)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        K = np.triu(self.measurement.coupling(P, Q, identity))
        K += np.triu(K, 1).T
        C = np.asarray(self._forth @ np.asarray(self._forth @ K).T)
        return C if out is None else np.add(C, 0.0, out=out)

    @property
    def signs(self) -> sp.csr_array | None:
        known = self.measurement.signs
        return None if known is None else sp.csr_array(self.B @ known)

    def directions(self, V: Images) -> Array:
        return self.measurement.directions(V)
