"""A fleet on paper: seconds of a step, a certificate and a run of a sum of parts on 10, 100 and 1,000 workers.

    python -m benchmarks.fleet

Three computations run in this process, on an engine that notes the work, the bytes and the serial rest of each round.
Rounds without work on Dask's local processes give the costs of a round: fixed, per worker, and per MB that is sent to
each or received; many threads of two processes give the driver's cost of each further task. From these the three are
simulated: on 2 and 4 local processes against what they take there in the same run, with the work of as many plain
processes at once, which share cores and caches; then on workers with cores of their own, each with as much data as
were profiled. Times of workers are lognormal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.parts import COLUMNS, RANK, part, trivial
from psdopt import ConjugateGradient, FlatQuotient, TermSum, certify, solve
from psdopt.problems.distributed import Engine, Here, OnDask, Summed, even_slices, touched
from psdopt.problems.distributed.totals import BRANCHES, Total, size_of
from psdopt.terms import IdentityForm, LinearTerm

#: Standard deviation of the logarithm of a worker's time, as in `--sigma`, and simulated rounds of one kind.
SIGMA, DRAWS = 0.3, 200
MB = 1e6


class Round(NamedTuple):
    """Seconds of work of one worker, MB that each worker is sent, and MB of one answer."""

    work: float
    sent: float
    received: float


@dataclass
class Profile:
    """A computation: its rounds, and the `serial` seconds of the process that asks."""

    rounds: list[Round] = field(default_factory=list)
    serial: float = 0.0


@dataclass(frozen=True)
class Costs:
    """Seconds of a round: `fixed`, for each worker, for each MB to a worker or from it, and of the driver per task."""

    fixed: float
    worker: float
    megabyte: float
    task: float


class Noting(Here):
    """Parts in this process, with the rounds written into `profile`."""

    def __init__(self) -> None:
        self.profile = Profile()

    def total(self, question: Any) -> Total:
        clock = time.perf_counter()
        found = super().total(question)
        sent, received = size_of(tuple(question[2])) / MB, size_of(found.result) / MB
        self.profile.rounds.append(Round(time.perf_counter() - clock, sent, received))
        return found


def simulated(
    profile: Profile, workers: int, costs: Costs, sigma: float, own_cores: bool = True, repeats: int = DRAWS
) -> float:
    """Mean seconds of the computation on `workers`, each with the work of the profile; the slowest one ends a round.

    The driver hands out tasks one by one, and answers are added in levels of BRANCHES. Where workers share the cores
    of this machine (not `own_cores`), the measured cost of a round per worker holds, and nothing is sent side by side.
    """
    total, rng = profile.serial, np.random.default_rng(0)
    slowest = np.exp(sigma * rng.standard_normal((repeats, workers)) - 0.5 * sigma**2).max(axis=1).mean()
    levels, nodes = tree_of(workers)
    for each in profile.rounds:
        if own_cores:
            # beyond 8 MB for all together the driver sends one copy, which workers hand on to each other in turn
            copies = workers if each.sent * MB * workers <= 2**23 else 1 + np.log2(workers)
            answers = levels * min(workers, BRANCHES)
            tasks = costs.fixed + costs.worker + costs.task * (workers + nodes)
        else:
            copies, answers, tasks = workers, workers, costs.fixed + costs.worker * workers
        total += tasks + each.work * slowest + costs.megabyte * (copies * each.sent + answers * each.received)
    return float(total)


def tree_of(leaves: int) -> tuple[int, int]:
    """Levels and nodes of the tree in which as many answers are added."""
    levels = nodes = 0
    while leaves > 1:
        leaves = -(-leaves // BRANCHES)
        levels, nodes = levels + 1, nodes + leaves
    return levels, nodes


@contextmanager
def on_dask(workers: int, threads: int = 1) -> Iterator[Engine]:
    import dask
    from dask.distributed import Client, LocalCluster

    # Dask's limit for what malloc keeps also ends glibc's own choice of this one, and each block would be mapped anew
    malloc = {"distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25}
    with (
        dask.config.set(malloc),
        LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        yield OnDask(client)


def seconds_per_round(where: Engine, parts: int, n: int, repeats: int = 40) -> float:
    """Mean seconds of a round without work, with a factor (n, 1)."""
    summed, Y = Summed([(trivial, n)] * parts, where), np.ones((n, 1))
    _ = summed.at(Y).value, summed.at(Y).value
    clock = time.perf_counter()
    for _ in range(repeats):
        _ = summed.at(Y).value
    return (time.perf_counter() - clock) / repeats


def measured_costs(threads: int) -> Costs:
    """From rounds on 1 and 3 processes, with a short and a long factor, and on two processes with many threads."""
    short, long, found = 10, 50_000, {}
    for workers in (1, 3):
        with on_dask(workers) as where:
            found[workers, short] = seconds_per_round(where, workers, short)
            found[workers, long] = seconds_per_round(where, workers, long)
    with on_dask(2, threads) as where:
        few, many = (seconds_per_round(where, parts, short, 5) for parts in (2, 2 * threads))
    worker = max((found[3, short] - found[1, short]) / 2.0, 0.0)
    carried = 2.0 * 8.0 * (long - short) / MB  # there and back
    megabyte = max(np.mean([(found[w, long] - found[w, short]) / (w * carried) for w in (1, 3)]), 0.0)
    return Costs(max(found[1, short] - worker, 0.0), worker, float(megabyte), max(many - few, 0.0) / (2 * threads - 2))


def computations(steps: int) -> dict[str, Callable[[Summed], object]]:
    """A step (a line and a point), a certificate of the second kind on, and a run of `steps`."""
    Y = np.random.default_rng(0).standard_normal((COLUMNS, RANK))

    def step(summed: Summed) -> object:
        evaluation = summed.at(Y)
        return evaluation.along(-evaluation.factor_gradient()).step(1e-3).value

    def run(summed: Summed) -> object:
        geometry = FlatQuotient(summed.n, RANK)
        return solve(summed, geometry, ConjugateGradient(), rng=0, tol=1e-14, max_iterations=steps)

    return {"a step": step, "a certificate": lambda summed: certify(summed, Y), f"a run of {steps} steps": run}


def recipes_of(pairs: int, parts: int) -> list[Any]:
    """Parts of a squared loss on so many pairs among a quarter as many rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((pairs // 4, COLUMNS))
    i = rng.integers(len(X), size=pairs)
    tuples = np.column_stack([i, (i + 1 + rng.integers(len(X) - 1, size=pairs)) % len(X), np.arange(pairs)])
    recipes = []
    for chosen in even_slices(pairs, parts):
        rows, positions = touched(tuples[chosen, :2])
        recipes.append((part, X[rows], np.column_stack([positions, tuples[chosen, 2]]), False, pairs))
    return recipes


def summed_on(where: Engine, pairs: int, parts: int) -> Summed:
    return Summed(recipes_of(pairs, parts), where, TermSum([LinearTerm(IdentityForm(COLUMNS), 0.01)]))


def timed(compute: Callable[[Summed], object], summed: Summed, repeats: int) -> float:
    """Median seconds, after a first time in which the problem computes what it keeps."""
    compute(summed)
    clocks = []
    for _ in range(repeats):
        clock = time.perf_counter()
        compute(summed)
        clocks.append(time.perf_counter() - clock)
    return float(np.median(clocks))


def profiled(compute: Callable[[Summed], object], pairs: int, parts: int, repeats: int) -> Profile:
    """The computation in this process, cut into as many parts, with the work of one; of several, the median one."""
    where = Noting()
    summed = summed_on(where, pairs, parts)
    found = median_profile(compute, summed, where, repeats)
    return replace(found, rounds=[each._replace(work=each.work / parts) for each in found.rounds])


def median_profile(compute: Callable[[Summed], object], summed: Summed, where: Noting, repeats: int) -> Profile:
    found = []
    compute(summed)
    for _ in range(repeats):
        where.profile, clock = Profile(), time.perf_counter()
        compute(summed)
        seconds = time.perf_counter() - clock
        where.profile.serial = max(seconds - sum(each.work for each in where.profile.rounds), 0.0)
        found.append((seconds, len(found), where.profile))
    return sorted(found)[len(found) // 2][2]


def one_of_many(name: str, steps: int, pairs: int, parts: int, k: int, repeats: int, barrier: Any, queue: Any) -> None:
    """Seconds of work per round of part k alone, in a process that computes while the others do."""
    where = Noting()
    summed = Summed([recipes_of(pairs, parts)[k]], where, TermSum([LinearTerm(IdentityForm(COLUMNS), 0.01)]))
    barrier.wait()
    rounds = median_profile(computations(steps)[name], summed, where, repeats).rounds
    queue.put(sum(each.work for each in rounds) / len(rounds))


def side_by_side(name: str, steps: int, pairs: int, parts: int, repeats: int) -> Profile:
    """:func:`profiled`, with the work of a part while as many plain processes compute one each."""
    there = multiprocessing.get_context("spawn")
    barrier, queue = there.Barrier(parts), there.Queue()
    given = [(name, steps, pairs, parts, k, repeats, barrier, queue) for k in range(parts)]
    processes = [there.Process(target=one_of_many, args=each) for each in given]
    for process in processes:
        process.start()
    work = float(np.mean([queue.get() for _ in processes]))
    for process in processes:
        process.join()
    alone = profiled(computations(steps)[name], pairs, parts, repeats)
    factor = work * len(alone.rounds) / sum(each.work for each in alone.rounds)
    return replace(alone, rounds=[each._replace(work=factor * each.work) for each in alone.rounds])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200_000, help="of the profile, and of each worker of the fleet")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--local", nargs="*", type=int, default=[2, 4], help="local processes to measure on")
    parser.add_argument("--workers", nargs="*", type=int, default=[10, 100, 1000])
    parser.add_argument("--threads", type=int, default=64, help="of the rounds of many tasks")
    parser.add_argument("--sigma", type=float, default=SIGMA, help="of the fleet; local processes are taken as even")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(argv)
    costs = measured_costs(options.threads)
    print(
        f"a round: {1e3 * costs.fixed:.1f} ms, {1e3 * costs.worker:.1f} per local process, "
        f"{1e3 * costs.megabyte:.1f} per MB and worker; {1e3 * costs.task:.2f} ms per further task; "
        f"{os.cpu_count()} cores"
    )
    tasks = computations(options.steps)
    for workers in options.local:
        expected = {}
        for name in tasks:
            profile = side_by_side(name, options.steps, options.pairs, workers, options.repeats)
            expected[name] = simulated(profile, workers, costs, 0.0, own_cores=False)
        with on_dask(workers) as where:
            summed = summed_on(where, options.pairs, workers)
            for name, compute in tasks.items():
                found = timed(compute, summed, options.repeats)
                print(
                    f"{workers} local processes, {name}: predicted {1e3 * expected[name]:.0f} ms, measured "
                    f"{1e3 * found:.0f}: {100.0 * (expected[name] / found - 1.0):+.0f} per cent"
                )
    for name, compute in tasks.items():
        own = profiled(compute, options.pairs, 1, options.repeats)
        alone = own.serial + sum(each.work for each in own.rounds)
        for workers in options.workers:
            there = simulated(own, workers, costs, options.sigma)
            print(
                f"{workers} workers with {options.pairs} pairs each, {name}: {there:.3f} s; one process with all "
                f"of them {own.serial + workers * (alone - own.serial):.3f} s"
            )
        small = costs.fixed + costs.worker
        per_pair = sum(each.work for each in own.rounds) / len(own.rounds) / options.pairs
        for workers in (4, 8, 16):
            overhead = small + costs.task * (workers + 1)
            slow = simulated(Profile([Round(1.0, 0.0, 0.0)]), workers, Costs(0.0, 0.0, 0.0, 0.0), options.sigma)
            gain = per_pair * (1.0 - slow / workers)
            print(f"{name}: {workers} workers with cores of their own pay from {overhead / gain:.0f} pairs on")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
