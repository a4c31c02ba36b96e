"""Large margins on triplets that come in batches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import ArrayStream, Batch, Streamed
from psdopt.linalg import Array, LinearMap, row_dots
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.pairs import checked_triplets


def triplet_stream(X: Any, triplets: Any, lam: float) -> Streamed:
    """E d_M(i, j) + lam max(0, 1 + d_M(i, j) − d_M(i, k))² over a stream of triplets (i, j, k) of samples X (m, d).

    The reported value is the sum over the given triplets, not the mean. Differences of samples (q, 2 d) are formed.
    """
    d = X.shape[1]
    rows = checked_triplets(triplets, X.shape[0])
    i, j, k = rows.array.T
    sparse: bool = sp.issparse(X)
    stack = partial(sp.hstack, format="csr") if sparse else np.hstack
    stream = ArrayStream(stack([X[i] - X[j], X[i] - X[k]]), np.zeros(len(i)), order="given")
    stream.d = d  # the order of M; a row holds two differences
    problem = lmnn_problem(LinearMap(X, "X", owned=True), rows[:, :2], rows, lam)
    return Streamed(stream, problem, partial(_gradient, d, lam))


def _gradient(d: int, lam: float, batch: Batch, Y: Array) -> tuple[Array, float]:
    """S Y and F of a batch of p triplets; four products, O(p d r)."""
    near_rows, far_rows = batch.rows[:, :d], batch.rows[:, d:]
    near_image, far_image = near_rows @ Y, far_rows @ Y
    near = row_dots(near_image, near_image)
    lacking = np.maximum(0.0, 1.0 + near - row_dots(far_image, far_image))
    count = len(near)
    near_image *= ((1.0 + 2.0 * lam * lacking) / count)[:, None]
    far_image *= (2.0 * lam * lacking / count)[:, None]
    value = float(near.mean()) + lam * float(lacking @ lacking) / count
    return near_rows.T @ near_image - far_rows.T @ far_image, value
