"""Problems with a way to split their data: what :class:`psdopt.problems.distributed.Summed` is tested on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psdopt.checks import integer
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError
from psdopt.problems.distributed import Engine, Here, Summed
from psdopt.problems.distributed.resident import Part

Items = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """F = Σ_k F_k + local, to be held against the unsplit F in value, gradient, line, plane, Hessian, certificate.

        def part(items):  # F_k of the pairs with these numbers
            rows, positions = touched(pairs[items])
            return make, X[rows], positions, len(pairs)

        run_checks(Split(whole, part, len(pairs), local=regulariser))

    The kit draws the partitions, empty parts and parts of one item included; ``psdopt.testing.strategies.partitions``
    draws them for hypothesis.

    Parameters
    ----------
    whole : the unsplit problem, in memory.
    part : items (k,) -> what :class:`psdopt.problems.distributed.Summed` takes as a part. `items` are sorted numbers
        below `count`.
    count : number of items, at least 1: rows, pairs, triplets.
    local : what is added once, or None.
    engine : () -> a new engine, called once per partition.
    partitions : the partitions to try; None draws three from the seed of the sample. Each is a sequence of arrays of
        items in which every number below `count` occurs once.

    Raises InvalidInputError for a partition that leaves items out or has them twice.
    """

    whole: Problem
    part: Callable[[Items], Part]
    count: int
    local: Problem | None = None
    engine: Callable[[], Engine] = Here
    partitions: Sequence[Sequence[Items]] | None = None

    def __post_init__(self) -> None:
        integer(self.count, "count")
        for partition in self.partitions or ():
            items = np.concatenate([np.asarray(part, dtype=np.intp) for part in partition])
            if not np.array_equal(np.sort(items), np.arange(self.count)):
                raise InvalidInputError(
                    f"partitions must have every item from 0 to {self.count - 1} once; found {len(items)} items, "
                    f"{len(np.unique(items))} of them different"
                )

    def __repr__(self) -> str:
        return f"Split({type(self.whole).__name__}, {self.count} items)"

    def summed(self, partition: Sequence[Items]) -> Problem:
        """Σ_k F_k + local over this partition."""
        return Summed([self.part(np.sort(items)) for items in partition], self.engine(), self.local)

    def drawn(self, rng: np.random.Generator) -> list[list[Items]]:
        """The partitions to try: those given; else one part of all, an empty, a single and the rest, five at random."""
        if self.partitions is not None:
            return [list(partition) for partition in self.partitions]
        order = rng.permutation(self.count)
        home = rng.integers(5, size=self.count)
        return [
            [np.arange(self.count)],
            [order[:0], order[:1], order[1:]],
            [np.flatnonzero(home == k) for k in range(5)],
        ]
