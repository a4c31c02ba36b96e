"""A problem that returns NaN below a given value: what a method makes of it decides whether it can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.linalg.arrays import Array
from psdopt.problem import Evaluation, GradientOperator, LineModel, PlaneModel, Problem


class PoisonedProblem(Problem):
    """`inner`, except that where F < `level` the value (or, if `gradient_only`, the gradient) is NaN."""

    def __init__(self, inner: Problem, level: float, gradient_only: bool = False) -> None:
        self.inner, self.n, self.level, self.gradient_only = inner, inner.n, level, gradient_only
        self.abilities = inner.abilities
        self.lower_curvature = inner.lower_curvature

    def at(self, Y: Array) -> Evaluation:
        return PoisonedEvaluation(self, self.inner.at(Y))

    def value_at_zero(self) -> float:
        return self.inner.value_at_zero()

    def solve_in_closed_form(self) -> Any:
        return self.inner.solve_in_closed_form()


class PoisonedEvaluation(Evaluation):
    """Delegates to the healthy evaluation; NaN below the level."""

    problem: PoisonedProblem

    def __init__(self, problem: PoisonedProblem, inner: Evaluation) -> None:
        self.problem, self.inner = problem, inner
        self.factor = inner.factor
        self.dead = not inner.value >= problem.level

    def _spoilt(self, product: Array) -> Array:
        return product * np.nan if self.dead else product

    @property
    def value(self) -> float:
        return float("nan") if self.dead and not self.problem.gradient_only else self.inner.value

    @property
    def gradient(self) -> LinearOperator:
        S = self.inner.gradient
        return GradientOperator(self.problem.n, lambda V: self._spoilt(S @ V), lambda V: None)

    def factor_gradient(self) -> Array:
        return self._spoilt(self.inner.factor_gradient())

    def hessian_vector(self, D: Array) -> Array:
        return self._spoilt(self.inner.hessian_vector(D))

    def preconditioner(self) -> Callable[[Array], Array]:
        return self.inner.preconditioner()

    def along(self, D: Array) -> LineModel:
        return _Line(self.problem, self.inner.along(D if np.all(np.isfinite(D)) else np.nan_to_num(D)))

    def along_atom(self, v: Array) -> PlaneModel:
        return _Plane(self.problem, self.inner.along_atom(v))

    def mix(self, T: Array) -> Evaluation:
        return PoisonedEvaluation(self.problem, self.inner.mix(T))

    def append(self, v: Array) -> Evaluation:
        return PoisonedEvaluation(self.problem, self.inner.append(v))

    def refresh(self) -> Evaluation:
        return PoisonedEvaluation(self.problem, self.inner.refresh())


class _Line(LineModel):
    def __init__(self, problem: PoisonedProblem, inner: LineModel) -> None:
        self.problem, self.inner, self.coefficients = problem, inner, inner.coefficients

    def value(self, mu: float) -> float:
        return self.inner.value(mu)

    def derivatives(self, mu: float) -> tuple[float, float]:
        return self.inner.derivatives(mu)

    def minimize(self, upper: float = np.inf) -> float:
        return self.inner.minimize(upper)

    def step(self, mu: float) -> Evaluation:
        return PoisonedEvaluation(self.problem, self.inner.step(mu))


class _Plane(PlaneModel):
    def __init__(self, problem: PoisonedProblem, inner: PlaneModel) -> None:
        self.problem, self.inner, self.quadratic = problem, inner, inner.quadratic

    def value(self, alpha: float, beta: float) -> float:
        return self.inner.value(alpha, beta)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        return self.inner.derivatives(alpha, beta)

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        return self.inner.minimize(alpha, beta)

    def step(self, alpha: float, beta: float) -> Evaluation:
        return PoisonedEvaluation(self.problem, self.inner.step(alpha, beta))
