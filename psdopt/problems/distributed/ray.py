"""Parts as Ray actors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psdopt.errors import InvalidInputError
from psdopt.problems.distributed.engine import TRIES, Engine, Request
from psdopt.problems.distributed.resident import Part, Reply, Resident


class OnRay(Engine):
    """Parts as Ray actors, in the cluster to which this process is connected (the caller calls ``ray.init``).

    Ray rebuilds an actor whose worker is lost. `options` go to the actors (num_cpus, num_gpus, resources, ...).
    """

    def __init__(self, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            raise InvalidInputError(
                "Ray must be connected before OnRay() is made; found no connection: call ray.init()"
            )
        self._ray: Any = ray
        self._options = {"max_restarts": -1, "max_task_retries": TRIES, **options}

    def place(self, parts: Sequence[Part]) -> None:
        remote = self._ray.remote(Resident).options(**self._options)
        self._actors = [remote.remote(part) for part in parts]

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        answers = [self._actors[k].answer.remote(name, tuple(args), tuple(drop)) for k, name, args, drop in questions]
        return list(self._ray.get(answers))

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
