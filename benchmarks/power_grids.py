"""Optimal power flow of published networks and of many tied together: seconds, costs, gaps, beside Clarabel.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks power-grids 1 2 4 10 20

For 9, 14 and 30 buses, and for each number of copies, demands times random factors: processor seconds of ``solve`` on
:func:`benchmarks.papers.power_flow.power_flow` with its defaults, and of Clarabel through CVXPY, up to 30 buses, on the
Hermitian matrix that a user would write, the solver alone.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from benchmarks.papers.power_flow import currents, power_flow, tiled
from benchmarks.papers.power_networks import BASE, FOURTEEN, NINE, THIRTY, Network
from psdopt import solve
from psdopt.cli.tables import show_table

#: Most buses for the peer, whose program grows with their square.
MOST = 30


def hermitian(network: Network) -> cp.Problem:
    """The relaxation over a Hermitian W (n, n), in dollars per hour."""
    n = len(network.buses)
    Y, ends, at, limit = currents(network)
    W = cp.Variable((n, n), hermitian=True)
    bus, low_p, high_p, low_q, high_q, square, linear = network.generators.T
    p, q = cp.Variable(len(bus)), cp.Variable(len(bus))
    place = np.zeros((n, len(bus)))
    place[bus.astype(int), np.arange(len(bus))] = 1.0
    flows = cp.diag(W @ Y.toarray().conj().T)
    voltages = cp.real(cp.diag(W))
    rows = [
        W >> 0,
        cp.real(flows) == place @ p - network.buses[:, 0] / BASE,
        cp.imag(flows) == place @ q - network.buses[:, 1] / BASE,
        *(p >= low_p / BASE, p <= high_p / BASE, q >= low_q / BASE, q <= high_q / BASE),
        *(voltages >= network.buses[:, 5] ** 2, voltages <= network.buses[:, 4] ** 2),
        *([cp.abs(cp.sum(cp.multiply(W[at], ends.toarray().conj()), axis=1)) <= limit] if len(at) else []),
    ]
    cost = cp.sum(cp.multiply(square * BASE**2, cp.square(p))) + (linear * BASE) @ p
    return cp.Problem(cp.Minimize(cost + network.constant), rows)


def main(argv: Sequence[str] | None = None) -> int:
    copies = [int(word) for word in (sys.argv[1:] if argv is None else argv)] or [1, 2]
    rows, right = [], True
    for network in (NINE, FOURTEEN, THIRTY):
        for count in copies:
            grid = tiled(network, count)
            problem = power_flow(grid)
            begun = time.process_time()
            result = solve(problem)
            seconds, cost = time.process_time() - begun, result.value + grid.constant
            peer = other = "–"
            if len(grid.buses) <= MOST:
                model = hermitian(grid)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the column says it
                    begun = time.process_time()
                    try:
                        model.solve(solver=cp.CLARABEL)
                    except cp.SolverError:
                        peer, other = f"{time.process_time() - begun:.2f}", "fails"
                if model.value is not None:
                    accuracy = "" if model.status == cp.OPTIMAL else " (inaccurate)"
                    peer, other = f"{model.solver_stats.solve_time:.2f}", f"{model.value:.2f}{accuracy}"
                    right &= abs(model.value - cost) <= 1e-4 * abs(cost)
            right &= bool(result.optimal)
            known = "–" if np.isnan(grid.known) else f"{grid.known:.2f}"
            row = (len(grid.buses), problem.m, result.method, f"{seconds:.2f}", f"{cost:.2f}")
            rows.append((*map(str, row), f"{result.certificate.relative:.0e}", known, peer, other))
    heads = ("buses", "m", "method", "psdopt, s", "cost", "proven gap", "published", "Clarabel, s", "its cost")
    show_table("Optimal power flow, dollars per hour", heads, rows)
    return int(not right)


if __name__ == "__main__":
    raise SystemExit(main())
