"""A face of the cone that only a combination of constraints defines, found by a search for a definite feasible matrix.

max s over M ⪰ s I with A(M) = b is positive where a feasible M is definite. Where it is zero, the multipliers w of this
program have A*(w) ⪰ 0 and wᵀb = 0, so that A*(w) M = 0 for every feasible M. For most programs one test is enough: the
matrix with A(M) = b nearest to some multiple of I is definite. Otherwise the interior point finds w to a few digits.
Since A*(w) is singular, w lies where a subspace meets the matrices of some rank. Newton's method for such points, Vᵀ
A*(w) V = 0 with V a basis of the null space, then refines w to rounding.

Borwein, Wolkowicz (1981); Cheung, Schurr, Wolkowicz (2013).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.central_path.interior_steps import path
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.faces.local_norm import near_feasible
from psdopt.constraints.limits import CANCELLED, FLOPS, NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.entries import chosen_rows
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import EPS, SLIGHT

#: The matrices nearest to these multiples of I, times the size of the least matrix with A(M) = b, are tried first.
MULTIPLES = (0.0, *4.0 ** np.arange(-2, 5))
#: Most Newton steps; number of ranks tried, those before the largest gaps of the spectrum.
NEWTON_STEPS, RANKS = 12, 3
#: Upper bound on tr X in the search, where every |A_t| = |b| = 1.
FAR = 1e4
#: With |A_t| = 1, the least nonzero eigenvalue of A*(w) must be at least this share of the largest, and the largest at
#: least this share of |w|: rounding divided by the least one moves the face. Singular values of a Newton step below
#: this share of the largest count as zero: its solutions need not be unique.
SEPARATE = 1e-5


def hidden_combination(forms: SparseForms, lower: Array, upper: Array, noise: float = 0.0) -> Array | None:
    """w (m,) of equations with A*(w) ⪰ 0, wᵀb = 0 up to rounding and A*(w) ≠ 0; None if there is none.

    `noise` : the relative error of the A_t, if that is more than rounding. A combination of rows that is as small is
    taken for zero.
    Cost: one orthogonal factor of the equations and up to eight spectra if a definite feasible M is near a multiple of
    I; if it is elsewhere, a few steps of the interior point of order n + 1; if there is none, about 20 such steps and
    at most 72 singular value decompositions of (n², m). No search is made if 36 of these would take over 4e9 flops.
    """
    equations = np.flatnonzero((lower == upper) & (forms.norms > 0.0))
    n = forms.n
    if len(equations) < 2 or not _searchable(n, len(equations)):
        return None
    rows, _ = _scaled(forms, lower, equations, noise)
    size = norm(rows.least(rows.b)) or 1.0
    if any(rows.definite(rows.nearest(t * size * np.eye(n))) for t in MULTIPLES):
        return None
    w = _multipliers(rows)
    if w is None:
        return None
    A = rows.matrices()
    values = np.linalg.eigvalsh(np.tensordot(w, A, 1))
    gaps = values[1:] / np.maximum(np.abs(values[:-1]), EPS)
    for last in np.argsort(-gaps, kind="stable")[:RANKS]:
        refined = _cleared(A, rows.b, w, int(last) + 1)
        if refined is not None:
            found = np.zeros(forms.size)
            found[equations[rows.independent]] = rows.scale * refined
            return found
    return None


def inside(forms: SparseForms, lower: Array, upper: Array, M: Array) -> bool:
    """Whether a matrix that meets the equations near M (n, n) is definite and meets the inequalities clearly.

    Then no constraints define a face. A matrix near M in its own norm
    (:func:`~psdopt.constraints.faces.local_norm.near_feasible`) is tried first; where equations depend on each other,
    the nearest one. False as well where no search would be made, since the factor of the equations costs more than what
    it spares.
    """
    (loose,), (tight,) = (lower < upper).nonzero(), ((lower == upper) & (forms.norms > 0.0)).nonzero()
    if not _searchable(forms.n, len(tight)):
        return False
    if near_feasible(forms, lower, upper, M):
        return True
    if len(tight):
        rows, d = _scaled(forms, lower, tight)
        units = d * d[:, None] * (rows.size or 1.0)
        M = rows.nearest(M / units)
        if not rows.definite(M):
            return False
        M = M * units
    elif not np.linalg.eigvalsh(M)[0] > CANCELLED * EPS * norm(M):
        return False
    a, room = forms.B[loose] @ M[forms.i, forms.j], NEGLIGIBLE * forms.norms[loose] * norm(M)
    return bool(np.all(a - room > lower[loose]) and np.all(a + room < upper[loose]))


def _searchable(n: int, m: int) -> bool:
    """Whether a search among m equations of matrices of order n takes at most FLOPS flops."""
    return RANKS * NEWTON_STEPS * float(n) ** 2 * m * min(n * n, m) <= FLOPS


def _scaled(
    forms: SparseForms, lower: Array, equations: NDArray[np.intp], noise: float = 0.0
) -> tuple[_Equations, Array]:
    """The equations in D⁻¹ M D⁻¹, with the same w, and d (n,)."""
    B = chosen_rows(forms.B, equations)
    d = _units(forms, B)
    return _Equations(forms, B.toarray() * (d[forms.i] * d[forms.j]), lower[equations], noise), d


def _units(forms: SparseForms, B: sp.csr_array) -> Array:
    """d (n,), powers of two, for which the largest entries of all D A_t D / |D A_t D| of the rows B are of one size.

    Ruiz (2001), in rounds until all sizes are within a factor of two; where they never are, the best round.
    """
    starts, counts, (i, j) = B.indptr[:-1], np.diff(B.indptr), (forms.i[B.indices], forms.j[B.indices])
    entries, twice = np.abs(B.data) * np.where(i == j, 1.0, 0.5), np.where(i == j, 1.0, 2.0)
    d = best = np.ones(forms.n)
    least = np.inf
    for _ in range(MOST_STEPS):
        scaled = entries * d[i] * d[j]
        scaled /= np.repeat(np.sqrt(np.add.reduceat(twice * scaled**2, starts)), counts)
        of_rows = np.zeros(forms.n)
        np.maximum.at(of_rows, i, scaled)
        np.maximum.at(of_rows, j, scaled)
        of_rows = np.where(of_rows > 0.0, of_rows, 1.0)
        spread = float(of_rows.max() / of_rows.min())
        if spread < least:
            best, least = d, spread
        d = d / np.sqrt(of_rows)
        if spread < 2.0:
            break
    return np.asarray(np.exp2(np.round(np.log2(best if least >= 2.0 else d))))


class _Equations:
    """A(M) = b with every |A_t| = |b| = 1, of rows that span all of the given ones to rounding.

    Other rows add only combinations with A*(w) = 0 up to rounding. `independent`: the rows used; `scale`: factors that
    bring them to |A_t| = 1; `R`: upper triangular, RᵀR = A A*.
    """

    def __init__(self, places: SparseForms, rows: Array, b: Array, noise: float = 0.0) -> None:
        """`rows` (m, p), the coefficients of the equations at the places of the forms `places`, with a relative error
        of `noise`; `b` (m,)."""
        self.lengths = np.where(places.i == places.j, 1.0, np.sqrt(0.5))  # of the entries in the Frobenius norm
        scale = 1.0 / np.linalg.norm(rows * self.lengths, axis=1)
        rows = scale[:, None] * rows
        Q, R, order = qr((rows * self.lengths).T, mode="economic", pivoting=True)
        left = np.abs(np.diagonal(R))
        rank = np.count_nonzero(left > max(CANCELLED * places.n * EPS, noise) * left[0])
        self.independent = order[:rank].astype(np.intp)
        self._Q, self.R, self.scale = Q[:, :rank], R[:rank, :rank], scale[self.independent]
        self.forms = SparseForms.known(places.i, places.j, sp.csr_array(rows[self.independent]), places.n)
        self.b = b[self.independent] * self.scale
        self.size = norm(self.b)
        self.b /= self.size or 1.0

    def matrices(self) -> Array:
        """All A_t (m, n, n)."""
        forms, halves = self.forms, self.forms.B.toarray() * self.lengths**2
        A = np.zeros((forms.size, forms.n, forms.n))
        A[:, forms.i, forms.j] = A[:, forms.j, forms.i] = halves
        return A

    def least(self, off: Array) -> Array:
        """The least X (n, n) with A(X) = off."""
        X = np.zeros((self.forms.n, self.forms.n))
        x = self._Q @ solve_triangular(self.R, off, trans="T")
        X[self.forms.i, self.forms.j] = X[self.forms.j, self.forms.i] = self.lengths * x
        return X

    def nearest(self, M: Array) -> Array:
        """The matrix with A(M') = b nearest to the symmetric M (n, n)."""
        return M + self.least(self.b - self.forms.B @ M[self.forms.i, self.forms.j])

    def definite(self, M: Array) -> bool:
        """Whether M (n, n) with A(M) = b is definite beyond rounding."""
        d = np.sqrt(np.maximum(np.diagonal(M), 0.0))
        lost = CANCELLED * EPS * self.forms.sizes(d)
        return bool(np.linalg.eigvalsh(M)[0] > norm(self.least(lost)) + CANCELLED * EPS * norm(M))


def _multipliers(rows: _Equations) -> Array | None:
    """w near the multipliers of max s <= 1, A(X) + s A(I) = b, X ⪰ 0; None where s > 0 is reached, or no s near 0 is.

    With s = 1 − u, u is one more row and column: min u over A(X) − u A(I) = b − A(I). A bound on tr X ensures that the
    multipliers have an interior; without it the steps end far from the solution.
    """
    forms, b = rows.forms, rows.b
    n, m = forms.n, forms.size
    traces = np.asarray(forms.B @ (forms.i == forms.j).astype(np.float64))
    wider = sp.hstack([forms.B, sp.csr_array((m, n)), sp.csr_array(-traces[:, None])])
    trace = sp.csr_array(np.r_[np.zeros(len(forms.i)), np.ones(n), 0.0][None, :])
    places = sp.csr_array(sp.vstack([wider, trace]))
    i, j = (np.concatenate([each, np.arange(n + 1)]) for each in (forms.i, forms.j))
    extended = SparseForms(i, j, places, n + 1)
    C = sp.csr_array(([1.0], ([n], [n])), shape=(n + 1, n + 1))
    bounds = np.append(b - traces, FAR)
    form = StandardForm(Conic(C, 0.0, extended, Allowed(np.append(b - traces, -np.inf), bounds)))
    w = np.zeros(m)
    for at in path(form, 1.0 - SLIGHT):
        Y, w = form.assembled(at.Lx), form.multipliers(at.v)[:m]
        s = 1.0 - float(Y[-1] @ Y[-1])
        M = rows.nearest(Y[:-1] @ Y[:-1].T + s * np.eye(n))
        if rows.definite(M) or _refuted(rows, w):
            return None
    size = norm(w)
    return w / size if 0.0 < size < np.inf else None


def _refuted(rows: _Equations, w: Array) -> bool:
    """Whether A*(w) ⪰ 0 and wᵀb is clearly negative, which proves that no M is feasible."""
    if not float(rows.b @ w) < -NEGLIGIBLE * norm(w):
        return False
    return bool(np.linalg.eigvalsh(rows.forms.matrix(w).toarray())[0] >= 0.0)


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
    for _ in range(NEWTON_STEPS):
        values, Q = np.linalg.eigh(np.tensordot(w, A, 1))
        off = max(float(np.abs(values[:q]).max()), abs(float(b @ w)))
        if best <= allowed and off >= best:
            break
        if off < best:
            best, nearest, clear = off, w, q < n and bool(values[q] > SEPARATE * values[-1] and values[-1] > SEPARATE)
        V = Q[:, :q]
        conditions = np.vstack([(V.T @ A @ V)[:, i, j].T, b])
        # all right singular vectors, but of many conditions few left ones
        _, sizes, rows = np.linalg.svd(conditions, full_matrices=len(conditions) < len(w))
        sizes = np.concatenate([sizes, np.zeros(len(w) - len(sizes))]) if len(sizes) < len(w) else sizes
        free = rows[sizes <= SEPARATE * sizes[0]] if sizes[-1] <= SEPARATE * sizes[0] else rows[-1:]
        moved = free.T @ (free @ w)
        if not norm(moved) > SLIGHT:  # the step leads to another solution
            return None
        w = moved / norm(moved)
    return nearest if best <= allowed and clear else None
