"""Work arrays that are reused from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array


class Workspace:
    """Uninitialised arrays, each for one user at a time and then for the next.

    Allocating a large array costs about as much as filling it, because the system has to clear its pages. Threads may
    share a workspace: while an array is in use, another thread gets a different one. A pickle or a copy is empty.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[int, ...], list[Array]] = {}

    @contextmanager
    def array(self, *shape: int) -> Iterator[Array]:
        """An array of this shape with arbitrary entries, until the end of the context."""
        idle = self._idle.setdefault(shape, [])
        try:
            lent = idle.pop()  # a single call, so that no other thread takes the same array
        except IndexError:
            lent = np.empty(shape)
        try:
            yield lent
        finally:
            idle.append(lent)

    def __getstate__(self) -> dict[str, Any]:
        return {"_idle": {}}
