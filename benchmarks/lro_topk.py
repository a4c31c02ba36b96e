"""Top-k eigenpairs against eigsh and lobpcg: processor time and the accuracy reached.

    psdopt bench lro_topk [--cases dense2000 dense5000 sparse50000]

Random symmetric indefinite K. TopKEigen and lobpcg are asked for the accuracy at hand (the sum of the k largest
eigenvalues right to 1e-6); eigsh runs with its own default. The reference is LAPACK for dense K, and for sparse K the
largest sum found, since all of them give lower bounds. Runs are interleaved and repeated; medians are shown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from scipy.sparse.linalg import eigsh, lobpcg

from psdopt_plugins.spectral import TopKEigen

CASES = {"dense2000": (2000, (40, 80)), "dense5000": (5000, (40, 80)), "sparse50000": (50_000, (20,))}
ACCURACY = 1e-6


def matrix(name: str) -> Any:
    """K: dense Gaussian, or sparse with 1e6 entries at random places."""
    n, _ = CASES[name]
    rng = np.random.default_rng(0)
    if name.startswith("dense"):
        G = rng.standard_normal((n, n))
        return (G + G.T) / np.sqrt(2.0 * n)
    i, j = rng.integers(0, n, 500_000), rng.integers(0, n, 500_000)
    K = sp.csr_array(sp.coo_array((rng.standard_normal(500_000), (i, j)), shape=(n, n)))
    return sp.csr_array(K + K.T)


def by_lobpcg(K: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """lobpcg from random columns; residuals of 1e-3 of |K| give the eigenvalues to about 1e-6."""
    X = np.random.default_rng(0).standard_normal((K.shape[0], k))
    scale = float(np.linalg.norm(K @ X[:, 0]) / np.linalg.norm(X[:, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, vectors = lobpcg(K, X, largest=True, tol=1e-3 * scale, maxiter=1000)
    return values, vectors


def by_psdopt(K: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    top = TopKEigen(k, tol=ACCURACY).fit(K)
    return top.eigenvalues_, top.eigenvectors_


SOLVERS: dict[str, Callable[[Any, int], tuple[np.ndarray, np.ndarray]]] = {
    "psdopt": by_psdopt,
    "eigsh": lambda K, k: eigsh(K, k, which="LA"),
    "lobpcg": by_lobpcg,
}


def compare(name: str, k: int, repeats: int) -> dict[str, Any]:
    """Median seconds, relative error of the sum and loss of orthonormality of each solver."""
    K = matrix(name)
    n = K.shape[0]
    seconds: dict[str, list[float]] = {solver: [] for solver in SOLVERS}
    sums, loss = {}, {}
    for repeat in range(repeats):
        for solver, run in SOLVERS.items():
            if solver == "lobpcg" and repeat > 0:
                continue
            clock = time.process_time()
            values, vectors = run(K, k)
            seconds[solver].append(time.process_time() - clock)
            sums[solver] = float(np.sum(values))
            loss[solver] = float(np.max(np.abs(vectors.T @ vectors - np.eye(len(values)))))
    if sp.issparse(K):
        best = max(sums.values())
    else:
        best = float(np.sum(scipy.linalg.eigvalsh(K, subset_by_index=[n - k, n - 1])))
    return {
        "case": name, "k": k, "seconds": {solver: float(np.median(found)) for solver, found in seconds.items()},
        "error": {solver: abs(best - total) / best for solver, total in sums.items()}, "loss": loss,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    parser = argparse.ArgumentParser(prog="psdopt bench lro_topk", description="top-k eigenpairs")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    view = Table(
        "K", "k", "solver", "seconds", "of psdopt's", "error", "orthonormal to", title="Top-k, processor seconds"
    )
    console = Console(width=110)
    for name in options.cases:
        for k in CASES[name][1]:
            found = compare(name, k, options.repeats)
            for solver, seconds in found["seconds"].items():
                own = found["seconds"]["psdopt"]
                row = (name, str(k), solver, f"{seconds:.2f}", f"{seconds / own:.2f}")
                view.add_row(*row, f"{found['error'][solver]:.0e}", f"{found['loss'][solver]:.0e}")
                console.print(*row, f"{found['error'][solver]:.0e}", f"{found['loss'][solver]:.0e}")
    console.print(view)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
