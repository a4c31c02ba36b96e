"""F plus the augmented Lagrangian of its constraints, as a problem for any factor method."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.augmented.penalty import Penalty
from psdopt.constraints.augmented.preconditioner import PenaltyPreconditioner
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.problems.composite import Composite
from psdopt.problems.term_sum import TermSum
from psdopt.terms.measured import MeasuredTerm


def augmented(problem: ConstrainedModel, y: Array, w: Array) -> Problem:
    """M ↦ F(M) + Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]): a sum of terms if F is one."""
    term = MeasuredTerm(problem.measurement, Penalty(y, w, problem.lower, problem.upper))
    inner = problem.problem
    if isinstance(inner, TermSum):
        forms = problem.forms
        preconditioner = None if forms is None else PenaltyPreconditioner.of(problem, term)
        return TermSum([*inner.terms, term], inner.constant, preconditioner)
    return Composite([inner, TermSum([term])])


def weights(problem: ConstrainedModel, sigma: float) -> Array:
    """sigma / |A_t|²: the penalty of a violation does not depend on the scale of its constraint."""
    return np.asarray(sigma / np.where(problem.norms > 0.0, problem.norms, 1.0) ** 2)


def squared_distance(problem: ConstrainedModel) -> TermSum:
    """M ↦ Σ_t dist²(a_t, [lower_t, upper_t]) / (2 |A_t|²): zero where M is feasible, and convex."""
    loss = Penalty(np.zeros(problem.m), weights(problem, 1.0), problem.lower, problem.upper)
    return TermSum([MeasuredTerm(problem.measurement, loss)])
