"""Maximum variance unfolding by conic solvers through cvxpy, on the same F."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Mapping
from typing import Any

from benchmarks.papers.bilgo_unfolding import graph_of
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt_plugins.manifold_learning.graph import Edges
from psdopt_plugins.manifold_learning.unfolding import unfold

#: n: solvers that have an answer within a minute.
SIZES = {30: ("SCS", "CLARABEL"), 50: ("SCS", "CLARABEL"), 100: ("SCS",)}
PACKAGES = {"SCS": "scs", "CLARABEL": "clarabel"}


def unfolding_against_conic_solvers() -> Experiment:
    """A swiss roll, 5 neighbours; ν is found first and given to the solvers."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    return [
        ExperimentCase(
            f"n = {n}", {"n": n, "solvers": solvers}, packages=("cvxpy", *(PACKAGES[name] for name in solvers))
        )
        for n, solvers in SIZES.items()
        if n == 30 or not quick
    ]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    edges = graph_of("roll", case.settings["n"])
    begin = time.process_time()
    ours = unfold(edges, None, 0.05)
    found: dict[str, Any] = {"ours": [time.process_time() - begin, ours.result.value]}
    for solver in case.settings["solvers"]:
        found[solver] = _by_cvxpy(edges, ours.nu, solver)
    return found


def _by_cvxpy(edges: Edges, nu: float, solver: str) -> list[Any]:
    """Seconds, value and status."""
    cvxpy: Any = importlib.import_module("cvxpy")
    n = edges.n
    M = cvxpy.Variable((n, n), PSD=True)
    d = cvxpy.diag(M)[edges.i] + cvxpy.diag(M)[edges.j] - 2 * M[edges.i, edges.j]
    spread = cvxpy.trace(M) - cvxpy.sum(M) / n
    problem = cvxpy.Problem(cvxpy.Minimize(2 * cvxpy.sum_squares(d - edges.squared) - nu * spread), [cvxpy.sum(M) == 0])
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=solver)
    return [time.process_time() - begin, float(problem.value), str(problem.status)]


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = []
    for name, found in measured.items():
        seconds, value = found["ours"]
        cells = []
        for solver in PACKAGES:
            if solver not in found:
                cells.append("")
                continue
            theirs, best, status = found[solver]
            inaccurate = ", inaccurate" if "inaccurate" in status else ""
            cells.append(f"{theirs:.2f}{inaccurate} ({(value - best) / abs(best):+.0e})")
        rows.append((name, f"{seconds:.2f}", *cells))
    caption = "Processor seconds (our value above theirs, relative)"
    return Findings((ResultTable(caption, ("swiss roll", "ours", *PACKAGES), tuple(rows)),))
