"""The deadline that long work asks for."""

import math
import threading

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.linalg.deadline import OutOfTime, ask, now, unhurried, until
from psdopt.linalg.definite import factor_above
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.subset import spectrum


class Clock:
    """A clock that advances by `tick` with every reading."""

    def __init__(self, monkeypatch, tick=0.0):
        self.time, self.tick = 0.0, tick
        monkeypatch.setattr("psdopt.linalg.deadline.time.perf_counter", self)

    def __call__(self):
        self.time += self.tick
        return self.time


def test_without_a_deadline_nothing_is_asked_of_the_clock(monkeypatch):
    monkeypatch.setattr("psdopt.linalg.deadline.now", lambda: pytest.fail("the clock was read"))
    ask()


def test_a_deadline_holds_within_its_block_only(monkeypatch):
    clock = Clock(monkeypatch)
    with until(now() + 1.0):
        ask()
        clock.time = 1.0
        with pytest.raises(OutOfTime):
            ask()
    ask()


def test_the_earlier_of_two_deadlines_holds(monkeypatch):
    clock = Clock(monkeypatch)
    with until(1.0), until(5.0):
        clock.time = 2.0
        with pytest.raises(OutOfTime):
            ask()
        with unhurried():
            ask()
        with pytest.raises(OutOfTime):
            ask()


def test_it_is_no_exception_that_code_may_survive():
    assert not issubclass(OutOfTime, Exception)


def test_each_thread_has_its_own():
    asked = []
    with until(-math.inf):
        thread = threading.Thread(target=lambda: asked.append(ask()))
        thread.start()
        thread.join()
    assert asked == [None]


S = np.diag(np.arange(1.0, 6.0))
PROBLEM = QuadraticSDP(S, 1.0, -S)


@pytest.mark.parametrize(
    "work",
    [
        lambda: PROBLEM.at(np.eye(5)),
        lambda: PROBLEM.maps[0].apply(np.eye(5)),
        lambda: smallest_eigenpair(S),
        lambda: smallest_eigenpair(S, backend="lanczos"),
        lambda: smallest_eigenpair(S, backend="eigsh", failure_probability=1.0),
        lambda: factor_above(S, 0.0),
        lambda: spectrum(S),
    ],
)
def test_long_work_asks(work):
    work()
    with until(-math.inf), pytest.raises(OutOfTime):
        work()
