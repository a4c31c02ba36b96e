"""Figure 2 of Hao et al.: convergence of rules of update on KTA; BILGO beside conjugate gradient to certificates."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.data import Array, load, needs
from benchmarks.quadratic import LIMIT, peer, seconds
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import BILGO, ConjugateGradient, FlatQuotient, Problem, PSDCone, QuadraticSDP, Result, Snapshot, solve
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.metric_learning import kta_problem

RULES = {
    "BILGO, plain": BILGO(None, eigenvectors=1),
    "BILGO, local search": BILGO(),
    "Journée et al.": BILGO(None, eigenvectors=1, rule="journee"),
    "random conic pursuit": BILGO(None, rule="random-conic"),
}
LAM = 1e-3
#: Steps by which our best value is below the plain rule's, and the rest.
COURSES = ("value", "lambda_max", "slack", "alpha", "beta")
TITLES = ("F − F*", "λ_max(−S)", "|S M|", "α", "β", "3-NN accuracy, training", "3-NN accuracy, test")


#: Of conjugate gradient at full rank.
MOST_SECONDS = 60.0


def rules_of_update() -> Experiment:
    """Figure 2: a1a and w1a, from M = 0."""
    return Experiment(_rule_cases, _measure_rules, _present_rules)


def bilgo_against_gradient() -> Experiment:
    """To certificate 1e-6: BILGO, which finds the rank, LRO at full rank, solve's choice, and a plain splitting."""
    return Experiment(_alignment_cases, _measure_alignment, _present_alignment)


def _rule_cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("digits", {"steps": 30})]
    return [ExperimentCase("a1a", {"steps": 300}, ("a1a",)), ExperimentCase("w1a", {"steps": 100}, ("w1a",))]


def _samples(name: str) -> tuple[Any, Array]:
    X, y, _ = load(name)
    return (X / 16.0 if name == "digits" else X), y


def _measure_rules(case: ExperimentCase) -> dict[str, Any]:
    X, y = _samples(case.name)
    A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    found: dict[str, Any] = {}
    for label, method in RULES.items():
        course = _Accuracies(A, a, B, b)
        problem = kta_problem(A, a, LAM)  # a new one each time: it keeps what one method has decomposed
        result = solve(
            problem,
            PSDCone(problem.n),
            method,
            start=np.zeros((problem.n, 1)),
            max_iterations=case.settings["steps"],
            callback=course,
        )
        history = {name: result.history[name] for name in COURSES}
        found[label] = {**_end(result), "history": history, "accuracies": course.points}
    problem = kta_problem(A, a, LAM)
    full = FlatQuotient(problem.n, problem.n)
    found["LRO, random start"] = _end(solve(problem, full, ConjugateGradient(), rng=0, max_iterations=300))
    return {"rules": found}


def _end(result: Result) -> dict[str, Any]:
    certificate = result.certificate.relative if result.certificate else None
    return {
        "value": result.value,
        "certificate": certificate,
        "rank": result.rank,
        "steps": result.iterations,
        "status": result.status.label,
    }


class _Accuracies:
    """(step, 3-NN accuracy in training without the sample itself, in test) after ever more steps."""

    def __init__(self, A: Any, a: Array, B: Any, b: Array) -> None:
        self.A, self.a, self.B, self.b = A, a, B, b
        self.points: list[tuple[int, float, float]] = []

    def __call__(self, snapshot: Snapshot) -> None:
        k = snapshot.iteration
        if self.points and k < 1.3 * self.points[-1][0]:
            return
        Y = snapshot.state.evaluation.factor
        model = KNeighborsClassifier(3, algorithm="brute").fit(self.A @ Y, self.a)
        near = np.sort(self.a[model.kneighbors(return_distance=False)], axis=1)
        voted = np.where(near[:, 0] == near[:, 1], near[:, 0], near[:, 2])  # of three, two or none agree
        self.points.append((k, float(np.mean(voted == self.a)), float(model.score(self.B @ Y, self.b))))


