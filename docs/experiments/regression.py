"""The experiments of Meyer et al., section 10. Run: PSDOPT_DATA=folder python docs/experiments/regression.py NAME...

NAME is subspace, weight, online, online_single, digits, usps, uci, isolet or starts. Data files are NAME.npz with X and
y, in the folder that PSDOPT_DATA names; subspace, weight, online and starts need none. Figures go to `figures/`. ITML
and LMNN run in an environment of their own, built once: see benchmarks/pinned_peers.py.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, solve
from psdopt.geometries.polar import Polar
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt.methods.riemannian_gradient import RiemannianGradient
from psdopt_plugins.kernel_learning.distance_kernel import random_pairs
from psdopt_plugins.kernel_learning.distance_kernel_problem import distance_kernel_problem
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression, principal_directions
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from pinned_peers import learn_all

mpl.use("Agg")
import matplotlib.pyplot as plt

FIGURES = Path(__file__).parent / "figures"


def load(name):
    archive = np.load(Path(os.environ["PSDOPT_DATA"]) / f"{name}.npz", allow_pickle=True)
    return np.asarray(archive["X"], dtype=float), archive["y"], archive


def standardized(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def toy(d, r, m, rng, noise=0.1):
    X, W = rng.standard_normal((m, d)), rng.standard_normal((d, r))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(m))


def save(figure, name):
    figure.tight_layout()
    figure.savefig(FIGURES / f"regression_{name}.png", dpi=90)
    print("wrote", name)


def subspace():
    """Figure 3: the subspace learned, against the two leading principal directions."""
    rng = np.random.default_rng(3)
    V, X = orthonormal_columns(rng, 3, 3), rng.standard_normal((200, 3))
    y = (((X @ V) ** 2) @ [4.0, 3.0, 0.01]) * (1 + 0.1 * rng.standard_normal(200))
    problem, U = psd_regression_problem(X, y), principal_directions(X, 2)
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    for axis, weight, title in zip(axes, (0.0, 0.5), ("fixed subspace (PCA)", "learned subspace"), strict=True):
        result = solve(problem, Polar(3, 2, weight), start=LowRankPSD(U), tol=1e-8)
        basis, R = result.point
        points = (X @ basis) / np.sqrt(y)[:, None]
        angle = np.linspace(0, 2 * np.pi, 200)
        ellipse = np.linalg.solve(R.T, np.stack([np.cos(angle), np.sin(angle)]))
        axis.plot(*points.T, ".", ms=4)
        axis.plot(*ellipse, "r")
        axis.set(title=f"{title}: cost {result.value:.3g}", aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
        angles = np.degrees(np.arccos(np.clip(np.linalg.svd(basis.T @ V[:, :2], compute_uv=False), 0, 1)))
        print(title, "cost", result.value, "angles to the target subspace", angles, result.status.name)
    save(figure, "subspace")


def weight():
    """Figure 4: test error and steps against lambda, for three tolerances of rule (24)."""
    weights = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5))
    for tol in (1e-2, 1e-3, 1e-4):
        errors, steps = np.zeros((5, 10)), np.zeros((5, 10))
        for k in range(10):
            rng = np.random.default_rng(k)
            X, y = toy(10, 5, 1000, rng)
            start = LowRankPSD(rng.standard_normal((10, 5)))
            train, test = psd_regression_problem(X[:500], y[:500]), psd_regression_problem(X[500:], y[500:])
            for i, lam in enumerate(weights):
                method = RiemannianGradient(change_tol=tol)
                result = solve(train, Polar(10, 5, lam), method, start=start, max_iterations=400, tol=1e-10)
                errors[i, k], steps[i, k] = test.at(result.matrix.factor).value, result.iterations
        axes[0].plot(weights, errors.mean(axis=1), "o-", label=f"{tol:g}")
        axes[1].plot(weights, steps.mean(axis=1), "o-", label=f"{tol:g}")
        print("tol", tol, "error", errors.mean(axis=1).round(2), "steps", steps.mean(axis=1).round(0))
    axes[0].set(xlabel="weight λ", ylabel="test cost", yscale="log")
    axes[1].set(xlabel="weight λ", ylabel="gradient steps", yscale="log")
    axes[0].legend(title="tolerance")
    save(figure, "weight")


def online(single=False):
    """Figure 5: test cost against CPU time, d = 50, r = 10, 80,000 training and 20,000 test samples.

    Times are of the process and include the pre-training; the cost on the test samples is not timed.
    """
    rng = np.random.default_rng(0)
    X, y = toy(50, 10, 100_000, rng)
    test = psd_regression_problem(X[80_000:], y[80_000:])
    batch = psd_regression_problem(X[:80_000], y[:80_000])
    Y0 = rng.standard_normal((50, 10))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    for axis, geometry in zip(axes, (FlatQuotient(50, 10), Polar(50, 10)), strict=True):
        runs = [
            (f"online, p = {p}", OnlineRiemannianGradient(p, report_every=80_000 // p // 5), 5 * epochs)
            for p, epochs in (((1, 1),) if single else ((32, 4),))
        ]
        if not single:
            runs += [
                ("batch gradient", RiemannianGradient(), 40),
                ("batch conjugate gradient", ConjugateGradient(), 20),
            ]
        for label, method, steps in runs:
            streamed = isinstance(method, OnlineRiemannianGradient)
            small = (X[80_000:80_032], y[80_000:80_032])
            problem = psd_regression_stream(X[:80_000], y[:80_000], held_out=small) if streamed else batch
            start = geometry.from_factor(Y0)
            costs, seconds, begin = [test.at(Y0).value], [0.0], time.process_time()
            state = method.init(problem, geometry, start)
            for _ in range(steps):
                state = method.step(state)
                seconds.append(time.process_time() - begin)
                costs.append(test.at(state.evaluation.factor).value)
                begin += time.process_time() - begin - seconds[-1]  # the clock stands still meanwhile
            axis.plot(seconds, costs, ".-" if streamed else "-", label=label, ms=4)
            reached = {c: next((round(t, 2) for t, v in zip(seconds, costs, strict=True) if v <= c), None)
                       for c in (5000, 2000, 1600, 1530)}  # fmt: skip
            at = [round(costs[k]) for k in range(5, len(costs), 5)] if streamed else [round(c) for c in costs[10::10]]
            print(repr(geometry), label, at, f"{seconds[-1]:.2f} s; first at most", reached, flush=True)
        axis.set(title=repr(geometry), xlabel="CPU seconds", yscale="log")
    axes[0].set(ylabel="test cost")
    axes[0].legend()
    save(figure, "online_single" if single else "online")


def online_single():
    """The same with one sample per update, one epoch: slow."""
    online(single=True)


def scores_of(factor, y):
    """NMI of k-means and accuracy of 5-NN by two-fold cross-validation, on the rows of a factor of the kernel."""
    found = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(factor)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    accuracy = cross_val_score(KNeighborsClassifier(5), factor, y, cv=folds).mean()
    return normalized_mutual_info_score(y, found), accuracy


def clustering(K, y, counts, ranks, alpha, name, steps=200):
    """NMI and k-NN on the learned kernel, against constraints (at the last rank) and rank (at the last count)."""
    n = len(y)
    geometries = {
        "flat": lambda r: FlatQuotient(n, r),
        "polar": lambda r: Polar(n, r),
        "polar, λ = 0": lambda r: Polar(n, r, 0.0),
    }
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]

    def learn(kind, count, r):
        pairs = random_pairs(n, count, np.random.default_rng(1))
        i, j = pairs.T
        distances = np.maximum(K[i, i] + K[j, j] - 2 * K[i, j], 0)
        problem = distance_kernel_problem(n, pairs, distances, y[i] == y[j], alpha)
        start = LowRankPSD(vectors[:, :r] * np.sqrt(values[:r]))
        begin = time.process_time()
        result = solve(problem, geometries[kind](r), start=start, max_iterations=steps, tol=1e-4)
        seconds = time.process_time() - begin
        scores = scores_of(result.matrix.factor, y)
        print(f"{name} {kind}: {count} constraints, rank {r}: NMI {scores[0]:.2f}, 5-NN {scores[1]:.3f},",
              result.status.name, result.iterations, f"steps, {seconds:.1f} s", flush=True)  # fmt: skip
        return scores

    columns = 2 if len(ranks) > 1 else 1
    figure, axes = plt.subplots(2, columns, figsize=(4.5 * columns, 6), squeeze=False)
    for kind in geometries:
        by_count = [learn(kind, count, ranks[-1]) for count in counts]
        by_rank = [*(learn(kind, counts[-1], r) for r in ranks[:-1]), by_count[-1]]
        for row in range(2):
            axes[row, 0].plot(counts, [scores[row] for scores in by_count], "o-", label=kind)
            if columns > 1:
                axes[row, 1].plot(ranks, [scores[row] for scores in by_rank], "o-", label=kind)
    baselines = [scores_of(vectors[:, :r] * np.sqrt(values[:r]), y) for r in ranks]
    print(name, "kernel PCA", dict(zip(ranks, np.round(baselines, 3).tolist(), strict=True)))
    for row, label in enumerate(("NMI of k-means", "5-NN accuracy")):
        axes[row, 0].axhline(baselines[-1][row], color="k", ls=":", label="kernel PCA")
        axes[row, 0].set(xlabel="constraints", ylabel=label, xscale="log")
        if columns > 1:
            axes[row, 1].plot(ranks, [scores[row] for scores in baselines], "k:", label="kernel PCA")
            axes[row, 1].set(xlabel="rank", ylabel=label)
    axes[0, 0].legend()
    save(figure, name)


def digits():
    """Figure 6, right: 300 pen digits 3, 8, 9, rank 16, linear kernel, alpha = 0.25."""
    X, y, _ = load("pendigits")
    keep = np.flatnonzero(np.isin(y, [3, 8, 9]))
    keep = np.random.default_rng(0).permutation(keep)[:300]
    X = standardized(X[keep])
    clustering(X @ X.T, y[keep], [100, 300, 1000, 3000, 10_000], [4, 8, 16], 0.25, "digits")


def usps():
    """Figure 7: the 2007 test digits of USPS, Gaussian kernel with gamma = 0.001, alpha = 0.5."""
    X, y, archive = load("usps")
    X, y = X[archive["test_idx"]], y[archive["test_idx"]]
    K = rbf_kernel(standardized(X), gamma=0.001)
    means = K.mean(axis=0)
    K = K - means[:, None] - means[None] + means.mean()
    clustering(K, y, [10_000, 30_000, 100_000], [6, 12, 25], 0.5, "usps", 25)


def knn_error(L, X, y, test, y_test):
    return 1 - KNeighborsClassifier(5).fit(X @ L.T, y).score(test @ L.T, y_test)


def itml_pairs(X, pairs, percentiles=(5, 95)):
    """The constraints that our learners had, for ITML: thresholds are the same percentiles of Euclidean distances."""
    i, j, signs = pairs.T
    distances = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
    return {"pairs": pairs[:, :2], "signs": signs, "bounds": np.percentile(distances, percentiles)}


def uci():
    """Figure 8: 5-NN error, two-fold cross-validation, 40 c (c − 1) constraints, 3 random partitions.

    ITML and LMNN run in the pinned environment of benchmarks/pinned_peers.py; ITML gets the same pairs.
    """
    names, rows = ["wine", "ionosphere", "balance_scale", "iris", "soybean_large"], []
    labels = ("Euclidean", "flat", "polar", "NCA", "ITML", "LMNN")
    for name in names:
        X, y, _ = load(name)
        X, y = standardized(np.nan_to_num(X)), np.unique(y, return_inverse=True)[1]
        keep = np.isin(y, np.flatnonzero(np.bincount(y) >= 4))
        X, y = X[keep], np.unique(y[keep], return_inverse=True)[1]
        errors, tasks, folds = [], [], []
        for split in range(3):
            for train, test in StratifiedKFold(2, shuffle=True, random_state=split).split(X, y):
                arguments = (X[train], y[train], X[test], y[test])
                row = [knn_error(np.eye(X.shape[1]), *arguments)]
                for geometry in ("flat", "polar"):
                    learner = DistanceRegression(geometry=geometry, random_state=split,
                                                 solver_options={"max_iterations": 200, "tol": 1e-4})  # fmt: skip
                    row.append(knn_error(learner.fit(X[train], y[train]).components_, *arguments))
                nca = NeighborhoodComponentsAnalysis(random_state=0, max_iter=50).fit(X[train], y[train])
                row.append(knn_error(nca.components_, *arguments))
                errors.append(row)
                folds.append(arguments)
                data = {"X": X[train], "y": y[train]}
                # sweeps over the constraints are bounded: ITML has one Python loop over all of them
                sweeps = max(3, min(300, 100_000 // len(learner.pairs_)))
                tasks.append(
                    {"method": "itml", "max_iter": sweeps, **data, **itml_pairs(*arguments[:2], learner.pairs_)}
                )
                least = int(np.bincount(y[train]).min()) - 1
                tasks.append({"method": "lmnn", "n_neighbors": max(1, min(3, least)), "max_iter": 200, **data})
        learned = learn_all(tasks)
        for k, arguments in enumerate(folds):
            errors[k] += [knn_error(learned[2 * k + peer].components, *arguments) for peer in (0, 1)]
        rows.append(np.mean(errors, axis=0))
        print(name, dict(zip(labels, np.round(100 * rows[-1], 1).tolist(), strict=True)), flush=True)
    figure, axis = plt.subplots(figsize=(9, 4))
    for k, label in enumerate(labels):
        axis.bar(np.arange(len(names)) + 0.14 * k, 100 * np.array(rows)[:, k], 0.14, label=label)
    axis.set(xticks=np.arange(len(names)) + 0.35, xticklabels=names, ylabel="5-NN error, %")
    axis.legend()
    save(figure, "uci")


def isolet():
    """Figure 9: isolet at low rank, 100,000 constraints, against the leading principal directions."""
    X, y, archive = load("isolet")
    first, last = archive["train_idx"], archive["test_idx"]
    mean, spread = X[first].mean(axis=0), X[first].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1.0)
    train, test = (X[first], y[first]), (X[last], y[last])
    ranks, errors = (
        [5, 10, 20],
        {"principal directions": [], "flat": [], "polar": [], "PCA + ITML": [], "PCA + LMNN": []},
    )
    for r in ranks:
        U = principal_directions(train[0], r)
        errors["principal directions"].append(knn_error(U.T, *train, *test))
        for geometry in ("flat", "polar"):
            begin = time.process_time()
            learner = DistanceRegression(r, geometry=geometry, n_constraints=100_000, random_state=0,
                                         solver_options={"max_iterations": 30, "tol": 1e-4}).fit(*train)  # fmt: skip
            errors[geometry].append(knn_error(learner.components_, *train, *test))
            pairs = learner.pairs_
            print("isolet", r, geometry, f"{100 * errors[geometry][-1]:.1f} %", learner.result_.iterations,
                  f"{time.process_time() - begin:.0f} s", flush=True)  # fmt: skip
        projected = {"X": train[0] @ U, "y": train[1]}
        itml = {"method": "itml", "max_iter": 2, **projected, **itml_pairs(projected["X"], pairs)}
        lmnn = {"method": "pylmnn", "n_neighbors": 3, "max_iter": 30, "n_components": r, "random_state": 0, **projected}
        for label, found in zip(("PCA + ITML", "PCA + LMNN"), learn_all([itml, lmnn]), strict=True):
            errors[label].append(knn_error(found.components @ U.T, *train, *test))
            print("isolet", r, label, f"{100 * errors[label][-1]:.1f} %, {found.cpu_seconds:.0f} s", flush=True)
    figure, axis = plt.subplots(figsize=(5, 4))
    for label, values in errors.items():
        axis.plot(ranks, 100 * np.array(values), "o-", label=label)
    print(errors)
    axis.set(xlabel="rank", ylabel="5-NN error, %")
    axis.legend()
    save(figure, "isolet")


def starts():
    """Steps of the default method to a certificate (or stationarity, where the rank binds) of 1e-6, from any start."""
    forms = {
        "default": lambda Y: None,
        "Gaussian": lambda Y: Y,
        "1e-6 of it": lambda Y: 1e-6 * Y,
        "1e6 times it": lambda Y: 1e6 * Y,
        "half its columns zero": lambda Y: np.where(np.arange(Y.shape[1]) < max(1, Y.shape[1] // 2), Y, 0.0),
        "columns graded to 1e-6": lambda Y: Y * np.logspace(0, -6, Y.shape[1]),
        "zero": lambda Y: 0.0 * Y,
    }

    def planted(rank, r, noise, condition):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 10)) * np.logspace(0, -0.5 * np.log10(condition), 10)
        y = ((X @ rng.standard_normal((10, rank))) ** 2).sum(axis=1)
        return X, y * (1 + noise * rng.standard_normal(200)), r

    data = {
        "iris, r = 4": (*load_iris(return_X_y=True), 4),
        "diabetes, r = 10": (*load_diabetes(return_X_y=True), 10),
        "full rank": planted(10, 10, 0.1, 1.0),
        "rank 3 of 10, noise": planted(3, 10, 0.1, 1.0),
        "rank 3 of 10, exact": planted(3, 10, 0.0, 1.0),
        "rank 5 binds": planted(10, 5, 0.1, 1.0),
        "full rank, condition 1e4": planted(10, 10, 0.1, 1e4),
        "rank 3 of 10, exact, condition 1e4": planted(3, 10, 0.0, 1e4),
    }
    print("flat / polar |", " | ".join(forms))
    for name, (X, y, r) in data.items():
        problem, d = psd_regression_problem(X, y), X.shape[1]
        Y, cells = np.random.default_rng(5).standard_normal((d, r)), []
        for form in forms.values():
            start = None if form(Y) is None else LowRankPSD(form(Y))
            pair = (FlatQuotient(d, r), Polar(d, r))
            runs = [solve(problem, geometry, start=start, tol=1e-6, max_iterations=2000) for geometry in pair]
            cells.append(" / ".join(str(run.iterations) if run.converged else run.status.name for run in runs))
        print(name, "|", " | ".join(cells), flush=True)
    X, y, r = data["full rank"]
    problem = psd_regression_problem(X, y)
    best = solve(problem, tol=1e-8).value
    printed = solve(problem, Polar(10, r), RiemannianGradient(), start=LowRankPSD(Y), max_iterations=500, tol=1e-9)
    print(f"printed polar gradient method, Gaussian start, 500 steps: {printed.value / best:.2f} times the optimum")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FIGURES.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        globals()[name]()
