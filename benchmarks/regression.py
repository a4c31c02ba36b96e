"""Fixed-rank PSD regression: online learning against bare NumPy, and memory on sparse features.

    python benchmarks/regression.py online       # one epoch of mini-batches of 32 against a hand-written loop
    python benchmarks/regression.py estimator    # partial_fit, four passes, against stochastic gradient; condition 100
    python benchmarks/regression.py sparse       # d = 100,000 sparse features, r = 10

What is compared with pymanopt is measured by `python -m benchmarks reproduce --paper regression`. `--scale 0.1`
shrinks the data.
Seconds are of process CPU time. Set OPENBLAS_NUM_THREADS=1 for figures that repeat.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from psdopt import ConjugateGradient, FlatQuotient, solve
from psdopt.geometries.polar import Polar
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt_plugins.regression import PSDRegressor, psd_regression_problem, psd_regression_stream


def targets(X, W, rng):
    return ((X @ W) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(len(X)))


def online(scale):
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
        pace = state.pace
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
        s = state.pace.scale * state.pace.horizon / (state.pace.horizon + t)
        G = 2.0 * (X.T @ (residual[:, None] * Z)) / len(y)
        s *= min(1.0, state.pace.longest / np.linalg.norm(G))
        Y = Y - s * G
        t += len(y)


def bare_polar(batches, state, p):
    (U, R), t, lam = state.point, 0, 0.5
    for X, y, _ in batches:
        Y = U @ R
        Z = X @ Y
        residual = np.einsum("ij,ij->i", Z, Z) - y
        s = state.pace.scale * state.pace.horizon / (state.pace.horizon + t)
        SY = X.T @ (residual[:, None] * Z) / len(y)
        D = SY @ R.T
        D = 2.0 * lam * (D - U @ (U.T @ D))
        K = (1 - lam) * Y.T @ SY
        s *= min(1.0, state.pace.longest / np.sqrt(np.vdot(D, D) / lam + np.vdot(K, K) / (1 - lam)))
        V = U - s * D
        values, vectors = np.linalg.eigh(V.T @ V)
        U = V @ ((vectors / np.sqrt(values)) @ vectors.T)
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        R = R @ ((vectors * np.exp(-0.5 * s * values)) @ vectors.T)
        t += len(y)


SHAPES = [(10, 2, 5_000), (20, 5, 10_000), (30, 3, 20_000), (50, 3, 20_000), (30, 3, 100_000)]
SHAPES += [(40, 8, 8_000), (50, 10, 40_000)]  # few samples per entry of the factor, and a larger one


def estimator(scale):
    """Excess of the test loss over that of the batch fit after four passes, and processor seconds of the passes."""
    for condition in (1.0, 100.0):
        for d, r, m in SHAPES:
            m, rng = int(m * scale), np.random.default_rng(0)
            turn, back = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
            Z = rng.standard_normal((m * 5 // 4, d))
            y = targets(Z, rng.standard_normal((d, r)), rng)
            X = Z @ (turn * np.geomspace(1.0, condition, d) / condition) @ back
            best = loss_of(PSDRegressor(r, random_state=0).fit(X[:m], y[:m]).components_.T, X[m:], y[m:])
            seconds, excess = {"ours": [], "SGD": []}, {}
            for _ in range(3):
                for name, learn in (("ours", four_passes), ("SGD", stochastic_gradient)):
                    begin = time.process_time()
                    Y = learn(X[:m], y[:m], r)
                    seconds[name].append(time.process_time() - begin)
                    excess[name] = loss_of(Y, X[m:], y[m:]) / best - 1.0
            ours, peer = min(seconds["ours"]), min(seconds["SGD"])
            print(f"estimator: condition {condition:g}, d={d}, r={r}, m={m}: excess {excess['ours']:.3f}, SGD "
                  f"{excess['SGD']:.3f}; {ours:.4f} s, SGD {peer:.4f} s, ratio {ours / peer:.2f}")  # fmt: skip


def loss_of(Y, X, y):
    return 0.5 * np.mean((((X @ Y) ** 2).sum(axis=1) - y) ** 2)


def four_passes(X, y, r):
    model = PSDRegressor(r, random_state=0)
    for _ in range(4):
        model.partial_fit(X, y)
    return model.components_.T


def stochastic_gradient(X, y, r, p=32, c=0.03):
    d, k, scale = X.shape[1], 0, c / y.mean()
    Y = np.random.default_rng(0).standard_normal((d, r)) * np.sqrt(y.mean() / (d * r))
    for _ in range(4):
        for first in range(0, len(y), p):
            x = X[first : first + p]
            Z = x @ Y
            residual = (Z * Z).sum(axis=1) - y[first : first + p]
            Y -= scale / (1 + k / 2000) / len(x) * (x.T @ (residual[:, None] * Z))
            k += 1
    return Y


def sparse(scale):
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
    parser.add_argument("which", choices=["online", "estimator", "sparse"])
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args(argv)
    {"online": online, "estimator": estimator, "sparse": sparse}[arguments.which](arguments.scale)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
