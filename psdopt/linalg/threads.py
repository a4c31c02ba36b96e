"""One BLAS thread in solve() and eigensolvers: two gain little, and lose many times over on shared cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits BLAS to one thread, whatever the size of the arrays.

    NumPy and SciPy each come with a BLAS, and the idle threads of one spin while those of the other work. By the clock,
    on two cores that other programs used too, two threads took at best 1.4 to 5 times as long as one for `eigh` alone,
    in the median 4 to 22 times (n = 400, 800), and 4 to 7 times as long for nearest correlation matrices (n = 300 to
    800). Products of tall arrays alone (60,000 × 200 × 20 and × 100) took 0.85 to 0.9 of the time at best, and as long
    in the median, but runs of KTA, which consist of them, 1.3 to 6 times as long.

    Most libraries have one number of threads for the whole process. If several contexts overlap, in any Python threads,
    the first sets the number and the last restores it. Libraries with a number for each Python thread (OpenMP) are set
    and restored in each thread. Some 20 µs, and a few ms the first time.
    """
    own = [(library, library.get_num_threads()) for library in _libraries() if _per_thread(library)]
    stretch = _Stretch()
    try:
        for library, _ in own:
            library.set_num_threads(1)
        _LIMIT.enter(stretch)
        yield
    finally:
        _LIMIT.leave(stretch)
        for library, number in own:
            library.set_num_threads(number)


class _Stretch:
    """One `with` statement; it ends with its frame, even if an interrupt skips its exit."""


class _SharedLimit:
    """One thread for libraries with one number per process, while there is a stretch that has entered and not left.

    The old numbers are recorded before any is changed, so that `leave` undoes an `enter` interrupted by Ctrl-C or a
    lack of memory.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: WeakSet[_Stretch] = WeakSet()
        self._before: list[tuple[Any, int]] = []

    def enter(self, stretch: _Stretch) -> None:
        with self._lock:
            first = not self._inside
            self._inside.add(stretch)
            if not first:
                return
            shared = [library for library in _libraries() if not _per_thread(library)]
            self._before += [(library, number) for library in shared if (number := library.get_num_threads()) != 1]
            for library, _ in self._before:
                library.set_num_threads(1)
            # if another Python thread controls the number (threadpoolctl's controlling thread), nothing was set
            self._before = [pair for pair in self._before if pair[0].get_num_threads() == 1]

    def leave(self, stretch: _Stretch) -> None:
        with self._lock:
            if stretch not in self._inside or len(self._inside) > 1:
                self._inside.discard(stretch)
                return
            for library, number in self._before:
                _release(library)  # another thread may have set the number
                library.set_num_threads(number)
                _release(library)
            self._before = []
            self._inside.clear()


_LIMIT = _SharedLimit()


def _per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _release(library: Any) -> None:
    """Let any Python thread set the number."""
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@cache
def libraries() -> Any:
    """BLAS libraries loaded so far. Finding them takes milliseconds and is done once."""
    return ThreadpoolController()


@cache
def _libraries() -> list[Any]:
    found: list[Any] = libraries().select(user_api="blas").lib_controllers
    return found
