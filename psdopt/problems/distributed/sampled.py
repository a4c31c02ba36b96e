"""Samples of a sum whose parts are elsewhere: each part draws from its own rows, and keeps what it has drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from psdopt.checks import number
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curvature import CurvedRows
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidTypeError
from psdopt.problems.distributed.engine import Engine, Question, Request
from psdopt.problems.distributed.resident import About, Part, Reply
from psdopt.problems.distributed.totals import Total


class Sampled(Engine):
    """The parts that `engine` keeps, asked about samples of them: a `share` of the rows of each, drawn with `seed`.

    `about` : what each part has said of itself, which is not asked for again. Rounds and bytes count with the engine's.
    """

    def __init__(self, engine: Engine, share: float, seed: int, about: Sequence[About]) -> None:
        self.engine, self.share, self.seed, self._about = engine, share, seed, about

    @property
    def rounds(self) -> int:  # type: ignore[override]
        return self.engine.rounds

    @rounds.setter
    def rounds(self, number: int) -> None:
        self.engine.rounds = number

    @property
    def sent(self) -> int:  # type: ignore[override]
        return self.engine.sent

    @property
    def received(self) -> int:  # type: ignore[override]
        return self.engine.received

    def place(self, parts: Sequence[Part]) -> None:
        """Nothing: the parts are there."""

    def about(self, count: int) -> Sequence[About]:
        """Of samples, whose curvature is not that of F_k, and of which no samples are drawn."""
        return [known and (known[0], known[1] - {Ability.SAMPLE}, 0.0, known[3]) for known in self._about]

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        return self.engine.ask([(k, *self._of_sample(name, given), dropped) for k, name, given, dropped in questions])

    def total(self, question: Question) -> Total:
        parts, name, given, dropped = question
        return self.engine.total((parts, *self._of_sample(name, given), dropped))

    def _of_sample(self, name: str, given: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """The request for the sample: another one where an evaluation is made, by `name` or by a name that is given."""
        if name == "at":
            return "at_sample", (*given, self.share, self.seed)
        if given and isinstance(given[0], str) and given[0] == "at":
            return name, ("at_sample", *given[1:], self.share, self.seed)
        return name, given


class Divided(Problem):
    """A sum over `count` parts of an `engine` and a `local` problem, from which samples can be drawn.

    `places` : of each engine, the numbers of the parts that have data. `about` : what each part says of itself.
    `dead` : keys that the parts may forget, a list that a sum shares with its samples, which are often gone before a
    request.
    """

    engine: Engine
    count: int
    local: Problem | None
    places: Mapping[Engine, Sequence[int]]
    about: Sequence[About]
    dead: list[int]

    @property
    def items(self) -> int:
        """Rows of the parts; those of `local` stay whole."""
        return self.once("items", lambda: int(self.total("items")) - (0 if self.local is None else self.local.items))

    @property
    def readings(self) -> int:
        """Of the parts; one that was lost begins at 0."""
        return int(self.total("readings")) - (0 if self.local is None else self.local.readings)

    def total(self, name: str, *arguments: Any) -> Any:
        """The sum of the results of the method `name` of every part."""
        raise NotImplementedError

    def sample(self, share: float, rng: np.random.Generator) -> Problem:
        """The sum with a `share` of the rows of each part, which draw them where they are; `local` stays whole."""
        if Ability.SAMPLE not in self.abilities:
            kind = type(self).__name__
            raise InvalidTypeError(f"{kind} cannot be sampled: a part of it is no sum over rows under separable losses")
        number(share, "share", above=0.0, most=1.0)
        return self.of_samples(Sampled(self.engine, share, int(rng.integers(2**62)), self.about), self.local)

    def of_samples(self, engine: Sampled, local: Problem | None) -> Divided:
        """The sum over samples of the same parts, and a local problem."""
        make: Any = type(self)
        made: Divided = make([None] * self.count, engine, local)
        made.dead = self.dead
        return made


class RowsElsewhere(Evaluation):
    """An evaluation that parts of a :class:`Divided` problem keep, under the number `there` once they have made it."""

    there: Any

    def curved_rows(self) -> CurvedRows:
        """Those of all parts, stacked in this process: 8 (n + 1) bytes a row."""
        parts: Any = self.problem
        key, found = self.there, []
        parts.engine.rounds += 1
        for engine, own in parts.places.items():
            for k, reply in zip(own, engine.ask([(k, "rows", (key,), ()) for k in own]), strict=True):
                lost = reply.forgotten is not None
                found.append(parts._asked(engine, ([k], "rows", (key,), ())).result if lost else reply.result)
        others, directions, weights = zip(*found, strict=True)
        return CurvedRows(list(chain(*others)), np.concatenate(directions), np.concatenate(weights))
