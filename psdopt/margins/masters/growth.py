"""From one master to the next: columns join, columns without weight are dropped or aggregated."""

from __future__ import annotations

import math

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.margins.masters.bundle import Bundle

#: Directions of T below this fraction of its largest eigenvalue are dropped.
NEGLIGIBLE = 1e-7


def grown(bundle: Bundle, T: Array, new: Array, limit: int) -> tuple[Bundle, Array, bool]:
    """The next bundle of at most `limit` columns, T in it (new columns: zero), and whether any column is new.

    The columns become the leading eigenvectors of T; what lies below NEGLIGIBLE is dropped, what exceeds the limit
    is aggregated.
    """
    values, W = np.linalg.eigh(bundle.block(T))
    values = np.maximum(values, 0.0)
    room = max(limit - new.shape[1], 1)
    matters = values > NEGLIGIBLE * values[-1]
    kept = matters & (np.arange(len(values)) >= len(values) - room)
    fresh = _outside(bundle.columns @ W[:, kept], new)
    if fresh.shape[1] == 0 and bundle.width <= limit:
        kept = matters = np.ones(len(values), dtype=bool)  # dropping would undo the last round
    weights = np.where(matters, values, 0.0)
    smaller, T = bundle.reduced(T, W, weights, kept, aggregate=not np.all(kept[matters]))
    return smaller.append(fresh), np.pad(T, (0, fresh.shape[1])), fresh.shape[1] > 0


def _outside(V: Array, new: Array) -> Array:
    """Orthonormal columns spanning what `new` adds to the span of the orthonormal V."""
    for _ in range(2):
        new = new - V @ (V.T @ new)
    U, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.asarray(U[:, s > math.sqrt(EPS)][:, : max(V.shape[0] - V.shape[1], 0)])
