"""Anderson's acceleration of a fixed-point iteration, from its last few steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

#: A mixed point whose residual exceeds the last one by more than this factor is given up for the plain one.
WORSE = 2.0


@dataclass(frozen=True)
class Anderson:
    """w ↦ w + f(w) accelerated: the next w is the plain one less the mix of its last changes that best explains f.

    With changes ΔF, ΔG of f and of g = w + f over the last `memory` steps it is g − ΔG γ, where γ minimises
    |f − ΔF γ| (type II of Fang, Saad 2009), with a ridge at rounding level. On a linear iteration this is GMRES,
    restarted: a contraction needs the square root of its steps, or so. Where f is a little larger there than twice the
    last one, the plain g is taken after all (Zhang, O'Donoghue, Boyd 2020), and the memory begins anew.

    `changes` : the (Δf, Δg), oldest first, with `gram`, the products of the Δf. `f`, `g` : at the last point, None
    before the first. `size` : |f| there; `mixed` : whether the point that was proposed is not g.

    Cost: 3 `memory` products and sums of arrays of the size of w; 2 `memory` arrays.
    """

    memory: int
    changes: tuple[tuple[Array, Array], ...] = ()
    gram: Array | None = None
    f: Array | None = None
    g: Array | None = None
    size: float = np.inf
    mixed: bool = False

    def next(self, f: Array, g: Array) -> tuple[Anderson, Array]:
        """(the memory with this step, the next w), for f = f(w) and g = w + f at the w proposed before; both flat."""
        size = float(np.linalg.norm(f))
        if self.mixed and not size <= WORSE * self.size:
            assert self.g is not None
            return Anderson(self.memory), self.g
        if self.f is None or self.g is None or self.memory == 0:
            return replace(self, f=f, g=g, size=size, mixed=False), g
        df = f - self.f
        kept = max(len(self.changes) - self.memory + 1, 0)
        changes = (*self.changes[kept:], (df, g - self.g))
        gram = np.zeros((len(changes), len(changes)))
        if self.gram is not None:
            gram[:-1, :-1] = self.gram[kept:, kept:]
        gram[-1] = gram[:, -1] = [float(df @ each) for each, _ in changes]
        ridge = len(f) * EPS * float(np.trace(gram)) + np.finfo(float).tiny
        shares = np.linalg.solve(gram + ridge * np.eye(len(gram)), [float(each @ f) for each, _ in changes])
        w = g.copy()
        for share, (_, dg) in zip(shares, changes, strict=True):
            w -= share * dg
        return replace(self, changes=changes, gram=gram, f=f, g=g, size=size, mixed=True), w
