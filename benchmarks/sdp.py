"""Semidefinite programs of SDPLIB, and max-cut relaxations of any order, against conic solvers where installed."""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints, read_sdpa, solve

#: The folder of the .dat-s files.
FOLDER = "PSDOPT_SDPLIB"
#: Peers are skipped beyond this many constraints or this order: they would take many minutes.
PEER_SIZES = {"SCS": (1200, 300), "CLARABEL": (600, 130), "SDPA": (6000, 2000)}
HEAD = "problem      m     n  method               value           bound      infeas.     gap  status        process s"


def main(argv: list[str]) -> int:
    """Exit code 0; prints a row for each program and each solver."""
    parser = argparse.ArgumentParser(prog="psdopt bench sdp", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"programs in the folder ${FOLDER} (default: all of it)")
    parser.add_argument(
        "--max-cut", type=int, nargs="*", default=[], metavar="N", help="random max-cut of these orders"
    )
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for each program of ours")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--peers", action="store_true", help="run SCS, Clarabel and SDPA too, where installed")
    arguments = parser.parse_args(argv)
    print(HEAD)
    for name, problem in programs(arguments.names, arguments.max_cut):
        ours(name, problem, arguments.tol, arguments.max_time)
        for solver in ("SCS", "CLARABEL", "SDPA") if arguments.peers else ():
            peer(name, problem, solver, arguments.tol)
    return 0


def programs(names, orders):
    """(name, problem) one after the other."""
    folder = os.environ.get(FOLDER)
    if folder is not None and not (orders and not names):
        found = {path.name.split(".")[0]: path for path in sorted(Path(folder).glob("*.dat-s*"))}
        for name in names or found:
            yield name, read_sdpa(found[name])
    elif not orders:
        print(f"set {FOLDER} to the folder of the .dat-s files, or name orders by --max-cut")
    for n in orders:
        yield f"cut{n}", max_cut(n)


def max_cut(n, degree=8, seed=0):
    """min −⟨L/4, M⟩, M_ii = 1, for a random graph."""
    rng = np.random.default_rng(seed)
    A = sp.triu(sp.random(n, n, density=min(1.0, degree / n), random_state=rng, format="csr"), 1, format="csr")
    A.data[:] = 1.0
    A = A + A.T
    L = sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=0)).ravel()) - A) / 4.0
    return Constrained(QuadraticSDP(C=-0.5 * L), constraints.diagonal(n, 1.0))


def ours(name, problem, tol, max_time):
    """One run, with its certificate."""
    start = time.process_time()
    result = solve(problem, tol=tol, max_time=max_time)
    seconds = time.process_time() - start
    certificate = result.certificate
    row(name, problem, result.method, result.value, certificate.dual_value, certificate.primal_infeasibility,
        certificate.gap_relative, result.status.label, seconds)  # fmt: skip


def peer(name, problem, solver, tol):
    """The same through cvxpy, from a fresh model, which is not in the seconds."""
    m, n = PEER_SIZES[solver]
    if importlib.util.find_spec("cvxpy") is None or problem.m > m or problem.n > n:
        return
    import cvxpy as cp

    if solver not in cp.installed_solvers():
        return
    conic, order = problem.conic, problem.n
    X = cp.Variable((order, order), PSD=True)
    forms = conic.forms
    entries = cp.hstack([X[i, j] for i, j in zip(forms.i, forms.j, strict=True)]) if len(forms.i) < 2000 else (
        cp.vec(X, order="C")[forms.i * order + forms.j]
    )  # fmt: skip
    model = cp.Problem(cp.Minimize(cp.sum(cp.multiply(conic.C.toarray(), X))), [forms.B @ entries == problem.lower])
    options = {"SCS": {"eps": tol, "max_iters": 100_000}}.get(solver, {})
    model.get_problem_data(solver)
    start = time.process_time()
    try:
        model.solve(solver=solver, warm_start=False, **options)
    except cp.error.SolverError as error:
        print(f"{name:10} {solver}: {error}")
        return
    seconds = time.process_time() - start
    infeasibility = np.nan
    if X.value is not None:
        a = forms.B @ X.value[forms.i, forms.j]
        infeasibility = np.linalg.norm(a - problem.lower) / (1.0 + np.linalg.norm(problem.lower))
    row(name, problem, solver, model.value, None, infeasibility, None, model.status, seconds)


def row(name, problem, method, value, bound, infeasibility, gap, status, seconds):
    """A line of the table."""
    shown = [f"{'' if v is None else format(v, '.9g'):>15}" for v in (value, bound)]
    errors = [f"{'' if e is None else format(e, '.1e'):>9}" for e in (infeasibility, gap)]
    head = f"{name:10} {problem.m:5} {problem.n:5}  {method:19}"
    print(f"{head} {' '.join(shown)} {' '.join(errors)}  {status:12} {seconds:8.2f}", flush=True)
