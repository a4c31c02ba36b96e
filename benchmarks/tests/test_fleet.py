"""The simulated fleet against what must be, where it is known without a simulation."""

import numpy as np
import pytest

from benchmarks.fleet import (
    Costs,
    Noting,
    Profile,
    Round,
    computations,
    profiled,
    side_by_side,
    simulated,
    summed_on,
    tree_of,
)
from psdopt.problems.distributed.totals import BRANCHES

FREE = Costs(0.0, 0.0, 0.0, 0.0)


def test_without_costs_all_workers_take_the_time_of_one():
    profile = Profile([Round(8.0, 1.0, 2.0), Round(4.0, 1.0, 2.0)], serial=1.0)
    for workers in (1, 2, 4):
        for own_cores in (True, False):
            assert simulated(profile, workers, FREE, 0.0, own_cores) == pytest.approx(13.0)


def test_the_slowest_of_many_workers_ends_a_round():
    profile = Profile([Round(100.0, 0.0, 0.0)])
    times = [simulated(profile, workers, FREE, 0.3, repeats=2_000) for workers in (1, 10, 100)]
    assert times[0] == pytest.approx(100.0, rel=0.03)
    assert times == sorted(times)
    # the largest of 100 standard normal numbers is 2.51 in the mean
    assert times[2] / 100.0 == pytest.approx(np.exp(0.3 * 2.51 - 0.045), rel=0.05)


def test_each_cost_counts_once_a_round():
    profile = Profile([Round(0.0, 1.0, 0.0)] * 3)
    assert simulated(profile, 1, Costs(1.0, 0.0, 0.0, 0.0), 0.0) == pytest.approx(3.0)
    assert simulated(profile, 4, Costs(0.0, 0.0, 1.0, 0.0), 0.0) == pytest.approx(3.0 * 4)  # to each of four
    assert simulated(profile, 64, Costs(0.0, 0.0, 1.0, 0.0), 0.0) == pytest.approx(3.0 * 7)  # handed on in turn
    assert simulated(profile, 64, Costs(0.0, 0.0, 0.0, 1.0), 0.0) == pytest.approx(3.0 * (64 + 2 + 1))
    assert simulated(profile, 64, Costs(0.0, 1.0, 0.0, 0.0), 0.0, own_cores=False) == pytest.approx(3.0 * 64)


def test_the_tree_has_all_nodes():
    assert tree_of(1) == (0, 0)
    assert tree_of(BRANCHES) == (1, 1)
    assert tree_of(BRANCHES + 1) == (2, 3)


def test_a_profile_holds_the_rounds_of_a_computation():
    where = Noting()
    compute = computations(3)["a step"]
    compute(summed_on(where, 400, 2))
    kept = len(where.profile.rounds)
    profile = profiled(compute, 400, 2, 1)
    assert 0 < len(profile.rounds) <= kept
    assert all(each.work > 0.0 and each.received > 0.0 for each in profile.rounds)
    assert profile.serial >= 0.0


def test_work_side_by_side_has_the_rounds_of_one_process():
    alone, beside = profiled(computations(3)["a step"], 400, 2, 1), side_by_side("a step", 3, 400, 2, 1)
    assert len(beside.rounds) == len(alone.rounds)
    assert [each.sent for each in beside.rounds] == [each.sent for each in alone.rounds]
    assert all(each.work > 0.0 for each in beside.rounds)
