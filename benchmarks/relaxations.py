"""NearestCorrelation against SCS through CVXPY, one run each: processor seconds, distance, smallest eigenvalue.

    OPENBLAS_NUM_THREADS=1 python benchmarks/relaxations.py 100 300

SCS gets a fresh problem and eps 1e-6; its time is that of the whole `solve`, and, in brackets, its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from psdopt_plugins.relaxations import NearestCorrelation


def spoilt(n: int) -> np.ndarray:
    """A correlation matrix of three factors and noise, its entries moved by up to 0.5."""
    rng = np.random.default_rng(n)
    C = np.corrcoef(rng.standard_normal((n, 3)) @ rng.standard_normal((3, 2 * n)) + rng.standard_normal((n, 2 * n)))
    E = np.triu(rng.uniform(-0.5, 0.5, (n, n)), 1)
    return np.clip(C + E + E.T, -1.0, 1.0)


def scs(G: np.ndarray) -> tuple[np.ndarray, float]:
    M = cp.Variable(G.shape, PSD=True)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(M - G)), [cp.diag(M) == 1.0])
    problem.solve(solver="SCS", eps_abs=1e-6, eps_rel=1e-6, max_iters=20_000)
    return np.asarray(M.value), float(problem.solver_stats.solve_time)


def main(argv: Sequence[str] | None = None) -> int:
    for n in [int(word) for word in (sys.argv[1:] if argv is None else argv)] or [100, 300]:
        G = spoilt(n)
        begun = time.process_time()
        model = NearestCorrelation(solver_options={"tol": 1e-8}).fit(G)
        ours = time.process_time() - begun
        begun = time.process_time()
        M, inside = scs(G)
        theirs = time.process_time() - begun
        off = np.abs(np.diagonal(M) - 1.0).max()
        low = np.linalg.eigvalsh(M)[0]
        gap = model.distance_ / model.distance_bound_ - 1.0
        print(f"n = {n}: psdopt {ours:.3f} s, |M - G| {model.distance_:.8f}, proven gap {gap:.1e}")
        print(f"  SCS {theirs:.2f} s ({inside:.2f}), |M - G| {np.linalg.norm(M - G):.8f}, diagonal off by {off:.0e}, "
              f"lambda_min {low:.0e}")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
