"""Problems of a few milliseconds against the strongest peer of each kind, proofs included.

Quadratic programs over the cone (a splitting), nearest correlation matrices (Qi and Sun), maximum cuts (spheres) and
fixed ranks (L-BFGS-B in scaled coordinates). All to 1e-6; processor milliseconds with one BLAS thread, the least of
interleaved runs. The peers are NumPy on arrays and end with the bound that their own numbers give; only those at a
fixed rank have none, and are charged with `psdopt.certify` of an answer. Our runs make the problem from arrays, check
it, and end with a certificate that recomputes everything.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from threadpoolctl import threadpool_limits

from benchmarks.papers.sdp_graphs import laplacian
from benchmarks.papers.sdp_spheres import spheres
from benchmarks.quadratic import peer as splitting
from benchmarks.relaxations import newton, spoilt, uniform
from psdopt import Constrained, FlatQuotient, Problem, QuadraticSDP, certify, constraints, solve
from psdopt.cli.tables import show_table
from psdopt.linalg.arrays import Array
from psdopt_plugins.metric_learning import kta_problem
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.relaxations.correlation_problem import correlation_problem

TOL = 1e-6


class Race(NamedTuple):
    """`make` makes the problem anew from arrays; `rank` of our run, None for the choice of solve; `peer` runs."""

    name: str
    make: Callable[[], Problem]
    rank: int | None
    peer: Callable[[], Any]


def races() -> Iterator[Race]:
    rng = np.random.default_rng(0)
    for n, digits, b in ((30, 2, 1.0), (60, 4, 1e-2), (60, 2, 1.0), (100, 3, 1e-2), (100, 2, 1.0)):
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        A, G = (Q * np.logspace(-digits, 0.0, n)) @ Q.T, rng.standard_normal((n, n))
        A, C = 0.5 * (A + A.T), 0.5 * (G + G.T)
        F = rng.standard_normal((n, max(1, n // 30)))
        for kind, linear in (("random", C), ("low rank", np.eye(n) - F @ F.T)):
            name = f"quadratic, {kind}, n = {n}, cond 1e{digits}"
            yield Race(name, partial(QuadraticSDP, A, b, linear), None, partial(splitting, A, b, linear))
    for n in (20, 100, 300):
        for kind, G in (("uniform", uniform(n)), ("spoilt", spoilt(n))):
            yield Race(f"correlation, {kind}, n = {n}", partial(correlation_problem, G), None, partial(newton, G, TOL))
    for n in (30, 100, 200, 400, 800):
        L = -0.125 * laplacian(n, 8, n)
        yield Race(f"cut of degree 8, n = {n}", partial(_cut, L), None, partial(spheres, L, TOL))
    for name, load, rank in (("iris", load_iris, 2), ("wine", load_wine, 5), ("breast cancer", load_breast_cancer, 10)):
        X, y = load(return_X_y=True)
        problem = kta_problem((X - X.mean(axis=0)) / X.std(axis=0), y, 1.0)
        parts = _parts(problem)
        yield Race(
            f"alignment, {name}, rank {rank}", partial(QuadraticSDP, *parts), rank, partial(_scaled, *parts, rank)
        )
    for d, rank, m in ((5, 2, 500), (20, 5, 2000)):
        X, W = rng.standard_normal((m, d)), rng.standard_normal((d, rank))
        y = ((X @ W) ** 2).sum(axis=1) + 0.1 * rng.standard_normal(m)
        name = f"regression, d = {d}, rank {rank}"
        yield Race(name, partial(psd_regression_problem, X, y), rank, partial(_fit, X, y, rank))


def _parts(problem: Any) -> tuple[Array, float, Array]:
    """A, b and C of an alignment."""
    return problem.A.to_dense(), problem.B.scale, problem.C.to_dense()


def _cut(C: Any) -> Constrained:
    return Constrained(QuadraticSDP(C=C), constraints.diagonal(C.shape[0], 1.0))


def _scaled(A: Array, b: float, C: Array, rank: int) -> Any:
    """L-BFGS-B on Y = T W of order (n, rank), T = V (1 + a²)^-¼ for A = V Diag(a) Vᵀ, from a best multiple."""
    a, V = np.linalg.eigh(A)
    T = V * (1.0 + a * a) ** -0.25

    def at(w: Array) -> tuple[float, Array]:
        Y = T @ w.reshape(-1, rank)
        AY, CY = A @ Y, C @ Y
        P, Q = Y.T @ AY, Y.T @ Y
        value = np.sum(P * P) + b * np.sum(Q * Q) + 2.0 * np.sum(Y * CY)
        return float(value), 4.0 * (T.T @ (AY @ P + b * Y @ Q + CY)).ravel()

    W = np.linalg.qr(np.random.default_rng(0).standard_normal((len(A), rank)))[0]
    value, gradient = at(W.ravel())
    linear = 2.0 * value - 0.5 * float(gradient @ W.ravel())  # of F(√t W) = t² quartic + t linear, slope 2 linear + 4 q
    return _lbfgs(at, W * math.sqrt(max(-linear / (2.0 * (value - linear)), 1e-3)))


def _fit(X: Array, y: Array, rank: int) -> Any:
    """L-BFGS-B on Σ (|Yᵀx|² − y)² / 2 m from a best multiple."""
    m, d = X.shape

    def at(w: Array) -> tuple[float, Array]:
        XY = X @ w.reshape(d, rank)
        e = np.einsum("ij,ij->i", XY, XY) - y
        return float(0.5 * e @ e / m), (2.0 / m * (X.T @ (e[:, None] * XY))).ravel()

    Y = np.linalg.qr(np.random.default_rng(0).standard_normal((d, rank)))[0]
    p = ((X @ Y) ** 2).sum(axis=1)
    return _lbfgs(at, Y * math.sqrt(max(float(p @ y / (p @ p)), 1e-6)))


def _lbfgs(at: Callable[[Any], Any], start: Array) -> Any:
    options: Any = {"ftol": 1e-12, "gtol": 0.0, "maxiter": 5000, "maxfun": 10_000}
    return minimize(at, start.ravel(), jac=True, method="L-BFGS-B", options=options)


def measured(race: Race, seconds: float) -> tuple[float, float, Any]:
    """Least seconds of our run and of the peer, in turn for about so many `seconds`; our result."""
    ours, theirs, taken = math.inf, math.inf, 0.0
    while taken <= seconds:
        begun = time.process_time()
        problem = race.make()
        result = solve(problem, None if race.rank is None else FlatQuotient(problem.n, race.rank), tol=TOL)
        between = time.process_time()
        race.peer()
        if race.rank is not None:
            certify(race.make(), result.matrix, tol=TOL)
        end = time.process_time()
        ours, theirs, taken = min(ours, between - begun), min(theirs, end - between), taken + end - begun
    return ours, theirs, result


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks small", description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="processor seconds for each row")
    parser.add_argument("--only", default="", help="rows whose names hold this")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for race in races():
            if options.only in race.name:
                ours, peer, result = measured(race, options.seconds)
                numbers = f"{1e3 * ours:.2f}", f"{1e3 * peer:.2f}", f"{ours / peer:.2f}"
                rows.append((race.name, *numbers, result.method, result.status.label))
    columns = ("problem", "psdopt, ms", "peer, ms", "psdopt / peer", "method", "status")
    show_table("Least processor milliseconds, proofs included", columns, rows)
    return 0
