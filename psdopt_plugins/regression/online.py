"""PSD regression on data that come in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, row_dots
from psdopt.problems.streamed import Streamed
from psdopt.streams import ArrayStream, BatchStream, IteratorStream
from psdopt_plugins.regression.problem import checked_pairs, psd_regression_problem

#: Batches of this many samples, so many of them, are set aside where no held-out data are given and X is not in memory.
HELD_OUT_BATCH, HELD_OUT_BATCHES = 32, 32


def psd_regression_stream(
    X: Any,
    y: Any = None,
    pairs: Any = None,
    *,
    held_out: tuple[Any, Any] | None = None,
    d: int | None = None,
    size: int | None = None,
    order: str | None = None,
    seed: int = 0,
) -> Streamed:
    """E ½ (xᵀWx − y)² over a stream of (x, y), for :class:`psdopt.methods.online_gradient.OnlineRiemannianGradient`.

    Parameters
    ----------
    X, y : array, memory-mapped array or sparse array (m, d) with targets (m,); or, with y left out, any iterable of
        batches (rows (p, d), targets (p,)), then `d` is needed and `size`, the samples per epoch, may be given; or
        a :class:`psdopt.streams.BatchStream`.
    pairs : (m, 2) integers: x is the difference of two rows of X, formed batch by batch.
    held_out : (rows, targets) on which the loss is reported. Left out: all of an array in memory, so that F and its
        certificate are those of the batch problem; else the first 32 batches of 32, from an iterator not trained on.
    order, seed : see :class:`psdopt.streams.ArrayStream`.

    Cost per update of p samples: two products with a (p, d) array, O(p d r); memory O(d r) beyond the data.
    """
    if isinstance(X, BatchStream):
        stream: BatchStream = X
    elif isinstance(X, np.ndarray) or sp.issparse(X):
        stream = ArrayStream(X, y, order=order, seed=seed, pairs=None if pairs is None else checked_pairs(pairs))
        if held_out is None and not isinstance(X, np.memmap):
            return Streamed(stream, psd_regression_problem(X, y, pairs), rank_one_gradient)
    else:
        if d is None:
            raise InvalidInputError("d, the number of columns, must be given with an iterator of batches")
        stream = IteratorStream(X, d, size)
    if held_out is None:
        held_out = _first(stream)
    return Streamed(stream, psd_regression_problem(*held_out), rank_one_gradient)


def rank_one_gradient(rows: Any, targets: Array, Y: Array) -> tuple[Array, float]:
    """S Y and F for F = 1/(2p) Σ (xᵀY Yᵀx − y)² over the rows (p, d). Two products, O(p d r)."""
    Z = rows @ Y
    residual = row_dots(Z, Z)
    residual -= targets
    Z *= residual[:, None] / len(targets)
    return rows.T @ Z, 0.5 * float(residual @ residual) / len(targets)


def _first(stream: BatchStream) -> tuple[Any, Array]:
    if isinstance(stream, IteratorStream):
        batches = stream.take(HELD_OUT_BATCH, 0, HELD_OUT_BATCHES)
    else:
        batches = stream.sample(HELD_OUT_BATCHES, HELD_OUT_BATCH)
    if not batches:
        raise InvalidInputError("the stream holds no batch")
    rows = [rows for rows, _ in batches]
    stacked = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return stacked, np.concatenate([targets for _, targets in batches])
