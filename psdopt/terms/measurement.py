"""The interface of a linear measurement M ↦ (⟨A_1, M⟩, ..., ⟨A_m, M⟩) for terms and constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.images import Images
from psdopt.devices import Device
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_blocks import RowBlocks
from psdopt.terms.base import Forces, combine


class Measurement(ABC):
    """M ↦ (⟨A_1, M⟩, ..., ⟨A_m, M⟩) for symmetric A_t (n, n), all at once.

    Attributes: `n` order of M; `size` = m; `maps` the linear maps whose images are needed; `couples`, whether
    :meth:`coupling` is implemented; `device`, the device of X, or of the indices if there is no X (None for NumPy
    arrays); `takes_device_arrays`, whether images and weights may be arrays on a device; `hermitian`, whether M is seen
    as a Hermitian matrix only (:attr:`psdopt.Problem.hermitian`).
    """

    n: int
    size: int
    maps: tuple[LinearMap, ...] = ()
    couples: bool = False
    device: Device | None = None
    takes_device_arrays: bool = False
    hermitian: bool = False

    @abstractmethod
    def pair(self, U: Images, V: Images) -> Array:
        """⟨A_t, (U Vᵀ + V Uᵀ)/2⟩ for all t, shape (m,), U and V of one shape (n, r). O(m r)."""

    def at(self, U: Images) -> Array:
        """⟨A_t, U Uᵀ⟩ for all t, of which no images of U need remain. Default: :meth:`pair`."""
        return self.pair(U, U)

    @abstractmethod
    def adjoint(self, weights: Array, V: Images) -> Forces:
        """Σ_t weights_t A_t V as forces, weights (m,). O(m r)."""

    def add_to(self, S: Array, weights: Array, identity: Images | None = None) -> None:
        """S += Σ_t weights_t A_t for a dense S (n, n); `identity` holds the images of I, if known."""
        if identity is None:
            identity = Images(self.maps, np.eye(self.n))
        S += combine(self.adjoint(weights, identity), S.shape)

    @property
    def has_entries(self) -> bool:
        """Whether :meth:`add_to` needs no images of I."""
        return not self.maps

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        """(a1, a2), (m,) each, with a + mu a1 + mu² a2 the measurements of (U + mu D)(U + mu D)ᵀ. O(m r)."""
        return 2.0 * self.pair(U, D), self.pair(D, D)

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        """[tr(A_s P A_t Q)], s <= t, for symmetric P and Q (n, n): the upper triangle of an (m, m) array.

        Only if it `couples`. The entries below the diagonal are undefined. `identity` holds the images of I; `out` is
        an array (m, m) that may be overwritten and returned. No application; O(m² + m n), with data O(m² n + m n²).
        """
        raise InvalidTypeError(f"{type(self).__name__} offers no coupling")

    # optional: for samples
    @property
    def has_parts(self) -> bool:
        """Whether :meth:`part` is possible: it is written for this class, and the data are rows, not an operator."""
        rows = all(each.is_matrix or isinstance(each, RowBlocks) for each in self.maps)
        return type(self).part is not Measurement.part and rows and self.device is None

    def part(self, chosen: Any) -> Measurement:
        """The measurements at the positions `chosen` (k,), sorted, with the data that these need. O(k n)."""
        raise InvalidTypeError(f"{type(self).__name__} offers no part of its measurements")

    # optional: for column generation on the margins of a problem
    @property
    def signs(self) -> sp.csr_array | None:
        """B (m, p) sparse with A_t = Σ_p B_tp d_p d_pᵀ for vectors d_p (n,); None if no such sum is known."""
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

    def coupling(self, P: Array, Q: Array, identity: Images, out: Array | None = None) -> Array:
        D = self.directions(identity)
        return np.multiply(D @ P @ D.T, D @ Q @ D.T, out=out)
