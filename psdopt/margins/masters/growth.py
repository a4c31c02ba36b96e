"""From one master to the next: columns join, columns without weight are dropped or aggregated."""

from __future__ import annotations

import math

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.margins.masters.bundle import Bundle
from psdopt.margins.structure import MarginStructure
from psdopt.problem import Problem

#: Directions of T below this fraction of its largest eigenvalue are dropped.
NEGLIGIBLE = 1e-7
#: A full linear program is cut down to this share of its width. Each cut costs its warm start, so cuts must be rare.
SHARE = 0.75


def grown_block(bundle: Bundle, T: Array, new: Array, limit: int) -> tuple[Bundle, Array, bool]:
    """The next bundle of at most `limit` columns, T in it (new columns: zero), and whether any column is new.

    The columns become the leading eigenvectors of T; what lies below NEGLIGIBLE is dropped, what exceeds the limit
    is aggregated.
    """
    first = bundle.order - bundle.width
    values, W = np.linalg.eigh(T[first:, first:])
    values = np.maximum(values, 0.0)
    room = max(limit - new.shape[1], 1)
    matters = values > NEGLIGIBLE * values[-1]
    kept = matters & (np.arange(len(values)) >= len(values) - room)
    fresh = _outside(bundle.columns @ W[:, kept], new)
    if fresh.shape[1] == 0 and bundle.width <= limit:
        kept = matters = np.ones(len(values), dtype=bool)  # dropping would undo the last round
    weights = np.where(matters, values, 0.0)
    smaller, T = bundle.reduced(T, W, weights, kept, aggregate=not np.all(kept[matters]))
    return smaller.append(fresh), _padded(T, fresh.shape[1]), fresh.shape[1] > 0


def grown_linear(
    bundle: Bundle,
    squares: tuple[Array, ...],
    T: Array,
    new: Array,
    limit: int,
    problem: Problem,
    margins: MarginStructure,
) -> tuple[Bundle, Array, tuple[Array, ...]]:
    """The next bundle, T (diagonal), and the margins (m,) of the aggregate, if there is one, and of the columns.

    Beyond `limit` columns those of least weight leave, the oldest first where weights are equal.
    """
    if bundle.width + new.shape[1] > limit:
        first = bundle.order - bundle.width
        theta = np.diag(T)[first:]
        order = np.lexsort((np.arange(len(theta)), theta))[::-1]
        kept = np.zeros(len(theta), dtype=bool)
        kept[order[: max(math.floor(SHARE * limit) - new.shape[1], 1)]] = True
        bundle, T = bundle.reduced(T, np.eye(len(theta)), theta, kept, aggregate=True)
        left = tuple(a for a, keep in zip(squares[first:], kept, strict=True) if keep)
        squares = (*squares_of(margins, bundle)[: bundle.order - bundle.width], *left)
    squares = (*squares, *squares_of(margins, Bundle(problem.at(new))))
    return bundle.append(new), _padded(T, new.shape[1]), squares


def squares_of(margins: MarginStructure, bundle: Bundle) -> tuple[Array, ...]:
    """(⟨A_r, M̄⟩)_r of the aggregate, if there is one, then (v_iᵀA_rv_i)_r for every column v_i."""
    return tuple(np.ascontiguousarray(a) for a in bundle.squares(margins).squares().T)


def _padded(T: Array, count: int) -> Array:
    return np.pad(T, (0, count))


def _outside(V: Array, new: Array) -> Array:
    """Orthonormal columns spanning what `new` adds to the span of the orthonormal V."""
    for _ in range(2):
        new = new - V @ (V.T @ new)
    U, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.asarray(U[:, s > math.sqrt(EPS)][:, : max(V.shape[0] - V.shape[1], 0)])
