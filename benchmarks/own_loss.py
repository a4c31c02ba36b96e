"""A loss of one line by automatic differentiation beside the hand-written problem: time to a certificate.

The same F three times over: by hand (a `TermSum`), and as a `FunctionProblem` of M and of the factor in
each backend that is installed. Every run is `solve(problem)` with nothing chosen. Seconds of the processor and of the
clock; "first" is the run that compiles and imports, "again" the best of the following ones of the same problem.
"gradient" and "product": a gradient, and a product with the Hessian, at a factor of the solution's rank, as multiples
of the hand-written problem's. These are the backend's own, and runs consist of them.

squares : ½ Σ_t (x_tᵀM x_t − y_t)², 10 n measurements of a matrix of rank 5 with noise.
entries : ½ Σ_ij W_ij (M_ij − T_ij)² with weights between ½ and 1½, T of rank 10 plus noise of both signs.
pairs : Σ max(0, b − s d_ij)², squared hinges of 20 n distances between 4 n samples of five classes, a metric.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from psdopt import FunctionProblem, Status, TermSum, solve
from psdopt.cli.tables import show_table
from psdopt.contracts.problem import Problem
from psdopt.terms import Entries, LeastSquares, MeasuredTerm, PairDistances, QuadraticForms, SquaredHinge

BACKENDS = ("autograd", "jax", "torch")
Loss = Callable[[Any], Any]


class Task(NamedTuple):
    """A problem by hand, and its lines: of M, and of the factor, as functions of the backend's namespace."""

    by_hand: Callable[[], Problem]
    of_matrix: Callable[[Any, Callable[[Any], Any]], Loss]
    of_factor: Callable[[Any, Callable[[Any], Any]], Loss]


def squares(n: int) -> Task:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10 * n, n)) / np.sqrt(n)
    y = ((X @ rng.standard_normal((n, 5))) ** 2).sum(axis=1) + 0.5 * rng.standard_normal(10 * n)

    def of_matrix(xp: Any, held: Callable[[Any], Any]) -> Loss:
        A, b = held(X), held(y)
        return lambda M: 0.5 * (((A @ M * A).sum(1) - b) ** 2).sum()

    def of_factor(xp: Any, held: Callable[[Any], Any]) -> Loss:
        A, b = held(X), held(y)
        return lambda Y: 0.5 * ((((A @ Y) ** 2).sum(1) - b) ** 2).sum()

    return Task(lambda: TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y), 0.5)]), of_matrix, of_factor)


def entries(n: int) -> Task:
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((n, 10))
    noise, W = 0.5 * rng.standard_normal((n, n)), rng.uniform(0.5, 1.5, (n, n))
    T, W = Z @ Z.T + noise + noise.T, 0.5 * (W + W.T)
    i, j = np.triu_indices(n)
    weights = np.where(i == j, 1.0, 2.0) * W[i, j]

    def line(xp: Any, held: Callable[[Any], Any]) -> Loss:
        weights, target = held(W), held(T)
        return lambda M: 0.5 * (weights * (M - target) ** 2).sum()

    def of_factor(xp: Any, held: Callable[[Any], Any]) -> Loss:
        of = line(xp, held)
        return lambda Y: of(Y @ Y.T)

    by_hand = MeasuredTerm(Entries(i, j, n), LeastSquares(T[i, j], weights), 0.5)
    return Task(lambda: TermSum([by_hand]), line, of_factor)


