"""Objectives as expressions of cvxpy, for a conic solver to be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array


def has_conic_objective(problem: Problem) -> bool:
    """Whether :func:`conic_objective` can write F down."""
    from psdopt.problems import QuadraticSDP
    from psdopt.problems.entry_fit import EntryFit

    return isinstance(problem, (QuadraticSDP, EntryFit))


def conic_objective(problem: Any, M: Any) -> Any:
    """F as an expression of cvxpy in M (n, n).

    For a QuadraticSDP, where tr((AM)²) = |A½ M A½|² and tr(BM²) = |B½ M|² make it a second-order cone program over the
    PSD cone, and for an EntryFit, a least-squares problem over it.
    """
    import cvxpy

    from psdopt.problems import QuadraticSDP

    cp: Any = cvxpy
    total: Any = problem.constant
    if isinstance(problem, QuadraticSDP):
        A, B, C = (None if form is None else form.to_dense() for form in (problem.A, problem.B, problem.C))
        if A is not None:
            total = total + cp.sum_squares(_root(A) @ M @ _root(A))
        if B is not None:
            total = total + cp.sum_squares(_root(B) @ M)
        return total if C is None else total + 2.0 * cp.trace(C @ M)
    residuals = cp.hstack([M[i, j] for i, j in zip(problem.i, problem.j, strict=True)]) - problem.targets
    total = total + cp.sum_squares(cp.multiply(np.sqrt(problem.weights), residuals))
    return total if problem.L is None else total + cp.trace(problem.L.to_dense() @ M)


def _root(A: Array) -> Array:
    values, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
