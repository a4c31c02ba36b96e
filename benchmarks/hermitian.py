"""Tomography and phase retrieval: processor seconds and proven gaps, beside SCS, Clarabel and a Wirtinger flow.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks hermitian small large

Random states, channels and signals of a fixed seed. ``small``: orders at which the peers end, through CVXPY on the
Hermitian matrix that a user would write; seconds of the peer's own solver, compilation left out. ``large``: states of
10 qubits, and signals of 1,000 numbers from 6,000 squares, where the peer is a Wirtinger flow, which proves nothing.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np

from benchmarks.papers.data import Array
from psdopt.cli.tables import show_table
from psdopt_plugins.hermitian import (
    PauliStrings,
    coded_masks,
    process_tomography,
    retrieve_phase,
    state_from_counts,
    state_tomography,
    transfer_matrix,
)
from psdopt_plugins.hermitian.states import outcome_rows

#: Noise of expectations and of entries of a transfer matrix, relative to their mean size.
NOISE = 0.1
#: Step and iterations of the Wirtinger flow, and the relative residual at which it ends.
FLOW_STEP, FLOW_STEPS, FLOW_END = 0.2, 3000, 1e-10
PEERS = {"Clarabel": (cp.CLARABEL, {}), "SCS 1e-6": (cp.SCS, {"eps": 1e-6, "max_iters": 100_000})}
HEADS = ("problem", "order", "m", "psdopt, s", "proven gap", "Clarabel, s", "SCS 1e-6, s", "Wirtinger flow, s")
Made = tuple[Callable[[], Any], "Callable[[], cp.Problem] | None"]


def normal(rng: np.random.Generator, *shape: int) -> Any:
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2.0)


def noisy(rng: np.random.Generator, exact: Array) -> Array:
    return np.asarray(exact + NOISE * np.sqrt(np.mean(exact**2)) * rng.standard_normal(exact.shape))


def columns(strings: Sequence[str]) -> Any:
    """conj(P_s) of all strings, (m, N²), so that its product with vec(H) by rows is tr(P_s H)."""
    measurement = PauliStrings(strings)
    parts = (measurement.parts(row) for row in np.eye(len(strings)))
    return np.array([(real - 1j * imaginary).ravel() for real, imaginary in parts])


def states(q: int, m: int, rank: int) -> Made:
    rng = np.random.default_rng(q)
    strings = ["".join(each) for each in rng.choice(list("IXYZ"), (m, q))]
    Z = normal(rng, 2**q, rank)
    b = noisy(rng, PauliStrings(strings).of(Z / np.linalg.norm(Z)))

    def peer() -> cp.Problem:
        H = cp.Variable((2**q, 2**q), hermitian=True)
        off = cp.real(columns(strings) @ cp.vec(H, order="C")) - b
        return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(off)), [H >> 0, cp.real(cp.trace(H)) == 1])

    return lambda: state_tomography(strings, b), peer


def counts(q: int, shots: int) -> Made:
    rng = np.random.default_rng(q)
    bases = ["".join(each) for each in product("XYZ", repeat=q)]
    Z = normal(rng, 2**q, 2)
    p = np.sum(np.abs(outcome_rows(bases).matmat(Z / np.linalg.norm(Z))) ** 2, axis=1).reshape(len(bases), -1)
    seen = np.array([rng.multinomial(shots, each / each.sum()) for each in p])
    return lambda: state_from_counts(bases, seen), None


def processes(q: int, missing: float = 0.0) -> Made:
    rng, d = np.random.default_rng(q), 2**q
    operators = np.linalg.qr(normal(rng, 2 * d, d))[0].reshape(2, d, d)
    R = noisy(rng, transfer_matrix(np.stack([K.T.ravel() for K in operators], axis=1)))
    known = rng.random(R.shape) >= missing
    R[~known] = np.nan

    def peer() -> cp.Problem:
        J = cp.Variable((d * d, d * d), hermitian=True)
        letters = ["".join(each) for each in product("IXYZ", repeat=q)]
        signs = np.array([(-1.0) ** b.count("Y") for _ in letters for b in letters])
        A = signs[:, None] * columns([b + a for a in letters for b in letters]) / d
        met = cp.partial_trace(J, (d, d), axis=1) == np.eye(d)
        off = cp.real(A[known.ravel()] @ cp.vec(J, order="C")) - R[known]
        return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(off)), [J >> 0, met])

    return lambda: process_tomography(R), peer


def signals(n: int, m: int) -> tuple[Any, Any, Array]:
    rng = np.random.default_rng(n)
    X, z = normal(rng, m, n), normal(rng, n)
    return X, z, np.asarray(np.abs(X @ z) ** 2)


def phases(n: int, m: int) -> Made:
    X, _, b = signals(n, m)

    def peer() -> cp.Problem:
        H = cp.Variable((n, n), hermitian=True)
        A = np.einsum("ti,tj->tij", X, X.conj()).reshape(m, -1)
        return cp.Problem(cp.Minimize(cp.real(cp.trace(H))), [H >> 0, cp.real(A @ cp.vec(H, order="C")) == b])

    return lambda: retrieve_phase(X, b), peer


def masks(side: int, k: int) -> Made:
    rng, shape = np.random.default_rng(side), (k, side, side)
    octanary = rng.choice([1, -1, 1j, -1j], shape) * np.where(rng.random(shape) < 0.8, 0.5**0.5, 3.0**0.5)
    X = coded_masks(octanary)
    b = np.abs(X.matvec(normal(rng, side * side))) ** 2
    return lambda: retrieve_phase(X, b), None


def wirtinger_flow(X: Any, b: Array) -> tuple[Any, int]:
    """z with |x_t z|² near b_t by gradient steps, and how many (Candès, Li, Soltanolkotabi 2015); no proof."""
    v = normal(np.random.default_rng(0), X.shape[1])
    for _ in range(50):
        v = X.conj().T @ (b * (X @ v))
        v /= np.linalg.norm(v)
    size = b.mean()
    z = np.sqrt(size) * v
    for step in range(FLOW_STEPS):
        products = X @ z
        off = np.abs(products) ** 2 - b
        if np.linalg.norm(off) <= FLOW_END * np.linalg.norm(b):
            return z, step
        share = min(1.0 - np.exp(-(step + 1) / 330.0), FLOW_STEP)  # the schedule of the paper
        z = z - share / (size * len(b)) * (X.conj().T @ (off * products))
    return z, FLOW_STEPS


SMALL = {
    "state, 3 qubits": (8, 50, lambda: states(3, 50, 2)),
    "state, 4 qubits": (16, 200, lambda: states(4, 200, 2)),
    "state, 5 qubits": (32, 500, lambda: states(5, 500, 2)),
    "state from counts, 4 qubits": (16, 81 * 16, lambda: counts(4, 1000)),
    "process, 2 qubits": (16, 256, lambda: processes(2)),
    "process, 3 qubits": (64, 4096, lambda: processes(3)),
    "process, 2 qubits, a fifth missing": (16, 201, lambda: processes(2, 0.2)),
    "process, 3 qubits, a fifth missing": (64, 3269, lambda: processes(3, 0.2)),
    "process, 3 qubits, half missing": (64, 2008, lambda: processes(3, 0.5)),
    "phases, Gaussian": (16, 96, lambda: phases(16, 96)),
    "phases, Gaussian ": (32, 192, lambda: phases(32, 192)),
}
LARGE = {
    "state, 10 qubits, rank 10": (1024, 20_000, lambda: states(10, 20_000, 10)),
    "state from counts, 5 qubits": (32, 243 * 32, lambda: counts(5, 1000)),
    "phases, coded masks": (1024, 12 * 1024, lambda: masks(32, 12)),
    "phases, Gaussian": (1000, 6000, lambda: phases(1000, 6000)),
}
#: Largest order for the peers.
MOST = 32


def seconds_of_peer(make: Callable[[], cp.Problem], name: str) -> str:
    solver, options = PEERS[name]
    model = make()
    try:
        model.solve(solver=solver, **options)
    except cp.SolverError:
        return "fails"
    return f"{model.solver_stats.solve_time:.2f}"


def row(name: str, order: int, m: int, made: Made, runs: int) -> tuple[str, ...]:
    ours, peer = made
    best, gap = np.inf, None
    for _ in range(runs):
        begun = time.process_time()
        found = ours()
        best = min(best, time.process_time() - begun)
        gap = getattr(found, "certificate", found.result.certificate).gap_relative
    others = [seconds_of_peer(peer, each) if peer and order <= MOST else "–" for each in PEERS]
    flow = "–"
    if name.startswith("phases, Gaussian"):
        X, _, b = signals(order, m)
        begun = time.process_time()
        _, steps = wirtinger_flow(X, b)
        flow = f"{time.process_time() - begun:.2f}" if steps < FLOW_STEPS else "fails"
    return name.strip(), str(order), str(m), f"{best:.2f}", f"{gap:.0e}", *others, flow


def main(argv: Sequence[str] | None = None) -> int:
    warnings.simplefilter("ignore")  # the columns say it
    asked = list(sys.argv[1:] if argv is None else argv) or ["small"]
    rows = []
    for which, cases, runs in (("small", SMALL, 3), ("large", LARGE, 1)):
        if which in asked:
            rows += [row(name, order, m, make(), runs) for name, (order, m, make) in cases.items()]
    show_table("Hermitian matrices", HEADS, rows)
    return 0
