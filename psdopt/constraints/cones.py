"""Which values of a measurement lie in second-order cones: projections, multipliers, distances, cone by cone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import rounding

Indices = NDArray[np.intp]


class Cones:
    """a − b in Q for each cone Q = {w : w_0 >= |w_1|} of some of the values a (m,); w_1 are all entries but the first.

    The cone is its own dual: sup ⟨y, a⟩ over these a is ⟨y, b⟩ where −y is in the cones, and infinite elsewhere.

    Attributes: `groups`, arrays (K, d) of positions in a, those of K cones of one dimension d; `offset` b (m,), zero
    beside the cones; `member`, `later` (m,), which values are in a cone, and which of them are not its first.
    """

    def __init__(self, size: int, groups: Sequence[Indices], offset: Array) -> None:
        self.size, self.groups, self.offset = size, tuple(groups), offset
        self.member, self.later = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        for rows in self.groups:
            self.member[rows] = self.later[rows[:, 1:]] = True

    @classmethod
    def of(cls, sizes: Sequence[int], offset: Array) -> Cones:
        """Cones of these sizes one after the other."""
        ends = np.cumsum([0, *sizes])
        starts = {d: ends[:-1][np.asarray(sizes) == d] for d in sorted(set(sizes))}
        groups = [np.asarray(first[:, None] + np.arange(d), dtype=np.intp) for d, first in starts.items()]
        return cls(int(ends[-1]), groups, offset)

    @classmethod
    def joined(cls, parts: Sequence[tuple[int, Cones | None]]) -> Cones | None:
        """The cones of values one after the other, (their number, their cones); None if there are none."""
        found: dict[int, list[Indices]] = {}
        first = 0
        for size, cones in parts:
            for rows in () if cones is None else cones.groups:
                found.setdefault(rows.shape[1], []).append(rows + first)
            first += size
        if not found:
            return None
        offset = np.concatenate([np.zeros(size) if cones is None else cones.offset for size, cones in parts])
        return cls(first, [np.concatenate(found[d]) for d in sorted(found)], offset)

    def at_zero(self) -> Cones:
        """The same cones with b = 0: where A(D) of a direction D has to be."""
        return Cones(self.size, self.groups, np.zeros(self.size))

    def nearest(self, a: Array) -> Array:
        """Π(a) (m,) in the cones, and a elsewhere."""
        found = a.astype(np.float64)
        for rows in self.groups:
            b = self.offset[rows]
            found[rows] = b + onto_cones(a[rows] - b)
        return found

    def violation(self, a: Array, beside: Array) -> Array:
        """a − Π(a) (m,) in the cones, by Moreau's decomposition −Π of b − a, and the values `beside` elsewhere."""
        found = beside.astype(np.float64)
        for rows in self.groups:
            found[rows] = -onto_cones(self.offset[rows] - a[rows])
        return found

    def admissible(self, y: Array) -> Array:
        """y with the first multiplier of each cone lowered until −y is in the cone beyond rounding."""
        found = y.astype(np.float64)
        for rows in self.groups:
            length = np.linalg.norm(y[rows[:, 1:]], axis=1)
            found[rows[:, 0]] = np.minimum(y[rows[:, 0]], -length * (1.0 + rounding(1.0, rows.shape[1])))
        return found

    def lengths(self, v: Array) -> Array:
        """|v_k| of the part of v (m,) in each cone, at all of its positions; |v_t| elsewhere."""
        found = np.abs(v)
        for rows in self.groups:
            found[rows] = np.linalg.norm(v[rows], axis=1)[:, None]
        return found

    def largest(self, v: Array) -> Array:
        """The largest entry of v (m,) in each cone, at all of its positions; v_t elsewhere."""
        found = v.copy()
        for rows in self.groups:
            found[rows] = np.max(v[rows], axis=1)[:, None]
        return found


def onto_cones(w: Array) -> Array:
    """The nearest vectors with w_0 >= |w_1| for vectors w (K, d)."""
    length = np.linalg.norm(w[:, 1:], axis=1)
    above, below = np.maximum(w[:, 0] + length, 0.0), np.maximum(w[:, 0] - length, 0.0)
    turned = w[:, 1:] / np.where(length > 0.0, length, 1.0)[:, None]
    found = 0.5 * np.concatenate([(above + below)[:, None], (above - below)[:, None] * turned], axis=1)
    return np.where((w[:, 0] >= length)[:, None], w, found)


def moved_onto_cones(w: Array, d: Array) -> Array:
    """The derivative of :func:`onto_cones` at w (K, d) along directions d (K, d); on a boundary that of one side."""
    length = np.linalg.norm(w[:, 1:], axis=1)
    inside, opposite = w[:, 0] >= length, w[:, 0] <= -length
    safe = np.where(length > 0.0, length, 1.0)
    turned, share = w[:, 1:] / safe[:, None], w[:, 0] / safe
    along = np.einsum("kd,kd->k", turned, d[:, 1:])
    first = 0.5 * (d[:, 0] + along)
    rest = 0.5 * ((d[:, 0] - share * along)[:, None] * turned + (1.0 + share)[:, None] * d[:, 1:])
    between = np.concatenate([first[:, None], rest], axis=1)
    return np.where(inside[:, None], d, np.where(opposite[:, None], 0.0, between))
