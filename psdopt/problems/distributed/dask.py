"""Parts on the workers of a Dask cluster."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any

from psdopt.errors import InvalidInputError
from psdopt.linalg.limits import BLOCK
from psdopt.linalg.row_sources import DaskRows, RowSource
from psdopt.problems.distributed.engine import TRIES, Engine, Question, Request
from psdopt.problems.distributed.resident import Part, Reply, Resident
from psdopt.problems.distributed.totals import Total, added, size_of, tree


class OnDask(Engine):
    """Parts on the workers of a ``dask.distributed`` client: the given one, or else the current one.

    Part k goes to worker k modulo the number of workers. Arguments of a recipe may be Dask futures, so that rows on
    the cluster stay there. A part whose worker is lost is rebuilt on another one. A round of :meth:`total` is one task
    per thread of a worker, for all of its parts, and a tree of tasks that add; blocks of more than 8 MB for all workers
    together are sent once, and go on from worker to worker. A round takes the driver about 10 ms.

    Raises InvalidInputError if there is no client or no worker.
    """

    def __init__(self, client: Any = None) -> None:
        if client is None:
            from dask.distributed import get_client

            try:
                client = get_client()
            except ValueError as error:
                raise InvalidInputError(
                    "client must be a dask.distributed Client; found none, nor a current one"
                ) from error
        self.client = client
        self._token = ""  # of the parts that are placed

    @classmethod
    def current(cls) -> OnDask | None:
        """An engine on the open client of this process; None if there is none, or Dask is not imported."""
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            return cls(distributed.get_client())
        except ValueError:
            return None

    @property
    def workers(self) -> int:
        """Workers of the client at this moment."""
        return len(self._addresses())

    def _addresses(self) -> list[str]:
        """Of the workers, from the scheduler: the client's own list is empty for a moment each time it is refreshed."""
        return list(self.client.nthreads())

    def rows(self, source: RowSource, rows: Any) -> Any:
        """The given rows of `source` for a recipe; for a Dask array a future, so that the rows stay on the cluster."""
        return self.client.compute(source.data[rows]) if isinstance(source, DaskRows) else source.take(rows)

    def place(self, parts: Sequence[Part]) -> None:
        workers = self._addresses()
        if not workers:
            raise InvalidInputError("client must have at least one worker; found none")
        self._token, self._parts = f"psdopt-{os.getpid()}-{next(_tokens)}", list(parts)
        self._unmade = set(range(len(parts)))
        self._homes = [workers[k % len(workers)] for k in range(len(parts))]
        self._threads = {home: max(int(number), 1) for home, number in self.client.nthreads().items()}

    def ask(self, questions: Sequence[Request]) -> list[Reply]:
        found: dict[int, Reply] = {}
        waiting = dict(enumerate(questions))
        for _ in range(TRIES):
            futures = {q: self._submit(question, question[0] in self._unmade) for q, question in waiting.items()}
            for q, answer in zip(futures, self.client.gather(list(futures.values())), strict=True):
                self.received += size_of(answer)
                if answer is None:
                    self._unmade.add(waiting[q][0])
                else:
                    self._unmade.discard(waiting[q][0])
                    found[q] = answer
                    del waiting[q]
            if not waiting:
                return [found[q] for q in range(len(questions))]
        raise RuntimeError(f"parts {sorted({k for k, *_ in waiting.values()})} were lost {TRIES} times in a row")

    def total(self, question: Question) -> Total:
        parts, name, arguments, dropped = question
        given, tasks = tuple(arguments), self._tasks(parts)
        size, copies = size_of(given), len(tasks)
        if size * copies > 8 * BLOCK:
            given, copies = self.client.submit(_itself, given, pure=False), 1
        self.sent += size * copies
        leaves = [self._on(home, _sum_there, self._token, mine, name, given, tuple(dropped)) for home, mine in tasks]
        found: Total = tree(leaves, lambda some: self.client.submit(added, some, pure=False)).result()
        self.received += size_of(found.result)
        self._unmade.update(k for k, key in found.forgotten.items() if key is None)
        return found

    def _tasks(self, parts: Sequence[int]) -> list[tuple[str, list[int]]]:
        """(worker, parts that one of its threads asks), the threads of a worker beside each other."""
        mine: dict[tuple[str, int], list[int]] = {}
        for k in parts:
            home = self._homes[k]
            mine.setdefault((home, k // len(self._threads) % self._threads.get(home, 1)), []).append(k)
        return [(home, mine[home, thread]) for home, thread in sorted(mine)]

    def _on(self, home: str, function: Any, *arguments: Any) -> Any:
        """The future of a call on this worker, or on another one if it is lost."""
        options = {"workers": [home], "allow_other_workers": True, "pure": False}
        return self.client.submit(function, *arguments, **options)

    def _submit(self, question: Request, make: bool) -> Any:
        k, name, arguments, dropped = question
        part = self._parts[k]
        recipe = (part if isinstance(part, tuple) else (_itself, part)) if make else ()
        known = set(self._addresses()) if make else None
        if known is not None and self._homes[k] not in known and known:
            self._homes[k] = sorted(known)[k % len(known)]
        self.sent += size_of(tuple(arguments))
        given = (self._token, k), name, tuple(arguments), tuple(dropped), *recipe
        return self._on(self._homes[k], _answer_there, *given)

    def close(self) -> None:
        """Forget the parts on all workers."""
        if self._token:
            self.client.run(_forget, self._token)


_tokens = itertools.count()
#: Parts on this worker, by (token of the engine, number of the part).
_residents: dict[tuple[str, int], Resident] = {}


def _itself(part: Any) -> Any:
    return part


def _answer_there(
    key: tuple[str, int], name: str, arguments: tuple[Any, ...], dropped: tuple[int, ...], *recipe: Any
) -> Reply | None:
    """The answer of a part on this worker; None if the part is not here and the request has no recipe."""
    resident = _residents.get(key)
    if resident is None:
        if not recipe:
            return None
        resident = _residents[key] = Resident(recipe)
    return resident.answer(name, arguments, dropped)


def _sum_there(
    token: str, parts: Sequence[int], name: str, arguments: tuple[Any, ...], dropped: tuple[int, ...]
) -> Total:
    """The sum of the answers of these parts on this worker."""
    return added(Total.of(k, _answer_there((token, k), name, arguments, dropped)) for k in parts)


def _forget(token: str) -> None:
    for key in [key for key in _residents if key[0] == token]:
        del _residents[key]
