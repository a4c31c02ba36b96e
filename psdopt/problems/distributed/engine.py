"""The interface of engines, which keep the parts of a sum with their data and send requests to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from psdopt.problems.distributed.resident import Part, Reply, Resident

#: How often a request is repeated if its part was lost with its worker.
TRIES = 5
#: A request: (number of the part, method of its Resident, arguments, keys that the part may drop first).
Request = tuple[int, str, Sequence[Any], Sequence[int]]


class Engine(ABC):
    """Keeps one :class:`~psdopt.problems.distributed.resident.Resident` per part and sends requests to them."""

    @abstractmethod
    def place(self, parts: Sequence[Part]) -> None:
        """Make the parts on their workers. Called once, by :class:`~psdopt.problems.distributed.Summed`."""

    @abstractmethod
    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        """Answers to (part, method, arguments, dropped keys), in one round: all requests run at the same time.

        A part that was lost is rebuilt from its recipe and answers with `forgotten`.
        """


class Here(Engine):
    """All parts in this process, one after the other: for parts that each read their own rows from disk."""

    def place(self, parts: Sequence[Part]) -> None:
        self._residents = [Resident(part) for part in parts]

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        return [self._residents[k].answer(name, arguments, dropped) for k, name, arguments, dropped in questions]
