"""Figures of the paper on BILGO: convergence (figure 2), eigenvectors (table 4).

    python -m benchmarks.bilgo convergence --plot docs/experiments/bilgo_convergence.png
    python -m benchmarks.bilgo eigenvectors --sizes 500 1000
    python -m benchmarks.bilgo metric

Data sets other than scikit-learn's come from the folder named by the environment variable PSDOPT_DATA; without it
`convergence` uses digits. Wall-clock ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from psdopt import ConjugateGradient, FlatQuotient, PSDCone, solve
from psdopt.methods.bilgo import BILGO
from psdopt.oracles import least_eigenpairs
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.lmnn import LMNN


def data_set(name: str) -> tuple[str, Any, Any]:
    """(name, X, y): `name` from PSDOPT_DATA (LIBSVM sets kept as CSR), or scikit-learn's digits."""
    folder = os.environ.get("PSDOPT_DATA")
    if folder is None or not (Path(folder) / f"{name}.npz").exists():
        X, y = load_digits(return_X_y=True)
        return "digits", X / 16.0, y
    stored = np.load(Path(folder) / f"{name}.npz", allow_pickle=False)
    if "indptr" in stored:
        shape = tuple(stored["shape"])
        return name, sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape), stored["y"]
    return name, stored["X"], stored["y"]


def convergence(args: argparse.Namespace) -> None:
    """Figure 2: value, lambda_max, slack by rule of update, and BILGO with local search."""
    name, X, y = data_set(args.data)
    problem = kta_problem(X, y, 1e-3)
    zero = np.zeros((problem.n, 1))
    runs = {
        "BILGO": BILGO(None, eigenvectors=1),
        "BILGO, local search": BILGO(),
        "Journée et al.": BILGO(None, eigenvectors=1, rule="journee"),
        "random conic pursuit": BILGO(None, rule="random-conic"),
    }
    histories = {}
    for label, method in runs.items():
        result = solve(problem, PSDCone(problem.n), method, start=zero, max_iterations=args.iterations)
        histories[label] = result.history
        _print_run(name, label, result)
    random = solve(problem, FlatQuotient(problem.n, problem.n), ConjugateGradient(), max_iterations=args.iterations)
    _print_run(name, "LRO, random start", random)
    if args.plot:
        _plot_convergence(histories, random.value, name, args.plot)


def _print_run(name: str, label: str, result: Any) -> None:
    print(
        f"{name:8s} {label:22s} {result.status.label:16s} value {result.value:.8g} rank {result.rank:3d} "
        f"certificate {result.certificate.relative:.1e} {result.iterations:4d} steps {result.seconds:.2f} s"
    )


def _plot_convergence(histories: dict[str, Any], best: float, name: str, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    for label, history in histories.items():
        steps = np.arange(len(history))
        floor = 1e-15 * abs(history["value"][0] - best)
        axes[0].semilogy(steps, np.maximum(history["value"] - best, floor), label=label)
        for axis, column in zip(axes[1:], ("lambda_max", "slack", "alpha"), strict=True):
            values = history[column]
            seen = np.isfinite(values)
            if column == "alpha":
                axis.plot(steps[seen], values[seen], ".", ms=3)
            else:
                axis.semilogy(steps[seen], np.maximum(values[seen], 1e-12), ".-", ms=3)
    for axis, title in zip(axes, ("F - F*", "lambda_max(-S)", "|S M|", "alpha"), strict=True):
        axis.set_title(title)
        axis.set_xlabel("step")
    axes[3].set_ylim(0, 1.5)
    axes[0].legend(fontsize=8)
    figure.suptitle(f"KTA on {name}")
    figure.savefig(path, dpi=90)


def eigenvectors(args: argparse.Namespace) -> None:
    """Table 4: random symmetric matrices, and the same with a start that is nearly right."""
    rng = np.random.default_rng(0)
    for n in args.sizes:
        A = rng.standard_normal((n, n))
        S = 0.5 * (A + A.T)
        near = np.linalg.eigh(S)[1][:, :1] + 1e-6 * rng.standard_normal((n, 1))
        for backend in ("lanczos", "eigsh", "newton-lanczos", "newton-cg"):
            start = time.perf_counter()
            cold = least_eigenpairs(S, tol=1e-6, backend=backend)
            seconds = time.perf_counter() - start
            warm = least_eigenpairs(S, tol=1e-4, backend=backend, start=near)
            print(f"n {n:5d} {backend:15s} cold {cold.products:5d} products {seconds:.3f} s, warm {warm.products:4d}")


def metric(args: argparse.Namespace) -> None:
    """3-NN accuracy and time of LMNN beside scikit-learn's NCA, five splits of digits."""
    X, y = load_digits(return_X_y=True)
    for seed in range(5):
        A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        for model in (LMNN(), NeighborhoodComponentsAnalysis(random_state=0)):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(A, a)
            seconds = time.perf_counter() - start
            score = KNeighborsClassifier(3).fit(model.transform(A), a).score(model.transform(B), b)
            print(f"split {seed} {type(model).__name__:32s} accuracy {score:.4f} in {seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("convergence", "eigenvectors", "metric"))
    parser.add_argument("--data", default="a1a")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--plot", help="PNG file")
    args = parser.parse_args()
    commands = {"convergence": convergence, "eigenvectors": eigenvectors, "metric": metric}
    commands[args.what](args)


if __name__ == "__main__":
    main()
