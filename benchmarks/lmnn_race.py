"""LMNN (and, on request, KTA by BILGO) beside metric-learn's and PyLMNN's: test error, processor time, peak memory.

    python -m benchmarks.lmnn_race letters usps isolet mnist10k --limit 300

Peers run in the pinned environment of benchmarks/pinned_peers.py, with their default settings and 3 neighbours; one
that is stopped after `limit` seconds of wall time has used at least the processor time printed. Every learner has a
process of its own, started the same way, so that peak memory is its own (data and libraries included), and one thread;
processor time is that of fit, without imports. The split is 70/30, stratified, seed 0.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
from collections.abc import Sequence
from typing import Any

from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.data import dense, load
from benchmarks.pinned_peers import learn

METHODS = {"ours": "psdopt", "kta": "psdopt-kta", "pylmnn": "pylmnn", "metric-learn": "lmnn"}


def run(learner: str, A: Any, a: Any, limit: float, answer: Any) -> None:
    """(components or None, processor seconds, megabytes before and after) of one fit, by a child of this process."""
    try:
        options = {} if learner == "kta" else {"n_neighbors": 3}
        found = learn(METHODS[learner], A, a, timeout=limit, **options)
        answer.put((found.components, found.cpu_seconds, found.megabytes))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"    {learner}: {type(error).__name__}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer.put((None, used.ru_utime + used.ru_stime, (float("nan"), float("nan"))))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--learners", nargs="+", choices=METHODS, default=["ours", "pylmnn", "metric-learn"])
    args = parser.parse_args(argv)
    context = multiprocessing.get_context("spawn")  # OpenMP does not survive a fork
    for name in args.data:
        X, y, _ = load(name)
        X = dense(X)  # the peers take nothing else
        if name == "letters":
            X, y = X[:5000], y[:5000]
        A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        plain = 1.0 - KNeighborsClassifier(3).fit(A, a).score(B, b)
        print(f"{name}: {len(A)} to train, {A.shape[1]} features, Euclidean 3-NN error {plain:.4f}", flush=True)
        first = None
        for learner in args.learners:
            answer: Any = context.Queue()
            process = context.Process(target=run, args=(learner, A, a, args.limit, answer))
            process.start()
            components, seconds, (before, peak) = answer.get()
            process.join()
            first = first or seconds
            text = "stopped"
            if components is not None:
                score = KNeighborsClassifier(3).fit(A @ components.T, a).score(B @ components.T, b)
                text = f"error {1.0 - score:.4f}"
            print(f"    {learner:12s} {text} {seconds:.2f} s ({seconds / first:.1f}x) {peak:.0f} MB, "
                  f"{before:.0f} of them before fit", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
