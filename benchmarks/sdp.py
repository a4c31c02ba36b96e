"""Semidefinite programs of SDPLIB, and random ones of its families, against conic solvers where installed."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.sdp_families import PROGRAMS
from benchmarks.sdp_peers import PEERS, bounded, fits
from psdopt import Constrained, QuadraticSDP, constraints, read_sdpa, solve

#: The folder of the .dat-s files.
FOLDER = "PSDOPT_SDPLIB"
HEAD = "problem      m     n  method               value           bound      infeas.     gap  status        process s"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0; prints a row for each program and each solver, and adds it to the file of ``--json``."""
    parser = argparse.ArgumentParser(prog="psdopt bench sdp", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"programs in the folder ${FOLDER} (default: all of it)")
    for family in FAMILIES:
        option = f"--{family.replace('_', '-')}"
        parser.add_argument(option, type=int, nargs="*", default=[], metavar="N", help="random ones of these sizes")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="of the random programs")
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for each program of ours")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--peers", action="store_true", help=f"run {', '.join(PEERS)} too, where installed")
    parser.add_argument(
        "--solvers",
        nargs="*",
        choices=["psdopt", *PEERS],
        metavar="NAME",
        help=f"which of psdopt, {', '.join(PEERS)} run (default: psdopt, and with --peers all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file that gets each row as a line of JSON")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each peer, its model included")
    arguments = parser.parse_args(argv)
    print(HEAD)
    solvers = arguments.solvers or ["psdopt", *(PEERS if arguments.peers else ())]
    generated = {family: getattr(arguments, family) for family in FAMILIES}
    for name, problem in programs(arguments.names, generated, arguments.seeds):
        for solver in solvers:
            if solver == "psdopt":
                row = ours(name, problem, arguments.tol, arguments.max_time)
            elif fits(solver, problem):
                row = peer(solver, name, problem, arguments.tol, arguments.limit)
            else:
                continue
            print(line(row), flush=True)
            if arguments.json is not None:
                with arguments.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return 0


def programs(names, generated, seeds=(0,)):
    """(name, problem) one after the other; `generated` has orders by family."""
    folder, orders = os.environ.get(FOLDER), any(generated.values())
    if folder is not None and (names or not orders):
        found = {path.name.split(".")[0]: path for path in sorted(Path(folder).glob("*.dat-s*"))}
        for name in names or found:
            yield name, read_sdpa(found[name])
    elif not orders:
        print(f"set {FOLDER} to the folder of the .dat-s files, or name orders by --max-cut, --partition, --theta")
    for family, sizes in generated.items():
        for n in sizes:
            for seed in seeds:
                yield f"{family[:3]}{n}-{seed}", FAMILIES[family](n, seed=seed)


def adjacency(n, degree, seed):
    """A random graph, sparse (n, n)."""
    rng = np.random.default_rng(seed)
    A = sp.triu(sp.random(n, n, density=min(1.0, degree / n), random_state=rng, format="csr"), 1, format="csr")
    A.data[:] = 1.0
    return sp.csr_array(A + A.T)


def laplacian(n, degree, seed):
    """Its Laplacian."""
    A = adjacency(n, degree, seed)
    return sp.csr_array(sp.diags_array(np.asarray(A.sum(axis=0)).ravel()) - A)


def max_cut(n, degree=8, seed=0):
    """min −⟨L/4, M⟩, M_ii = 1."""
    return Constrained(QuadraticSDP(C=-0.125 * laplacian(n, degree, seed)), constraints.diagonal(n, 1.0))


def partition(n, degree=12, seed=0):
    """min ⟨L/4, M⟩, M_ii = 1, ⟨e eᵀ, M⟩ = 0: halves of equal size, as in gpp and equalG."""
    i, j = np.triu_indices(n)
    whole = constraints.SparseForms(i, j, sp.csr_array(np.where(i == j, 1.0, 2.0)[None, :]), n)
    groups = [constraints.diagonal(n, 1.0), constraints.sparse_forms(whole, 0.0)]
    return Constrained(QuadraticSDP(C=0.125 * laplacian(n, degree, seed)), groups)


def theta(n, share=0.2, seed=0):
    """min −⟨e eᵀ, M⟩, tr M = 1, M_ij = 0 along the edges: Lovász's number."""
    i, j = sp.triu(adjacency(n, share * n, seed), 1).nonzero()
    groups = [constraints.trace(n, 1.0), constraints.entries(i, j, n, 0.0)]
    return Constrained(QuadraticSDP(C=-0.5 * np.ones((n, n))), groups)


def torus(n, seed=0):
    """min ¼ ⟨W, M⟩ − ¼ eᵀW e, M_ii = 1, W a grid of 100 × n/100 on a torus with weights ±1, as maxG11 and maxG32."""
    i, rng = np.arange(n).reshape(100, -1), np.random.default_rng(seed)
    a = np.concatenate([i.ravel(), i.ravel()])
    b = np.concatenate([np.roll(i, 1, axis=0).ravel(), np.roll(i, 1, axis=1).ravel()])
    W = sp.coo_array((rng.choice([-1.0, 1.0], 2 * n), (a, b)), shape=(n, n)).tocsr()
    W = W + W.T
    L = sp.diags_array(np.asarray(W.sum(axis=0)).ravel()) - W
    return Constrained(QuadraticSDP(C=-0.125 * sp.csr_array(L)), constraints.diagonal(n, 1.0))


#: Random problems, by order and seed.
FAMILIES = {"max_cut": max_cut, "torus": torus, "partition": partition, "theta": theta, **PROGRAMS}


def ours(name, problem, tol, max_time):
    """One run, with its certificate."""
    start = time.process_time()
    result = solve(problem, tol=tol, max_time=max_time)
    seconds = time.process_time() - start
    proof = result.certificate
    return {"problem": name, "m": problem.m, "n": problem.n, "solver": "psdopt", "method": result.method,
            "value": result.value, "bound": proof.dual_value, "infeasibility": proof.primal_infeasibility,
            "gap": proof.gap_relative, "status": result.status.label, "seconds": seconds}  # fmt: skip


def peer(solver, name, problem, tol, limit):
    """The same of a peer, which runs in a process of its own; a run past the limit has no value."""
    answer = bounded(solver, problem, tol, limit)
    value, off, seconds = (None if np.isnan(v) else v for v in (answer.value, answer.infeasibility, answer.seconds))
    return {"problem": name, "m": problem.m, "n": problem.n, "solver": solver, "method": solver, "value": value,
            "bound": None, "infeasibility": off, "gap": None, "status": answer.status, "seconds": seconds}  # fmt: skip


def line(row):
    """A line of the printed table."""
    shown = [f"{'' if v is None else format(v, '.9g'):>15}" for v in (row["value"], row["bound"])]
    errors = [f"{'' if e is None else format(e, '.1e'):>9}" for e in (row["infeasibility"], row["gap"])]
    seconds = "" if row["seconds"] is None else format(row["seconds"], "8.2f")
    start = f"{row['problem']:10} {row['m']:5} {row['n']:5}  {row['method']:19}"
    return f"{start} {' '.join(shown)} {' '.join(errors)}  {row['status']:12} {seconds}"
