"""Max-cut relaxations in CVXPY, by psdopt and CVXPY's conic solvers, with the gap that the multipliers of each prove.

In two spellings: max tr(L X) over X ⪰ 0 with Diag(X) = 1, and its dual, min Σ y over y with Diag(y) − L ⪰ 0. Clarabel
and SCS have n (n + 1)/2 unknowns in the first and n in the second, whose sparsity Clarabel uses. The last row of an
order leaves out CVXPY: conjugate gradient on rows of length one, proven by one Cholesky factor.
"""

from __future__ import annotations

import argparse
import time

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from psdopt.interop.cvxpy import PSDOPT
from psdopt.linalg.threads import one_blas_thread

from .papers.sdp_spheres import spheres

#: Runs shorter than this are made again, and the least time counts.
SHORT = 5.0
REPEATS = 3
#: CVXPY's solvers of programs with a PSD cone; those that are not installed are left out.
PEERS = ("SCS", "CLARABEL", "SDPA", "MOREAU")


def main(argv: list[str]) -> int:
    """Exit code 0; prints a row for each order and each solver."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cvxpy-bridge", description=__doc__)
    parser.add_argument("--orders", type=int, nargs="*", default=[100, 200, 300], metavar="N")
    parser.add_argument("--degree", type=float, default=24.0, help="edges at a vertex, on average")
    parser.add_argument("--solvers", nargs="*", default=["psdopt", *PEERS])
    parser.add_argument("--tol", type=float, default=1e-6, help="of psdopt, of SCS (eps), and of the spheres")
    parser.add_argument("--spellings", nargs="*", default=list(SPELLINGS), choices=SPELLINGS, metavar="NAME")
    parser.add_argument(
        "--interior-up-to", type=int, default=100, metavar="N", help="leaves out interior points' primal beyond"
    )
    arguments = parser.parse_args(argv)
    solvers = {
        "psdopt": {"solver": PSDOPT(), "tol": arguments.tol},
        "SCS": {"solver": "SCS", "eps": arguments.tol, "max_iters": 100_000},
    }
    for name in PEERS[1:]:
        solvers[name] = {"solver": name}
    installed = {"psdopt", *cp.installed_solvers()}
    print(
        "    n  spelling  solver    status                       value  infeasible  proven gap  iterations  process s"
    )
    with one_blas_thread():
        for n in arguments.orders:
            L = laplacian(n, arguments.degree)
            for spelling in arguments.spellings:
                for name in filter(installed.__contains__, arguments.solvers):
                    if name not in PEERS[1:] or spelling == "lmi" or n <= arguments.interior_up_to:
                        row(n, spelling, name, L, solvers[name])
            spheres_row(n, L, arguments.tol)
    return 0


def laplacian(n, degree, seed=0):
    """L/4 of a random graph, (n, n)."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < min(1.0, degree / n), 1).astype(float)
    A += A.T
    return (np.diag(A.sum(axis=0)) - A) / 4.0


def primal(L):
    """max tr(L X), X ⪰ 0, Diag(X) = 1; and how X and y are read from it."""
    X = cp.Variable(L.shape, PSD=True)
    diagonal = cp.diag(X) == 1
    return cp.Problem(cp.Maximize(cp.trace(L @ X)), [diagonal]), lambda: (X.value, diagonal.dual_value)


def lmi(L):
    """min Σ y, Diag(y) − L ⪰ 0; and how X and y are read from it."""
    y = cp.Variable(len(L))
    inside = cp.diag(y) - L >> 0
    return cp.Problem(cp.Minimize(cp.sum(y)), [inside]), lambda: (inside.dual_value, y.value)


SPELLINGS = {"primal": primal, "lmi": lmi}


def row(n, spelling, name, L, options):
    """A line of the table: from a fresh model to its solution, CVXPY's own work included."""
    seconds = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        model, solution = SPELLINGS[spelling](L)
        model.solve(warm_start=False, **options)
        seconds = min(seconds, time.process_time() - start)
        if seconds > SHORT:
            break
    X, y = solution()
    off = max(float(np.max(np.abs(np.diag(X) - 1.0))), -float(np.linalg.eigvalsh(X)[0]))
    value, bound = float(np.sum(L * X)), proven(L, y)
    gap = (bound - value) / abs(bound)
    head = f"{n:5}  {spelling:8}  {name:8}  {model.status:20} {value:13.8g}  {off:10.1e}  {gap:10.1e}"
    steps = model.solver_stats.num_iters
    print(f"{head}  {'' if steps is None else steps:10}  {seconds:9.3f}", flush=True)


def spheres_row(n, L, tol):
    """The line of the peer that is not a solver of CVXPY."""
    C, seconds = sp.csr_array(-L), np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        value, gap = spheres(C, tol)
        seconds = min(seconds, time.process_time() - start)
    head = f"{n:5}  {'':8}  {'spheres':8}  {'':20} {-value:13.8g}  {'':10}  {gap / abs(value):10.1e}"
    print(f"{head}  {'':10}  {seconds:9.3f}", flush=True)


def proven(L, y):
    """tr(L X) <= Σ y_i + n max(0, λ_max(L − Diag(y))) for every y and every feasible X, as tr X = n."""
    top = float(np.linalg.eigvalsh(L - np.diag(y))[-1])
    return float(np.sum(y)) + len(y) * max(0.0, top)


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
