"""PSDBoost beyond the paper's experiments: masters by other solvers, Clarabel's limits, memory.

    python -m benchmarks.psdboost masters [--sizes 24 64 200]  (other masters, 150 rounds at most)
    python -m benchmarks.psdboost limit [--limit 300 --memory 12]  (Clarabel on the full SDP at D = 200)
    python -m benchmarks.psdboost memory                       (needs PSDOPT_DATA)

The paper's experiments are those of `python -m benchmarks reproduce --paper psdboost`. Seconds are processor seconds
of one process (set OPENBLAS_NUM_THREADS=1): both sides of a ratio are measured in one run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.papers.data import load
from benchmarks.papers.psdboost import NU, column_generation, full_sdp, synthetic
from benchmarks.psdboost_masters import ConicMaster, Level, Proximal
from psdopt import ColumnGeneration, Method, solve
from psdopt_plugins.metric_learning import MatrixGeneration
from psdopt_plugins.metric_learning.psdboost import triplet_margin_problem
from psdopt_plugins.pair_sampling import nearest_triplets


def instance(D: int, m: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic up to D = 200; at 784 `m` triplets of mnist10k, with as many neighbours as these take."""
    if D != 784:
        return synthetic(D)
    X, y, _ = load("mnist10k")
    N, k = (2500, 2) if m <= 10_000 else (10_000, 4)
    X, y = X[:N] / 255.0, y[:N]
    rows = nearest_triplets(X, y, k)
    return X, rows[np.random.default_rng(0).permutation(len(rows))[:m]]


def limit(seconds: int, gigabytes: int) -> None:
    """What becomes of Clarabel on the full SDP at D = 200."""
    X, rows = instance(200)
    print(f"D = 200, {len(rows)} triplets, Clarabel:", limited_sdp(X, rows, 1e-4, seconds, gigabytes), flush=True)


def limited_sdp(X: np.ndarray, rows: np.ndarray, tol: float, seconds: int, gigabytes: int) -> str:
    """What became of Clarabel on the full SDP in a process of `seconds` processor seconds and `gigabytes`."""
    queue: Any = multiprocessing.Queue()
    start = time.perf_counter()
    child = multiprocessing.Process(target=_limited, args=(queue, X, rows, tol, seconds, gigabytes))
    child.start()
    child.join()
    wall = time.perf_counter() - start
    if not queue.empty():
        return str(queue.get())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime
    how = f"ended by signal {-(child.exitcode or 0)} after {spent:.0f} s ({wall:.0f} s by the clock)"
    return f"{how}, {used.ru_maxrss / 1e6:.1f} GB"


def _limited(queue: Any, X: np.ndarray, rows: np.ndarray, tol: float, seconds: int, gigabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes * 10**9, gigabytes * 10**9))
    try:
        optimum, _, spent = full_sdp(X, rows, tol)
    except MemoryError:
        queue.put(f"out of memory ({gigabytes} GB) after {time.process_time():.0f} s")
    else:
        queue.put(f"optimum {optimum:.7f} after {spent:.0f} s")


def masters(sizes: list[int]) -> None:
    """The same runs with the library's block master, with Clarabel's, and by stabilised linear programs."""
    methods: dict[str, Method] = {
        "interior point": ColumnGeneration(),
        "clarabel": ColumnGeneration(master=ConicMaster()),
        "level": MatrixGeneration(Level(), max_columns=120),
        "proximal": MatrixGeneration(Proximal(), max_columns=120),
    }
    for D in sizes:
        X, rows = instance(D)
        for name, method in methods.items():
            result, seconds = column_generation(X, rows, 1e-4, 150, method)
            assert result.certificate is not None
            text = f"D = {D}, {name}: {result.iterations} rounds, {seconds:.2f} s"
            print(f"{text}, gap {result.certificate.relative:.1e}, {-result.value:.7f}", flush=True)


def memory(rounds: int) -> None:
    """Peak memory of 100,000 triplets at D = 784 after each stage."""
    X, rows = instance(784, 100_000)
    print(f"{len(rows)} triplets of {X.shape}: data {peak():.2f} GB", flush=True)
    problem = triplet_margin_problem(X, rows, 1.0 / (NU * len(rows)))
    evaluation = problem.at(np.random.default_rng(0).standard_normal((784, 20)))
    product = problem.combination(problem.dual_weights(evaluation)) @ evaluation.factor
    print(f"value, and sum w A times 20 columns {product.shape}: {peak():.2f} GB", flush=True)

    def show(snapshot: Any) -> None:
        gap = snapshot.record["gap"]
        print(f"round {snapshot.iteration}: gap {gap:.3g} at {snapshot.value:.6g}, {peak():.2f} GB", flush=True)

    start = time.process_time()
    result = solve(problem, tol=1e-3, max_iterations=rounds, callback=show)
    print(f"{result}, {time.process_time() - start:.0f} s, peak {peak():.2f} GB")


def peak() -> float:
    """Largest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("masters", "limit", "memory"))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 64, 200])
    parser.add_argument("--limit", type=int, default=300, help="processor seconds for Clarabel at D = 200")
    parser.add_argument("--memory", type=int, default=12, help="gigabytes of address space for it")
    given = parser.parse_args(argv)
    if given.part == "masters":
        masters(given.sizes)
    elif given.part == "limit":
        limit(given.limit, given.memory)
    else:
        memory(given.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
