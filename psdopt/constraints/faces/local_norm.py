"""Proof that a definite matrix near M is feasible: one Cholesky factor of the Gram matrix of the A_t in the norm of M.

With M = L Lᵀ ≻ 0 the matrices L (I + N) Lᵀ with |N| < 1 are definite. They meet A(·) = b where ⟨F_t, N⟩ = r_t for all
t, with F_t = LᵀA_tL and r = b − A(M), so that neither the units of M nor those of rows matter. The least N is computed
first. What it leaves of the equations, and all rounding, is at most ρ_t, and the N that removes this is shorter than ½
where G ≻ 4 m Diag(ρ²), G = [tr(A_s M A_t M)] the Gram matrix of the F_t. The slack s_t > 0 of an inequality is one more
variable, which may change by its own size: F_t has one more entry s_t.

Where constraints define a face, A*(w) ⪰ 0 and wᵀb = 0 give |Σ w_t F_t| <= ⟨A*(w), M⟩ = −wᵀr, so that |N| >= 1 for all
M.

Nesterov, Nemirovskii (1994), on the ellipsoid of Dikin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

from psdopt.constraints.limits import CANCELLED, FLOPS, SPARSE
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.cone_steps import lower_factor
from psdopt.linalg.definite import factor_above
from psdopt.linalg.entries import entries_of, multiplied
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS, rounding


def near_feasible(forms: SparseForms, lower: Array, upper: Array, M: Array) -> bool:
    """Whether a definite matrix near M (n, n) is shown to meet all bounds, inequalities strictly.

    Rounding of M = L Lᵀ, A(M), the F_t and G counts. False as well where M has no factor, where equations depend on
    each other, or where m² n² is above FLOPS. For e entries of the A_t in q of their rows 2 (e n + q n²) + m² n² flops
    and two factors, memory m n².
    """
    d = np.sqrt(np.maximum(M.diagonal(), 0.0))
    if not d.all():
        return False
    unit = np.exp2(np.rint(np.log2(d)))
    try:
        L = unit[:, None] * lower_factor((M / (unit * unit[:, None]))[None])[0]
    except np.linalg.LinAlgError:
        return False
    a, sizes, loose = forms.B @ M[forms.i, forms.j], forms.sizes(d), lower < upper
    error = (CANCELLED * EPS + rounding(1.0, forms.n**2)) * (sizes + np.where(loose, 0.0, np.abs(lower)))
    gap = np.minimum(a - lower, upper - a)  # of an equation −|a − b|
    slack = np.minimum(np.abs(gap), 0.5 * (upper - lower))  # zero for equations
    if (slack[loose] <= 2.0 * error[loose]).any():
        return False
    # the values of all other rows change by less than their slack
    rows = np.flatnonzero(np.where(loose, gap <= 2.0 * (sizes + error), (forms.norms > 0.0) | (lower != 0.0)))
    if float(len(rows) * forms.n) ** 2 > FLOPS:
        return False
    a, lower, upper = a[rows], lower[rows], upper[rows]
    r = np.where(loose[rows], slack[rows] - gap[rows], lower - a)
    r[loose[rows] & (upper - a < a - lower)] *= -1.0  # of an inequality the nearer bound counts
    return not len(rows) or _solvable(_roots(forms, rows, L), slack[rows], r, error[rows])


def _solvable(F: Array, slack: Array, r: Array, error: Array) -> bool:
    """Whether F N + s ∘ x = r' has a solution with |N|² + |x|² < 1 for all r' within `error` of r, and F within a
    Frobenius norm of `error` of each row; F (m, n²)."""
    m, size = F.shape
    G = F @ F.T
    diagonal = G.diagonal() + slack**2
    if not (diagonal > 0.0).all():
        return False
    scale = 1.0 / np.sqrt(diagonal)
    G *= scale
    G *= scale[:, None]
    # r, what N leaves, its rounding and half the error of F make ρ 3.5 times the error. |Fᵀw| > 2 √m |ρ ∘ w| follows
    # for all F near this one from |Fᵀw| > √m |(2 ρ + error) ∘ w|
    G.reshape(-1)[:: m + 1] = 1.0 - m * (8.0 * error * scale) ** 2
    found = factor_above(G, 2.0 * m * (rounding(1.0, size) + (m + 1) * EPS))
    if found is None or not found[1] > 0.0:
        return False
    N, x, rest = np.zeros(size), np.zeros(m), r
    for _ in range(ROUNDS):
        w = scale * dpotrs(found[0], scale * rest, lower=0)[0]
        N += w @ F
        x += slack * w
        rest = r - F @ N - slack * x
        if (np.abs(rest) <= error).all():
            return bool(norm(N) ** 2 + norm(x) ** 2 < 0.25)
    return False


def _roots(forms: SparseForms, rows: NDArray[np.intp], L: Array) -> Array:
    """The LᵀA_tL of these rows, (m, n²)."""
    n, m = forms.n, len(rows)
    at, counts = entries_of(rows, forms.B.indptr)
    places, t = forms.B.indices[at], np.arange(m).repeat(counts)
    i, j, w = forms.i[places], forms.j[places], forms.halves[places] * forms.B.data[at]
    if SPARSE * len(w) > m * n * n:
        A = np.zeros((m, n, n))
        A[t, i, j] = A[t, j, i] = w
        return np.asarray(L.T @ (A @ L)).reshape(m, n * n)
    (off,) = (i != j).nonzero()
    codes, where = np.unique(np.concatenate([t * n + i, t[off] * n + j[off]]), return_inverse=True)
    # the row i of A_t for each pair (t, i) in which it has entries
    A = multiplied(np.concatenate([w, w[off]]), where, np.concatenate([j, i[off]]), (len(codes), n))
    left, right = L[codes % n], A @ L
    ends = np.searchsorted(codes, n * np.arange(m + 1))
    roots = np.empty((m, n, n))
    for k in range(m):
        part = slice(ends[k], ends[k + 1])
        np.matmul(left[part].T, right[part], out=roots[k])
    return roots.reshape(m, n * n)
