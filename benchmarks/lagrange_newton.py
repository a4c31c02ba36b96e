"""LagrangeNewton against first- and second-order methods on quadratic fits of few measurements.

    psdopt bench lagrange_newton [--repetitions 3] [--longest 20] [--tol 1e-6 1e-8]

CPU seconds to a certificate at `tol`, everyone from the same start, in turns; what runs for more than a second runs
once, and none for longer than `longest`. Peers: conjugate gradient and L-BFGS with exact searches, and pymanopt's trust
regions. Errors are (F − F*) / (F(0) − F*), F* of the best run.
"""

from __future__ import annotations

import argparse

import numpy as np
from kl_admm_sets import chessboard, instance, timed
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from psdopt import LBFGS, ConjugateGradient, EntryFit, FlatQuotient, LagrangeNewton, TrustRegions, solve
from psdopt_plugins.kernel_learning.distance_kernel_problem import distance_kernel_problem
from psdopt_plugins.regression.problem import psd_regression_problem

METHODS = {
    "LagrangeNewton": LagrangeNewton(),
    "ConjugateGradient": ConjugateGradient(),
    "LBFGS": LBFGS(),
    "TrustRegions": TrustRegions(),
}


def pairs(n):
    """Kernel learning from 1.2 n pairs on a chessboard."""
    rng = np.random.default_rng(0)
    problem, _, r = instance(*chessboard(rng, n), rng)
    return problem, r


def distances(X, per_sample, r):
    """A kernel of rank r from noisy squared distances of random pairs of samples, columns of X scaled."""
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(X)
    i, j = np.triu_indices(len(X), 1)
    chosen = rng.choice(len(i), per_sample * len(X), replace=False)
    i, j = i[chosen], j[chosen]
    squared = np.sum((X[i] - X[j]) ** 2, axis=1) * rng.uniform(0.7, 1.3, len(i))
    return distance_kernel_problem(len(X), np.column_stack([i, j]), squared), r


def cut(n, weight):
    """The relaxation of a largest cut of a random graph, its unit diagonal held by a penalty."""
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((n, n)) < 0.1, 1).astype(float)
    W += W.T
    return EntryFit(W, np.arange(n), np.arange(n), 1.0, weight), 20


def regression(X, y):
    """y ≈ xᵀ W x with W ⪰ 0 of full rank."""
    return psd_regression_problem(StandardScaler().fit_transform(X), y.astype(float) + 1.0), X.shape[1]


def cases():
    """(name, problem, rank)."""
    iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    for n in (50, 100, 200, 400):
        yield f"pairs, chessboard {n}", *pairs(n)
    yield "distances, gaussians", *distances(np.random.default_rng(0).standard_normal((100, 4)), 4, 10)
    yield "distances, iris", *distances(iris[0], 2, 8)
    yield "distances, wine", *distances(wine[0], 4, 10)
    yield "cut, 100 nodes, weight 10", *cut(100, 10.0)
    yield "cut, 100 nodes, weight 1e4", *cut(100, 1e4)
    yield "forms, wine", *regression(*wine)


def race(name, problem, r, repetitions, longest, tol):
    """Print a line per method."""
    fit = problem.quadratic_fit()
    print(f"{name}: n = {problem.n}, {fit.size} measurements, r = {r}, tol = {tol:g}", flush=True)
    geometry, results, spent = FlatQuotient(problem.n, r), {}, dict.fromkeys(METHODS, np.inf)
    for _ in range(repetitions):
        for label, method in METHODS.items():
            if label in results and spent[label] > 1.0:
                continue
            results[label], seconds = timed(
                lambda: solve(problem, geometry, method, rng=0, tol=tol, max_time=longest)  # noqa: B023
            )
            spent[label] = min(spent[label], seconds)
    best = min(result.value for result in results.values())
    for label, result in results.items():
        error = (result.value - best) / (problem.value_at_zero() - best)
        print(f"  {label:18s} {result.status.label:14s} {result.iterations:6d} steps {spent[label]:9.4f} s, "
              f"{spent[label] / spent['LagrangeNewton']:6.1f} times; error {error:.0e}, "
              f"certificate {result.certificate.relative:.0e}", flush=True)  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run all cases; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--longest", type=float, default=20.0, help="seconds for one run")
    parser.add_argument("--tol", type=float, nargs="*", default=[1e-6])
    arguments = parser.parse_args(argv)
    for name, problem, r in cases():
        for tol in arguments.tol:
            race(name, problem, r, arguments.repetitions, arguments.longest, tol)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
