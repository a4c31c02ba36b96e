"""A problem whose data come in batches: F is known on held-out data, its gradient batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psdopt.capability import Ability
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.problem import Evaluation, Problem
from psdopt.streams import Batch, BatchStream

#: (batch, Y) ↦ (S_b Y, F_b): gradient of the batch's own objective F_b at Y Yᵀ, applied to Y, and its value.
BatchGradient = Callable[[Batch, Array], tuple[Array, float]]


class Streamed(Problem):
    """The expected loss over a stream, seen through batches; ``at(Y)`` is `held_out` at Y.

    Parameters
    ----------
    stream : where the batches come from. held_out : the problem whose value is reported, of the same order.
    gradient : the batch gradient. Memory: that of `held_out`, one batch, and a few (n, r) arrays.
    """

    def __init__(self, stream: BatchStream, held_out: Problem, gradient: BatchGradient) -> None:
        if stream.d != held_out.n:
            raise InvalidInputError(f"held_out must be of order {stream.d} like the stream; found {held_out.n}")
        self.stream, self.held_out, self.gradient = stream, held_out, gradient
        self.n = held_out.n
        self.maps, self.rows = getattr(held_out, "maps", ()), held_out.rows
        self.abilities = held_out.abilities | {Ability.STREAM}
        self.samples = 0

    def at(self, Y: Array) -> Evaluation:
        return self.held_out.at(Y)

    def batch_gradient(self, batch: Batch, Y: Array) -> tuple[Array, float]:
        """(S_b Y, F_b) of one batch, counted."""
        self.samples += len(batch.targets)
        return self.gradient(batch, Y)

    def counts(self) -> Mapping[str, int]:
        """Those of the held-out problem, and `samples` seen in batches."""
        return {**self.held_out.counts(), "samples": self.samples}
