"""Fixed-rank PSD regression: psdopt against pymanopt and against bare NumPy, as ratios within one run.

    python benchmarks/regression.py batch        # time to a relative cost gap of 1e-6, d = 50, r = 10, m = 80,000
    python benchmarks/regression.py pairs        # the same with d = 617, r = 20, 100,000 pairs
    python benchmarks/regression.py online       # one epoch of mini-batches of 32 against a hand-written loop
    python benchmarks/regression.py kernel       # polar against flat per pass, n = 2007, 100,000 constraints, rank 25
    python benchmarks/regression.py sparse       # d = 100,000 sparse features, r = 10

`--scale 0.1` shrinks the data. Seconds are of process CPU time. Set OPENBLAS_NUM_THREADS=1 for figures that repeat.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import tracemalloc
import warnings
from collections.abc import Sequence

import numpy as np
import pymanopt
import scipy.sparse as sp
from pymanopt.manifolds import PSDFixedRank
from pymanopt.optimizers import ConjugateGradient as PymanoptCG
from pymanopt.optimizers import SteepestDescent

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, solve
from psdopt.geometries.polar import Polar
from psdopt.methods.online_gradient import OnlineRiemannianGradient, Pace
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream

GAP = 1e-6


def targets(X, W, rng):
    return ((X @ W) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(len(X)))


def pymanopt_problem(rows, y, d, r, log):
    """Hand-written cost and gradient; every cost is logged with its time."""
    manifold = PSDFixedRank(d, r)
    m = len(y)

    @pymanopt.function.numpy(manifold)
    def cost(Y):
        Z = rows @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        value = 0.5 * float(residual @ residual) / m
        log.append((time.process_time(), value))
        return value

    @pymanopt.function.numpy(manifold)
    def gradient(Y):
        Z = rows @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        return 2.0 * (rows.T @ (residual[:, None] * Z)) / m

    return pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)


def compare(rows, y, problem, d, r, budget):
    rng = np.random.default_rng(1)
    Y0 = rng.standard_normal((d, r))
    Y0 *= np.sqrt(y.mean() / np.mean(((rows[:2000] @ Y0) ** 2).sum(axis=1)))
    start, runs = LowRankPSD(Y0), {}
    best = min(
        solve(problem, g, ConjugateGradient(), start=start, tol=1e-9, max_iterations=400, max_time=budget).value
        for g in (FlatQuotient(d, r), Polar(d, r))
    )
    target = best + GAP * (problem.at(Y0).value - best)
    for name, geometry in (("psdopt flat CG", FlatQuotient(d, r)), ("psdopt polar CG", Polar(d, r))):
        begin = time.process_time()
        result = solve(problem, geometry, ConjugateGradient(), start=start, tol=1e-12, max_time=budget,
                       callback=lambda snapshot: snapshot.value <= target)  # fmt: skip
        runs[name] = (time.process_time() - begin, result.iterations, result.value > target)
    for name, optimizer in (("pymanopt SteepestDescent", SteepestDescent), ("pymanopt ConjugateGradient", PymanoptCG)):
        log = []
        begin = time.process_time()
        made = pymanopt_problem(rows, y, d, r, log)
        warnings.simplefilter("ignore")
        optimizer(max_time=budget, max_iterations=100_000, min_gradient_norm=1e-30, min_step_size=0, verbosity=0).run(
            made, initial_point=Y0.copy()
        )
        reached = [t - begin for t, value in log if value <= target]
        spent = log[-1][0] - begin
        runs[name] = (reached[0] if reached else spent, len(log), not reached)
        if not reached:
            gap = (min(v for _, v in log) - best) / (log[0][1] - best)
            print(f"  {name}: gap {gap:.1e} after {spent:.0f} s and {len(log)} cost evaluations")
    base = {kind: runs[f"psdopt {kind} CG"][0] for kind in ("flat", "polar")}
    for name, (seconds, steps, more) in runs.items():
        sign = ">" if more else " "
        ratios = ", ".join(f"{sign}{seconds / own:6.1f} x {kind}" for kind, own in base.items())
        print(f"  {name:28s} {sign}{seconds:8.2f} s  {steps:6d} steps  {ratios}")


def batch(scale, budget):
    rng = np.random.default_rng(0)
    d, r, m = 50, 10, int(80_000 * scale)
    X = rng.standard_normal((m, d))
    y = targets(X, rng.standard_normal((d, r)), rng)
    print(f"batch: d={d}, r={r}, m={m}; time to a relative cost gap of {GAP:g}")
    compare(X, y, psd_regression_problem(X, y), d, r, budget)


def pairs(scale, budget):
    rng = np.random.default_rng(0)
    d, r, n, m = 617, 20, 7797, int(100_000 * scale)
    X = rng.standard_normal((n, d)) * (np.arange(1, d + 1) ** -0.25)
    ends = rng.integers(n, size=(2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    rows = X[ends[:, 0]] - X[ends[:, 1]]
    y = targets(rows, rng.standard_normal((d, r)), rng)
    print(f"pairs: d={d}, r={r}, {m} pairs; time to a relative cost gap of {GAP:g}")
    compare(rows, y, psd_regression_problem(X, y, ends), d, r, budget)


def online(scale, budget):
    rng = np.random.default_rng(0)
    d, r, m, p = 50, 10, int(80_000 * scale), 32
    X = rng.standard_normal((m, d))
    y = targets(X, rng.standard_normal((d, r)), rng)
    print(f"online: one epoch of batches of {p}, d={d}, r={r}, m={m}")
    for geometry in (FlatQuotient(d, r), Polar(d, r)):
        method = OnlineRiemannianGradient(p, scale=0.1, annealing=0.1, pretraining=2)
        problem = psd_regression_stream(X, y, order="given")
        state = method.init(problem, geometry, geometry.from_factor(np.linalg.qr(rng.standard_normal((d, r)))[0]))
        batches = list(problem.stream.take(p, 0, m // p))
        pace = Pace(state.scale, state.horizon, state.longest)
        best = {"psdopt": np.inf, "bare": np.inf}
        for _ in range(3):
            begin = time.process_time()
            method.advance(problem, geometry, state.point, batches, pace, 0)
            best["psdopt"] = min(best["psdopt"], time.process_time() - begin)
            begin = time.process_time()
            (bare_polar if isinstance(geometry, Polar) else bare_flat)(batches, state, p)
            best["bare"] = min(best["bare"], time.process_time() - begin)
        ours, bare = best["psdopt"], best["bare"]
        print(f"  {geometry!r}: {ours:.3f} s, bare {bare:.3f} s, ratio {ours / bare:.2f}")


def bare_flat(batches, state, p):
    Y, t = state.point.copy(), 0
    for X, y, _ in batches:
        Z = X @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        s = state.scale * state.horizon / (state.horizon + t)
        G = 2.0 * (X.T @ (residual[:, None] * Z)) / len(y)
        s *= min(1.0, state.longest / np.linalg.norm(G))
        Y = Y - s * G
        t += len(y)


def bare_polar(batches, state, p):
    (U, R), t, lam = state.point, 0, 0.5
    for X, y, _ in batches:
        Y = U @ R
        Z = X @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        s = state.scale * state.horizon / (state.horizon + t)
        SY = X.T @ (residual[:, None] * Z) / len(y)
        D = SY @ R.T
        D = 2.0 * lam * (D - U @ (U.T @ D))
        K = (1 - lam) * Y.T @ SY
        s *= min(1.0, state.longest / np.sqrt(np.vdot(D, D) / lam + np.vdot(K, K) / (1 - lam)))
        V = U - s * D
        values, vectors = np.linalg.eigh(V.T @ V)
        U = V @ ((vectors / np.sqrt(values)) @ vectors.T)
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        R = R @ ((vectors * np.exp(-0.5 * s * values)) @ vectors.T)
        t += len(y)


def kernel(scale, budget):
    rng = np.random.default_rng(0)
    n, r, m = 2007, 25, int(100_000 * scale)
    G = rng.standard_normal((n, 40)) * (np.arange(1, 41) ** -0.5)
    ends = rng.integers(n, size=(2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    d = ((G[ends[:, 0]] - G[ends[:, 1]]) ** 2).sum(axis=1)
    direction = np.where(rng.random(m) < 0.3, 1.0, -1.0)
    problem = psd_regression_problem(None, d * (1 - 0.5 * direction), ends, direction, n=n)
    start, steps, seconds = LowRankPSD(G[:, :r]), 60, {}
    print(f"kernel: n={n}, {m} constraints, rank {r}; seconds per pass over {steps} steps")
    for name, geometry in (("flat", FlatQuotient(n, r)), ("polar", Polar(n, r))):
        profile = cProfile.Profile()
        result = solve(problem, geometry, ConjugateGradient(), start=start, tol=1e-12, max_iterations=steps)
        seconds[name] = (result.history["seconds"][-1] - result.history["seconds"][0]) / result.iterations
        print(f"  {name}: {1e3 * seconds[name]:.1f} ms, value {result.value:.6g}")
        profile.runcall(solve, problem, geometry, ConjugateGradient(), start=start, tol=1e-12, max_iterations=10)
        stats = pstats.Stats(profile).stats
        total = sum(entry[2] for entry in stats.values())
        for where, entry in sorted(stats.items(), key=lambda item: -item[1][2])[:5]:
            print(f"      {100 * entry[2] / total:4.1f} %  {where[2][:70]}")
    print(f"  polar / flat: {seconds['polar'] / seconds['flat']:.2f}")


def sparse(scale, budget):
    rng = np.random.default_rng(0)
    m, d, r = int(20_000 * scale), 100_000, 10
    X = sp.random_array((m, d), density=1e-3, rng=rng, format="csr")
    y = np.abs(rng.standard_normal(m))
    problem = psd_regression_problem(X, y)
    for geometry in (FlatQuotient(d, r), Polar(d, r)):
        tracemalloc.start()
        result = solve(problem, geometry, ConjugateGradient(), max_iterations=20, tol=1e-9)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        unit = 8 * (d + m) * r
        print(f"sparse: {geometry!r}: value {result.history['value'][0]:.4g} -> {result.value:.4g}, "
              f"{result.iterations} steps, peak {peak / 1e6:.0f} MB = {peak / unit:.0f} arrays (d + m, r)")  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["batch", "pairs", "online", "kernel", "sparse"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--budget", type=float, default=120.0, help="wall-clock seconds per run")
    arguments = parser.parse_args(argv)
    globals()[arguments.which](arguments.scale, arguments.budget)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
