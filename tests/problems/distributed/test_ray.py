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

    pairs = Pairs(one_sided=True)
    engine = OnRay(num_cpus=0.5)
    far = solve(
        Summed(pairs.recipes([40, 80]), engine, pairs.local), FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0
    )
    near = solve(
        Summed(pairs.recipes([40, 80]), local=pairs.local), FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0
    )
    engine.close()
    # what has travelled lies elsewhere in memory, and sums of its entries may round otherwise
    assert far.value == pytest.approx(near.value, rel=1e-12)
    assert abs(far.iterations - near.iterations) <= 1
