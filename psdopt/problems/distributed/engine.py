"""The interface of engines, which keep the parts of a sum with their data and send requests to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidTypeError
from psdopt.problems.distributed.resident import Reply, Resident

#: How often a request is repeated if its part was lost with its worker.
TRIES = 5
#: A part: a problem, None for a part without data, or (make, *arguments), with make(*arguments) called on the worker of
#: the part.
Part = Any
#: A request: (number of the part, method of its Resident, arguments, keys that the part may drop first).
Request = tuple[int, str, Sequence[Any], Sequence[int]]


def made(part: Part) -> Problem | None:
    """The problem of a part, made if it is a recipe (make, *arguments)."""
    if isinstance(part, tuple):
        make, *arguments = part
        part = make(*arguments)
    if part is not None and not isinstance(part, Problem):
        raise InvalidTypeError(f"a part must be a Problem, None, or (make, *arguments) of one; found {part!r}")
    return part


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
        self._residents = [Resident(made(part)) for part in parts]

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        return [self._residents[k].answer(name, arguments, dropped) for k, name, arguments, dropped in questions]
