"""Figures 6 and 7 of Meyer et al.: kernels learned from distances, against constraints and rank."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.data import Array, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import FlatQuotient, Geometry, LowRankPSD, Polar, solve
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.kernel_learning import distance_kernel_problem
from psdopt_plugins.pair_sampling import random_pairs

KINDS = ("flat", "polar", "polar, λ = 0")
#: {set: (constraints, ranks, alpha, steps)}; the last rank against constraints, the last count against ranks.
SETS: dict[str, tuple[tuple[int, ...], tuple[int, ...], float, int]] = {
    "pendigits": ((100, 300, 1000, 3000, 10_000), (4, 8, 16), 0.25, 200),
    "usps": ((10_000, 30_000, 100_000), (6, 12, 25), 0.5, 25),
    "digits": ((200, 1000), (4, 8), 0.25, 50),
}


def digits() -> Experiment:
    """Figure 6, right: 300 pen digits 3, 8, 9, linear kernel, alpha = 0.25."""
    return Experiment(lambda quick: _cases("digits" if quick else "pendigits"), _measure, _present)


def usps() -> Experiment:
    """Figure 7: the 2007 test digits of USPS, Gaussian kernel with gamma = 0.001, alpha = 0.5."""
    return Experiment(lambda quick: [] if quick else _cases("usps"), _measure, _present)


def _cases(name: str) -> list[ExperimentCase]:
    counts, ranks, _, steps = SETS[name]
    grid = [(count, ranks[-1]) for count in counts] + [(counts[-1], r) for r in ranks[:-1]]
    return [
        ExperimentCase(
            f"{count:,} constraints, rank {r}", {"set": name, "count": count, "rank": r, "steps": steps}, needs(name)
        )
        for count, r in grid
    ]


def _kernel(name: str) -> tuple[Array, Array]:
    X, y, extra = load(name)
    if name == "usps":
        X, y = X[extra["test_idx"]], y[extra["test_idx"]]
        K = rbf_kernel(_standardized(X), gamma=0.001)
        means = K.mean(axis=0)
        return K - means[:, None] - means[None] + means.mean(), y
    keep = np.flatnonzero(np.isin(y, [3, 8, 9]))
    keep = np.random.default_rng(0).permutation(keep)[:300]
    X = _standardized(X[keep])
    return X @ X.T, y[keep]


def _standardized(X: Array) -> Array:
    spread = X.std(axis=0)
    scaled: Array = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _scores(factor: Array, y: Array) -> list[float]:
    """NMI of k-means and accuracy of 5-NN by two-fold cross-validation, on the rows of a factor of the kernel."""
    found = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(factor)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    accuracy = cross_val_score(KNeighborsClassifier(5), factor, y, cv=folds).mean()
    return [float(normalized_mutual_info_score(y, found)), float(accuracy)]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    name, count, r = case.settings["set"], case.settings["count"], case.settings["rank"]
    K, y = _kernel(name)
    n, alpha = len(y), SETS[name][2]
    values, vectors = np.linalg.eigh(K)
    start = LowRankPSD(vectors[:, ::-1][:, :r] * np.sqrt(values[::-1][:r]))
    geometries: dict[str, Geometry] = dict(zip(KINDS, (FlatQuotient(n, r), Polar(n, r), Polar(n, r, 0.0)), strict=True))
    pairs = random_pairs(n, count, np.random.default_rng(1))
    i, j = pairs.T
    distances = np.maximum(K[i, i] + K[j, j] - 2 * K[i, j], 0)
    problem = distance_kernel_problem(n, pairs, distances, y[i] == y[j], alpha)
    found: dict[str, Any] = {"kernel PCA": [*_scores(start.factor, y), 0.0]}
    for kind, geometry in geometries.items():
        begin = time.process_time()
        result = solve(problem, geometry, start=start, max_iterations=case.settings["steps"], tol=1e-4)
        seconds = time.process_time() - begin
        found[kind] = [*_scores(result.matrix.factor, y), seconds]
    return {"count": count, "rank": r, "scores": found}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (
            name,
            *(
                f"{found['scores'][kind][0]:.2f}, {found['scores'][kind][1]:.3f}, {found['scores'][kind][2]:.1f} s"
                for kind in KINDS
            ),
            "{:.2f}, {:.3f}".format(*found["scores"]["kernel PCA"][:2]),
        )
        for name, found in measured.items()
    )
    columns = ("constraints, rank", *KINDS, "kernel PCA")
    table = ResultTable("NMI of k-means, accuracy of 5-NN, processor seconds", columns, rows)
    facts = {}
    if measured:
        last = max(measured.values(), key=lambda found: (found["count"], found["rank"]))["scores"]
        facts = {"learned": f"{last['flat'][0]:.2f}", "fixed": f"{last['polar, λ = 0'][0]:.2f}"}
    return Findings((table,), figures={"scores": lambda: _draw(measured)} if measured else {}, facts=facts)


def _draw(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(9, 6)
    axes = figure.subplots(2, 2)
    most = max(found["count"] for found in measured.values())
    widest = max(found["rank"] for found in measured.values())
    series = (
        ("constraints", "count", [found for found in measured.values() if found["rank"] == widest]),
        ("rank", "rank", [found for found in measured.values() if found["count"] == most]),
    )
    for column, (label, field, chosen) in enumerate(series):
        chosen = sorted(chosen, key=lambda found: found[field])
        for row, score in enumerate(("NMI of k-means", "5-NN accuracy")):
            for colour, kind in zip(COLOURS, (*KINDS, "kernel PCA"), strict=False):
                values = [found["scores"][kind][row] for found in chosen]
                axes[row, column].plot([found[field] for found in chosen], values, "o-", color=colour, label=kind)
            axes[row, column].set(xlabel=label, ylabel=score, xscale="log" if column == 0 else "linear")
    axes[0, 0].legend(fontsize=8)
    return figure
