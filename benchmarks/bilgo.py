"""Figures of the paper on BILGO: convergence (figure 2), eigenvectors (table 4).

    python -m benchmarks.bilgo convergence --plot docs/experiments/bilgo_convergence.png
    python -m benchmarks.bilgo alignment --repeats 3
    python -m benchmarks.bilgo eigenvectors --sizes 500 1000
    python -m benchmarks.bilgo oracles
    python -m benchmarks.bilgo metric --splits 40

Data sets other than scikit-learn's come from the folder named by the environment variable PSDOPT_DATA; without it
`convergence` uses digits. Wall-clock ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from psdopt import ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, solve
from psdopt.methods.bilgo import BILGO
from psdopt.oracles import least_eigenpairs
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges
from psdopt_plugins.manifold_learning.landmarks import geodesic_axes
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.metric_learning.impostors import target_neighbours, violated_triplets
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.lmnn import LMNN
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.papers.newton_oracle import newton_least


def data_set(name: str) -> tuple[str, Any, Any]:
    """(name, X, y): `name` from PSDOPT_DATA (LIBSVM sets kept as CSR); without that folder scikit-learn's digits."""
    folder = os.environ.get("PSDOPT_DATA")
    if folder is None or name == "digits":
        X, y = load_digits(return_X_y=True)
        return "digits", X / 16.0, y
    if not (Path(folder) / f"{name}.npz").exists():
        known = ", ".join(sorted(path.stem for path in Path(folder).glob("*.npz")))
        raise SystemExit(f"{name} is not in {folder}, which has {known}")
    stored = np.load(Path(folder) / f"{name}.npz", allow_pickle=False)
    if "indptr" in stored:
        shape = tuple(stored["shape"])
        return name, sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape), stored["y"]
    return name, stored["X"], stored["y"]


def convergence(args: argparse.Namespace) -> None:
    """Figure 2: value, lambda_max, slack, alpha, beta, accuracies by rule of update, and BILGO with local search."""
    name, X, y = data_set(args.data)
    A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    zero = np.zeros((A.shape[1], 1))
    runs = {
        "BILGO": BILGO(None, eigenvectors=1),
        "BILGO, local search": BILGO(),
        "Journée et al.": BILGO(None, eigenvectors=1, rule="journee"),
        "random conic pursuit": BILGO(None, rule="random-conic"),
    }
    histories, accuracies = {}, {}
    for label, method in runs.items():
        course = _Accuracies(A, a, B, b)
        begin = time.process_time()
        problem = kta_problem(A, a, 1e-3)  # a new one each time: it keeps what one method has decomposed
        result = solve(
            problem, PSDCone(problem.n), method, start=zero, max_iterations=args.iterations,
            callback=course if args.plot else None,
        )  # fmt: skip
        histories[label], accuracies[label] = result.history, course.points
        _print_run(name, label, result, time.process_time() - begin)
    begin = time.process_time()
    problem = kta_problem(A, a, 1e-3)
    random = solve(problem, FlatQuotient(problem.n, problem.n), ConjugateGradient(), max_iterations=args.iterations)
    _print_run(name, "LRO, random start", random, time.process_time() - begin)
    if args.plot:
        _plot_convergence(histories, accuracies, random.value, name, args.plot)


class _Accuracies:
    """(step, 3-NN accuracy in training without the sample itself, in test) after ever more steps."""

    def __init__(self, A: Any, a: Any, B: Any, b: Any) -> None:
        self.A, self.a, self.B, self.b = A, a, B, b
        self.points: list[tuple[int, float, float]] = []

    def __call__(self, snapshot: Any) -> None:
        k = snapshot.iteration
        if self.points and k < 1.1 * self.points[-1][0]:
            return
        Y = snapshot.state.evaluation.factor
        model = KNeighborsClassifier(3, algorithm="brute").fit(self.A @ Y, self.a)
        near = np.sort(self.a[model.kneighbors(return_distance=False)], axis=1)
        voted = np.where(near[:, 0] == near[:, 1], near[:, 0], near[:, 2])  # of three, two or none agree
        self.points.append((k, float(np.mean(voted == self.a)), model.score(self.B @ Y, self.b)))


def _print_run(name: str, label: str, result: Any, seconds: float) -> None:
    print(
        f"{name:8s} {label:22s} {result.status.label:16s} value {result.value:.8g} rank {result.rank:3d} "
        f"certificate {result.certificate.relative:.1e} {result.iterations:4d} steps {seconds:.2f} s",
        flush=True,
    )


