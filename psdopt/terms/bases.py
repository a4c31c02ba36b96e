"""Bases of what is measured, in which the system of its multipliers is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psdopt.images import Images
from psdopt.linalg.arrays import Array
from psdopt.terms.entry_coupling import distance_blocks

if TYPE_CHECKING:
    from psdopt.terms.measurements import Entries, Measurement

#: A ridge of a diagonal entry that is so many times that of another entry drowns what that one adds to a distance.
DROWNING = 100.0


class Basis:
    """B_s = Σ_t T_st A_t, s = 1..m, T regular: here T = I.

    For K = [tr(A_s P A_t Q)] + Diag(ridge) the matrix T K Tᵀ may be cheaper than K, and K v = q is solved by
    v = :meth:`weights` ((T K Tᵀ)⁻¹ :meth:`values` (q)).
    """

    def __init__(self, measurement: Measurement, ridge: Array) -> None:
        self.measurement, self.size = measurement, measurement.size
        self.places, self.ridge = np.arange(0, self.size**2, self.size + 1), ridge

    def system(self, P: Array, Q: Array, identity: Images, out: Array) -> Array:
        """T K Tᵀ in `out` or another array (m, m), for symmetric P, Q (n, n): what is below its diagonal is not it."""
        K = self._coupling(P, Q, identity, out)
        K.reshape(-1)[self.places] += self.ridge
        return K

    def _coupling(self, P: Array, Q: Array, identity: Images, out: Array) -> Array:
        return self.measurement.coupling(P, Q, identity, out)

    def values(self, a: Array) -> Array:
        """T a: ⟨B_s, M⟩ (m,) from ⟨A_t, M⟩ (m,)."""
        return a

    def weights(self, v: Array) -> Array:
        """Tᵀ v: Σ_s v_s B_s as weights (m,) of the A_t."""
        return v


class DistanceBasis(Basis):
    """Diagonal entries e_k e_kᵀ, all of them, then (e_i − e_j)(e_i − e_j)ᵀ in the place of entries (i, j).

    As M_ii + M_jj − 2 M_ij is the squared distance of i and j, these span what the entries do. Being of rank one they
    couple by one product of numbers where entries take four: with X = [I; E], E the rows e_i − e_j,
    [tr(B_s P B_t Q)] = (X P Xᵀ) ∘ (X Q Xᵀ).
    """

    def __init__(self, entries: Entries, ridge: Array) -> None:
        n, m = entries.n, entries.size
        own = entries.i == entries.j
        self.size, self.n, self._order = m, n, None
        i, j = entries.i, entries.j
        if not np.array_equal(i[own[:n].nonzero()], np.arange(n)):
            self._order = np.lexsort((np.where(own, i, 0), ~own))
            i, j, ridge = i[self._order], j[self._order], ridge[self._order]
        self.i, self.j = i[n:], j[n:]
        self._ends, self._signs = np.concatenate([self.i, self.j]), np.where(np.arange(m) < n, 1.0, -2.0)
        self.places, self.ridge = self._ridge(ridge)

    @staticmethod
    def of(entries: Entries, ridge: Array) -> DistanceBasis | None:
        """This basis, or None where a diagonal entry is missing, no other is there, or the ridge would drown digits."""
        own = entries.i == entries.j
        once = np.bincount(entries.i[own], minlength=entries.n) == 1
        if own.all() or not once.all() or float(ridge[own].max()) > DROWNING * float(ridge[~own].min()):
            return None
        return DistanceBasis(entries, ridge)

    def _ridge(self, ridge: Array) -> tuple[NDArray[np.intp], Array]:
        """T Diag(ridge) Tᵀ: places in a flat (m, m) array, below the diagonal not all of them, and numbers."""
        n, p = self.n, len(self.i)
        one, number = ridge[:n], np.arange(p)
        ends = np.zeros((n, p))
        ends[self.i, number], ends[self.j, number] = one[self.i], one[self.j]
        shared = ends.take(self.i, axis=0)
        shared += ends.take(self.j, axis=0)
        shared.reshape(-1)[:: p + 1] += 4.0 * ridge[n:]
        s, t = np.divmod(np.flatnonzero(shared != 0.0), p)  # four times as fast as looking for both at once
        rows = np.concatenate([np.arange(n), self._ends, n + s])
        columns = np.concatenate([np.arange(n), n + number, n + number, n + t])
        return rows * self.size + columns, np.concatenate([one, one[self._ends], shared[s, t]])

    def _coupling(self, P: Array, Q: Array, identity: Images, out: Array) -> Array:
        n = self.n
        np.multiply(P, Q, out=out[:n, :n])
        for here, sides, pairs in distance_blocks(P, Q, self.i, self.j):
            columns = slice(n + here.start, n + here.stop)
            np.multiply(*sides, out=out[:n, columns])
            np.multiply(*pairs, out=out[n : n + here.stop, columns])
        return out

    def values(self, a: Array) -> Array:
        a = a if self._order is None else a.take(self._order)
        b = a * self._signs
        b[self.n :] += a.take(self.i)
        b[self.n :] += a.take(self.j)
        return b

    def weights(self, v: Array) -> Array:
        w = v * self._signs
        between = v[self.n :]
        w[: self.n] += np.bincount(self._ends, np.concatenate([between, between]), self.n)
        if self._order is None:
            return w
        back = np.empty_like(w)
        back[self._order] = w
        return back
