"""Table 4 of Hao et al.: the leading eigenvector by Newton steps (algorithm 2), by ARPACK, and by our oracle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks.papers.data import Array
from benchmarks.papers.newton_oracle import newton_least
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import PSDCone

#: n: seconds of eigs, Newton-CG, Newton-Lanczos.
PAPER = {1000: (0.23, 0.72, 0.41), 2000: (1.35, 2.80, 1.30), 3000: (3.91, 6.19, 3.51), 4000: (16.01, 14.62, 11.00)}
SOLVERS = ("block Lanczos", "eigsh", "Newton-CG", "Newton-Lanczos")


def leading_eigenvector() -> Experiment:
    """Random symmetric Gaussian matrices, cold and from a start that is nearly right."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    return [ExperimentCase(f"n = {n}", {"n": n, "repeats": 1 if quick else 3}) for n in ((300,) if quick else PAPER)]


class _Counted:
    """An operator that counts the columns it is applied to."""

    def __init__(self, S: Array) -> None:
        self.S, self.shape, self.dtype, self.columns = S, S.shape, S.dtype, 0

    def __matmul__(self, X: Array) -> Array:
        self.columns += 1 if X.ndim == 1 else X.shape[1]
        return np.asarray(self.S @ X)


def _measure(case: ExperimentCase) -> dict[str, Any]:
    n = case.settings["n"]
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n))
    S = 0.5 * (A + A.T)
    values, vectors = np.linalg.eigh(S)
    near = vectors[:, 0] + 1e-6 * rng.standard_normal(n)
    found: dict[str, Any] = {}
    for solver in SOLVERS:
        runs = []
        for _ in range(case.settings["repeats"]):
            counted = _Counted(S)
            begin = time.process_time()
            v = _solved(solver, counted, 1e-6, None)
            runs.append(time.process_time() - begin)
        warm = _Counted(S)
        _solved(solver, warm, 1e-4, near)
        error = abs(1.0 - values[0] / float(v @ S @ v / (v @ v)))
        found[solver] = {"seconds": min(runs), "cold": counted.columns, "warm": warm.columns, "error": error}
    return found


def _solved(solver: str, S: _Counted, tol: float, start: Array | None) -> Array:
    """The eigenvector of the least eigenvalue; tol: residual."""
    n = S.shape[0]
    apply: Callable[[Array], Array] = S.__matmul__
    if solver == "eigsh":
        operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=S.dtype)
        size = np.sqrt(2.0 * n)  # ARPACK's tolerance is relative to the eigenvalue
        return np.asarray(eigsh(operator, 1, which="SA", tol=tol / size, v0=start)[1][:, 0])
    if solver == "block Lanczos":
        return PSDCone(n).minimize_linear(S, tol, start).vector
    return newton_least(S, inner="cg" if solver == "Newton-CG" else "lanczos", tol=tol, start=start).vector


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        for solver in SOLVERS:
            one = found[solver]
            rows.append(
                (name, solver, str(one["cold"]), f"{one['seconds']:.3f}", f"{one['error']:.0e}", str(one["warm"]))
            )
        paper = PAPER.get(int(name.removeprefix("n = ")))
        if paper:
            what = f"seconds of eigs / Newton-Lanczos, {name}"
            ratio = found["eigsh"]["seconds"] / found["Newton-Lanczos"]["seconds"]
            comparisons.append(Comparison(what, ratio, paper[0] / paper[2], "more", level=0.1))
            what = f"seconds of Newton-CG / Newton-Lanczos, {name}"
            ratio = found["Newton-CG"]["seconds"] / found["Newton-Lanczos"]["seconds"]
            comparisons.append(Comparison(what, ratio, paper[1] / paper[2], "more", level=0.1))
    columns = ("matrix", "solver", "products, cold", "seconds, cold", "error", "products, from a start 1e-6 off")
    caption = "Symmetric Gaussian matrices, residual 1e-6 (from the near start 1e-4)"
    return Findings((ResultTable(caption, columns, tuple(rows)),), tuple(comparisons))
