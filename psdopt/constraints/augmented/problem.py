"""F plus the augmented Lagrangian of its constraints, as a problem for any factor method."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from psdopt.constraints.augmented.curvature import RowCurvature
from psdopt.constraints.augmented.penalty import Penalty
from psdopt.constraints.augmented.preconditioner import PenaltyPreconditioner
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.linalg.arrays import Array
from psdopt.problems.term_sum import TermSum
from psdopt.terms.measured import MeasuredTerm


def augmented(problem: ConstrainedModel, y: Array, w: Array) -> Problem:
    """M ↦ F(M) + Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]): a sum of terms if F is one."""
    term = MeasuredTerm(problem.measurement, Penalty(y, w, problem.lower, problem.upper))
    inner = problem.problem
    if isinstance(inner, TermSum):
        forms = problem.forms
        preconditioner = None if forms is None else PenaltyPreconditioner.of(problem, term)
        return TermSum([*inner.terms, term], inner.constant, preconditioner, RowCurvature.of(problem.conic, term))
    return Augmented(inner, TermSum([term]))


def weights(problem: ConstrainedModel, sigma: float) -> Array:
    """sigma / |A_t|²: the penalty of a violation does not depend on the scale of its constraint."""
    return np.asarray(sigma / np.where(problem.norms > 0.0, problem.norms, 1.0) ** 2)


def squared_distance(problem: ConstrainedModel) -> TermSum:
    """M ↦ Σ_t dist²(a_t, [lower_t, upper_t]) / (2 |A_t|²): zero where M is feasible, and convex."""
    loss = Penalty(np.zeros(problem.m), weights(problem, 1.0), problem.lower, problem.upper)
    return TermSum([MeasuredTerm(problem.measurement, loss)])


class Augmented(Problem):
    """F + G for a problem F of any kind and a sum of terms G."""

    def __init__(self, first: Problem, second: TermSum) -> None:
        self.first, self.second, self.n, self.rows = first, second, first.n, first.rows
        shared = {Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE, Ability.CONVEX, Ability.HESSIAN}
        self.abilities = frozenset(shared & first.abilities & second.abilities)

    def at(self, Y: Array) -> AugmentedEvaluation:
        return AugmentedEvaluation(self, self.first.at(Y), self.second.at(Y))

    def counts(self) -> Mapping[str, int]:
        return self.first.counts()


class AugmentedEvaluation(Evaluation):
    """Both parts at one M."""

    problem: Augmented

    def __init__(self, problem: Augmented, first: Evaluation, second: Evaluation) -> None:
        self.problem, self.first, self.second, self.factor = problem, first, second, first.factor

    @property
    def value(self) -> float:
        return self.first.value + self.second.value

    @property
    def gradient(self) -> GradientOperator:
        S, T = self.first.gradient, self.second.gradient
        return GradientOperator(self.problem.n, lambda V: np.asarray(S @ V + T @ V), lambda V: None)

    def factor_gradient(self) -> Array:
        return self.first.factor_gradient() + self.second.factor_gradient()

    def hessian_vector(self, D: Array) -> Array:
        return self.first.hessian_vector(D) + self.second.hessian_vector(D)

    def along(self, D: Array) -> SumLine:
        return SumLine(self, self.first.along(D), self.second.along(D))

    def along_atom(self, v: Array) -> SumPlane:
        return SumPlane(self, self.first.along_atom(v), self.second.along_atom(v))

    def mix(self, T: Array) -> AugmentedEvaluation:
        return AugmentedEvaluation(self.problem, self.first.mix(T), self.second.mix(T))

    def append(self, v: Array) -> AugmentedEvaluation:
        return AugmentedEvaluation(self.problem, self.first.append(v), self.second.append(v))

    def refresh(self) -> AugmentedEvaluation:
        return AugmentedEvaluation(self.problem, self.first.refresh(), self.second.refresh())


class SumLine(LineModel):
    """Both parts along Y + mu D."""

    def __init__(self, evaluation: AugmentedEvaluation, first: LineModel, second: LineModel) -> None:
        self.evaluation, self.first, self.second = evaluation, first, second
        p, q = first.coefficients, second.coefficients
        self.coefficients = None if p is None or q is None else [a + b for a, b in zip(p, q, strict=True)]

    def value(self, mu: float) -> float:
        return self.first.value(mu) + self.second.value(mu)

    def derivatives(self, mu: float) -> tuple[float, float]:
        (a, b), (c, d) = self.first.derivatives(mu), self.second.derivatives(mu)
        return a + c, b + d

    def step(self, mu: float) -> AugmentedEvaluation:
        return AugmentedEvaluation(self.evaluation.problem, self.first.step(mu), self.second.step(mu))


class SumPlane(PlaneModel):
    """Both parts over alpha M + beta v vᵀ."""

    def __init__(self, evaluation: AugmentedEvaluation, first: PlaneModel, second: PlaneModel) -> None:
        self.evaluation, self.first, self.second = evaluation, first, second

    def value(self, alpha: float, beta: float) -> float:
        return self.first.value(alpha, beta) + self.second.value(alpha, beta)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        (g, H), (h, K) = self.first.derivatives(alpha, beta), self.second.derivatives(alpha, beta)
        return g + h, H + K

    def step(self, alpha: float, beta: float) -> AugmentedEvaluation:
        return AugmentedEvaluation(self.evaluation.problem, self.first.step(alpha, beta), self.second.step(alpha, beta))


Preconditioner = Callable[[Evaluation], Callable[[Array], Array]]
