"""The simulated fleet against what must be, where it is known without a simulation."""

import numpy as np
import pytest

from benchmarks.fleet import Costs, Noting, Profile, Round, computations, profiled, simulated, summed_on, tree_of
from psdopt.problems.distributed.totals import BRANCHES

FREE = Costs(0.0, 0.0, 0.0, 0.0)


def test_without_costs_the_work_is_divided_and_the_rest_is_not():
    profile = Profile([Round(8.0, 1.0, 2.0), Round(4.0, 1.0, 2.0)], serial=1.0)
    for workers in (1, 2, 4):
        assert simulated(profile, workers, FREE, 0.0) == pytest.approx(1.0 + 12.0 / workers)
        assert simulated(profile, workers, FREE, 0.0, cores=2) == pytest.approx(1.0 + 12.0 / min(workers, 2))


def test_the_slowest_of_many_workers_ends_a_round():
    profile = Profile([Round(100.0, 0.0, 0.0)])
    times = [workers * simulated(profile, workers, FREE, 0.3, repeats=2_000) for workers in (1, 10, 100)]
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
