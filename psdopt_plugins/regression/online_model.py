"""A factor that learns from batch after batch, and what is kept of it between two calls."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from psdopt import Geometry, LowRankPSD, OnlineRiemannianGradient, Pace, Streamed, starting_point
from psdopt.linalg import Array
from psdopt_plugins.regression.online import careful_updates


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
