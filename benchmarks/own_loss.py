"""A loss of one line by automatic differentiation beside the hand-written problem: time to a certificate.

The same F three times over: by hand (`TermSum` or `QuadraticSDP`), and as a `FunctionProblem` of M and of the factor in
each backend that is installed. Every run is `solve(problem)` with nothing chosen. Seconds of the processor and of the
clock; "first" is the run that compiles and imports, "again" the best of the following ones of the same problem.

squares : ½ Σ_t (x_tᵀM x_t − y_t)², 10 n measurements of a matrix of rank 5 with noise.
entries : ½ Σ_ij W_ij (M_ij − T_ij)² with weights between ½ and 1½, T of rank 10 plus noise of both signs.
kernel : ½ |X M Xᵀ − K|², X (3 n, n), K the kernel of three classes: alignment.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from psdopt import FunctionProblem, QuadraticSDP, Status, TermSum, solve
from psdopt.cli.tables import show_table
from psdopt.contracts.problem import Problem
from psdopt.terms import Entries, LeastSquares, MeasuredTerm, QuadraticForms

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


def kernel(n: int) -> Task:
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=3 * n)
    X = (rng.standard_normal((3 * n, n)) + np.eye(3, n)[labels]) / np.sqrt(3 * n)
    K = (labels[:, None] == labels).astype(float)
    A, C = X.T @ X, -0.5 * X.T @ K @ X

    def line(xp: Any, held: Callable[[Any], Any]) -> Loss:
        rows, target = held(X), held(K)
        return lambda M: 0.5 * ((rows @ M @ rows.T - target) ** 2).sum()

    def of_factor(xp: Any, held: Callable[[Any], Any]) -> Loss:
        rows, target = held(X), held(K)
        return lambda Y: 0.5 * (((rows @ Y) @ (rows @ Y).T - target) ** 2).sum()

    by_hand = QuadraticSDP(A / np.sqrt(2.0), None, C, constant=0.5 * float((K**2).sum()))
    return Task(lambda: by_hand, line, of_factor)


TASKS = {"squares": squares, "entries": entries, "kernel": kernel}


def in_backend(backend: str) -> tuple[Any, Callable[[Any], Any]]:
    """The namespace of a backend, and how it holds an array."""
    if backend == "torch":
        import torch

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


def main(argv: Sequence[str] | None = None) -> int:
    """1 if a run ends without a proof, or with another value than the hand-written problem's."""
    parser = argparse.ArgumentParser("own-loss", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=[b for b in BACKENDS if find_spec(b)])
    given = parser.parse_args(argv)
    rows, failed = [], False
    for name in given.tasks:
        task = TASKS[name](given.n)
        problems: dict[str, Problem] = {"by hand": task.by_hand()}
        for backend in given.backends:
            for of, line in (("matrix", task.of_matrix), ("factor", task.of_factor)):
                function = line(*in_backend(backend))
                problems[f"{backend}, of the {of}"] = FunctionProblem(function, given.n, backend, of, convex=True)
        best, least = 0.0, 0.0
        for label, problem in problems.items():
            first, again, result = timed(problem, given.repeats)
            if label == "by hand":
                best, least = again[0], result.value
            ok = result.status is Status.OPTIMAL and abs(result.value - least) <= 1e-5 * abs(least)
            failed |= not ok
            rows.append(
                (name, label, *(f"{each:.2f}" for each in (*first, *again)), f"{again[0] / best:.2f}",
                 str(result.iterations), result.status.name.lower() if ok else f"{result.status.name}: {result.value:g}")
            )  # fmt: skip
    heads = ("loss", "problem", "first, s", "clock", "again, s", "clock", "times by hand", "steps", "status")
    show_table(f"Seconds of the processor and of the clock to a certificate, n = {given.n}", heads, rows)
    return int(failed)
