"""Sums of the answers of parts, and the tree in which engines add them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from psdopt.problems.distributed.resident import Reply

#: How many sums one node of the tree adds.
BRANCHES = 32
Node = TypeVar("Node")


class Total(NamedTuple):
    """The sum of the answers of some parts: their number, the sum of the results, that of the problems' counts.

    `forgotten` : {number of a part: the key that it lacks} of the parts whose answers are not in the sum; the key is
    None for a part that was lost itself. `result` has no meaning for the sum of no parts.
    """

    parts: int
    result: Any
    counts: Mapping[str, int]
    forgotten: Mapping[int, int | None]

    @classmethod
    def of(cls, k: int, reply: Reply | None) -> Total:
        """The sum of one answer, that of part `k`; None of a part that is not there."""
        if reply is None or reply.forgotten is not None:
            return cls(0, None, {}, {k: None if reply is None else reply.forgotten})
        return cls(1, reply.result, reply.counts, {})

    def plus(self, other: Total) -> Total:
        """The sum of both."""
        if not (self.parts and other.parts):
            result, counts = (self if self.parts else other)[1:3]
        else:
            names = {**self.counts, **other.counts}
            counts = {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names}
            result = plus(self.result, other.result)
        return Total(self.parts + other.parts, result, counts, {**self.forgotten, **other.forgotten})


def plus(a: Any, b: Any) -> Any:
    """The sum of two results: of numbers and arrays, of tuples and lists by their members, None if one of them is."""
    if a is None or b is None:
        return None
    if isinstance(a, (tuple, list)):
        return type(a)(map(plus, a, b))
    if isinstance(a, float):
        return float(a) + float(b)  # inf or nan, not a warning, where a part has overflowed
    return a + b


def added(totals: Iterable[Total]) -> Total:
    """Their sum. Equally many are added to each other, so that rounding grows with the logarithm of their number."""
    sums: list[tuple[int, Total]] = []
    for total in totals:
        number = 1
        while sums and sums[-1][0] == number:
            number, total = 2 * number, sums.pop()[1].plus(total)
        sums.append((number, total))
    result = Total(0, None, {}, {})
    while sums:
        result = sums.pop()[1].plus(result)
    return result


def tree(leaves: Sequence[Node], join: Callable[[Sequence[Node]], Node]) -> Node:
    """The root of the tree over `leaves` whose nodes `join` at most BRANCHES neighbours each."""
    level = list(leaves)
    while len(level) > 1:
        level = [join(level[start : start + BRANCHES]) for start in range(0, len(level), BRANCHES)]
    return level[0]


def size_of(message: Any) -> int:
    """Bytes of the numbers in a message: of arrays, and eight for each other number."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, (tuple, list)):
        return sum(map(size_of, message))
    return 8 if isinstance(message, (int, float)) else 0
