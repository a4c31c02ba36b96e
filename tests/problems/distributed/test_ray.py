"""Parts of a sum as Ray actors."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, solve
from psdopt.problems.distributed import Summed
from tests.problems.distributed.instances import Pairs, trace_problem

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def connected():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def test_parts_in_actors_give_the_answer_of_one_process():
    from psdopt.problems.distributed import OnRay

    pairs, engine = Pairs(one_sided=True), OnRay(num_cpus=0.5)
    sums = (Summed(pairs.recipes([40, 80]), each, pairs.local) for each in (engine, None))
    far, near = (solve(problem, FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0) for problem in sums)
    engine.close()
    # what has travelled lies elsewhere in memory, and sums of its entries may round otherwise
    assert far.value == pytest.approx(near.value, rel=1e-12)
    assert abs(far.iterations - near.iterations) <= 1


def test_a_round_stores_the_factor_once_and_sends_one_answer():
    from psdopt.problems.distributed import OnRay

    engine, n, r = OnRay(actors=2, num_cpus=0.5), 6, 3
    summed = Summed([(trace_problem, n)] * 7, engine)
    Y = np.random.default_rng(0).standard_normal((n, r))
    before = summed.counts()
    assert summed.at(Y).value == pytest.approx(7 * 0.1 * np.sum(Y * Y), rel=1e-14)
    after = summed.counts()
    assert after["sent"] - before["sent"] == 8 * n * r + 8
    assert after["received"] - before["received"] == 8 * n * r + 8
    for actor in engine._actors:  # lost actors are made again from their recipes
        ray.kill(actor, no_restart=False)
    assert summed.at(2.0 * Y).along(Y).value(0.0) == pytest.approx(7 * 0.4 * np.sum(Y * Y), rel=1e-14)
    engine.close()
