"""The deadline of a run, which long work checks, so that a time limit holds within a step as well.

:func:`psdopt.solve` sets it. Maps, eigensolvers and factorisations check it before each product and each factorisation,
so that problems, geometries and methods need not do so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MOMENT: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(BaseException):
    """The deadline has passed; it ends in the solve() that set the deadline.

    Not an ``Exception``, so that code which catches errors of any kind does not catch it.
    """


def now() -> float:
    """Seconds on the clock of deadlines, which has no particular zero."""
    return time.perf_counter()


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Inside the block, the deadline is `moment` on the clock of :func:`now`, or an earlier one already in force."""
    token = _MOMENT.set(min(moment, _MOMENT.get()))
    try:
        yield
    finally:
        _MOMENT.reset(token)


@contextmanager
def unhurried() -> Iterator[None]:
    """Inside the block there is no deadline: for the caller's code, such as a callback."""
    token = _MOMENT.set(math.inf)
    try:
        yield
    finally:
        _MOMENT.reset(token)


def left() -> float:
    """Seconds until the deadline; infinite without one."""
    return _MOMENT.get() - now()


def ask() -> None:
    """Raises OutOfTime if the deadline has passed. 0.1 µs; each thread has its own deadline, at first none."""
    moment = _MOMENT.get()
    if moment < math.inf and now() >= moment:
        raise OutOfTime
