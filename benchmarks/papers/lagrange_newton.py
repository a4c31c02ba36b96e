"""LagrangeNewton against first- and second-order methods on quadratic fits of few measurements.

CPU seconds to a certificate, everyone from the same start, in turns; what runs for more than a second runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.data import Array
from benchmarks.papers.pair_sets import PROVEN, chessboard, instance, timed
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import LBFGS, ConjugateGradient, EntryFit, FlatQuotient, LagrangeNewton, Method, TrustRegions, solve
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt_plugins.kernel_learning.distance_kernel import distance_kernel_problem
from psdopt_plugins.regression import psd_regression_problem

LABELS = tuple(status.label for status in PROVEN)
METHODS: dict[str, Method] = {
    "LagrangeNewton": LagrangeNewton(),
    "ConjugateGradient": ConjugateGradient(),
    "LBFGS": LBFGS(),
    "TrustRegions": TrustRegions(),
}


def newton_against_others() -> Experiment:
    """Ten problems, to certificates of 1e-6 and 1e-9."""
    return Experiment(_cases, _measure, _present)


def _pairs(n: int) -> tuple[Any, int]:
    """Kernel learning from 1.2 n pairs on a chessboard."""
    rng = np.random.default_rng(0)
    problem, _, r = instance(*chessboard(rng, n), rng)
    return problem, r


def _distances(X: Array, per_sample: int, r: int) -> tuple[Any, int]:
    """A kernel of rank r from noisy squared distances of random pairs of samples, columns of X scaled."""
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(X)
    i, j = np.triu_indices(len(X), 1)
    chosen = rng.choice(len(i), per_sample * len(X), replace=False)
    i, j = i[chosen], j[chosen]
    squared = np.sum((X[i] - X[j]) ** 2, axis=1) * rng.uniform(0.7, 1.3, len(i))
    return distance_kernel_problem(len(X), np.column_stack([i, j]), squared), r


def _cut(n: int, weight: float) -> tuple[Any, int]:
    """The relaxation of a largest cut of a random graph, its unit diagonal held by a penalty."""
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((n, n)) < 0.1, 1).astype(float)
    W += W.T
    return EntryFit(W, np.arange(n), np.arange(n), 1.0, weight), 20


def _forms(X: Array, y: Array) -> tuple[Any, int]:
    """y ≈ xᵀ W x with W ⪰ 0 of full rank."""
    return psd_regression_problem(StandardScaler().fit_transform(X), y.astype(float) + 1.0), X.shape[1]


PROBLEMS: dict[str, Callable[[], tuple[Any, int]]] = {
    "pairs, chessboard 50": lambda: _pairs(50),
    "pairs, chessboard 100": lambda: _pairs(100),
    "pairs, chessboard 200": lambda: _pairs(200),
    "pairs, chessboard 400": lambda: _pairs(400),
    "distances, Gaussian points": lambda: _distances(np.random.default_rng(0).standard_normal((100, 4)), 4, 10),
    "distances, iris": lambda: _distances(load_iris(return_X_y=True)[0], 2, 8),
    "distances, wine": lambda: _distances(load_wine(return_X_y=True)[0], 4, 10),
    "cut, penalty 10": lambda: _cut(100, 10.0),
    "cut, penalty 1e4": lambda: _cut(100, 1e4),
    "forms, wine": lambda: _forms(*load_wine(return_X_y=True)),
}


def _cases(quick: bool) -> list[ExperimentCase]:
    names = ("forms, wine",) if quick else tuple(PROBLEMS)
    settings = {"tols": [1e-6] if quick else [1e-6, 1e-9], "repetitions": 1 if quick else 3, "longest": 20.0}
    return [ExperimentCase(name, settings) for name in names]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    problem, r = PROBLEMS[case.name]()
    fit = quadratic_fit_of(problem)
    found = {f"{tol:g}": _race(problem, r, tol, case.settings) for tol in case.settings["tols"]}
    return {"n": problem.n, "m": fit.size, "r": r, "tols": found}


def _race(problem: Any, r: int, tol: float, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """{method: [least seconds, steps, status]}."""
    geometry = FlatQuotient(problem.n, r)
    found: dict[str, list[Any]] = {}
    for _ in range(settings["repetitions"]):
        for label, method in METHODS.items():
            if label in found and found[label][0] > 1.0:
                continue
            result, seconds = timed(
                lambda: solve(problem, geometry, method, rng=0, tol=tol, max_time=settings["longest"])  # noqa: B023
            )
            before = found[label][0] if label in found else np.inf
            found[label] = [min(before, seconds), result.iterations, result.status.label]
    return found


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows: list[tuple[str, ...]] = []
    ratios: dict[str, list[float]] = {}
    for name, found in measured.items():
        for k, (tol, race) in enumerate(found["tols"].items()):
            head = (name, str(found["n"]), str(found["m"]), str(found["r"])) if k == 0 else ("", "", "", "")
            rows.append((*head, tol, *(_cell(*race[method]) for method in METHODS)))
            first = [race[method][0] for method in ("ConjugateGradient", "LBFGS") if race[method][2] in LABELS]
            if first and race["LagrangeNewton"][2] in LABELS:
                ratios.setdefault(tol, []).append(min(first) / race["LagrangeNewton"][0])
    facts: dict[str, str] = {}
    for tol, values in ratios.items():
        facts |= {
            f"least-{tol}": f"{min(values):.1f}",
            f"most-{tol}": f"{max(values):.1f}",
            f"ahead-{tol}": f"{sum(value > 1.0 for value in values)} of {len(values)}",
        }
    columns = ("problem", "n", "m", "r", "tol", *METHODS)
    caption = "Least processor seconds (steps); within: optimal_within; how it ended where it has no certificate"
    return Findings((ResultTable(caption, columns, tuple(rows)),), facts=facts)


def _cell(seconds: float, steps: int, status: str) -> str:
    if status not in LABELS:
        return f"{status} ({steps})"
    return f"{seconds:.3f} ({steps}){'' if status == LABELS[0] else ' within'}"
