"""The violation of linear constraints, each relative to the size of its bound and of the entries of M in it."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.measurements import SparseForms
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, norm, row_dots
from psdopt.linalg.tolerances import ROOT_EPS


def row_scales(forms: SparseForms | None, norms: Array, nearest: Array, Y: Array) -> Array:
    """The scale of each constraint at M = Y Yᵀ, (m,): max(|nearest_t|, Σ_ij |A_t,ij| √(M_ii M_jj)).

    `nearest` (m,) are the values within the bounds that are nearest to A(M). The sum is the largest ⟨A_t, M⟩ that the
    diagonal of M allows; it involves only rows of M that A_t touches, and is the same in other units, D M D and D⁻¹ A_t
    D⁻¹. Where nearest_t = 0, M_ii is replaced by max(M_ii, √eps tr M), since smaller entries may be rounding.
    Without entries the sum is replaced by |A_t| |M|. O(entries of the A_t + n r); of a Y on a device the diagonal of M
    comes to the host.
    """
    if forms is None:
        return np.maximum(np.abs(nearest), norms * float(norm(Y.T @ Y)))
    diagonal: Array = on_host(row_dots(Y, Y))
    scales = np.maximum(np.abs(nearest), forms.sizes(np.sqrt(diagonal)))
    if not nearest.all():
        raised = np.maximum(diagonal, ROOT_EPS * float(diagonal.sum()))
        scales = np.where(nearest == 0.0, forms.sizes(np.sqrt(raised)), scales)
    return scales


def relative(v: Array, scales: Array) -> Array:
    """|v_t| / scales_t (m,), 0 where v_t = 0, infinite where only the scale is zero."""
    off = np.abs(v)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(off > 0.0, off / scales, 0.0)
