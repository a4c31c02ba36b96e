"""Parts of a sum as Ray actors."""

import pytest

from psdopt import ConjugateGradient, FlatQuotient, solve
from psdopt.problems.distributed import Summed
from tests.problems.distributed.instances import Pairs

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
