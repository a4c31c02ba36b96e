"""The curvature of a penalty of measurements in each row of a factor: blocks of order r, and their inverses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import rounding

#: R ↦ (P_i⁻¹ R_i)_i.
Inverse = Callable[[Array], Array]


def inverse_by_rows(forms: SparseForms, Y: Array, s: Array, w: Array) -> Inverse:
    """R (n, r) ↦ (P_i⁻¹ R_i)_i, P_i = s_i I + 4 Σ_t w_t z_ti z_tiᵀ, z_ti = (A_t Y)_i.

    P_i is the Hessian of row i of Y alone if s/2 > 0 (n,) is the diagonal of S and w >= 0 (m,) are the curvatures of
    the measurements. If rows meet rows of another kind only, as in matrix completion, P is the system of alternating
    least squares for both kinds at once. Rows in k measurements at most need systems of order min(k, r) each:
    O(n k r min(k, r)), and O(n r min(k, r)) for each product. If these would not fit into memory, P_i = s_i I.
    """
    (A, t, ends), r = forms.row_pairs, Y.shape[1]
    most = int(np.diff(ends).max())
    if Y.size * min(most, r) > NUMBERS:
        return lambda R: R / s[:, None]
    deadline.ask()
    Z = np.asarray(A @ Y) * (2.0 * np.sqrt(w[t]))[:, None]
    return _by_columns(ends, Z, s) if r <= most else _by_measurements(ends, Z, s)


def _by_columns(ends: NDArray[np.intp], Z: Array, s: Array) -> Inverse:
    """From the P_i (n, r, r) themselves, Z (q, r) holding 2 √w_t z_ti."""
    (q, r), n = Z.shape, len(s)
    gather = sp.csr_array((np.ones(q), np.arange(q), ends), shape=(n, q))
    P = np.empty((n, r, r))
    for a in range(r):
        P[:, a, a:] = np.asarray(gather @ (Z[:, a : a + 1] * Z[:, a:]))
        P[:, a:, a] = P[:, a, a:]
    half, _ = _half(P, s)  # P⁻¹ = halfᵀ half stays definite when it is rounded
    return lambda R: np.asarray(half.transpose(0, 2, 1) @ (half @ R[:, :, None]))[:, :, 0]


def _by_measurements(ends: NDArray[np.intp], Z: Array, s: Array) -> Inverse:
    """From Z_i (k, r), the rows of Z (q, r) of row i and zeros: s P_i⁻¹ = I − Z_iᵀ (s_i I + Z_i Z_iᵀ)⁻¹ Z_i."""
    n, counts = len(s), np.diff(ends)
    padded = np.zeros((n, counts.max(), Z.shape[1]))
    row = np.repeat(np.arange(n), counts)
    padded[row, np.arange(len(Z)) - ends[row]] = Z
    half, s = _half(padded @ padded.transpose(0, 2, 1), s)
    half = half @ padded

    def inverse(R: Array) -> Array:
        there = half.transpose(0, 2, 1) @ (half @ R[:, :, None])
        return np.asarray((R - there[:, :, 0]) / s[:, None])

    return inverse


def _half(P: Array, s: Array) -> tuple[Array, Array]:
    """(L⁻¹ (n, k, k), s) for P_i + s_i I = L Lᵀ, with s raised to the rounding of P_i, which would leave no L."""
    k = P.shape[1]
    each = np.arange(k)
    s = np.maximum(s, rounding(1.0, k) * P[:, each, each].sum(axis=1))
    P[:, each, each] += s[:, None]
    return np.asarray(np.linalg.inv(np.linalg.cholesky(P))), s
