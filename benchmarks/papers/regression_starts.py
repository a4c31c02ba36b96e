"""Regression of Meyer et al. from any start: steps of the default method to a certificate of 1e-6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from benchmarks.papers.data import Array
from benchmarks.papers.printed_gradient import PrintedGradient
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import FlatQuotient, LowRankPSD, Polar, solve
from psdopt_plugins.regression import psd_regression_problem

FORMS: dict[str, Callable[[Array], Array | None]] = {
    "default": lambda Y: None,
    "Gaussian": lambda Y: Y,
    "1e-6 of it": lambda Y: 1e-6 * Y,
    "1e6 times it": lambda Y: 1e6 * Y,
    "half its columns zero": lambda Y: np.where(np.arange(Y.shape[1]) < max(1, Y.shape[1] // 2), Y, 0.0),
    "columns graded to 1e-6": lambda Y: Y * np.logspace(0, -6, Y.shape[1]),
    "zero": lambda Y: 0.0 * Y,
}
Data = tuple[Array, Array, int]


def from_any_start() -> Experiment:
    """Eight problems, seven starts, two geometries."""
    return Experiment(_cases, _measure, _present)


def _planted(rank: int, r: int, noise: float, condition: float) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10)) * np.logspace(0, -0.5 * np.log10(condition), 10)
    y = ((X @ rng.standard_normal((10, rank))) ** 2).sum(axis=1)
    return X, y * (1 + noise * rng.standard_normal(200)), r


PROBLEMS: dict[str, Callable[[], Data]] = {
    "iris, r = 4": lambda: (*load_iris(return_X_y=True), 4),
    "diabetes, r = 10": lambda: (*load_diabetes(return_X_y=True), 10),
    "full rank": lambda: _planted(10, 10, 0.1, 1.0),
    "rank 3 of 10, noise": lambda: _planted(3, 10, 0.1, 1.0),
    "rank 3 of 10, exact": lambda: _planted(3, 10, 0.0, 1.0),
    "rank 5 binds": lambda: _planted(10, 5, 0.1, 1.0),
    "full rank, condition 1e4": lambda: _planted(10, 10, 0.1, 1e4),
    "rank 3 of 10, exact, condition 1e4": lambda: _planted(3, 10, 0.0, 1e4),
}


def _cases(quick: bool) -> list[ExperimentCase]:
    return [ExperimentCase(name, {"tol": 1e-6}) for name in (list(PROBLEMS)[:1] if quick else PROBLEMS)]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    X, y, r = PROBLEMS[case.name]()
    problem, d = psd_regression_problem(X, y), X.shape[1]
    Y = np.random.default_rng(5).standard_normal((d, r))
    found: dict[str, Any] = {}
    for label, form in FORMS.items():
        made = form(Y)
        start = None if made is None else LowRankPSD(made)
        runs = [
            solve(problem, geometry, start=start, rng=0, tol=case.settings["tol"], max_iterations=2000)
            for geometry in (FlatQuotient(d, r), Polar(d, r))
        ]
        found[label] = [[run.iterations, bool(run.converged), run.status.label] for run in runs]
    best = solve(problem, tol=1e-8).value
    printed = solve(problem, Polar(d, r), PrintedGradient(), start=LowRankPSD(Y), max_iterations=500, tol=1e-9)
    return {"steps": found, "printed": printed.value / best if best > 0.0 else None}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (
            name,
            *(
                " / ".join(str(steps) if converged else status for steps, converged, status in found["steps"][form])
                for form in FORMS
            ),
        )
        for name, found in measured.items()
    )
    table = ResultTable("Steps, flat / polar", ("data", *FORMS), rows)
    runs = [run for found in measured.values() for pair in found["steps"].values() for run in pair]
    facts = {"converged": f"{sum(run[1] for run in runs)} of {len(runs)}"}
    if "full rank" in measured and measured["full rank"]["printed"]:
        facts["printed"] = f"{measured['full rank']['printed']:.2f}"
    return Findings((table,), facts=facts)
