"""Figures 8 and 9 of Meyer et al.: metrics by regression on distances, full rank and low rank."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from benchmarks.papers.data import Array, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.metric_learning import LMNN, DistanceRegression
from psdopt_plugins.metric_learning.lmnn_start import principal_axes

SETS = ("wine", "ionosphere", "balance_scale", "iris", "soybean_large")
LEARNERS = ("Euclidean", "flat", "polar", "NCA", "LMNN")
LOW_RANK = ("principal directions", "flat", "polar", "principal directions + LMNN")
#: Features whose spread is below this fraction of their size are constant.
CONSTANT = 1e-12


def full_rank() -> Experiment:
    """Figure 8: 5-NN error, two-fold cross-validation, 40 c (c − 1) constraints."""
    return Experiment(_full_cases, _measure_full, _present_full)


def low_rank() -> Experiment:
    """Figure 9: isolet, official split, 100,000 constraints."""
    return Experiment(_low_cases, _measure_low, _present_low)


def _full_cases(quick: bool) -> list[ExperimentCase]:
    names = ("wine", "iris") if quick else SETS
    return [ExperimentCase(name, {"partitions": 1 if quick else 5}, needs(name)) for name in names]


def _standardized(X: Array, like: Array) -> Array:
    spread = like.std(axis=0)
    scaled: Array = (X - like.mean(axis=0)) / np.where(spread > CONSTANT, spread, 1.0)
    return scaled


def _knn_error(L: Array, X: Array, y: Array, test: Array, y_test: Array) -> float:
    return 100.0 * (1.0 - float(KNeighborsClassifier(5).fit(X @ L.T, y).score(test @ L.T, y_test)))


def _measure_full(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load(case.name)
    X, y = np.nan_to_num(X), np.unique(y, return_inverse=True)[1]
    X, keep = _standardized(X, X), np.isin(y, np.flatnonzero(np.bincount(y) >= 4))
    X, y = X[keep], np.unique(y[keep], return_inverse=True)[1]
    errors: dict[str, list[float]] = {label: [] for label in LEARNERS}
    c = int(y.max()) + 1
    paper: dict[str, Any] = {"lam": 0.0, "n_constraints": 40 * c * (c - 1)}
    for split in range(case.settings["partitions"]):
        for train, test in StratifiedKFold(2, shuffle=True, random_state=split).split(X, y):
            data = (X[train], y[train], X[test], y[test])
            errors["Euclidean"].append(_knn_error(np.eye(X.shape[1]), *data))
            options = {"max_iterations": 200, "tol": 1e-4}
            for kind in ("flat", "polar"):
                learner = DistanceRegression(geometry=kind, random_state=split, solver_options=options, **paper)
                errors[kind].append(_knn_error(learner.fit(*data[:2]).components_, *data))
            nca = NeighborhoodComponentsAnalysis(random_state=0, max_iter=50).fit(*data[:2])
            errors["NCA"].append(_knn_error(nca.components_, *data))
            near = max(1, min(3, int(np.bincount(y[train]).min()) - 1))
            errors["LMNN"].append(_knn_error(LMNN(n_neighbors=near).fit(*data[:2]).components_, *data))
    return {label: [float(np.mean(found)), float(np.std(found))] for label, found in errors.items()}


def _present_full(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, best = [], 0
    for name, found in measured.items():
        least = min(found[label][0] for label in LEARNERS)
        best += min(found["flat"][0], found["polar"][0]) <= least
        rows.append((name, *(f"{found[label][0]:.1f} ± {found[label][1]:.1f}" for label in LEARNERS)))
    table = ResultTable("5-NN error in %", ("data", *LEARNERS), tuple(rows))
    figures = {"errors": lambda: _draw_full(measured)} if measured else {}
    return Findings((table,), figures=figures, facts={"best": f"{best} of {len(measured)}"})


def _draw_full(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(9, 4)
    axis = figure.subplots()
    for k, label in enumerate(LEARNERS):
        values = [found[label][0] for found in measured.values()]
        axis.bar(np.arange(len(values)) + 0.16 * k, values, 0.16, label=label, color=COLOURS[k])
    axis.set(xticks=np.arange(len(measured)) + 0.32, xticklabels=list(measured), ylabel="5-NN error, %")
    axis.legend()
    return figure


def _low_cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("digits, rank 4", {"set": "digits", "rank": 4, "constraints": 1000, "steps": 10})]
    return [
        ExperimentCase(
            f"isolet, rank {r}", {"set": "isolet", "rank": r, "constraints": 100_000, "steps": 30}, ("isolet",)
        )
        for r in (5, 10, 20)
    ]


def _measure_low(case: ExperimentCase) -> dict[str, Any]:
    X, y, extra = load(case.settings["set"])
    first, last = extra.get("train_idx", np.arange(1200)), extra.get("test_idx", np.arange(1200, len(y)))
    X = _standardized(X, X[first])
    data = (X[first], y[first], X[last], y[last])
    r = case.settings["rank"]
    U = principal_axes(data[0], r)
    found: dict[str, Any] = {"principal directions": [_knn_error(U.T, *data), 0.0]}
    for kind in ("flat", "polar"):
        begin = time.process_time()
        learner = DistanceRegression(
            r,
            lam=0.0,
            geometry=kind,
            n_constraints=case.settings["constraints"],
            random_state=0,
            solver_options={"max_iterations": case.settings["steps"], "tol": 1e-4},
        ).fit(*data[:2])
        seconds = time.process_time() - begin
        found[kind] = [_knn_error(learner.components_, *data), seconds]
    begin = time.process_time()
    metric = LMNN(n_neighbors=3).fit(data[0] @ U, data[1])
    seconds = time.process_time() - begin
    found["principal directions + LMNN"] = [_knn_error(metric.components_ @ U.T, *data), seconds]
    return found


def _present_low(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (name, *(f"{found[label][0]:.1f}, {found[label][1]:.1f} s" for label in LOW_RANK))
        for name, found in measured.items()
    )
    table = ResultTable("5-NN error in %, processor seconds of the fit", ("data", *LOW_RANK), rows)
    return Findings((table,), figures={"errors": lambda: _draw_low(measured)} if measured else {})


def _draw_low(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(5, 4)
    axis = figure.subplots()
    ranks = [int(name.rpartition(" ")[2]) for name in measured]
    for colour, label in zip(COLOURS, LOW_RANK, strict=False):
        axis.plot(ranks, [found[label][0] for found in measured.values()], "o-", color=colour, label=label)
    axis.set(xlabel="rank", ylabel="5-NN error, %")
    axis.legend(fontsize=8)
    return figure
