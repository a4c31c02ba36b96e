"""Semidefinite programs of SDPLIB, and max-cut relaxations of any order, against conic solvers where installed."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.sdp_peers import PEERS, bounded, fits
from psdopt import Constrained, QuadraticSDP, constraints, read_sdpa, solve

#: The folder of the .dat-s files.
FOLDER = "PSDOPT_SDPLIB"
HEAD = "problem      m     n  method               value           bound      infeas.     gap  status        process s"


def main(argv: list[str]) -> int:
    """Exit code 0; prints a row for each program and each solver."""
    parser = argparse.ArgumentParser(prog="psdopt bench sdp", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"programs in the folder ${FOLDER} (default: all of it)")
    for family in FAMILIES:
        option = f"--{family.replace('_', '-')}"
        parser.add_argument(option, type=int, nargs="*", default=[], metavar="N", help="random graphs of these orders")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="of the random graphs")
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for each program of ours")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--peers", action="store_true", help=f"run {', '.join(PEERS)} too, where installed")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each peer, its model included")
    arguments = parser.parse_args(argv)
    print(HEAD)
    generated = {family: getattr(arguments, family) for family in FAMILIES}
    for name, problem in programs(arguments.names, generated, arguments.seeds):
        ours(name, problem, arguments.tol, arguments.max_time)
        if arguments.peers:
            others(name, problem, arguments.tol, arguments.limit)
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


#: Problems on random graphs, by order and seed.
FAMILIES = {"max_cut": max_cut, "partition": partition, "theta": theta}


def ours(name, problem, tol, max_time):
    """One run, with its certificate."""
    start = time.process_time()
    result = solve(problem, tol=tol, max_time=max_time)
    seconds = time.process_time() - start
    certificate = result.certificate
    row(name, problem, result.method, result.value, certificate.dual_value, certificate.primal_infeasibility,
        certificate.gap_relative, result.status.label, seconds)  # fmt: skip


def others(name, problem, tol, limit):
    """The peers that take it, each in a process of its own."""
    for peer in PEERS:
        if fits(peer, problem):
            answer = bounded(peer, problem, tol, limit)
            row(name, problem, peer, answer.value, None, answer.infeasibility, None, answer.status, answer.seconds)


def row(name, problem, method, value, bound, infeasibility, gap, status, seconds):
    """A line of the table."""
    shown = [f"{'' if v is None else format(v, '.9g'):>15}" for v in (value, bound)]
    errors = [f"{'' if e is None else format(e, '.1e'):>9}" for e in (infeasibility, gap)]
    head = f"{name:10} {problem.m:5} {problem.n:5}  {method:19}"
    print(f"{head} {' '.join(shown)} {' '.join(errors)}  {status:12} {seconds:8.2f}", flush=True)
