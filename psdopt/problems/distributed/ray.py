"""Parts in Ray actors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psdopt.checks import integer
from psdopt.errors import InvalidInputError
from psdopt.problems.distributed.engine import TRIES, Engine, Here, Question, Request
from psdopt.problems.distributed.resident import Part, Reply
from psdopt.problems.distributed.totals import Total, added, size_of, tree


class OnRay(Engine):
    """Parts in Ray actors, in the cluster to which this process is connected (the caller calls ``ray.init``).

    There are as many actors as the cluster has CPUs, at most one per part; part k is in actor k modulo their number. A
    round of :meth:`total` puts the factor into Ray's store once, asks each actor once, for the sum over all of its
    parts, and adds these sums in a tree of tasks. Ray rebuilds an actor whose worker is lost. `options` go to the
    actors (num_cpus, num_gpus, resources, ...). `actors` : their number, if it is another one.
    """

    def __init__(self, actors: int | None = None, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            raise InvalidInputError(
                "Ray must be connected before OnRay() is made; found no connection: call ray.init()"
            )
        self._ray: Any = ray
        self._number = int(ray.cluster_resources().get("CPU", 1)) if actors is None else integer(actors, "actors")
        self._options = {"max_restarts": -1, "max_task_retries": TRIES, **options}

    def place(self, parts: Sequence[Part]) -> None:
        held = [{k: parts[k] for k in range(a, len(parts), self._number)} for a in range(self._number)]
        actor, adder = self._ray.remote(_Actor).options(**self._options), self._ray.remote(_sum)
        self._recipes = [self._ray.put(mine) for mine in held if mine]  # from which Ray rebuilds an actor
        self._actors = [actor.remote(mine) for mine in self._recipes]
        self._added = lambda some: adder.remote(*some)

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        answers = [self._actor(k).answer.remote((k, name, tuple(args), drop)) for k, name, args, drop in questions]
        self.sent += sum(size_of(tuple(arguments)) for _, _, arguments, _ in questions)
        replies = list(self._ray.get(answers))
        self.received += size_of(replies)
        return replies

    def total(self, question: Question) -> Total:
        parts, name, arguments, dropped = question
        given = self._ray.put(tuple(arguments))
        self.sent += size_of(tuple(arguments))
        mine = [[k for k in parts if k % len(self._actors) == a] for a in range(len(self._actors))]
        sums = [actor.sum.remote(own, name, given, dropped) for actor, own in zip(self._actors, mine, strict=True)]
        found: Total = self._ray.get(tree(sums, self._added))
        self.received += size_of(found.result)
        return found

    def _actor(self, k: int) -> Any:
        return self._actors[k % len(self._actors)]

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)


class _Actor(Here):
    """Some of the parts, under their numbers in the whole sum."""

    def __init__(self, parts: Mapping[int, Part]) -> None:
        self.place(list(parts.values()))
        self._at = {k: place for place, k in enumerate(parts)}

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        return super().ask([(self._at[k], name, given, dropped) for k, name, given, dropped in questions])

    def answer(self, question: Request) -> Reply:
        return self.ask([question])[0]

    def sum(self, parts: Sequence[int], name: str, arguments: tuple[Any, ...], dropped: Sequence[int]) -> Total:
        return self.total((parts, name, arguments, dropped))


def _sum(*totals: Total) -> Total:
    return added(totals)
