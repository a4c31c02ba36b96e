"""Steps of a dozen runs under each kernel of OpenBLAS: what depends on rounding, and by how much.

A kernel sums in its own order. ``OPENBLAS_CORETYPE`` names it before NumPy is loaded, so each runs in a process of its
own; one that the processor or the build of OpenBLAS lacks is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from benchmarks.papers.data import Array
from benchmarks.papers.pair_sets import chessboard, instance
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import (
    BILGO,
    LBFGS,
    AugmentedLagrangian,
    ConjugateGradient,
    FlatQuotient,
    InteriorPoint,
    LagrangeNewton,
    Polar,
    PSDCone,
    QuadraticSDP,
    Result,
    TrustRegions,
    solve,
)
from psdopt_plugins.metric_learning import kta_problem
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.relaxations import correlation_problem, maxcut_problem, theta_problem

#: From vectors of two numbers to vectors of eight (Zen has Haswell's), by the names that OpenBLAS reports.
KERNELS = {"Katmai": "Prescott"} | {name: name for name in ("Nehalem", "Sandybridge", "Haswell", "SkylakeX")}
FOLDER = Path(__file__).resolve().parents[2]


def kernel_steps() -> Experiment:
    """Steps and values of RUNS, one process for each kernel."""
    return Experiment(
        lambda quick: [ExperimentCase(name) for name in list(KERNELS.values())[:: 2 if quick else 1]],
        _measure,
        _present,
    )


def _alignment(load: Callable[..., Any]) -> Any:
    X, y = load(return_X_y=True)
    return kta_problem(StandardScaler().fit_transform(X), y, 1e-3)


def _conditioned() -> QuadraticSDP:
    rng = np.random.default_rng(0)
    Q, G = np.linalg.qr(rng.standard_normal((60, 60)))[0], rng.standard_normal((60, 60))
    A = (Q * np.logspace(-4.0, 0.0, 60)) @ Q.T
    return QuadraticSDP(0.5 * (A + A.T), 1e-2, 0.5 * (G + G.T))


def _graph(n: int, degree: float) -> Array:
    W = np.triu(np.random.default_rng(0).random((n, n)) < degree / n, 1).astype(float)
    both: Array = W + W.T
    return both


def _measured() -> Any:
    rng = np.random.default_rng(0)
    X, L = rng.standard_normal((800, 20)), rng.standard_normal((20, 4))
    return psd_regression_problem(X, np.sum((X @ L) ** 2, axis=1) * rng.uniform(0.9, 1.1, 800))


def _pairs() -> tuple[Any, int]:
    rng = np.random.default_rng(0)
    problem, _, r = instance(*chessboard(rng, 100), rng)
    return problem, r


def _on_pairs(method: Any) -> Result:
    problem, r = _pairs()
    return solve(problem, FlatQuotient(problem.n, r), method, rng=0)


def _correlations() -> Any:
    G = np.triu(np.random.default_rng(0).uniform(-1.0, 1.0, (100, 100)), 1)
    return correlation_problem(G + G.T + np.eye(100))


RUNS: dict[str, Callable[[], Result]] = {
    "alignment, wine: solve's choice": lambda: solve(_alignment(load_wine), rng=0),
    "alignment, digits: BILGO": lambda: solve(_alignment(load_digits), PSDCone(64), BILGO(), rng=0),
    "alignment, digits, rank 5: ConjugateGradient": lambda: solve(
        _alignment(load_digits), FlatQuotient(64, 5), ConjugateGradient(), rng=0
    ),
    "condition 1e4, n = 60: ConjugateGradient": lambda: solve(
        _conditioned(), FlatQuotient(60, 60), ConjugateGradient(), rng=0
    ),
    "condition 1e4, n = 60: BILGO": lambda: solve(_conditioned(), PSDCone(60), BILGO(), rng=0),
    "pairs, chessboard 100: ConjugateGradient": lambda: _on_pairs(ConjugateGradient()),
    "pairs, chessboard 100: LagrangeNewton": lambda: _on_pairs(LagrangeNewton()),
    "pairs, chessboard 100: LBFGS": lambda: _on_pairs(LBFGS()),
    "regression, 20 × 4, flat: ConjugateGradient": lambda: solve(
        _measured(), FlatQuotient(20, 4), ConjugateGradient(), rng=0
    ),
    "regression, 20 × 4, polar: TrustRegions": lambda: solve(_measured(), Polar(20, 4), TrustRegions(), rng=0),
    "max-cut, n = 200: solve's choice": lambda: solve(maxcut_problem(_graph(200, 6.0)), rng=0),
    "max-cut, n = 60: InteriorPoint": lambda: solve(maxcut_problem(_graph(60, 6.0)), PSDCone(60), InteriorPoint()),
    "theta, n = 40: AugmentedLagrangian": lambda: solve(
        theta_problem(_graph(40, 8.0)), FlatQuotient(40, 9), AugmentedLagrangian(), rng=0
    ),
    "nearest correlation, n = 100: solve's choice": lambda: solve(_correlations(), rng=0),
}


def steps() -> None:
    """Print the steps, ends and values of RUNS as JSON, with the kernel under which they ran.

    Values are texts, as the store rounds numbers.
    """
    ends = {name: run() for name, run in RUNS.items()}
    kernels = [library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"]
    runs = {
        name: {"steps": end.iterations, "status": end.status.label, "value": repr(end.value)}
        for name, end in ends.items()
    }
    print(json.dumps({"kernels": kernels, "runs": runs}))


def _measure(case: ExperimentCase) -> dict[str, Any]:
    code = f"from {__name__} import steps; steps()"
    environment = {**os.environ, "OPENBLAS_CORETYPE": case.name, "PYTHONPATH": str(FOLDER)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout) if done.returncode == 0 else {"kernels": [], "runs": {}}
    asked = {KERNELS.get(kernel) for kernel in found["kernels"]} == {case.name}
    return found if asked else {"kernels": found["kernels"], "runs": {}}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    shown = {kernel: found["runs"] for kernel, found in measured.items() if found["runs"]}
    rows, widest = [], 1.0
    for name in RUNS if shown else ():
        runs = [found[name] for found in shown.values()]
        counts = [run["steps"] for run in runs]
        values = [float(run["value"]) for run in runs]
        widest = max(widest, max(counts) / max(min(counts), 1))
        span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        apart = (max(values) - min(values)) / max(map(abs, values))
        ends = ", ".join(sorted({run["status"] for run in runs}))
        rows.append((name, *map(str, counts), span, f"{apart:.0e}", ends))
    columns = ("run", *shown, "range", "values apart by", "ends")
    table = ResultTable("Steps under each kernel of OpenBLAS", columns, tuple(rows))
    return Findings((table,), facts={"kernels": f"{len(shown)}", "widest": f"{widest:.2f}"})
