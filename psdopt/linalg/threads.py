"""How many threads BLAS takes: one for small problems, where handing out the work costs more than doing it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Multiplications of a product up to which one thread is the fastest. NumPy and SciPy come with a BLAS each, and the
#: idle threads of the one spin while those of the other are to work: on two cores that were not idle, runs of small
#: products took up to eight times as long with two threads (n = 200), and as long from n = 600 at r = 60 on.
SMALL = 2**24


def blas_threads(multiplications: float) -> AbstractContextManager[Any]:
    """Within it, products of about so many `multiplications` each: if no more than `SMALL`, BLAS takes one thread.

    Else nothing changes. The number holds for the whole process, and is restored at the end. Some 20 µs, and a few ms
    the first time.
    """
    if multiplications > SMALL:
        return nullcontext()
    limit: AbstractContextManager[Any] = libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def libraries() -> Any:
    """Those that are loaded by now: looking for them takes milliseconds, and is done once."""
    return ThreadpoolController()