def pairs(n: int) -> Task:
    rng = np.random.default_rng(2)
    labels = rng.integers(5, size=4 * n)
    X = (rng.standard_normal((4 * n, n)) + 0.5 * rng.standard_normal((5, n))[labels]) / np.sqrt(n)
    i, j = rng.integers(4 * n, size=(2, 20 * n))
    i, j = i[i != j], j[i != j]
    alike = (labels[i] == labels[j]) ^ (rng.random(len(i)) < 0.1)  # one label in ten is wrong
    sign = np.where(alike, -1.0, 1.0)  # near by at most 1, apart by at least 3
    margin = np.where(sign > 0.0, 3.0, -1.0)

    def of_matrix(xp: Any, held: Callable[[Any], Any]) -> Loss:
        E, s, b = held(X[i] - X[j]), held(sign), held(margin)

        def value(M: Any) -> Any:
            missed = b - s * (E @ M * E).sum(1)
            return ((missed > 0) * missed**2).sum()

        return value

    def of_factor(xp: Any, held: Callable[[Any], Any]) -> Loss:
        rows, s, b = held(X), held(sign), held(margin)

        def value(Y: Any) -> Any:
            Z = rows @ Y
            missed = b - s * ((Z[i] - Z[j]) ** 2).sum(1)
            return ((missed > 0) * missed**2).sum()

        return value

    return Task(
        lambda: TermSum([MeasuredTerm(PairDistances(i, j, X), SquaredHinge(margin, sign))]), of_matrix, of_factor
    )


TASKS = {"squares": squares, "entries": entries, "pairs": pairs}


def in_backend(backend: str) -> tuple[Any, Callable[[Any], Any]]:
    """The namespace of a backend, and how it holds an array."""
    if backend == "torch":
        import torch

        torch.set_num_threads(1)  # as solve() does with BLAS
        return torch, torch.from_numpy
    return None, lambda values: values


def timed(problem: Problem, repeats: int) -> tuple[tuple[float, float], tuple[float, float], Any]:
    """(processor, clock) seconds of the first run and of the best other one, and the last result."""
    found = []
    for _ in range(1 + repeats):
        own, clock = time.process_time(), time.perf_counter()
        result = solve(problem, rng=0)
        found.append((time.process_time() - own, time.perf_counter() - clock))
    return found[0], min(found[1:], default=found[0]), result


def unit_costs(problem: Problem, rank: int) -> tuple[float, float]:
    """Processor seconds of a gradient at a new factor, and of a product with the Hessian; the best of ten."""
    Y, D = np.random.default_rng(0).standard_normal((2, problem.n, rank))
    best = [np.inf, np.inf]
    for _ in range(10):
        begun = time.process_time()
        here = problem.at(Y)
        here.factor_gradient()
        middle = time.process_time()
        here.hessian_vector(D)
        traced = time.process_time()
        here.hessian_vector(D)
        best = [min(best[0], middle - begun), min(best[1], time.process_time() - traced)]
    return best[0], best[1]


def main(argv: Sequence[str] | None = None) -> int:
    """1 if a run ends without a proof, or with another value than the hand-written problem's."""
    parser = argparse.ArgumentParser("own-loss", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=[b for b in BACKENDS if find_spec(b)])
    parser.add_argument("--of", nargs="+", choices=("matrix", "factor"), default=["matrix", "factor"])
    given = parser.parse_args(argv)
    rows, failed = [], False
    for name in given.tasks:
        task = TASKS[name](given.n)
        problems: dict[str, Problem] = {"by hand": task.by_hand()}
        for backend in given.backends:
            for of in given.of:
                function = (task.of_matrix if of == "matrix" else task.of_factor)(*in_backend(backend))
                problems[f"{backend}, of the {of}"] = FunctionProblem(function, given.n, backend, of, convex=True)
        best, least, rank, units = 0.0, 0.0, 1, (1.0, 1.0)
        for label, problem in problems.items():
            first, again, result = timed(problem, given.repeats)
            if label == "by hand":
                best, least, rank = again[0], result.value, result.rank
                units = unit_costs(problem, rank)
            ok = result.status is Status.OPTIMAL and abs(result.value - least) <= 1e-5 * abs(least)
            failed |= not ok
            status = result.status.name.lower() if ok else f"{result.status.name}: {result.value:g}"
            shares = [mine / own for mine, own in zip(unit_costs(problem, rank), units, strict=True)]
            seconds = [f"{each:.2f}" for each in (*first, *again, again[0] / best, *shares)]
            rows.append((name, label, *seconds, str(result.iterations), status))
    timed_heads = ("first, s", "clock", "again, s", "clock", "times by hand", "gradient", "product")
    heads = ("loss", "problem", *timed_heads, "steps", "status")
    show_table(f"Seconds of the processor and of the clock to a certificate, n = {given.n}", heads, rows)
    return int(failed)
