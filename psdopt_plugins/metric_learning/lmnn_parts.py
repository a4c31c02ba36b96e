"""The large-margin objective on a cluster: targets and triplets in parts, each with the rows it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt import Problem, TermSum
from psdopt.checks import CheckedIndices
from psdopt.linalg import Array, DaskRows, LinearMap, RowBlocks
from psdopt.problems.distributed import OnDask, Summed, touched
from psdopt_plugins.metric_learning.lmnn_problem import across_columns, lmnn_problem

Indices = NDArray[np.integer[Any]]


@contextmanager
def round_problem(
    data: LinearMap, targets: Indices, triplets: Indices, lam: float, weights: Array | None
) -> Iterator[Problem]:
    """:func:`lmnn_problem` of one round; if X is a Dask array and a client is open, a sum of parts on the workers.

    A part has a range of the samples i with their targets and triplets; its worker holds the rows that occur in them.
    The parts are dropped at the end of the round, since the next round has other triplets.
    """
    engine = OnDask.current() if isinstance(data, RowBlocks) and isinstance(data.source, DaskRows) else None
    if engine is None or not isinstance(data, RowBlocks):
        yield part(data, targets, triplets, lam, weights)
        return
    recipes = list(recipes_of(data, targets, triplets, lam, weights, engine))
    try:
        yield Summed(recipes, engine, preconditioner=across_columns)
    finally:
        engine.close()


def recipes_of(
    data: RowBlocks, targets: Indices, triplets: Indices, lam: float, weights: Array | None, engine: OnDask
) -> Iterator[tuple[Any, ...]]:
    """One recipe per worker, with equal numbers of targets and triplets."""
    ends = np.concatenate([targets[:, 0], triplets[:, 0]])
    bounds = np.quantile(ends, np.linspace(0.0, 1.0, engine.workers + 1)[1:-1], method="lower") if len(ends) else []
    home, at = (np.searchsorted(bounds, tuples[:, 0], side="left") for tuples in (targets, triplets))
    for k in range(engine.workers):
        pairs, three = targets[home == k], triplets[at == k]
        if len(pairs) == 0:  # then there is no triplet either, since each belongs to a target (i, j)
            continue
        rows, positions = touched(np.concatenate([pairs.ravel(), three.ravel()])[:, None].astype(np.intp))
        cut = 2 * len(pairs)
        own = positions[:cut, 0].reshape(-1, 2), positions[cut:, 0].reshape(-1, 3)
        yield part, engine.rows(data.source, rows), *own, lam, None if weights is None else weights[rows]


def part(X: Any, targets: Indices, triplets: Indices, lam: float, weights: Array | None) -> TermSum:
    """The terms of these targets and triplets of the rows X (t, d); the library found the triplets, no user."""
    near, three = (CheckedIndices(rows.astype(np.intp), X.shape[0], distinct=True) for rows in (targets, triplets))
    return lmnn_problem(X, near, three, lam, weights)
