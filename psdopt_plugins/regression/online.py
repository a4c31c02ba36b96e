"""PSD regression on data that come in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import (
    ArrayStream,
    Batch,
    BatchStream,
    IteratorStream,
    Streamed,
)
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, row_dots
from psdopt_plugins.online import BATCH, BatchLoss, Curvature
from psdopt_plugins.pairs import checked_pairs
from psdopt_plugins.regression.problem import checked_directions, psd_regression_problem


def psd_regression_stream(
    X: Any,
    y: Any = None,
    pairs: Any = None,
    direction: Any = None,
    *,
    held_out: tuple[Any, ...] | None = None,
    d: int | None = None,
    size: int | None = None,
    order: str | None = None,
    seed: int = 0,
) -> Streamed:
    """E ½ (xᵀWx − y)² over a stream of (x, y), for :class:`psdopt.methods.online_gradient.OnlineRiemannianGradient`.

    Parameters
    ----------
    X, y : array, memory-mapped array or sparse array (m, d) with targets (m,); or, with y left out, any iterable of
        batches (rows (p, d), targets (p,)) or (rows, targets, directions (p,)), then `d` is needed and `size`, the
        samples per epoch, may be given; or a :class:`psdopt.data.streams.BatchStream`.
    pairs : (m, 2) integers: x is the difference of two rows of X, formed batch by batch.
    direction : None, or (m,) of −1, 0, +1, with the meaning it has in :func:`psd_regression_problem`.
    held_out : (rows, targets) or (rows, targets, directions) on which the loss is reported. None: all rows of an array
        in memory, so that F and its certificate are those of the batch problem; else the first 32 batches of 32, which
        an iterator then does not train on.
    order, seed : see :class:`psdopt.data.streams.ArrayStream`.

    Cost per update of p samples: two products with a (p, d) array, O(p d r); memory O(d r) beyond the data.
    """
    if isinstance(X, BatchStream):
        stream: BatchStream = X
    elif isinstance(X, np.ndarray) or sp.issparse(X):
        ends = None if pairs is None else checked_pairs(pairs, empty=False)
        rows: Any = X
        m = rows.shape[0] if ends is None else len(ends)
        signs = None if direction is None else checked_directions(direction, m)
        stream = ArrayStream(X, y, order=order, seed=seed, pairs=ends, direction=signs)
        if held_out is None and not isinstance(X, np.memmap):
            return Streamed(stream, psd_regression_problem(X, y, pairs, direction), rank_one_gradient)
    else:
        if d is None:
            raise InvalidInputError("d, the number of columns, must be given with an iterator of batches")
        stream = IteratorStream(X, d, size)
    known = _first(stream) if held_out is None else (*held_out, None)
    return Streamed(stream, psd_regression_problem(known[0], known[1], None, known[2]), rank_one_gradient)


def rank_one_gradient(batch: Batch, Y: Array) -> tuple[Array, float]:
    """S Y and F for F = 1/(2p) Σ (xᵀY Yᵀx − y)², one-sided where a direction says so. Two products, O(p d r)."""
    rows, targets, direction = batch
    Z = rows @ Y
    value, slopes, _ = half_squares(targets, direction)(slice(None), row_dots(Z, Z))
    Z *= slopes[:, None] / len(targets)
    return rows.T @ Z, value / len(targets)


def half_squares(targets: Array, direction: Array | None) -> BatchLoss:
    """½ Σ_t (a_t − y_t)² of squared lengths a, one-sided where a direction says so."""

    def all_count(along: Array, V: Array) -> float:
        return float(along.dot(along))

    def loss(part: slice, a: Array) -> tuple[float, Array, Curvature]:
        residual = a - targets[part]
        if direction is None:
            return 0.5 * float(residual.dot(residual)), residual, all_count
        residual[direction[part] * residual < 0.0] = 0.0
        value, active = 0.5 * float(residual.dot(residual)), residual != 0.0
        return value, residual, lambda along, V: float((active * along).dot(along))

    return loss


def _first(stream: BatchStream) -> tuple[Any, Array, Array | None]:
    """Batches set aside from an iterator, or the first ones of a stream that can be read again."""
    if isinstance(stream, IteratorStream):
        batches = list(stream.take(BATCH, 0, BATCH))
    else:
        batches = list(stream.sample(BATCH, BATCH))
    if not batches:
        raise InvalidInputError("the stream holds no batch")
    rows = [batch.rows for batch in batches]
    stacked = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    targets = np.concatenate([batch.targets for batch in batches])
    if all(batch.direction is None for batch in batches):
        return stacked, targets, None
    signs = [np.zeros(len(b.targets)) if b.direction is None else b.direction for b in batches]
    return stacked, targets, np.concatenate(signs)
