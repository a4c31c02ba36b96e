"""The curvature of a penalty of measurements in each row of a factor: blocks of order r, and their inverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.measurements import SparseForms
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array


def inverse_by_rows(forms: SparseForms, Y: Array, s: Array, w: Array) -> Callable[[Array], Array]:
    """R (n, r) ↦ (P_i⁻¹ R_i)_i, P_i = s_i I + 4 Σ_t w_t z_ti z_tiᵀ, z_ti = (A_t Y)_i.

    P_i is the Hessian of the rows i of Y alone, if the diagonal of S is s/2 and w (m,) >= 0 are the curvatures of the
    measurements. If rows only meet rows of another kind, as in the completion of a matrix, P is the system of
    alternating least squares for both kinds together. s > 0 (n,). O(q r² + n r³) for q nonzero rows of the A_t, and
    O(n r²) for each product.
    """
    pairs, (n, r) = forms.row_pairs, Y.shape
    Z = np.asarray(pairs.A @ Y)
    gather = sp.csr_array((4.0 * w[pairs.t], np.arange(len(pairs.t)), pairs.ends), shape=(n, len(pairs.t)))
    P = np.empty((n, r, r))
    for a in range(r):
        deadline.ask()
        P[:, a, a:] = gather @ (Z[:, a : a + 1] * Z[:, a:])
        P[:, a:, a] = P[:, a, a:]
    each = np.arange(r)
    P[:, each, each] += s[:, None]
    half = np.linalg.inv(np.linalg.cholesky(P))  # P⁻¹ = halfᵀ half stays definite when it is rounded

    def inverse(R: Array) -> Array:
        return np.asarray(half.transpose(0, 2, 1) @ (half @ R[:, :, None]))[:, :, 0]

    return inverse
