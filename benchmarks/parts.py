"""Sums of parts: what a round costs the driver, seconds per step, and the number of pairs from which parts pay.

    python -m benchmarks.parts --engines here dask ray --pairs 20000 200000 --parts 4 1000

Processes are of this machine. Rounds of `--parts` trivial parts come first: seconds of the clock, and of the driver's
processor, which on Dask includes the scheduler, a process of its own in a cluster. F is a squared loss on distances of
pairs among a quarter as many rows; every engine runs the same steps of conjugate gradient, and values are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from psdopt import ConjugateGradient, FlatQuotient, Problem, TermSum, solve
from psdopt.problems.distributed import Engine, Here, OnDask, OnRay, Summed, even_slices, touched
from psdopt.terms import HalfSquaredOneSided, IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, PairDistances

COLUMNS, RANK, STEPS = 50, 8, 25


def part(X: np.ndarray, pairs: np.ndarray, hinge: bool, total: int) -> TermSum:
    """Pairs (p, 3): two rows of X, and an even or odd number that says which side of the threshold is wanted."""
    signs = np.where(pairs[:, 2] % 2, 1.0, -1.0)
    loss = HalfSquaredOneSided(100.0, signs) if hinge else LeastSquares(100.0)
    return TermSum([MeasuredTerm(PairDistances(pairs[:, 0], pairs[:, 1], X), loss, 1.0 / total)])


@contextmanager
def engine(name: str, workers: int) -> Iterator[Engine]:
    if name == "dask":
        from dask.distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield OnDask(client)
    elif name == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        yield OnRay()
        ray.shutdown()
    else:
        yield Here()


def trivial(n: int) -> TermSum:
    """A part without data."""
    return TermSum([LinearTerm(IdentityForm(n), 0.1)])


def per_round(where: Engine, parts: int, n: int, repeats: int = 20) -> tuple[float, float, float, float]:
    """Median seconds, median seconds of this processor, bytes sent and received, per round with a factor (n, RANK)."""
    summed = Summed([(trivial, n)] * parts, where)
    Y = np.ones((n, RANK))
    _ = summed.at(Y).value
    before, clocks = summed.counts(), []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        _ = summed.at(Y).value
        clocks.append((time.perf_counter() - wall, time.process_time() - processor))
    sent, received = ((summed.counts()[name] - before[name]) / repeats for name in ("sent", "received"))
    wall, processor = np.median(clocks, axis=0)
    return float(wall), float(processor), sent, received


def per_step(problem: Problem) -> tuple[float, float, int]:
    """(seconds per step, value, rounds per step times ten) of STEPS steps, after the start."""
    clocks: list[float] = []
    result = solve(
        problem, FlatQuotient(problem.n, RANK), ConjugateGradient(), rng=0, tol=1e-14, max_iterations=STEPS,
        callback=lambda snapshot: clocks.append(time.perf_counter()),
    )  # fmt: skip
    return (clocks[-1] - clocks[2]) / (len(clocks) - 3), result.value, int(10 * result.counts.get("rounds", 0) / STEPS)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["here", "dask"], choices=["here", "dask", "ray"])
    parser.add_argument("--pairs", nargs="+", type=int, default=[20_000, 200_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", nargs="*", type=int, default=[4, 1000])
    options = parser.parse_args(argv)
    for name in options.engines:
        with engine(name, options.workers) as where:
            for parts in options.parts:
                wall, processor, sent, received = per_round(where, parts, COLUMNS)
                print(
                    f"{name}: {parts} parts on {options.workers} workers: {1e3 * wall:.1f} ms a round, "
                    f"{1e3 * processor:.1f} of the driver's processor, {sent:.0f} bytes sent, {received:.0f} received"
                )
    for hinge in (False, True):
        for p in options.pairs:
            rng = np.random.default_rng(0)
            X = rng.standard_normal((p // 4, COLUMNS))
            i = rng.integers(len(X), size=p)
            pairs = np.column_stack([i, (i + 1 + rng.integers(len(X) - 1, size=p)) % len(X), np.arange(p)])
            local = TermSum([LinearTerm(IdentityForm(COLUMNS), 0.01)])
            whole = TermSum([*part(X, pairs, hinge, p).terms, *local.terms])
            alone, value, _ = per_step(whole)
            kind = "hinge" if hinge else "squared"
            print(f"{kind} p = {p}: one process {1e3 * alone:.1f} ms per step, F = {value:.10g}")
            recipes = []
            for chosen in even_slices(p, options.workers):
                rows, positions = touched(pairs[chosen, :2])
                recipes.append((part, X[rows], np.column_stack([positions, pairs[chosen, 2]]), hinge, p))
            for name in options.engines:
                with engine(name, options.workers) as where:
                    summed = Summed(recipes, where, local)
                    seconds, value, rounds = per_step(summed)
                    print(f"    {name}: {rounds / 10:.1f} rounds and {1e3 * seconds:.1f} ms per step, F = {value:.10g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
