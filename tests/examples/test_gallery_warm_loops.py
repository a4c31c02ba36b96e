"""The gallery's loops: warm runs take fewer steps, end where cold ones do, and are proven."""

import pytest


@pytest.fixture(scope="module")
def loops(run):
    return run("solving/plot_warm_loops.py")["loops"]


@pytest.mark.parametrize("name", ["bisection", "receding horizon", "cutting planes"])
def test_warm_runs_take_a_third_of_the_steps_of_cold_ones_and_end_at_their_values(loops, name):
    cold, warm = loops[name]
    assert len(cold) == len(warm) >= 6
    assert all(result.optimal for result in [*cold, *warm])
    assert 2.7 * sum(result.iterations for result in warm[1:]) < sum(result.iterations for result in cold[1:])
    for one, other in zip(cold, warm, strict=True):
        assert other.value == pytest.approx(one.value, rel=3e-6)


def test_cuts_lower_the_bound_of_the_maximum_cut_and_bisection_ends_at_its_value(loops):
    _, cuts = loops["cutting planes"]
    assert cuts[-1].value > cuts[0].value * 0.999
    most, *tried = loops["bisection"][1]
    assert tried[-1].value == pytest.approx(0.98 * most.value, rel=2e-3)
