"""Derivatives through the minimiser: processor time beside that of the run, for orders of 50 to 1,000.

For each problem and order: the run to 1e-6, the point from which derivatives are taken (Newton steps, preconditioner,
proofs that the derivative exists), and one derivative by all data of a loss of M. The point serves all losses of one
answer. `back` is one derivative, `all` point and derivative, as shares of the run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from psdopt import Adjoint, Constrained, EntryFit, Problem, QuadraticSDP, TermSum, constraints, solve
from psdopt.cli.tables import show_table
from psdopt.linalg.arrays import Array
from psdopt.terms import (
    Entries,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    QuadraticForms,
    SquaredHinge,
    hermitian_form,
    hermitian_squares,
)

Made = Callable[[int, np.random.Generator], Problem]


def _symmetric(n: int, rng: np.random.Generator) -> Array:
    A = rng.standard_normal((n, n))
    return np.asarray(0.5 * (A + A.T))


def _cut(n: int, rng: np.random.Generator) -> Problem:
    return Constrained(QuadraticSDP(C=_symmetric(n, rng)), constraints.diagonal(n, 1.0))


def _sparse_cut(n: int, rng: np.random.Generator) -> Problem:
    i, j = rng.integers(0, n, (2, 12 * n))
    W = sp.coo_array((rng.standard_normal(12 * n) * (i != j), (i, j)), shape=(n, n))
    return Constrained(QuadraticSDP(C=sp.csr_array(W + W.T)), constraints.diagonal(n, 1.0))


def _alignment(n: int, rng: np.random.Generator) -> Problem:
    X = rng.standard_normal((3 * n, n))
    return QuadraticSDP(A=X.T @ X / (3 * n), B=0.3, C=_symmetric(n, rng))


def _regression(n: int, rng: np.random.Generator) -> Problem:
    X = rng.standard_normal((20 * n, n))
    y = (X[:, :3] ** 2).sum(axis=1) + 3.0 * rng.standard_normal(len(X))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y, np.ones(len(X))), 0.5 / len(X))])


def _hinges(n: int, rng: np.random.Generator) -> Problem:
    X, signs = rng.standard_normal((20 * n, n)), np.where(rng.random(20 * n) < 0.5, -1.0, 1.0)
    loss = SquaredHinge(1.0 + rng.random(len(X)), signs)
    return TermSum([MeasuredTerm(QuadraticForms(X), loss, 1.0 / len(X)), LinearTerm(0.01 * np.eye(n))])


def _entries(n: int, rng: np.random.Generator) -> Problem:
    i, j = np.triu_indices(n)
    kept = rng.random(len(i)) < 0.4
    Y = rng.standard_normal((n, 3))
    targets = (Y @ Y.T)[i, j][kept] + rng.standard_normal(int(kept.sum()))
    return EntryFit(2.0 * np.eye(n), i[kept], j[kept], targets)


def _weighted_correlation(n: int, rng: np.random.Generator) -> Problem:
    i, j = np.triu_indices(n, 1)
    fit = MeasuredTerm(Entries(i, j, n), LeastSquares(rng.uniform(-1, 1, len(i)), rng.uniform(0.5, 1.5, len(i))))
    return Constrained(TermSum([fit]), constraints.diagonal(n, 1.0))


def _correlation(n: int, rng: np.random.Generator) -> Problem:
    return Constrained(QuadraticSDP(B=0.5, C=_symmetric(n, rng)), constraints.diagonal(n, 1.0))


def _hermitian_cut(n: int, rng: np.random.Generator) -> Problem:
    A, i = rng.standard_normal((n // 2, n // 2)) + 1j * rng.standard_normal((n // 2, n // 2)), np.arange(n // 2)
    F = TermSum([LinearTerm(hermitian_form(0.5 * (A + A.conj().T)))])
    return Constrained(F, constraints.hermitian_entries(i, i, n // 2, 1.0))


def _hermitian_squares(n: int, rng: np.random.Generator) -> Problem:
    X = rng.standard_normal((10 * n, n // 2)) + 1j * rng.standard_normal((10 * n, n // 2))
    y = (np.abs(X[:, :3]) ** 2).sum(axis=1) + 3.0 * rng.standard_normal(len(X))
    return TermSum([MeasuredTerm(hermitian_squares(X), LeastSquares(y, np.ones(len(X))), 0.5 / len(X))])


PROBLEMS: dict[str, Made] = {
    "max-cut": _cut,
    "sparse max-cut": _sparse_cut,
    "alignment": _alignment,
    "regression": _regression,
    "hinges": _hinges,
    "entries": _entries,
    "correlation, weights": _weighted_correlation,
    "nearest correlation": _correlation,
    "Hermitian cut": _hermitian_cut,
    "Hermitian squares": _hermitian_squares,
}


def measured(make: Made, n: int, repeats: int) -> tuple[int, float, float, float]:
    """(rank, seconds of the run, of the point, of a derivative), the least of `repeats`."""
    best = [np.inf] * 3
    rank = 0
    for _ in range(repeats):
        rng = np.random.default_rng(n)
        problem, G = make(n, rng), _symmetric(n, rng)
        clock = [time.process_time()]
        result = solve(problem)
        clock.append(time.process_time())
        adjoint: Adjoint = result.adjoint
        clock.append(time.process_time())
        adjoint.vjp(G)
        clock.append(time.process_time())
        best = [min(old, new) for old, new in zip(best, np.diff(clock), strict=True)]
        rank = adjoint.matrix.rank
    return rank if not problem.hermitian else rank // 2, *map(float, best)  # type: ignore[return-value]


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks derivatives", description=__doc__)
    parser.add_argument("--orders", type=int, nargs="+", default=[50, 60, 100, 200])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(argv)
    rows: list[tuple[Any, ...]] = []
    with threadpool_limits(1):
        for name in given.problems:
            for n in given.orders:
                rank, run, point, back = measured(PROBLEMS[name], n, given.repeats)
                times = [f"{1e3 * each:.1f}" for each in (run, point, back)]
                shares = [f"{100 * back / run:.0f} %", f"{100 * (point + back) / run:.0f} %"]
                rows.append((name, str(n), str(rank), *times, *shares))
    show_table(
        "Milliseconds of processor time", ("problem", "n", "rank", "run", "point", "derivative", "back", "all"), rows
    )
    return 0
