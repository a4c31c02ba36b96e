"""A real cluster of two processes."""

import os
import signal

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, GrowingSamples, certify, solve
from psdopt.errors import InvalidInputError
from psdopt.problems.distributed import OnDask, Summed
from tests.problems.distributed.instances import Pairs, trace_problem

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


def test_samples_on_workers_survive_a_killed_one(cluster, client):
    """The samples of the part that is lost are drawn again, the same ones."""
    pairs, killed = Pairs(n=4, samples=30, pairs=4_000), []
    recipes = pairs.recipes([2_000])

    def kill_once(snapshot):
        if snapshot.iteration == 1 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    client.wait_for_workers(2, timeout=60)
    sums = (Summed(recipes, engine, pairs.local) for engine in (OnDask(client), None))
    few = {"rng": 0, "max_iterations": 4}
    geometry, method = FlatQuotient(pairs.n, pairs.n), GrowingSamples(first=1.0 / 8.0)
    lossy, whole = (solve(each, geometry, method, callback=kill_once, **few) for each in sums)
    assert killed
    assert lossy.iterations == whole.iterations > 1
    assert lossy.value == pytest.approx(whole.value, rel=1e-12)


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


@pytest.mark.parametrize("parts", [2, 40])
def test_a_round_is_one_answer_and_one_copy_for_each_worker_whatever_the_number_of_parts(client, parts, monkeypatch):
    client.wait_for_workers(2, timeout=60)  # a test before may have killed one
    engine, n, r = OnDask(client), 6, 3
    summed = Summed([(trace_problem, n)] * parts, engine)
    tasks, submit = [], client.submit
    monkeypatch.setattr(client, "submit", lambda *given, **options: tasks.append(given[0]) or submit(*given, **options))
    Y = np.random.default_rng(0).standard_normal((n, r))
    before = summed.counts()
    evaluation = summed.at(Y)
    assert evaluation.value == pytest.approx(parts * 0.1 * np.sum(Y * Y), rel=1e-14)
    evaluation.along(Y)
    after = summed.counts()
    workers = engine.workers
    assert after["rounds"] == before["rounds"] + 2
    assert len(tasks) == 2 * (workers + 1)  # the parts of each worker, and the sum of both
    keys, block = 8, 8 * n * r
    assert after["sent"] - before["sent"] == workers * (2 * (block + keys) + keys)
    assert after["received"] - before["received"] == (8 + block) + (5 + 1) * 8
    engine.close()


def test_a_large_factor_is_sent_once_whatever_the_number_of_workers(client):
    client.wait_for_workers(2, timeout=60)
    engine, n = OnDask(client), 300_000
    summed = Summed([(trace_problem, n)] * 4, engine)
    Y = np.random.default_rng(0).standard_normal((n, 2))
    before = engine.sent
    assert summed.at(Y).value == pytest.approx(0.4 * np.sum(Y * Y), rel=1e-14)
    assert engine.sent - before == Y.nbytes + 8
    engine.close()


def test_a_certificate_on_workers_is_that_of_one_process_in_two_rounds_and_survives_a_lost_worker(cluster, client):
    pairs = Pairs()
    client.wait_for_workers(2, timeout=60)
    Y = solve(pairs.whole, FlatQuotient(pairs.n, pairs.n), ConjugateGradient(), rng=0, tol=1e-9).matrix.factor
    engine = OnDask(client)
    summed, here = (Summed(pairs.recipes([40, 80]), each, pairs.local) for each in (engine, None))
    far, near = certify(summed, Y), certify(here, Y)
    assert far.gap == pytest.approx(near.gap, rel=1e-6, abs=1e-14)
    before = summed.rounds
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert certify(summed, Y).gap == pytest.approx(near.gap, rel=1e-6, abs=1e-14)
    assert summed.rounds == before + 2
    engine.close()
