"""The least eigenvector of gradients that occur in applications: our oracle, cold and warm, beside ARPACK."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.datasets import load_digits, make_swiss_roll

from benchmarks.papers.data import Array, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import Problem
from psdopt.linalg.least import least_eigenpairs
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.manifold_learning.new_points import geodesic_axes
from psdopt_plugins.metric_learning.impostors import target_neighbours, violated_triplets
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem

WAYS = ("ours, cold", "ours, warm", "eigsh, cold")


def gradients_of_applications() -> Experiment:
    """Residual 10⁻³ |λ_min|; the warm start is off by 10⁻⁴."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    own = [ExperimentCase(f"KTA {name}", {"repeats": 5}, needs(name)) for name in ("a1a", "isolet")]
    free = [ExperimentCase("LMNN digits", {"repeats": 5}), ExperimentCase("MVU swiss roll", {"repeats": 2})]
    return free[:1] if quick else own + free


def _at(name: str) -> tuple[Problem, Array]:
    """A problem and the Y at which its gradient is taken."""
    rng = np.random.default_rng(0)
    if name.startswith("KTA"):
        X, y, _ = load(name.split()[1])
        problem = kta_problem(X[:1500], y[:1500], 1e-3)
        return problem, rng.standard_normal((problem.n, 5)) / problem.n
    if name.startswith("LMNN"):
        X, y = load_digits(return_X_y=True)
        targets = target_neighbours(X, y, 3)
        Z = 0.05 * rng.standard_normal((64, 8))
        triplets = violated_triplets(X @ Z, y, targets, limit=50_000)[0]
        return lmnn_problem(X, targets, triplets, 3.0), Z
    edges = nearest_neighbour_edges(make_swiss_roll(1500, random_state=0)[0], 5)
    return mvu_problem(edges.matrix(), 2e-3), geodesic_axes(edges, 2)


def _measure(case: ExperimentCase) -> dict[str, Any]:
    problem, Y = _at(case.name)
    evaluation = problem.at(Y)
    S, n = evaluation.gradient, problem.n
    tol = 1e-3 * abs(problem.duality.smallest_eigenpair(evaluation, S, tol=1e-6).value)
    size = abs(float(eigsh(S, 1, tol=0.1)[0][0]))  # ARPACK's tolerance is relative
    near = least_eigenpairs(S, tol=0.01 * tol).vector + 1e-4 * np.random.default_rng(0).standard_normal(n) / n**0.5
    runs: dict[str, Callable[[], object]] = {
        "ours, cold": lambda: least_eigenpairs(S, tol=tol),
        "ours, warm": lambda: least_eigenpairs(S, tol=tol, start=near),
        "eigsh, cold": lambda: eigsh(S, 1, which="SA", tol=tol / size),
    }
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(case.settings["repeats"]):
        for way in WAYS:
            begin = time.process_time()
            runs[way]()
            spent[way].append(time.process_time() - begin)
    return {"n": n, **{way: 1e3 * min(seconds) for way, seconds in spent.items()}}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = [(name, f"{m['n']:,}", *(f"{m[way]:.1f}" for way in WAYS)) for name, m in measured.items()]
    return Findings((ResultTable("Least processor milliseconds", ("gradient", "n", *WAYS), tuple(rows)),))
