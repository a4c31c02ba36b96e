"""A problem whose data come in batches: F is known on held-out data, its gradient batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from psdopt.contracts.abilities import MEMBERS, Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.data.streams import Batch, BatchStream, Stream
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.linalg.arrays import Array

#: (batch, Y) ↦ (S_b Y, F_b): gradient of the batch's own objective F_b at Y Yᵀ, applied to Y, and its value.
BatchGradient = Callable[[Batch, Array], tuple[Array, float]]


class OffersStream(Protocol):
    """A problem with the ability ``stream``: these members besides those of a :class:`~psdopt.Problem`."""

    @property
    def stream(self) -> Stream:
        """Where the batches come from."""

    def batch_gradient(self, batch: Any, Y: Array) -> tuple[Array, float]:
        """(S_b Y, F_b): the gradient of the batch's own objective F_b at Y Yᵀ, applied to Y (n, r), and its value."""

    def at(self, Y: Array) -> Evaluation:
        """F at Y Yᵀ as it is reported, for example on held-out data."""


def streamed(problem: Any) -> OffersStream:
    """`problem`, if it offers a stream; IncompatibleError if a member is missing."""
    missing = [name for name in MEMBERS[Ability.STREAM] if getattr(problem, name, None) is None]
    if missing:
        raise IncompatibleError(
            f"{type(problem).__name__} offers no stream; a problem with the ability 'stream' needs the members stream "
            f"and batch_gradient of psdopt.OffersStream, and {' and '.join(missing)} is not there"
        )
    found: OffersStream = problem
    return found


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
        self.device = held_out.device
        self.maps, self.rows = held_out.maps, held_out.rows
        # other attributes are those of the held-out problem
        self.abilities = (held_out.abilities - set(MEMBERS)) | {Ability.STREAM}
        self.samples = 0

    def at(self, Y: Array) -> Evaluation:
        return self.held_out.at(Y)

    def batch_gradient(self, batch: Batch, Y: Array) -> tuple[Array, float]:
        """(S_b Y, F_b) of one batch, counted."""
        self.samples += len(batch.targets)
        return self.gradient(batch, Y)

    def counts(self) -> Mapping[str, int]:
        """The counts of the held-out problem, and `samples` seen in batches."""
        return {**self.held_out.counts(), "samples": self.samples}