def _plot_convergence(histories: dict[str, Any], accuracies: dict[str, Any], best: float, name: str, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 4, figsize=(15, 6.4), layout="constrained")
    axes = dict(zip(("value", "lambda_max", "slack", "alpha", "beta", "training", "test"), grid.ravel(), strict=False))
    grid[1, 3].set_visible(False)
    for label, history in histories.items():
        steps = np.arange(len(history))
        floor = 1e-15 * abs(history["value"][0] - best)
        (line,) = axes["value"].semilogy(steps, np.maximum(history["value"] - best, floor), label=label)
        for column in ("lambda_max", "slack", "alpha", "beta"):
            values = history[column]
            seen = np.isfinite(values) & ((values > 0.0) | (column == "alpha"))
            style = ".-" if column in ("lambda_max", "slack") else "."
            axes[column].plot(steps[seen], values[seen], style, ms=3, color=line.get_color())
        at, *scores = np.array(accuracies[label]).T
        for column, score in zip(("training", "test"), scores, strict=True):
            axes[column].plot(at, score, ".-", ms=4, color=line.get_color())
    titles = ("F - F*", "lambda_max(-S)", "|S M|", "alpha", "beta", "3-NN accuracy, training", "3-NN accuracy, test")
    for (column, axis), title in zip(axes.items(), titles, strict=True):
        axis.set_title(title)
        axis.set_xlabel("step")
        if column in ("lambda_max", "slack", "beta"):
            axis.set_yscale("log")
    axes["alpha"].set_ylim(0, 1.5)
    axes["training"].sharey(axes["test"])
    axes["value"].legend(fontsize=8)
    figure.suptitle(f"KTA on {name}")
    figure.savefig(path, dpi=90)


def alignment(args: argparse.Namespace) -> None:
    """KTA to certificate 1e-6, nearly full rank, and a quadratic SDP of rank 12: BILGO beside conjugate gradient."""
    for name, make in _alignments():
        spent: dict[str, list[float]] = {"BILGO": [], "LRO": []}
        for _ in range(args.repeats):
            for label in spent:
                problem = make()
                pieces = (PSDCone(problem.n), BILGO()) if label == "BILGO" else (
                    FlatQuotient(problem.n, problem.n), ConjugateGradient(),
                )  # fmt: skip
                begin = time.process_time()
                result = solve(problem, *pieces)
                spent[label].append(time.process_time() - begin)
                columns = result.counts["operator_columns"]
                _print_run(name, f"{label}, {columns} columns", result, spent[label][-1])
        print(f"{name:8s} ratio of medians {np.median(spent['BILGO']) / np.median(spent['LRO']):.2f}", flush=True)


def _alignments() -> list[tuple[str, Any]]:
    def kta(name: str, m: int | None = None) -> Any:
        _, X, y = data_set(name)
        return lambda: kta_problem(X[:m], y[:m], 1e-3)

    X, y = load_digits(return_X_y=True)
    cases = [("digits", lambda: kta_problem(X / 16.0, y, 1e-3)), ("a1a", kta("a1a")), ("w1a", kta("w1a"))]
    return [*cases, ("isolet", kta("isolet", 1500)), ("rank 12", lambda: planted(400, 12))]


def planted(n: int, rank: int) -> QuadraticSDP:
    """A random quadratic SDP of order n whose optimum has this rank, strictly complementary."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n))
    A = A @ A.T / n
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q[:, :rank] * np.linspace(1.0, 3.0, rank)) @ Q[:, :rank].T
    S = (Q[:, rank:] * np.linspace(0.5, 2.0, n - rank)) @ Q[:, rank:].T
    return QuadraticSDP(A, 0.1, 0.5 * (S - 2 * A @ M @ A - 0.2 * M))


def eigenvectors(args: argparse.Namespace) -> None:
    """Table 4: random symmetric matrices, and the same with a start that is nearly right."""
    rng = np.random.default_rng(0)
    for n in args.sizes:
        A = rng.standard_normal((n, n))
        S = 0.5 * (A + A.T)
        near = np.linalg.eigh(S)[1][:, :1] + 1e-6 * rng.standard_normal((n, 1))
        solvers = {name: partial(least_eigenpairs, backend=name) for name in ("lanczos", "eigsh")}
        solvers |= {f"newton-{inner}": partial(newton_least, inner=inner) for inner in ("lanczos", "cg")}
        for name, solver in solvers.items():
            start = time.perf_counter()
            cold = solver(S, tol=1e-6)
            seconds = time.perf_counter() - start
            warm = solver(S, tol=1e-4, start=near)
            print(f"n {n:5d} {name:15s} cold {cold.products:5d} products {seconds:.3f} s, warm {warm.products:4d}")


def oracles(args: argparse.Namespace) -> None:
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
        _, X, y = data_set(name)
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


def metric(args: argparse.Namespace) -> None:
    """3-NN test accuracy and seconds of LMNN beside scikit-learn's NCA, which depends on units: digits, many splits."""
    X, y = load_digits(return_X_y=True)
    learners = {
        "LMNN": (1.0, lambda: LMNN()),
        "NCA, features 0 to 16": (1.0, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
        "NCA, features 0 to 1": (1 / 16, lambda: NeighborhoodComponentsAnalysis(random_state=0)),
    }
    scores: dict[str, list[float]] = {name: [] for name in learners}
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for seed in range(args.splits):
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
    parser.add_argument("what", choices=("convergence", "alignment", "eigenvectors", "oracles", "metric"))
    parser.add_argument("--data", default="a1a")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--splits", type=int, default=40, help="splits of digits for `metric`")
    parser.add_argument("--plot", help="PNG file")
    args = parser.parse_args(argv)
    commands = {
        "convergence": convergence,
        "alignment": alignment,
        "eigenvectors": eigenvectors,
        "oracles": oracles,
        "metric": metric,
    }
    commands[args.what](args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
