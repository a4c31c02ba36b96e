"""Figures 3, 4 and 5 of Meyer et al.: the subspace learned, the weight λ, online against batch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.data import Array
from benchmarks.papers.printed_gradient import PrintedGradient
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import (
    ConjugateGradient,
    FlatQuotient,
    Geometry,
    LowRankPSD,
    OnlineRiemannianGradient,
    Polar,
    State,
    solve,
)
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.metric_learning.lmnn_start import principal_axes
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream

#: λ of figure 4, and the tolerances of rule (24).
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
TOLERANCES = (1e-2, 1e-3, 1e-4)
#: Test costs whose first time is noted in figure 5.
GOALS = (2000, 1600, 1530)


def subspace_learned() -> Experiment:
    """Figure 3."""
    return Experiment(_subspace_cases, _measure_subspace, _present_subspace)


def influence_of_weight() -> Experiment:
    """Figure 4."""
    return Experiment(_weight_cases, _measure_weight, _present_weight)


def online_against_batch() -> Experiment:
    """Figure 5."""
    return Experiment(_online_cases, _measure_online, _present_online)


def toy(d: int, r: int, m: int, rng: np.random.Generator, noise: float = 0.1) -> tuple[Array, Array]:
    """X (m, d) Gaussian, y = |Wᵀx|² (1 + noise · ε), W (d, r) Gaussian (28)."""
    X, W = rng.standard_normal((m, d)), rng.standard_normal((d, r))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(m))


def _subspace_cases(quick: bool) -> list[ExperimentCase]:
    return [ExperimentCase(f"λ = {weight:g}", {"weight": weight}) for weight in (0.0, 0.5)]


def _measure_subspace(case: ExperimentCase) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    V, X = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal((200, 3))
    y = (((X @ V) ** 2) @ [4.0, 3.0, 0.01]) * (1 + 0.1 * rng.standard_normal(200))
    start = LowRankPSD(principal_axes(X, 2))
    result = solve(psd_regression_problem(X, y), Polar(3, 2, case.settings["weight"]), start=start, tol=1e-8)
    U, R = result.point
    angles = np.degrees(np.arccos(np.clip(np.linalg.svd(U.T @ V[:, :2], compute_uv=False), 0, 1)))
    return {"cost": result.value, "angle": angles.max(), "points": (X @ U) / np.sqrt(y)[:, None], "R": R}


def _present_subspace(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple((name, f"{found['cost']:.3g}", f"{found['angle']:.1f}°") for name, found in measured.items())
    table = ResultTable("", ("geometry", "cost", "largest angle to the target plane"), rows)
    return Findings((table,), figures={"subspace": lambda: _draw_subspace(measured)} if measured else {})


def _draw_subspace(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(4 * len(measured), 4)
    angle = np.linspace(0, 2 * np.pi, 200)
    for axis, (name, found) in zip(figure.subplots(1, len(measured), squeeze=False)[0], measured.items(), strict=True):
        ellipse = np.linalg.solve(np.array(found["R"]).T, np.stack([np.cos(angle), np.sin(angle)]))
        axis.plot(*np.transpose(found["points"]), ".", ms=4, color=COLOURS[0])
        axis.plot(*ellipse, color=COLOURS[2])
        axis.set(title=f"{name}: cost {found['cost']:.3g}", aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    return figure


def _weight_cases(quick: bool) -> list[ExperimentCase]:
    problems, tolerances = (1, TOLERANCES[:1]) if quick else (10, TOLERANCES)
    return [ExperimentCase(f"{tol:g}", {"tol": tol, "problems": problems}) for tol in tolerances]


def _measure_weight(case: ExperimentCase) -> dict[str, Any]:
    """Printed gradient method, S₊(5, 10), 500 training and 500 test samples."""
    shape = (len(WEIGHTS), case.settings["problems"])
    errors, steps = np.zeros(shape), np.zeros(shape)
    for k in range(shape[1]):
        rng = np.random.default_rng(k)
        X, y = toy(10, 5, 1000, rng)
        start = LowRankPSD(rng.standard_normal((10, 5)))
        train, test = psd_regression_problem(X[:500], y[:500]), psd_regression_problem(X[500:], y[500:])
        for i, weight in enumerate(WEIGHTS):
            method = PrintedGradient(change_tol=case.settings["tol"])
            result = solve(train, Polar(10, 5, weight), method, start=start, max_iterations=400, tol=1e-10)
            errors[i, k], steps[i, k] = test.at(result.matrix.factor).value, result.iterations
    return {"errors": errors.mean(axis=1), "steps": steps.mean(axis=1)}


def _present_weight(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (tol, *(f"{e:.1f}, {s:.0f}" for e, s in zip(found["errors"], found["steps"], strict=True)))
        for tol, found in measured.items()
    )
    table = ResultTable("Mean test cost, mean steps", ("tolerance", *(f"λ = {w:g}" for w in WEIGHTS)), rows)
    return Findings((table,), figures={"weight": lambda: _draw_weight(measured)} if measured else {})


def _draw_weight(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(8, 3.5)
    left, right = figure.subplots(1, 2)
    for colour, (tol, found) in zip(COLOURS, measured.items(), strict=False):
        left.plot(WEIGHTS, found["errors"], "o-", color=colour, label=tol)
        right.plot(WEIGHTS, found["steps"], "o-", color=colour)
    left.set(xlabel="weight λ", ylabel="test cost", yscale="log")
    right.set(xlabel="weight λ", ylabel="gradient steps", yscale="log")
    left.legend(title="tolerance")
    return figure


def _online_cases(quick: bool) -> list[ExperimentCase]:
    train = 4000 if quick else 80_000
    names = ("online, p = 32", "batch gradient", "batch conjugate gradient")
    return [
        ExperimentCase(f"{kind}: {name}", {"geometry": kind, "method": name, "train": train})
        for kind in ("flat", "polar")
        for name in names
    ]


def _measure_online(case: ExperimentCase) -> dict[str, Any]:
    """Test cost against processor seconds, the pre-training included, the cost on the test samples not."""
    d, r, train = 50, 10, case.settings["train"]
    rng = np.random.default_rng(0)
    X, y = toy(d, r, train * 5 // 4, rng)
    test = psd_regression_problem(X[train:], y[train:])
    Y0 = rng.standard_normal((d, r))
    geometry: Geometry = FlatQuotient(d, r) if case.settings["geometry"] == "flat" else Polar(d, r)
    method: Any
    if case.settings["method"].startswith("online"):
        problem: Any = psd_regression_stream(
            X[:train], y[:train], held_out=(X[train : train + 32], y[train : train + 32])
        )
        method, steps = OnlineRiemannianGradient(32, report_every=train // 32 // 5), 20
    else:
        problem = psd_regression_problem(X[:train], y[:train])
        method, steps = (
            (PrintedGradient(), 40) if case.settings["method"] == "batch gradient" else (ConjugateGradient(), 20)
        )
    start = geometry.from_factor(Y0)
    costs, seconds, begin = [test.at(Y0).value], [0.0], time.process_time()
    state: State = method.init(problem, geometry, start)
    for _ in range(steps):
        state = method.step(state)
        seconds.append(time.process_time() - begin)
        costs.append(test.at(state.evaluation.factor).value)
        begin += time.process_time() - begin - seconds[-1]  # the clock stands still meanwhile
    return {"seconds": seconds, "costs": costs, "noise": 0.5 * float(np.mean((0.1 * y[train:]) ** 2))}


def _first(found: Mapping[str, Any], goal: float) -> float | None:
    pairs = zip(found["seconds"], found["costs"], strict=True)
    return next((seconds for seconds, cost in pairs if cost is not None and cost <= goal), None)


def _present_online(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        costs = found["costs"]
        marks = costs[5::5] if "online" in name else costs[10::10]
        times = [_first(found, goal) for goal in GOALS]
        rows.append(
            (
                name,
                ", ".join(f"{cost:.0f}" for cost in marks if cost is not None),
                f"{found['seconds'][-1]:.2f}",
                *("–" if t is None else f"{t:.2f}" for t in times),
            )
        )
    for kind in ("flat", "polar"):
        names = [f"{kind}: {name}" for name in ("online, p = 32", "batch gradient")]
        times = [_first(measured[name], GOALS[0]) for name in names if name in measured]
        if len(times) == 2 and times[0] and times[1]:
            what = f"seconds to {GOALS[0]}, online over batch gradient, {kind} (the paper: below 1)"
            comparisons.append(Comparison(what, times[0] / times[1], 1.0))
    columns = (
        "geometry: method",
        "test cost after epochs 1 to 4, or each tenth step",
        "seconds in all",
        *(f"first at most {goal}" for goal in GOALS),
    )
    figures = {"online": lambda: _draw_online(measured)} if measured else {}
    return Findings((ResultTable("", columns, tuple(rows)),), tuple(comparisons), figures)


def _draw_online(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(9, 4)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, kind in zip(axes, ("flat", "polar"), strict=True):
        shown = {name.removeprefix(f"{kind}: "): found for name, found in measured.items() if name.startswith(kind)}
        for colour, (name, found) in zip(COLOURS, shown.items(), strict=False):
            axis.plot(found["seconds"], found["costs"], ".-", ms=4, color=colour, label=name)
        axis.set(title=kind, xlabel="CPU seconds", yscale="log")
    axes[0].set_ylabel("test cost")
    axes[0].legend(fontsize=8)
    return figure
