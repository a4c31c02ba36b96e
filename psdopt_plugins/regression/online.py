"""PSD regression on data that come in batches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psdopt import (
    ArrayStream,
    Batch,
    BatchStream,
    Geometry,
    IteratorStream,
    LowRankPSD,
    OnlineRiemannianGradient,
    Pace,
    Streamed,
    starting_point,
)
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, row_dots
from psdopt_plugins.limits import MOST_STEPS
from psdopt_plugins.pairs import checked_pairs
from psdopt_plugins.regression.problem import checked_directions, psd_regression_problem

#: Samples of a batch; as many batches are set aside if no held-out data are given and X is not in memory.
BATCH = 32


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
    residual = row_dots(Z, Z)
    residual -= targets
    if direction is not None:
        residual[direction * residual < 0.0] = 0.0
    Z *= residual[:, None] / len(targets)
    return rows.T @ Z, 0.5 * float(residual @ residual) / len(targets)


def careful_updates(
    problem: Streamed, geometry: Geometry, point: Any, batches: Iterable[Batch], pace: Pace, samples: int
) -> tuple[Any, float, int]:
    """x⁺ = R(x, −s g) for each batch, g the gradient of its loss: s is the step of the pace, halved until it is safe.

    A step is safe if it satisfies Armijo's condition F(x⁺) <= F(x) − s |g|²/2 on the batch itself. On a quadratic this
    holds exactly up to the minimiser along the line, so that the curvature of the batch limits the step. If no step
    lowers the loss, the batch is left out.

    Returns the point, the sum of the losses of all samples before their update, and the number of samples seen, those
    of `samples` included. Cost of a batch of p rows: two products O(p d r), and two for each halving.
    """
    total = 0.0
    for batch in batches:
        SY, loss = problem.batch_gradient(batch, geometry.factor(point))
        count = len(batch.targets)
        total, samples = total + loss * count, samples + count
        g = geometry.gradient(point, _KnownProduct(SY))
        length = geometry.norm(point, g)
        if not (math.isfinite(loss) and math.isfinite(length)):
            raise FloatingPointError("the loss of a batch or its gradient is not finite")
        step = pace.step(samples - count) * (pace.longest / length if length > pace.longest else 1.0)
        for _ in range(MOST_STEPS if length > 0.0 else 0):
            there = geometry.retract(point, -step * g)
            if problem.batch_gradient(batch, geometry.factor(there))[1] <= loss - 0.5 * step * length**2:
                point = there
                break
            step *= 0.5
    return point, total, samples


class _KnownProduct:
    """S for geometries, which use only the product S Y."""

    def __init__(self, product: Array) -> None:
        self.product = product

    def __matmul__(self, Y: Array) -> Array:
        return self.product


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


@dataclass
class OnlineModel:
    """A point of a geometry, the pace of its steps, and the number of samples that were learned from.

    Memory O(n r): no sample is kept.
    """

    geometry: Geometry
    point: Any
    pace: Pace
    samples: int

    @classmethod
    def begun(
        cls,
        problem: Streamed,
        geometry: Geometry,
        start: LowRankPSD | None,
        batch_size: int,
        rng: np.random.Generator,
        samples: int = 0,
    ) -> Self:
        """A model at `start`, or at a random point: step and annealing are chosen on the samples of `problem`."""
        point = starting_point(geometry, problem, start, rng)
        state = OnlineRiemannianGradient(batch_size).init(problem, geometry, point)
        return cls(geometry, state.point, state.pace, samples)

    @property
    def factor(self) -> Array:
        """Y (n, r)."""
        return self.geometry.factor(self.point)

    def learn(self, problem: Streamed, count: int, batch_size: int) -> float:
        """One safe update per `batch_size` of the `count` samples of `problem`, in their order.

        Returns their mean loss, each before it was learned from. Warns (ConvergenceWarning) where they end with more
        than twice the loss that they had at the beginning of the call.
        """
        before = problem.at(self.factor).value
        batches = problem.stream.take(batch_size, 0, -(-count // batch_size))
        self.point, loss, self.samples = careful_updates(
            problem, self.geometry, self.point, batches, self.pace, self.samples
        )
        after = problem.at(self.factor).value
        if after > 2.0 * before:
            text = f"partial_fit raised the mean loss of its rows from {before:.3g} to {after:.3g}"
            warnings.warn(f"{text}: the batches contradict each other; raise batch_size", ConvergenceWarning, 3)
        return loss / count
