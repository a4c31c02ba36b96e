"""The experiments of Meyer et al., section 10. Run: PSDOPT_DATA=folder python docs/experiments/regression.py NAME...

NAME is subspace, weight, online, digits, usps, uci or isolet. Data files are NAME.npz with X and y, in the folder that
the environment variable PSDOPT_DATA names; subspace, weight and online need none. Figures go to `figures/`.
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
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
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
        errors, steps = np.zeros((5, 5)), np.zeros((5, 5))
        for k in range(5):
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


def online():
    """Figure 5: test cost against time, d = 50, r = 10, 80,000 training and 20,000 test samples."""
    rng = np.random.default_rng(0)
    X, y = toy(50, 10, 100_000, rng)
    test = (X[80_000:], y[80_000:])
    evaluate, batch = psd_regression_problem(*test), psd_regression_problem(X[:80_000], y[:80_000])
    Y0 = rng.standard_normal((50, 10))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    for axis, geometry in zip(axes, (FlatQuotient(50, 10), Polar(50, 10)), strict=True):
        for p, epochs in ((1, 1), (32, 6)):
            problem = psd_regression_stream(X[:80_000], y[:80_000], held_out=test)
            per = -(-80_000 // p) // 5
            method = OnlineRiemannianGradient(p, pretraining=max(1, 640 // p), report_every=per)
            result = solve(problem, geometry, method, start=LowRankPSD(Y0), max_iterations=5 * epochs)
            axis.plot(result.history["seconds"], result.history["value"], ".-", label=f"online, p = {p}")
            print(repr(geometry), p, result.history["value"][[0, 5, -1]], result.history["seconds"][[0, 5, -1]])
        for label, method, steps in (
            ("batch gradient", RiemannianGradient(), 25),
            ("batch conjugate gradient", ConjugateGradient(), 20),
        ):
            curve = []
            solve(batch, geometry, method, start=LowRankPSD(Y0), max_iterations=steps, tol=1e-12,
                  callback=lambda s, c=curve: c.append((s.seconds, s.state.evaluation.factor)) or None)  # fmt: skip
            values = [evaluate.at(Y).value for _, Y in curve]
            axis.plot([s for s, _ in curve], values, label=label)
            print(repr(geometry), label, values[0], values[-1], curve[-1][0])
        axis.set(title=repr(geometry), xlabel="seconds", yscale="log")
    axes[0].set(ylabel="test cost")
    axes[0].legend()
    save(figure, "online")


def clustering(K, y, counts, ranks, alpha, name, steps=200):
    """NMI of k-means on the learned kernel against constraints (at the last rank) and rank (at the last count)."""
    n, clusters = len(y), len(np.unique(y))
    geometries = {
        "flat": lambda r: FlatQuotient(n, r),
        "polar": lambda r: Polar(n, r),
        "polar, λ = 0": lambda r: Polar(n, r, 0.0),
    }

    def nmi(factor):
        found = KMeans(clusters, n_init=10, random_state=0).fit_predict(factor)
        return normalized_mutual_info_score(y, found)

    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]

    def learn(kind, count, r):
        pairs = random_pairs(n, count, np.random.default_rng(1))
        i, j = pairs.T
        distances = np.maximum(K[i, i] + K[j, j] - 2 * K[i, j], 0)
        problem = distance_kernel_problem(n, pairs, distances, y[i] == y[j], alpha)
        start = LowRankPSD(vectors[:, :r] * np.sqrt(values[:r]))
        result = solve(problem, geometries[kind](r), start=start, max_iterations=steps, tol=1e-4)
        return nmi(result.matrix.factor), result

    figure, axes = plt.subplots(1, 2 if len(ranks) > 1 else 1, figsize=(9 if len(ranks) > 1 else 5, 4), squeeze=False)
    for kind in geometries:
        scores = []
        for count in counts:
            begin = time.perf_counter()
            score, result = learn(kind, count, ranks[-1])
            scores.append(score)
            print(name, kind, "constraints", count, "rank", ranks[-1], f"NMI {score:.3f}", result.status.name,
                  result.iterations, f"{time.perf_counter() - begin:.1f} s", flush=True)  # fmt: skip
        axes[0, 0].plot(counts, scores, "o-", label=kind)
        if len(ranks) > 1:
            axes[0, 1].plot(ranks, [learn(kind, counts[-1], r)[0] for r in ranks[:-1]] + scores[-1:], "o-", label=kind)
    baseline = nmi(vectors[:, : ranks[-1]] * np.sqrt(values[: ranks[-1]]))
    axes[0, 0].axhline(baseline, color="k", ls=":", label="kernel PCA")
    print(name, "kernel PCA", baseline)
    axes[0, 0].set(xlabel="constraints", ylabel="NMI", xscale="log")
    axes[0, 0].legend()
    if len(ranks) > 1:
        axes[0, 1].set(xlabel="rank", ylabel="NMI")
    save(figure, name)


def digits():
    """Figure 6, right: 300 pen digits 3, 8, 9, rank 16, linear kernel, alpha = 0.25."""
    X, y, _ = load("pendigits")
    keep = np.flatnonzero(np.isin(y, [3, 8, 9]))
    keep = np.random.default_rng(0).permutation(keep)[:300]
    X = standardized(X[keep])
    clustering(X @ X.T, y[keep], [100, 300, 1000, 3000, 10_000], [16], 0.25, "digits")


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


def uci():
    """Figure 8: 5-NN error, two-fold cross-validation, 40 c (c − 1) constraints."""
    names, rows = ["wine", "ionosphere", "balance_scale", "iris", "soybean_large"], []
    for name in names:
        X, y, _ = load(name)
        X, y = standardized(np.nan_to_num(X)), np.unique(y, return_inverse=True)[1]
        keep = np.isin(y, np.flatnonzero(np.bincount(y) >= 4))
        X, y = X[keep], y[keep]
        errors = []
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
        rows.append(np.mean(errors, axis=0))
        print(name, np.round(100 * rows[-1], 1), flush=True)
    figure, axis = plt.subplots(figsize=(8, 4))
    for k, label in enumerate(("Euclidean", "flat", "polar", "NCA")):
        axis.bar(np.arange(len(names)) + 0.2 * k, 100 * np.array(rows)[:, k], 0.2, label=label)
    axis.set(xticks=np.arange(len(names)) + 0.3, xticklabels=names, ylabel="5-NN error, %")
    axis.legend()
    save(figure, "uci")


def isolet():
    """Figure 9: isolet at low rank, 100,000 constraints, against the leading principal directions."""
    X, y, archive = load("isolet")
    first, last = archive["train_idx"], archive["test_idx"]
    mean, spread = X[first].mean(axis=0), X[first].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1.0)
    train, test = (X[first], y[first]), (X[last], y[last])
    ranks, errors = [5, 10, 20], {"principal directions": [], "flat": [], "polar": []}
    for r in ranks:
        errors["principal directions"].append(knn_error(principal_directions(train[0], r).T, *train, *test))
        for geometry in ("flat", "polar"):
            begin = time.perf_counter()
            learner = DistanceRegression(r, geometry=geometry, n_constraints=100_000, random_state=0,
                                         solver_options={"max_iterations": 30, "tol": 1e-4}).fit(*train)  # fmt: skip
            errors[geometry].append(knn_error(learner.components_, *train, *test))
            print("isolet", r, geometry, f"{100 * errors[geometry][-1]:.1f} %", learner.result_.iterations,
                  f"{time.perf_counter() - begin:.0f} s", flush=True)  # fmt: skip
    figure, axis = plt.subplots(figsize=(5, 4))
    for label, values in errors.items():
        axis.plot(ranks, 100 * np.array(values), "o-", label=label)
    print(errors)
    axis.set(xlabel="rank", ylabel="5-NN error, %")
    axis.legend()
    save(figure, "isolet")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FIGURES.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        globals()[name]()
