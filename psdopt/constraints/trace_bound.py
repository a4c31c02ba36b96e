"""Bounds on tr M: A*(w) ⪰ I gives tr M <= ⟨A*(w), M⟩ <= σ(w), and C ⪰ c I gives tr M <= ⟨C, M⟩ / c."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array, for_products, norm, scaled
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.limits import MOST_STEPS, SMALL_ORDER
from psdopt.linalg.subset import least_eigenvalue
from psdopt.linalg.tolerances import ROOT_EPS, rounding


@dataclass(frozen=True)
class TraceBound:
    """`least` <= tr M <= `value` for every feasible M: equal up to rounding for a fixed trace, else `least` is 0.

    `source` : "given" by the caller, or implied by the "constraints". `weights` : in the second case, w (m,) with
    A*(w) ⪰ I and σ(w) = `value`. A negative value is a proof that no M is feasible.
    """

    value: float
    least: float
    source: str
    weights: Array | None = None


def found_trace_bound(forms: SparseForms | None, allowed: Allowed, norms: Array) -> TraceBound | None:
    """The bound from the w with A*(w) nearest to I, scaled until A*(w) ⪰ I; None if A*(w) is not definite.

    In a cone the multipliers of all values but the first are chosen so; the first is the one that makes w admissible,
    and changes A*(w) unless this value is constant.

    Cost: a sparse least-squares problem and an extreme eigenvalue.
    """
    if forms is None:
        return None
    n, cones = forms.n, allowed.cones
    lower, upper = allowed.lower, allowed.upper
    scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
    weights = np.sqrt(forms.halves)  # so that |A*(w)|_F is a plain norm
    target = (forms.i == forms.j).astype(np.float64)
    if np.count_nonzero(target) < n:
        return None  # no constraint contains this diagonal entry
    bounded = np.isfinite(lower) | np.isfinite(upper)
    usable = bounded if cones is None else bounded | cones.later
    unit = for_products(scaled(forms.B, scale, weights))  # rows A_t / |A_t|
    for _ in range(MOST_STEPS):  # each drops the constraints whose w_t has the sign of an infinite bound
        if not usable.any():
            return None
        w = np.zeros(forms.size)
        w[usable] = least_squares((unit if usable.all() else unit[usable]).T, target * weights)
        w *= scale
        w[np.abs(w) * norms <= ROOT_EPS * float(np.max(np.abs(w) * norms))] = 0.0
        wrong = bounded & (((w > 0.0) & np.isinf(upper)) | ((w < 0.0) & np.isinf(lower)))
        if not wrong.any():
            break
        usable &= ~wrong
    else:
        return None
    w = w if cones is None else cones.admissible(w)
    off = np.abs(forms.on_places(w) - target) * weights**2  # of A*(w) − I, an entry off the diagonal in two places
    sums = np.bincount(forms.i, off, n) + np.bincount(forms.j, np.where(target > 0.0, 0.0, off), n)
    error = float(sums.max())
    low = 1.0 - error if error <= 0.5 else _least_eigenvalue(forms, w)
    if not low > 0.0:
        return None
    used = w != 0.0
    parts = w[used] * allowed.bound(w)[used]
    lost = rounding(float(np.abs(parts).sum()), len(parts))
    total = float(parts.sum())
    # a sum that is zero but for rounding proves nothing
    value = (total + lost if total >= -lost else total) / low
    # A*(w) counts as I if no entry of A*(w) − I exceeds this; `least` accounts for the difference
    fixed = error <= ROOT_EPS and bool(np.all(lower[used] == upper[used]))
    least = max(total - lost, 0.0) / (1.0 + error) if fixed else 0.0  # ⟨A*(w), N⟩ is within error tr N of tr N
    return TraceBound(value, least, "constraints", w / low)


def _least_eigenvalue(forms: SparseForms, w: Array) -> float:
    """A lower bound on λ_min(A*(w))."""
    if forms.n > SMALL_ORDER:
        return smallest_eigenpair(forms.matrix(w), tol=0.01, scale="norm").lower_bound
    S = np.zeros((forms.n, forms.n))
    forms.add_to(S, w)
    return least_eigenvalue(S) - rounding(norm(S), forms.n)


def definite_part(C: sp.csr_array) -> float:
    """c > 0 with C ⪰ c I for a sparse symmetric C (n, n), or 0 if none is proven; for a diagonal C its least entry.

    Cost: an extreme eigenvalue, unless C is diagonal or an entry of its diagonal is not positive.
    """
    diagonal = C.diagonal()
    least = float(diagonal.min())
    if not least > 0.0:
        return 0.0
    if sp.csr_array(C - sp.diags_array(diagonal)).count_nonzero() == 0:
        return least
    return max(0.0, smallest_eigenpair(C, tol=0.01, scale="norm").lower_bound)
