"""Sums of parts: seconds per round of each engine, seconds per step, and the number of pairs from which parts pay.

    python -m benchmarks.parts --engines here dask ray --pairs 20000 200000

Processes are of this machine. F is a squared loss on pair distances among a quarter as many rows; every engine runs the
same steps of conjugate gradient, and their values are compared.
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

        with LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            yield OnDask(client)
    elif name == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        yield OnRay()
        ray.shutdown()
    else:
        yield Here()


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
    options = parser.parse_args(argv)
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
                    clock = time.perf_counter()
                    for _ in range(20):
                        summed.ask("about")
                    latency = (time.perf_counter() - clock) / 20
                    seconds, value, rounds = per_step(summed)
                    print(
                        f"    {name}: {1e3 * latency:.1f} ms per empty round, {rounds / 10:.1f} rounds and "
                        f"{1e3 * seconds:.1f} ms per step, F = {value:.10g}"
                    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
