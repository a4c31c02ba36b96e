"""A real cluster of two processes."""

import os
import signal

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, solve
from psdopt.errors import InvalidInputError
from psdopt.problems.distributed import OnDask, Summed
from tests.problems.distributed.instances import Pairs

distributed = pytest.importorskip("dask.distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(("one_sided", "limit"), [(False, 1000), (True, 12)])  # to its end, and a path of hinges
def test_parts_on_workers_give_the_answer_of_one_process(client, one_sided, limit):
    pairs = Pairs(one_sided=one_sided)
    sums = (Summed(pairs.recipes([40, 80]), engine, pairs.local) for engine in (OnDask(client), None))
    geometry, options = FlatQuotient(pairs.n, 3), {"rng": 0, "max_iterations": limit}
    far, near = (solve(problem, geometry, ConjugateGradient(), **options) for problem in sums)
    # arrays that have travelled lie elsewhere in memory, and sums of their entries may round otherwise
    assert far.status is near.status
    assert far.value == pytest.approx(near.value, rel=1e-12)
    assert abs(far.iterations - near.iterations) <= 1


def test_rows_on_the_cluster_stay_there_and_the_current_client_is_found(client):
    pairs = Pairs()
    recipes = [(make, client.scatter(X), *rest) for make, X, *rest in pairs.recipes([40])]
    summed = Summed(recipes, OnDask(), pairs.local)
    Y = np.random.default_rng(0).standard_normal((pairs.n, 2))
    assert summed.at(Y).value == pytest.approx(pairs.whole.at(Y).value, rel=1e-12)


def test_a_killed_worker_does_not_change_the_answer(cluster, client):
    pairs = Pairs()
    recipes = pairs.recipes([40, 80])
    killed = []

    def kill_once(snapshot):
        if snapshot.iteration == 5 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    summed = Summed(recipes, OnDask(client), pairs.local)
    few = {"rng": 0, "max_iterations": 15}
    lossy = solve(summed, FlatQuotient(pairs.n, 3), ConjugateGradient(), callback=kill_once, **few)
    whole = solve(Summed(recipes, local=pairs.local), FlatQuotient(pairs.n, 3), ConjugateGradient(), **few)
    assert killed
    assert lossy.status is whole.status
    assert lossy.value == pytest.approx(whole.value, rel=1e-9)


def test_no_client_is_one_sentence():
    with pytest.raises(InvalidInputError, match=r"client must be a dask\.distributed Client; found none"):
        OnDask()


def test_workers_are_those_of_the_scheduler_while_the_client_refreshes_its_list(client, monkeypatch):
    """The client's list of workers is empty between its own refresh, which asks for none, and the next question."""
    monkeypatch.setattr(client, "scheduler_info", lambda **options: {"workers": {}})
    engine = OnDask(client)
    assert engine.workers >= 1
    engine.place([])
    engine.close()


def test_an_engine_without_workers_says_so_and_closes(client, monkeypatch):
    monkeypatch.setattr(client, "nthreads", dict)
    engine = OnDask(client)
    with pytest.raises(InvalidInputError, match="client must have at least one worker; found none"):
        engine.place([])
    engine.close()
