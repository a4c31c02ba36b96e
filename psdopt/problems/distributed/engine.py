"""The interface of engines, which keep the parts of a sum with their data and send requests to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from psdopt.problems.distributed.resident import About, Part, Reply, Resident
from psdopt.problems.distributed.totals import Total, added

#: How often a request is repeated if its part was lost with its worker.
TRIES = 5
#: A request: (number of the part, method of its Resident, arguments, keys that the part may drop first).
Request = tuple[int, str, Sequence[Any], Sequence[int]]
#: The same request to several parts: (their numbers, method, arguments, keys that they may drop first).
Question = tuple[Sequence[int], str, Sequence[Any], Sequence[int]]


class Engine(ABC):
    """Keeps one :class:`~psdopt.problems.distributed.resident.Resident` per part and sends requests to them.

    `sent`, `received` : bytes of numbers that this process has sent to the workers, and received; 0 if parts are here.
    `rounds` : of requests, as counted by the sums that ask.
    """

    sent, received, rounds = 0, 0, 0

    @abstractmethod
    def place(self, parts: Sequence[Part]) -> None:
        """Make the parts on their workers. Called once, by :class:`~psdopt.problems.distributed.Summed`."""

    def about(self, count: int) -> Sequence[About]:
        """What each of the `count` parts says of itself: one round."""
        self.rounds += 1
        return [reply.result for reply in self.ask([(k, "about", (), ()) for k in range(count)])]

    @abstractmethod
    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        """Answers to (part, method, arguments, dropped keys), in one round: all requests run at the same time.

        A part that was lost is rebuilt from its recipe and answers with `forgotten`.
        """

    def total(self, question: Question) -> Total:
        """The sum of the answers of the parts of the `question`, in one round.

        Parts that lack what they were asked for, or were lost, are named instead of added. Default: the answers of
        :meth:`ask`, added here.
        """
        parts, name, arguments, dropped = question
        answers = self.ask([(k, name, arguments, dropped) for k in parts])
        return added(map(Total.of, parts, answers))


class Here(Engine):
    """All parts in this process, one after the other: for parts that each read their own rows from disk."""

    def place(self, parts: Sequence[Part]) -> None:
        self._residents = [Resident(part) for part in parts]

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        return [self._residents[k].answer(name, arguments, dropped) for k, name, arguments, dropped in questions]

    def total(self, question: Question) -> Total:
        parts, name, arguments, dropped = question  # one answer is in memory at a time
        return added(Total.of(k, *self.ask([(k, name, arguments, dropped)])) for k in parts)
