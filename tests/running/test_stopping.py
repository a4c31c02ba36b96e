"""Criteria and their combinations."""

import math

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, Status, solve
from psdopt.errors import InvalidInputError
from psdopt.running.stopping import MaxIterations, MaxTime, Progress, SmallDecrease, SmallStationarity, ValueBelow
from tests.running.problems import kta


def at(iteration=0, seconds=0.0, value=0.0, stationarity=1.0, step=1.0, values=(0.0,)):
    return Progress(iteration, seconds, value, stationarity, step, values)


@pytest.mark.parametrize(("criterion", "before", "after"), [
    (MaxIterations(5), at(iteration=4), at(iteration=5)),
    (MaxTime(1.5), at(seconds=1.4), at(seconds=1.5)),
    (SmallStationarity(1e-3), at(stationarity=2e-3), at(stationarity=1e-3)),
    (ValueBelow(-2.0), at(value=-1.9), at(value=-2.0)),
    (SmallDecrease(1e-2), at(values=[5.0, 4.0]), at(values=[4.01, 4.0])),
    # E-L7: without the absolute value the printed rule is met at the first decrease
    (SmallDecrease(1e-6), at(values=[10.0, 1.0]), at(values=[1.0, 1.0])),
    (SmallDecrease(1e-6), at(values=[10.0]), at(values=[10.0, 10.0])),
    (SmallDecrease(1e-2), at(values=[1.0, 10.0]), at(values=[4.0, 4.01])),  # an increase counts like a decrease
    (SmallDecrease(1e-2, window=2), at(values=[4.5, 4.01, 4.0]), at(values=[9.0, 4.02, 4.01, 4.0])),
])  # fmt: skip
def test_each_criterion(criterion, before, after):
    assert criterion.met(before) is None
    assert criterion.met(after) is criterion
    assert criterion.reason()


def test_combinations():
    small, many, low = SmallStationarity(1e-3), MaxIterations(5), ValueBelow(0.0)
    either, both = small | many, small & many
    assert either.met(at(iteration=5, value=1.0)) is many
    assert either.met(at(iteration=9, stationarity=0.0)) is small
    assert either.met(at(iteration=1)) is None
    assert both.met(at(iteration=5)) is None
    assert both.met(at(iteration=5, stationarity=0.0)) is both
    assert (small & (many | low)).met(at(stationarity=0.0, value=-1.0)) is not None
    assert both.reason() == "relative stationarity is at most 0.001 and the limit of 5 iterations was reached"
    assert either.reason() == "relative stationarity is at most 0.001 or the limit of 5 iterations was reached"
    # being met implies convergence: any of needs all parts to, all of needs one
    assert (small.converges, many.converges) == (True, False)
    assert (either.converges, both.converges) == (False, True)
    assert (small | SmallStationarity(1.0)).converges
    assert not (many & low).converges


def test_in_a_run():
    problem = kta(np.random.default_rng(0))

    def run(stopping, **kwargs):
        return solve(problem, FlatQuotient(8, 8), ConjugateGradient(), tol=1e-10, stopping=stopping, **kwargs)

    first = run(ValueBelow(-1.0) | MaxIterations(300))
    assert first.status is Status.STOPPED
    assert first.message == "the value fell to -1 or below"
    assert first.value <= -1.0
    assert np.all(first.history["value"][:-1] > -1.0)
    capped = run(ValueBelow(-1e9), max_iterations=3)
    assert capped.status is Status.ITERATION_LIMIT
    both = run(ValueBelow(-1.0) & MaxIterations(first.iterations + 4))
    assert both.iterations == first.iterations + 4
    coarse = run(SmallStationarity(1e-2))
    assert coarse.history["stationarity"][-1] <= 1e-2
    assert coarse.iterations < run(SmallStationarity(1e-4)).iterations
    stalled = run(SmallDecrease(1e-3))
    assert abs(np.diff(stalled.history["value"])[-1]) <= 1e-3 * (abs(stalled.value) + 1)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: MaxIterations(-1), "limit must be an integer of at least 0; found -1"),
    (lambda: MaxTime(float("nan")), "seconds must be a finite number of at least 0; found nan"),
    (lambda: SmallStationarity(-1.0), "tol must be a finite number of at least 0; found -1.0"),
    (lambda: SmallDecrease(-1.0), "tol must be a finite number of at least 0; found -1.0"),
    (lambda: SmallDecrease(1.0, window=0), "window must be an integer of at least 1; found 0"),
])  # fmt: skip
def test_bad_criteria(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_the_longest_time_of_a_criterion():
    assert ValueBelow(0.0).longest == math.inf
    assert MaxTime(2.0).longest == 2.0
    assert (MaxTime(2.0) | MaxTime(3.0) | ValueBelow(0.0)).longest == 2.0
    assert (MaxTime(2.0) & MaxTime(3.0)).longest == 3.0
    assert (MaxTime(2.0) & ValueBelow(0.0)).longest == math.inf
