"""Quadratic programs over the whole cone against a splitting of twenty lines, and against BILGO and conjugate gradient.

min tr((A M)²) + b tr(M²) + 2 tr(C M), M ⪰ 0: kernel target alignment of scikit-learn's sets and of products of
features, random A of given condition, and planted solutions of low rank. All run to a proven gap of 1e-6 of F(0) − F,
proof included, with one BLAS thread; seconds are processor time, the least of three, in one process. The peer is plain
NumPy, with weak duality as its proof.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

from psdopt import BILGO, ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, solve
from psdopt.cli.tables import show_table
from psdopt.linalg.arrays import Array
from psdopt_plugins.metric_learning import kta_problem

TOL = 1e-6
#: Methods other than the default are cut after so many steps.
MOST = 3000
#: Processor seconds after which the peer is cut.
LIMIT = 20.0


def peer(A: Array, b: float, C: Array, limit: float = math.inf) -> float | None:
    """The value that a splitting in the eigenvectors of A reaches, proven to TOL of −F (F(0) = 0).

    None after `limit` processor seconds.
    """
    begun = time.process_time()
    a, V = np.linalg.eigh(A)
    scale = np.sqrt(np.maximum(a, 0.0) ** 2 + b)
    H = 2.0 * (np.outer(a, a) + b) / np.outer(scale, scale)
    B = V / np.sqrt(scale)
    c = 2.0 * B.T @ C @ B
    rho, Z, U = math.sqrt(H.min() * H.max()), np.zeros_like(c), np.zeros_like(c)
    for k in range(10_000):
        N = (rho * (Z - U) - c) / (H + rho)
        T, last = 1.6 * N - 0.6 * Z + U, Z
        w, Q = np.linalg.eigh(T)
        Z = (Q * np.maximum(w, 0.0)) @ Q.T
        U = T - Z
        value, bound = np.sum((0.5 * H * Z + c) * Z), -np.sum((c + rho * U) ** 2 / (2.0 * H))
        if value - bound <= TOL * -value:
            return float(value)
        if time.process_time() - begun > limit:
            break
        if k % 5 == 4:
            primal, dual = rho * np.linalg.norm(N - Z), rho * np.linalg.norm(Z - last)
            if primal > 4.0 * dual:
                rho, U = 2.0 * rho, 0.5 * U
            elif dual > 4.0 * primal:
                rho, U = 0.5 * rho, 2.0 * U
    return None


def cases(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """(name, problem) of each row."""
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        for lam in (1e-2, 1.0):
            yield f"KTA {name}, λ = {lam:g}", kta_problem(X, y, lam)
    X = rng.standard_normal((400, 20))
    i, j = np.triu_indices(20)
    products = X[:, i] * X[:, j]
    yield "KTA products of 20 features", kta_problem(products, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int), 1e-2)
    for n, digits, b in ((30, 2, 1.0), (60, 4, 1e-2), (100, 3, 1e-2), (300, 4, 1.0), (600, 2, 1e-1)):
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        A = (Q * np.logspace(-digits, 0.0, n)) @ Q.T
        G = rng.standard_normal((n, n))
        yield f"random, cond A = 1e{digits}, b = {b:g}", QuadraticSDP(0.5 * (A + A.T), b, 0.5 * (G + G.T))
        F = rng.standard_normal((n, max(1, n // 30)))
        yield f"low rank, cond A = 1e{digits}, b = {b:g}", QuadraticSDP(0.5 * (A + A.T), b, np.eye(n) - F @ F.T)


def seconds(run: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Processor seconds of run(*arguments), the least of up to three times, and its last answer."""
    taken: list[float] = []
    while len(taken) < 3 and sum(taken) < 5.0:
        begun = time.process_time()
        answer = run(*arguments)
        taken.append(time.process_time() - begun)
    return min(taken), answer


def solved(parts: Sequence[Any], *pieces: Any, **limits: Any) -> Any:
    """The result on a problem made anew from its `parts`, so that nothing is known of it."""
    return solve(QuadraticSDP(*parts), *pieces, tol=TOL, **limits)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks quadratic", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows, same = [], []
    with threadpool_limits(1):
        for name, problem in cases(np.random.default_rng(options.seed)):
            n, parts = problem.n, (problem.A, problem.B, problem.C)
            A, B, C = parts
            by_peer, value = seconds(peer, A.to_dense(), B.scale, C.to_dense(), LIMIT)
            ours, result = seconds(solved, parts)
            row = [
                name,
                f"{n}",
                result.method,
                ("" if value is not None else "> ") + f"{by_peer:.4f}",
                f"{ours / by_peer:.2f}",
            ]
            for geometry, method in ((PSDCone(n), BILGO()), (FlatQuotient(n, n), ConjugateGradient())):
                taken, other = seconds(partial(solved, max_iterations=MOST), parts, geometry, method)
                row.append(("" if other.optimal else "> ") + f"{taken / by_peer:.1f}")
            same.append(result.optimal and (value is None or abs(result.value - value) <= 2.0 * TOL * abs(value)))
            rows.append((*row, "yes" if same[-1] else "NO"))
    show_table(
        "Seconds of the peer, and how many times as long the others take",
        ("program", "n", "solve takes", "peer, s", "solve", "BILGO", "CG", "same value, proven"),
        rows,
    )
    print("'>' : not proven within the limit of steps.")
    return int(not all(same))
