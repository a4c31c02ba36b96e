"""Problems as functions of their data, with nondegenerate minimisers, for the tests of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import Adjoint, Constrained, EntryFit, Problem, QuadraticSDP, Result, TermSum, constraints, solve
from psdopt.terms import (
    Entries,
    GramForm,
    HalfSquaredOneSided,
    IdentityForm,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    QuadraticForms,
    SquaredHinge,
)

N = 12


@dataclass(frozen=True)
class Case:
    """`make`(data) is the problem; `data` are those by which it is differentiated."""

    make: Callable[[dict[str, Any]], Problem]
    data: dict[str, Any]
    sparse: bool = False

    def solved(self) -> Result:
        return solve(self.make(self.data), tol=1e-8)

    def moved(self, tangents: dict[str, Any], step: float, near: Adjoint) -> tuple[np.ndarray, float]:
        """(M, F) of the minimiser at the data moved by `step`, by Newton's method from a near one."""
        data = {name: each + step * tangents[name] if name in tangents else each for name, each in self.data.items()}
        problem = self.make(data)
        there = Adjoint(problem, near.matrix, near.multipliers if len(near.multipliers) else None)
        return there.matrix.to_dense(), problem.at(there.matrix.factor).value

    def tangents(self, seed: int) -> dict[str, Any]:
        """Random directions of the data, of their size; symmetric ones for symmetric matrices."""
        return {
            name: direction(each, np.random.default_rng(seed + k)) for k, (name, each) in enumerate(self.data.items())
        }


def direction(datum: Any, rng: np.random.Generator) -> Any:
    if sp.issparse(datum):
        there = sp.csr_array(datum, copy=True)
        there.data = rng.standard_normal(there.nnz) * np.abs(there.data).mean()
        return 0.5 * (there + there.T) if there.shape[0] == there.shape[1] else there
    size = max(float(np.abs(datum).mean()), 0.1)
    step = size * rng.standard_normal(np.shape(datum))
    square = np.ndim(datum) == 2 and np.array_equal(datum, datum.T)
    return 0.5 * (step + step.T) if square else step


def paired(gradients, tangents):
    """Σ ⟨gradient, tangent⟩."""
    return sum(float(np.sum(dense(gradients[name]) * dense(each))) for name, each in tangents.items())


def dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def symmetric(rng: np.random.Generator, n: int = N) -> np.ndarray:
    A = rng.standard_normal((n, n))
    return 0.5 * (A + A.T)


def cases() -> dict[str, Case]:
    rng = np.random.default_rng(5)
    C, X = symmetric(rng), rng.standard_normal((15 * N, N))
    A = X[: 3 * N].T @ X[: 3 * N] / (3 * N)
    W = np.diag((np.arange(N) < 2) * 1.0)
    y = np.einsum("ij,jk,ik->i", X, W, X) + rng.standard_normal(len(X))
    i, j = np.triu_indices(N)
    kept = rng.random(len(i)) < 0.6
    i, j = i[kept], j[kept]
    Y = rng.standard_normal((N, 2))
    targets = (Y @ Y.T)[i, j] + 0.5 * rng.standard_normal(len(i))
    graph = sp.csr_array(np.triu(rng.random((N, N)) < 0.4, 1) * rng.uniform(0.5, 1.5, (N, N)))
    graph = graph + graph.T
    signs = np.where(rng.random(len(X)) < 0.5, -1.0, 1.0)
    sums = rng.standard_normal((3, N))
    pairs = rng.integers(0, len(X), (80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ones = np.ones(N)
    return {
        "alignment": Case(lambda d: QuadraticSDP(A=d["A"], B=0.3, C=d["C"]), {"A": A, "C": C}),
        "two products": Case(
            lambda d: QuadraticSDP(A=d["A"], B=d["B"], C=d["C"]), {"A": A, "B": A + np.eye(N), "C": C}
        ),
        "Gram forms": Case(
            lambda d: QuadraticSDP(A=GramForm(d["A.X"]), B=0.2, C=[GramForm(d["C[0].X"], -2.0), IdentityForm(N, 0.5)]),
            {"A.X": X[:20] / 4, "C[0].X": sums},
        ),
        "definite minimiser": Case(lambda d: QuadraticSDP(A=d["A"], B=0.3, C=d["C"]), {"A": A, "C": -A - np.eye(N)}),
        "nearest matrix": Case(lambda d: QuadraticSDP(B=0.5, C=d["C"]), {"C": C}),
        "regression": Case(
            lambda d: TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(d["target"], d["weights"]), 0.01)]),
            {"target": y, "weights": rng.uniform(0.5, 1.5, len(X))},
        ),
        "bounds of measurements": Case(
            lambda d: TermSum(
                [MeasuredTerm(QuadraticForms(X), HalfSquaredOneSided(d["target"], signs, d["weights"]), 0.02)]
            ),
            {"target": y, "weights": rng.uniform(0.5, 1.5, len(X))},
        ),
        "entries": Case(
            lambda d: EntryFit(d["L"], i, j, d["targets"], d["weights"]),
            {"L": 2.0 * np.eye(N), "targets": targets, "weights": rng.uniform(0.5, 1.5, len(i))},
        ),
        "hinges of distances": Case(
            lambda d: TermSum(
                [
                    MeasuredTerm(
                        PairDistances(pairs[:, 0], pairs[:, 1], X), SquaredHinge(d["margin"], signs[: len(pairs)])
                    ),
                    LinearTerm(d["C"]),
                ]
            ),
            {"margin": rng.uniform(3.0, 9.0, len(pairs)), "C": 5.0 * np.eye(N)},
        ),
        "max-cut": Case(
            lambda d: Constrained(QuadraticSDP(C=d["C"]), constraints.diagonal(N, d["bounds"])),
            {"C": C, "bounds": rng.uniform(0.8, 1.2, N)},
        ),
        "sparse max-cut": Case(
            lambda d: Constrained(QuadraticSDP(C=d["C"]), constraints.diagonal(N, ones)), {"C": graph}, sparse=True
        ),
        "nearest correlation": Case(
            lambda d: Constrained(QuadraticSDP(B=0.5, C=d["C"]), constraints.diagonal(N, d["bounds"])),
            {"C": C, "bounds": ones},
        ),
        "correlations with weights": Case(
            lambda d: Constrained(
                TermSum([MeasuredTerm(Entries(i, j, N), LeastSquares(d["target"], d["weights"]))]),
                constraints.diagonal(N, d["bounds"]),
            ),
            {"target": targets, "weights": rng.uniform(0.5, 1.5, len(i)), "bounds": ones},
        ),
        "inequalities": Case(
            lambda d: Constrained(
                QuadraticSDP(A=d["A"], C=d["C"]),
                [
                    constraints.trace(N, upper=1.5),
                    constraints.entries([0, 1, 2], [1, 2, 4], N, lower=[0.05, -0.9, -0.1], upper=[0.5, 0.9, 0.7]),
                ],
            ),
            {"A": A, "C": C},
        ),
    }
