"""How many threads BLAS takes: one for small problems, where handing out the work costs more than doing it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Multiplications of a product up to which one thread is the fastest. NumPy and SciPy come with a BLAS each, and the
#: idle threads of one spin while those of the other work: on two busy cores, runs of small products took up to eight
#: times as long with two threads (n = 200), and as long as with one from n = 600 at r = 60 on.
SMALL = 2**24


@contextmanager
def blas_threads(multiplications: float) -> Iterator[None]:
    """Limits BLAS to one thread for products of at most `SMALL` multiplications each; larger ones change nothing.

    Most libraries have one number of threads for the whole process. It is set by the first of the stretches that
    overlap, in whatever threads of Python these run, and restored by the last. Libraries that have a number for each
    thread of Python (OpenMP) are set and restored in each. Some 20 µs, and a few ms the first time.
    """
    if multiplications > SMALL:
        yield
        return
    own = [(library, library.get_num_threads()) for library in _libraries() if _per_thread(library)]
    for library, _ in own:
        library.set_num_threads(1)
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
        for library, number in own:
            library.set_num_threads(number)


class _SharedLimit:
    """One thread for the libraries whose number belongs to the process, from the first `enter` to the last `leave`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside > 1:
                return
            shared = [library for library in _libraries() if not _per_thread(library)]
            numbers = [(library, library.get_num_threads()) for library in shared]
            for library, number in numbers:
                if number != 1:
                    library.set_num_threads(1)
            # where another thread of Python holds the number (threadpoolctl's controlling thread) nothing was set
            self._before = [pair for pair in numbers if pair[1] != 1 and pair[0].get_num_threads() == 1]

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside > 0:
                return
            for library, number in self._before:
                _release(library)  # this thread may not be the one that set it
                library.set_num_threads(number)
                _release(library)
            self._before = []


_LIMIT = _SharedLimit()


def _per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _release(library: Any) -> None:
    """Let any thread of Python set the number."""
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@cache
def libraries() -> Any:
    """Those that are loaded by now: looking for them takes milliseconds, and is done once."""
    return ThreadpoolController()


@cache
def _libraries() -> list[Any]:
    found: list[Any] = libraries().select(user_api="blas").lib_controllers
    return found
