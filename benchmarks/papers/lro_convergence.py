"""Table 6 of Yuan et al.: omega = λ_max(−S) where the paper's stopping rule is met, for four epsilons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.data import needs, training_part
from benchmarks.papers.lro_errors import paper_rank
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ConjugateGradient, FlatQuotient, Method, Problem, Snapshot, certify, solve, starting_point
from psdopt_plugins.metric_learning import kta_problem

EPSILONS = (1e-6, 1e-8, 1e-10, 1e-12)
#: omega at each epsilon.
PAPER = {
    "soybean_small": (4.1e1, 4.2e0, 2.0e-1, 4.3e-3),
    "iris": (1.1e-9, 1.1e-9, 1.1e-9, 1.1e-9),
    "wine": (2.7e0, 8.6e-1, 2.1e-2, 2.0e-3),
    "sonar": (4.4e1, 8.7e0, 2.0e0, 2.0e0),
    "glass": (3.2e1, 9.2e0, 2.0e-1, 1.4e-2),
    "ionosphere": (3.6e2, 1.2e2, 2.4e0, 5.4e-1),
    "pima": (5.7e2, 2.1e2, 6.3e0, 1.4e-1),
    "optdigits": (4.9e4, 2.3e4, 4.3e2, 9.5e0),
    "waveform": (5.8e1, 1.2e2, 1.2e1, 1.0e0),
    "letters": (1.0e0, 1.7e0, 1.7e-2, 1.3e-3),
}
METHODS = {"plain": "none", "preconditioned": "auto"}


def omega_by_epsilon() -> Experiment:
    """Table 6."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    names = ("iris", "wine") if quick else tuple(PAPER)
    return [ExperimentCase(name, {"lam": 1e-2, "starts": 2 if quick else 3}, needs(name)) for name in names]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    X, y = training_part(case.name)
    row: dict[str, Any] = {}
    for label, preconditioner in METHODS.items():
        runs = [
            _crossings(kta_problem(X, y, case.settings["lam"]), ConjugateGradient(preconditioner=preconditioner), seed)
            for seed in range(case.settings["starts"])
        ]
        row[label] = {"omega": np.mean([run[0] for run in runs], axis=0), "steps": np.mean([run[1] for run in runs], 0)}
    return row


def _crossings(problem: Problem, method: Method, seed: int) -> tuple[list[float], list[float]]:
    """(omega, step) for each epsilon of one run, where |F_t − F_t₋₁| <= epsilon (|F_t| + 1) first holds."""
    geometry = FlatQuotient(problem.n, paper_rank(problem.n))
    start = starting_point(geometry, problem, None, np.random.default_rng(seed))
    omegas: list[float] = []
    steps: list[float] = []

    def note(snapshot: Snapshot) -> bool:
        values = snapshot.history.records[-2]["value"], snapshot.value
        change = abs(values[0] - values[1]) / (abs(values[1]) + 1.0)
        while len(omegas) < len(EPSILONS) and change <= EPSILONS[len(omegas)]:
            omegas.append(certify(problem, snapshot.state.evaluation).omega)
            steps.append(float(snapshot.iteration))
        return len(omegas) == len(EPSILONS)

    result = solve(problem, geometry, method, start=start, tol=1e-14, callback=note, max_iterations=10_000)
    left = len(EPSILONS) - len(omegas)
    last = result.certificate.omega if result.certificate else omegas[-1]
    return omegas + [last] * left, steps + [float(result.iterations)] * left


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        for label in METHODS:
            cells = zip(found[label]["omega"], found[label]["steps"], strict=True)
            rows.append((name, label, *(f"{omega:.1e} ({steps:.0f})" for omega, steps in cells)))
        rows.append((name, "paper", *(f"{omega:.1e}" for omega in PAPER[name])))
        ours = max(found["preconditioned"]["omega"][-1], 0.0)
        comparisons.append(Comparison(f"omega on {name} at 1e-12", ours, PAPER[name][-1], level=1e-6))
    columns = ("set", "method", *(f"{epsilon:g}" for epsilon in EPSILONS))
    caption = "Mean omega (mean steps) where the rule is first met"
    return Findings((ResultTable(caption, columns, tuple(rows)),), tuple(comparisons))
