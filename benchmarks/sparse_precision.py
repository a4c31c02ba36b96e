"""SparsePrecision against scikit-learn's GraphicalLasso: processor seconds, F(M), and how far both are from the bound.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks sparse-precision 20 50 100 200

For each number n of variables, samples of a random sparse precision matrix (``make_sparse_spd_matrix``, about four
links for each variable), as many as half of n, n and 4 n, of variance one, and two penalties. The least of three runs;
both at their default tolerances, and the peer at a hundredth of its own as well.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.covariance import GraphicalLasso
from sklearn.datasets import make_sparse_spd_matrix

from psdopt_plugins.covariance import SparsePrecision


def samples(n: int, m: int) -> np.ndarray:
    """(m, n) of variance one, from a sparse precision matrix."""
    M = make_sparse_spd_matrix(n, alpha=1.0 - 4.0 / n, random_state=n)
    X = np.random.default_rng(n).multivariate_normal(np.zeros(n), np.linalg.inv(M), m)
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def objective(S: np.ndarray, M: np.ndarray, alpha: float) -> float:
    """⟨S, M⟩ − log det M + alpha Σ_{i≠j} |M_ij|."""
    off = np.abs(M).sum() - np.abs(np.diagonal(M)).sum()
    return float(np.sum(S * M) - np.linalg.slogdet(M)[1] + alpha * off)


def timed(fit: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """The least processor seconds of `runs` runs, and the last result, None where it failed."""
    seconds, found = np.inf, None
    for _ in range(runs):
        begun = time.process_time()
        try:
            found = fit()
        except FloatingPointError:
            found = None
        seconds = min(seconds, time.process_time() - begun)
    return seconds, found


def main(argv: Sequence[str] | None = None) -> int:
    warnings.simplefilter("ignore")
    for n in [int(word) for word in (sys.argv[1:] if argv is None else argv)] or [20, 50, 100]:
        for m in (n // 2, n, 4 * n):
            X = samples(n, m)
            S = X.T @ X / m
            for alpha in (0.05, 0.2):
                seconds, ours = timed(lambda X=X, alpha=alpha: SparsePrecision(alpha).fit(X))  # type: ignore[misc]
                line = f"n = {n}, m = {m}, alpha = {alpha}, {np.mean(ours.precision_ != 0.0):.0%} of M: "
                line += f"psdopt {seconds:.3f} s, gap {ours.gap_:.1e}"
                for tol in (1e-4, 1e-6):
                    slow, peer = timed(
                        lambda X=X, alpha=alpha, tol=tol: GraphicalLasso(alpha, tol=tol).fit(X)  # type: ignore[misc]
                    )
                    if peer is None:
                        line += f"; GraphicalLasso at {tol:g} fails after {slow:.3f} s"
                    else:
                        excess = objective(S, peer.precision_, alpha) - ours.bound_
                        line += f"; at {tol:g} {slow:.3f} s, gap {excess:.1e}, ratio {slow / seconds:.1f}"
                print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
