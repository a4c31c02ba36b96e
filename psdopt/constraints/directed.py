"""Dense matrices A_t = Σ_p s_tp d_p d_pᵀ of few vectors d_p: their entries, and their products without these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import CheckedIndices
from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array, only_diagonal, scaled
from psdopt.terms.measurement import Measurement


class DirectedForms(SparseForms):
    """The A_t by their entries, n (n + 1) / 2 each, with the vectors that they are sums of.

    Parameters
    ----------
    signs : sparse (m, p). D : (p, n), rows d_p.
    """

    def __init__(self, signs: sp.csr_array, D: Array) -> None:
        n = D.shape[1]
        i, j = np.triu_indices(n)
        products = sp.csr_array(np.where(i == j, 1.0, 2.0) * D[:, i] * D[:, j])
        super().__init__(CheckedIndices(i, n), CheckedIndices(j, n), signs @ products, n)
        self._signs, self.D = sp.csr_array(signs), D

    @property
    def signs(self) -> sp.csr_array:
        return self._signs

    def directions(self, V: Images) -> Array:
        return np.asarray(self.D @ V.factor)

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> DirectedForms | None:
        """Those of a measurement that knows its vectors, of data in memory, if all entries fit; else None."""
        m, n, signs = measurement.size, measurement.n, measurement.signs
        if signs is None or 0.5 * m * n * (n + 1) > NUMBERS or not all(each.is_matrix for each in measurement.maps):
            return None
        return cls(signs, measurement.directions(Images(measurement.maps, np.eye(n))))

    @classmethod
    def stacked(cls, parts: Sequence[DirectedForms]) -> DirectedForms:
        """Those of all `parts`, one after the other."""
        if len(parts) == 1:
            return parts[0]
        signs = sp.block_diag([part.signs for part in parts], format="csr")
        return cls(sp.csr_array(signs), np.concatenate([part.D for part in parts]))

    def in_units(self, d: Array) -> DirectedForms:
        """The diag(d) A_t diag(d)."""
        return DirectedForms(self.signs, self.D * d)


class DirectedCouplings:
    """(X, Q) ↦ [tr(A_s X A_t Q)], by the vectors: the products (d_sᵀ X d_t)(d_sᵀ Q d_t), summed with their signs.

    2 p² n flops for p vectors, m of them or a few times m, where products of the A_t would take m n³.
    Parameters: `signs` (m, p), `D` (p, n).
    """

    def __init__(self, signs: sp.csr_array, D: Array) -> None:
        self.signs, self.D = signs, D
        self.scale = only_diagonal(signs)

    def add(self, M: Array, X: Array, Q: Array, fresh: bool = False) -> None:
        """M (m, m) += the products. `fresh` : whether M is zero."""
        K = (self.D @ X) @ self.D.T
        K *= (self.D @ Q) @ self.D.T
        if self.scale is None:
            M += self.signs @ (self.signs @ K).T
            return
        K *= self.scale
        K *= self.scale[:, None]
        M += K

    @classmethod
    def of(cls, forms: DirectedForms, rows: NDArray[np.intp], scale: Array) -> DirectedCouplings:
        """Those of the A_t of `rows`, times `scale`."""
        return cls(scaled(sp.csr_array(forms.signs[rows]), scale), forms.D)
