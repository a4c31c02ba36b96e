"""BILGO beyond the paper's experiments: its oracle on gradients that occur here, LMNN beside NCA.

    python -m benchmarks.bilgo oracles         (needs PSDOPT_DATA)
    python -m benchmarks.bilgo metric --splits 40

The paper's experiments are those of `psdopt reproduce --paper bilgo`. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from psdopt.oracles import least_eigenpairs
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges
from psdopt_plugins.manifold_learning.landmarks import geodesic_axes
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.metric_learning.impostors import target_neighbours, violated_triplets
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.lmnn import LMNN
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.papers.data import load


def oracles() -> None:
    """The least eigenvector of gradients that occur here: ours cold, ours warm, SciPy's eigsh."""
    for label, problem, Y, steps in _gradients():
        evaluation = problem.at(Y)
        S, n = evaluation.gradient, problem.n
        tol = 1e-3 * abs(problem.duality.smallest_eigenpair(evaluation, S, tol=1e-6).value)
        size = abs(float(eigsh(S, 1, tol=0.1)[0][0]))  # ARPACK's tolerance is relative
        near = least_eigenpairs(S, tol=0.01 * tol).vector + 1e-4 * np.random.default_rng(0).standard_normal(n) / n**0.5
        runs: dict[str, Any] = {
            "ours, cold": lambda S=S, tol=tol: least_eigenpairs(S, tol=tol),
            "ours, warm": lambda S=S, tol=tol, near=near: least_eigenpairs(S, tol=tol, start=near),
            "the problem's own": lambda p=problem, e=evaluation, S=S, tol=tol: p.duality.smallest_eigenpair(
                e, S, tol=tol
            ),
            "eigsh, cold": lambda S=S, tol=tol / size: eigsh(S, 1, which="SA", tol=tol),
        }
        for name, run in runs.items():
            begin = time.process_time()
            for _ in range(steps):
                found = run()
            value = found[0][0] if isinstance(found, tuple) else found.value
            spent = (time.process_time() - begin) / steps
            print(f"{label:12s} n {n:5d} {name:18s} value {value:.8g} {1e3 * spent:9.2f} ms", flush=True)


def _gradients() -> list[tuple[str, Any, Any, int]]:
    rng = np.random.default_rng(0)
    cases: list[tuple[str, Any, Any, int]] = []
    for name in ("a1a", "isolet"):
        X, y, _ = load(name)
        problem = kta_problem(X[:1500], y[:1500], 1e-3)
        cases.append((f"KTA {name}", problem, rng.standard_normal((problem.n, 5)) / problem.n, 5))
    X, y = load_digits(return_X_y=True)
    targets = target_neighbours(X, y, 3)
    Z = 0.05 * rng.standard_normal((64, 8))
    triplets = violated_triplets(X @ Z, y, targets, limit=50_000)[0]
    cases.append(("LMNN digits", lmnn_problem(X, targets, triplets, 3.0), Z, 5))
    edges = nearest_neighbour_edges(make_swiss_roll(1500, random_state=0)[0], 5)
    cases.append(("MVU roll", mvu_problem(edges.matrix(), 2e-3), geodesic_axes(edges, 2), 1))
    return cases


def metric(splits: int) -> None:
    """3-NN test accuracy and seconds of LMNN beside scikit-learn's NCA, which depends on units: digits, many splits."""
    X, y = load_digits(return_X_y=True)
    learners = {
        "LMNN": (1.0, lambda: LMNN()),
        "NCA, features 0 to 16": (1.0, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
        "NCA, features 0 to 1": (1 / 16, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
    }
    scores: dict[str, list[float]] = {name: [] for name in learners}
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for seed in range(splits):
        A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        for name, (unit, make) in learners.items():
            model, begin = make(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(unit * A, a)
            seconds[name].append(time.process_time() - begin)
            near = KNeighborsClassifier(3).fit(model.transform(unit * A), a)
            scores[name].append(near.score(model.transform(unit * B), b))
    for name, found in scores.items():
        less = np.subtract(scores["LMNN"], found)
        error = less.std(ddof=1) / np.sqrt(len(less)) if len(less) > 1 else float("nan")
        print(
            f"{name:22s} accuracy {np.mean(found):.4f}, LMNN's is {less.mean():+.4f} ± {error:.4f} above, "
            f"median of {len(found)} splits {np.median(seconds[name]):.2f} s",
            flush=True,
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("oracles", "metric"))
    parser.add_argument("--splits", type=int, default=40, help="splits of digits for `metric`")
    args = parser.parse_args(argv)
    if args.what == "oracles":
        oracles()
    else:
        metric(args.splits)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
