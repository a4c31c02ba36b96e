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


def test_without_a_deadline_nothing_is_asked_of_the_clock(monkeypatch):
    monkeypatch.setattr("psdopt.linalg.deadline.now", lambda: pytest.fail("the clock was read"))
    ask()
    assert not issubclass(OutOfTime, Exception)  # which code may survive


def test_the_earlier_of_two_deadlines_holds_within_its_block_only(clock):
    with until(now() + 1.0), until(5.0):
        ask()
        clock.time = 1.0
        with pytest.raises(OutOfTime):
            ask()
        with unhurried():
            ask()
        with pytest.raises(OutOfTime):
            ask()
    ask()


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
