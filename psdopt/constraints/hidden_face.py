"""A face of the cone that only a combination of constraints defines, found from the multipliers of a run.

Without a strictly feasible M the multipliers of a run grow without end, along w with A*(w) ⪰ 0 and wᵀb = 0. The matrix
A*(w) is singular, so that w is a point where a subspace meets the matrices of some rank k: Newton's method for such
points (Vᵀ A*(w) V = 0, V a basis of the null space) takes the direction of y to w, up to rounding, in a few steps.
"""

from __future__ import annotations

import numpy as np

from psdopt.constraints.limits import CANCELLED, FLOPS
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS

#: Multipliers are large if |A*(y)| is this many times the gradient of F.
DIVERGED = 100.0
#: Ranks tried, those before the largest gaps of the spectrum; Newton steps for each.
RANKS, STEPS = 3, 12
#: Singular values below this share of the largest span the solutions of a Newton step, which need not be unique.
FREE = 1e-5
#: A step that keeps less than this share of w leads elsewhere.
KEPT = 0.1
#: The least eigenvalue of A*(w) that is not zero must be this share of the largest: rounding over it moves the face.
CLEAR = 1e-5


def hidden_combination(forms: SparseForms, lower: Array, upper: Array, y: Array, gradient: float) -> Array | None:
    """w (m,) with A*(w) ⪰ 0, wᵀb = 0 up to rounding and A*(w) ≠ 0, near the direction of y; None if none is found.

    `gradient` : |∇F|, beside which A*(y) has to be large. Cost: at most RANKS · STEPS singular value decompositions of
    (n², m); none where these would take over 4e9 flops.
    """
    equations = np.flatnonzero((lower == upper) & (forms.norms > 0.0))
    n, m = forms.n, len(equations)
    if m == 0 or RANKS * STEPS * float(n) ** 2 * m * min(n * n, m) > FLOPS:
        return None
    scale = 1.0 / forms.norms[equations]
    start, b = y[equations] / scale, lower[equations] * scale
    size = norm(start)
    there = np.zeros(forms.size)
    there[equations] = y[equations]
    if not (0.0 < size < np.inf and norm(forms.matrix(there).data) > DIVERGED * gradient):
        return None
    start, b = start / size, b / (norm(b) or 1.0)
    unit = np.eye(forms.size)[equations]
    A = np.array([s * forms.matrix(e).toarray() for s, e in zip(scale, unit, strict=True)])
    values = np.linalg.eigvalsh(np.tensordot(start, A, 1))
    gaps = values[1:] / np.maximum(np.abs(values[:-1]), EPS)
    for last in np.argsort(-gaps, kind="stable")[:RANKS]:
        w = _singular(A, b, start, int(last) + 1)
        if w is not None:
            found = np.zeros(forms.size)
            found[equations] = scale * w
            return found
    return None


def _singular(A: Array, b: Array, w: Array, q: int) -> Array | None:
    """The unit w' near `w` for which A*(w') ⪰ 0 has a null space of dimension q, and w'ᵀb = 0."""
    n = A.shape[1]
    i, j = np.triu_indices(q)
    allowed = CANCELLED * n * EPS  # of Vᵀ A*(w) V and wᵀb, with every |A_t| = |b| = |w| = 1
    best, nearest, clear = np.inf, w, False
    for _ in range(STEPS):
        values, Q = np.linalg.eigh(np.tensordot(w, A, 1))
        off = max(float(np.abs(values[:q]).max()), abs(float(b @ w)))
        if best <= allowed and off >= best:
            break
        if off < best:
            best, nearest, clear = off, w, q < n and bool(values[q] > CLEAR * values[-1] > 0.0)
        V = Q[:, :q]
        conditions = np.vstack([(V.T @ A @ V)[:, i, j].T, b])
        _, sizes, rows = np.linalg.svd(conditions)
        sizes = np.concatenate([sizes, np.zeros(len(w) - len(sizes))]) if len(sizes) < len(w) else sizes
        free = rows[sizes <= FREE * sizes[0]] if sizes[-1] <= FREE * sizes[0] else rows[-1:]
        moved = free.T @ (free @ w)
        if not norm(moved) > KEPT:
            return None
        w = moved / norm(moved)
    return nearest if best <= allowed and clear else None
