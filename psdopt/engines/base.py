"""What an engine is: it keeps the parts of a sum where their data are and puts questions to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from psdopt.engines.resident import Answer, Resident
from psdopt.errors import InvalidTypeError
from psdopt.problem import Problem

#: A part: a problem, None for a part without data, or (make, *arguments), with make(*arguments) called where the part
#: is to live.
Part = Any
#: A question: (number of the part, method of its Resident, arguments, keys that it may drop first).
Question = tuple[int, str, Sequence[Any], Sequence[int]]


def made(part: Part) -> Problem | None:
    """The problem of a part, made if it is a recipe (make, *arguments)."""
    if isinstance(part, tuple):
        make, *arguments = part
        part = make(*arguments)
    if part is not None and not isinstance(part, Problem):
        raise InvalidTypeError(f"a part must be a Problem, None, or (make, *arguments) of one; found {part!r}")
    return part


class Engine(ABC):
    """Keeps one :class:`~psdopt.parts.resident.Resident` per part and puts questions to them."""

    @abstractmethod
    def place(self, parts: Sequence[Part]) -> None:
        """Make the parts where they are to live. Called once, by :class:`~psdopt.parts.Summed`."""

    @abstractmethod
    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """Answers to (part, method, arguments, dropped keys), one round: all are under way at once.

        A part that was lost is made again from its recipe; it then answers with `forgotten`.
        """


class Here(Engine):
    """All parts in this process, one after the other: for parts that each read their own rows from disk."""

    def place(self, parts: Sequence[Part]) -> None:
        self._residents = [Resident(made(part)) for part in parts]

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._residents[k].answer(name, arguments, dropped) for k, name, arguments, dropped in questions]