def _present_rules(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = []
    for name, found in measured.items():
        for label, end in found["rules"].items():
            slack = end["history"]["slack"] if "history" in end else []
            left = next((value for value in reversed(slack) if value is not None), None)
            rows.append(
                (
                    name,
                    label,
                    f"{end['value']:.8g}",
                    "" if left is None else f"{left:.1e}",
                    f"{end['certificate']:.1e}",
                    str(end["rank"]),
                    f"{end['steps']}, {end['status']}",
                )
            )
    columns = ("data", "rule", "value", "|S M| at the end", "certificate", "rank", "steps, end")
    figures = {name: lambda name=name: _draw(name, measured[name]["rules"]) for name in measured}
    return Findings(
        (ResultTable("KTA, λ = 0.001, 70 % of the samples, from M = 0", columns, tuple(rows)),), figures=figures
    )


def _draw(name: str, rules: Mapping[str, Any]) -> Any:
    figure = new_figure(15, 6.4)
    grid = figure.subplots(2, 4)
    grid[1, 3].set_visible(False)
    axes = list(grid.ravel()[:7])
    best = min(end["value"] for end in rules.values())
    for colour, (label, end) in zip(COLOURS, rules.items(), strict=False):
        if "history" not in end:
            continue
        history = {column: np.array(values, dtype=float) for column, values in end["history"].items()}
        floor = 1e-15 * abs(history["value"][0] - best)
        axes[0].semilogy(np.maximum(history["value"] - best, floor), color=colour, label=label)
        for axis, column in zip(axes[1:5], COURSES[1:], strict=True):
            values = history[column]
            seen = np.flatnonzero(np.isfinite(values) & ((values > 0.0) | (column == "alpha")))
            axis.plot(seen, values[seen], ".-" if column in ("lambda_max", "slack") else ".", ms=3, color=colour)
        steps, training, test = np.transpose(end["accuracies"])
        axes[5].plot(steps, training, ".-", ms=4, color=colour)
        axes[6].plot(steps, test, ".-", ms=4, color=colour)
    for axis, title in zip(axes, TITLES, strict=True):
        axis.set(title=title, xlabel="step")
    for axis in (axes[1], axes[2], axes[4]):
        axis.set_yscale("log")
    axes[3].set_ylim(0, 1.5)
    axes[5].sharey(axes[6])
    axes[0].legend(fontsize=8)
    figure.suptitle(f"KTA on {name}")
    return figure


def _alignment_cases(quick: bool) -> list[ExperimentCase]:
    repeats = {"repeats": 1 if quick else 3}
    if quick:
        return [ExperimentCase("KTA digits", repeats)]
    sets = [ExperimentCase(f"KTA {name}", repeats, needs(name)) for name in ("digits", "a1a", "w1a")]
    isolet = ExperimentCase("KTA isolet, 1,500 samples", {"repeats": 1}, ("isolet",))
    return [*sets, isolet, ExperimentCase("rank 12 of 400", repeats)]


def _problem(name: str) -> Problem:
    if name.startswith("rank"):
        return _planted(400, 12)
    X, y = _samples(name.split(",")[0].removeprefix("KTA "))
    m = 1500 if "1,500" in name else None
    return kta_problem(X[:m], y[:m], LAM)


def _planted(n: int, rank: int) -> QuadraticSDP:
    """A random quadratic SDP of order n whose optimum has this rank, strictly complementary."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n))
    A = A @ A.T / n
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q[:, :rank] * np.linspace(1.0, 3.0, rank)) @ Q[:, :rank].T
    S = (Q[:, rank:] * np.linspace(0.5, 2.0, n - rank)) @ Q[:, rank:].T
    return QuadraticSDP(A, 0.1, 0.5 * (S - 2 * A @ M @ A - 0.2 * M))


def _measure_alignment(case: ExperimentCase) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(case.settings["repeats"]):
        for label in ("BILGO", "LRO", "default"):
            problem: Any = _problem(case.name)
            full = FlatQuotient(problem.n, problem.n)
            begin = time.process_time()
            if label == "BILGO":
                result = solve(problem, PSDCone(problem.n), BILGO(), rng=0)
            elif label == "LRO":
                result = solve(problem, full, ConjugateGradient(), rng=0, max_time=MOST_SECONDS)
            else:
                result = solve(problem, rng=0)
            taken = time.process_time() - begin
            before = found[label]["seconds"] if label in found else np.inf
            columns = result.counts["operator_columns"]
            found[label] = {**_end(result), "method": result.method, "seconds": min(before, taken), "columns": columns}
    A, B, C = problem.A, problem.B, problem.C
    splitting, value = seconds(peer, A.to_dense(), B.scale, C.to_dense(), LIMIT)
    return {"n": problem.n, "runs": found, "splitting": splitting, "proven": value is not None}


def _present_alignment(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, ratios = [], []
    for name, found in measured.items():
        ours, theirs, default = (found["runs"][label] for label in ("BILGO", "LRO", "default"))
        ratios.append(ours["seconds"] / theirs["seconds"])
        rows.append(
            (
                name,
                str(found["n"]),
                str(ours["rank"]),
                f"{ours['steps']}, {ours['status']}",
                f"{ours['columns']:,}",
                f"{ours['seconds']:.2f}",
                f"{theirs['steps']}, {theirs['status']}",
                f"{theirs['columns']:,}",
                f"{theirs['seconds']:.2f}",
                f"{ratios[-1]:.2f}",
                f"{default['method']}, {default['status']}",
                f"{default['seconds']:.2f}",
                f"{'' if found['proven'] else '> '}{found['splitting']:.2f}",
            )
        )
    columns = (
        "problem",
        "n",
        "rank",
        "BILGO: steps",
        "columns of products",
        "seconds",
        "LRO: steps",
        "columns",
        "seconds",
        "ratio",
        "solve takes",
        "seconds",
        "splitting",
    )
    facts = {"least": f"{min(ratios):.2f}", "most": f"{max(ratios):.2f}"} if ratios else {}
    caption = "To certificate 1e-6, least processor seconds"
    return Findings((ResultTable(caption, columns, tuple(rows)),), facts=facts)
