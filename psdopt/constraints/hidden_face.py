"""A face of the cone that only a combination of constraints defines, found by a search for a definite feasible matrix.

max s over M ⪰ s I with A(M) = b is positive where a feasible M is definite. Where it is zero, the multipliers w of this
program have A*(w) ⪰ 0 and wᵀb = 0, so that A*(w) M = 0 for every feasible M. The interior point finds w to some digits.
A*(w) is singular: w lies where a subspace meets the matrices of some rank, and Newton's method for such points,
Vᵀ A*(w) V = 0 with V a basis of the null space, then takes w to rounding.

Borwein, Wolkowicz (1981); Cheung, Schurr, Wolkowicz (2013).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from psdopt.constraints.conic import Conic
from psdopt.constraints.interior_steps import Iterate, first_iterate, newton_step
from psdopt.constraints.limits import CANCELLED, FLOPS, NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.standard import StandardForm
from psdopt.images import Images
from psdopt.linalg.arrays import Array, inner, norm, row_dots
from psdopt.linalg.tolerances import EPS

#: Limits of the steps of the search and of Newton's steps; ranks tried, those before the largest gaps of the spectrum.
SEARCH, STEPS, RANKS = 60, 12, 3
#: Rounds of equilibration.
ROUNDS = 5
#: The share of the way to the boundary that a step of the search goes at least.
SHARE = 0.9
#: Upper bound on tr X in the search, where every |A_t| = |b| = 1.
FAR = 1e4
#: Singular values below this share of the largest span the solutions of a Newton step, which need not be unique.
FREE = 1e-5
#: A step that keeps less than this share of w leads elsewhere.
KEPT = 0.1
#: The least eigenvalue of A*(w) that is not zero must be this share of the largest, and the largest this share of |w|,
#: every |A_t| = 1: rounding over the least moves the face.
CLEAR = 1e-5


def hidden_combination(forms: SparseForms, lower: Array, upper: Array) -> Array | None:
    """w (m,) of equations with A*(w) ⪰ 0, wᵀb = 0 up to rounding and A*(w) ≠ 0; None if there is none.

    Cost: a few steps of the interior point of order n + 1 with the equations alone where a feasible M is definite, else
    about 20 of them and at most 72 singular value decompositions of (n², m); nothing where 36 would take over 4e9
    flops.
    """
    equations = np.flatnonzero((lower == upper) & (forms.norms > 0.0))
    n, m = forms.n, len(equations)
    if m < 2 or RANKS * STEPS * float(n) ** 2 * m * min(n * n, m) > FLOPS:
        return None
    d = _units(forms, equations)
    forms = SparseForms(forms.i, forms.j, forms.B @ sp.diags_array(d[forms.i] * d[forms.j]), n)  # D A_t D: the same w
    scale = 1.0 / forms.norms[equations]
    B = sp.csr_array(sp.diags_array(scale) @ forms.B[equations])
    independent = _independent(B, forms)
    equations, scale, B = equations[independent], scale[independent], sp.csr_array(B[independent])
    b = lower[equations] * scale
    b = b / (norm(b) or 1.0)
    w = _multipliers(SparseForms(forms.i, forms.j, B, n), b)
    if w is None:
        return None
    A = _matrices(forms, B)
    values = np.linalg.eigvalsh(np.tensordot(w, A, 1))
    gaps = values[1:] / np.maximum(np.abs(values[:-1]), EPS)
    for last in np.argsort(-gaps, kind="stable")[:RANKS]:
        refined = _cleared(A, b, w, int(last) + 1)
        if refined is not None:
            found = np.zeros(forms.size)
            found[equations] = scale * refined
            return found
    return None


def _units(forms: SparseForms, equations: NDArray[np.intp]) -> Array:
    """d (n,), powers of two, for which the largest entries of the rows of all D A_t D / |D A_t D| are of one size.

    Ruiz (2001), a few rounds.
    """
    B, halves = abs(forms.B[equations]), np.where(forms.i == forms.j, 1.0, 0.5)
    d = np.ones(forms.n)
    for _ in range(ROUNDS):
        scaled = sp.csr_array(B @ sp.diags_array(halves * d[forms.i] * d[forms.j]))
        sizes = np.sqrt(scaled.multiply(scaled) @ np.where(forms.i == forms.j, 1.0, 2.0))
        largest = (sp.diags_array(1.0 / sizes) @ scaled).max(axis=0).toarray().ravel()
        of_rows = np.zeros(forms.n)
        np.maximum.at(of_rows, np.r_[forms.i, forms.j], np.r_[largest, largest])
        d /= np.sqrt(np.where(of_rows > 0.0, of_rows, 1.0))
    return np.asarray(np.exp2(np.round(np.log2(d))))


def _independent(B: sp.csr_array, forms: SparseForms) -> NDArray[np.intp]:
    """Rows of B that span all of its rows, to rounding: of others a combination A*(w) is rounding itself."""
    lengths = np.where(forms.i == forms.j, 1.0, np.sqrt(0.5))  # of the entries in the Frobenius norm
    R, order = qr((B.toarray() * lengths).T, mode="r", pivoting=True)
    left = np.abs(np.diagonal(R))
    return np.sort(order[: np.count_nonzero(left > CANCELLED * forms.n * EPS * left[0])]).astype(np.intp)


def _matrices(forms: SparseForms, B: sp.csr_array) -> Array:
    """All A_t (m, n, n), with the entries B (m, p)."""
    halves = B.toarray() * np.where(forms.i == forms.j, 1.0, 0.5)
    A = np.zeros((B.shape[0], forms.n, forms.n))
    A[:, forms.i, forms.j] = A[:, forms.j, forms.i] = halves
    return A


def _multipliers(forms: SparseForms, b: Array) -> Array | None:
    """w near the multipliers of max s <= 1, A(X) + s A(I) = b, X ⪰ 0; None where s > 0 is reached, or no s near 0 is.

    With s = 1 − u, u is one more row and column: min u over A(X) − u A(I) = b − A(I). A bound on tr X gives the
    multipliers of every program an interior, without which the steps end far from the solution.
    """
    n, m = forms.n, forms.size
    traces = np.asarray(forms.B @ (forms.i == forms.j).astype(np.float64))
    wider = sp.hstack([forms.B, sp.csr_array((m, n)), sp.csr_array(-traces[:, None])])
    trace = sp.csr_array(np.r_[np.zeros(len(forms.i)), np.ones(n), 0.0][None, :])
    places = sp.csr_array(sp.vstack([wider, trace]))
    i, j = (np.concatenate([each, np.arange(n + 1)]) for each in (forms.i, forms.j))
    extended = SparseForms(i, j, places, n + 1)
    C = sp.csr_array(([1.0], ([n], [n])), shape=(n + 1, n + 1))
    bounds = np.append(b - traces, FAR)
    form = StandardForm(Conic(C, 0.0, extended, np.append(b - traces, -np.inf), bounds))
    at, careful = Iterate.of(*first_iterate(form), np.zeros(form.m)), False
    for _ in range(SEARCH):
        try:
            at, length, careful = newton_step(form, at, SHARE, careful)
        except np.linalg.LinAlgError:
            break
        if _definite(forms, b, form.assembled(at.Lx, at.x)) or _refuted(forms, b, form.multipliers(at.v)[:m]):
            return None
        gap = sum(inner(P, S) for P, S in zip(at.X, at.Z, strict=True)) + float(at.x @ at.z)
        if length < NEGLIGIBLE or gap < EPS:
            break
    w = form.multipliers(at.v)[:m]
    size = norm(w)
    return w / size if 0.0 < size < np.inf else None


def _definite(forms: SparseForms, b: Array, Y: Array) -> bool:
    """Whether X + s I and the least move onto A(M) = b give a definite M, for the iterate Y (n + 1, r) of (X, u)."""
    s = 1.0 - float(Y[-1] @ Y[-1])
    if s <= 0.0:
        return False
    measured = forms.pair(Images((), Y[:-1]), Images((), Y[:-1]))
    identity = forms.B @ (forms.i == forms.j).astype(np.float64)
    off = b - measured - s * identity
    lost = CANCELLED * EPS * (forms.sizes(np.sqrt(row_dots(Y[:-1], Y[:-1]))) + s * np.abs(identity))
    rows = forms.B.toarray() * np.where(forms.i == forms.j, 1.0, np.sqrt(0.5))  # lengths in the Frobenius norm
    moves = np.linalg.lstsq(rows, np.array([off, lost]).T, rcond=None)[0]
    return s > norm(moves[:, 0]) + norm(moves[:, 1])


def _refuted(forms: SparseForms, b: Array, w: Array) -> bool:
    """Whether A*(w) ⪰ 0 and wᵀb is clearly negative: no M is feasible then."""
    if not float(b @ w) < -NEGLIGIBLE * norm(w):
        return False
    return bool(np.linalg.eigvalsh(forms.matrix(w).toarray())[0] >= 0.0)


def _cleared(A: Array, b: Array, w: Array, q: int) -> Array | None:
    """:func:`_singular` without entries of w that are rounding, where wᵀb is rounding of its own terms as well."""
    kept: NDArray[np.intp] = np.arange(len(w))
    for _ in range(2):
        size = norm(b[kept])
        found = _singular(A[kept], b[kept] / (size or 1.0), w[kept] / norm(w[kept]), q)
        if found is None:
            return None
        allowed = CANCELLED * A.shape[1] * EPS
        clear = np.abs(found) > allowed
        w = np.zeros(len(w))
        w[kept[clear]] = found[clear]
        if abs(float(b @ w)) <= allowed * float(np.abs(b) @ np.abs(w)):
            return w
        if np.all(clear):
            return None
        kept = kept[clear]
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
            best, nearest, clear = off, w, q < n and bool(values[q] > CLEAR * values[-1] and values[-1] > CLEAR)
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
