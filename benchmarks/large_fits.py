"""Fits to 100,000 samples: processor seconds and memory of each estimator, defaults only.

    python -m benchmarks large_fits --rows 100000 --columns 50 --only LMNN Linearity

Every fit runs in a process of its own, with one BLAS thread, at most 8 GB of addresses and `--limit` processor seconds.
Samples are ten Gaussian classes whose means differ in ten of the columns; columns of noise are wider. The error is that
of three neighbours among 20,000 others, of 3,000 samples.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
import warnings
from typing import Any

import numpy as np

ESTIMATORS = {
    "KTA": "metric_learning", "DistanceRegression": "metric_learning", "NCA": "metric_learning",
    "Linearity": "metric_learning", "LMNN": "metric_learning", "PSDBoost": "metric_learning",
    "PairwiseKernel": "kernel_learning", "MaximumVarianceUnfolding": "manifold_learning",
    "DistanceKernel": "kernel_learning", "SSTRESS": "manifold_learning",
}  # fmt: skip
CLASSES, INFORMATIVE = 10, 10


def samples(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """X (rows, columns) and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=rows)
    X = rng.standard_normal((rows, columns))
    X[:, INFORMATIVE:] *= 1.5
    X[:, :INFORMATIVE] += 1.7 * rng.standard_normal((CLASSES, min(INFORMATIVE, columns)))[y]
    return X, y


def neighbour_error(Z: np.ndarray, y: np.ndarray) -> float:
    """Share of 3,000 samples that are misclassified by three neighbours among 20,000 others."""
    from sklearn.neighbors import KNeighborsClassifier

    order = np.random.default_rng(1).permutation(len(y))
    test, train = order[: min(3000, len(y) // 4)], order[-min(20_000, len(y) // 2) :]
    return 1.0 - float(KNeighborsClassifier(3).fit(Z[train], y[train]).score(Z[test], y[test]))


def peak() -> float:
    """Largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def fit(name: str, rows: int, columns: int, limit: int, answer: Any) -> None:
    """Sends one line on the fit of `name`; a process that is out of time ends without."""
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    X, y = samples(rows, columns)
    package = __import__(f"psdopt_plugins.{ESTIMATORS[name]}", fromlist=[name])
    estimator = getattr(package, name)()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    warnings.simplefilter("ignore")
    before, cpu = peak(), time.process_time()
    try:
        estimator.fit(X, y)
        cpu, most = time.process_time() - cpu, peak() - before
        end = estimator.result_.status.label
        learned = estimator.transform(X) if hasattr(estimator, "components_") else estimator.embedding_
        end += f", 3-NN error {100 * neighbour_error(learned, y):.1f} %"
    except (ValueError, MemoryError) as error:
        cpu, most = time.process_time() - cpu, peak() - before
        end = f"{type(error).__name__}: {error}"
    answer.put(f"{name} | {cpu:.1f} s | {most:.0f} MB | {end}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--limit", type=int, default=200, help="processor seconds of each fit")
    parser.add_argument("--only", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS)
    options = parser.parse_args(argv)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    X, y = samples(options.rows, options.columns)
    print(f"3-NN error of the Euclidean distance: {100 * neighbour_error(X, y):.1f} %")
    context = multiprocessing.get_context("spawn")
    print("estimator | processor time | memory above the data | end")
    for name in options.only:
        answer = context.Queue()
        process = context.Process(
            target=fit, args=(name, options.rows, options.columns, options.limit, answer), daemon=True
        )
        process.start()
        process.join()
        print(f"{name} | > {options.limit} s | | " if process.exitcode else answer.get(), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
