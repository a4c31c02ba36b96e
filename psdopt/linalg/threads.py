"""How many threads BLAS takes: one for small problems, where handing out the work costs more than doing it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Multiplications of a product up to which one thread is the fastest. NumPy and SciPy come with a BLAS each, and the
#: idle threads of the one spin while those of the other are to work: on two cores that were not idle, runs of small
#: products took up to eight times as long with two threads (n = 200), and as long from n = 600 at r = 60 on.
SMALL = 2**24


@contextmanager
def blas_threads(multiplications: float) -> Iterator[None]:
    """Within it, products of about so many `multiplications` each: if no more than `SMALL`, BLAS takes one thread.

    Else nothing changes, nor in any thread of Python but the main one: the number is one for the whole process, and of
    two that set and restore it at the same time (scikit-learn does so too) each may take the other's for what there was
    before. It is restored at the end. Some 20 µs, and a few ms the first time.
    """
    if multiplications > SMALL or threading.current_thread() is not threading.main_thread():
        yield
        return
    with libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def libraries() -> Any:
    """Those that are loaded by now: looking for them takes milliseconds, and is done once."""
    return ThreadpoolController()
