"""N ↦ Σ_k F_k(W N Wᵀ): a sum of problems of any kind, all with the same W."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.contracts.abilities import Ability
from psdopt.contracts.curvature import Curvature, added
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.linalg.arrays import Array, as_array

#: Abilities that a sum has if all its parts have them.
SHARED = frozenset({Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE, Ability.CONVEX, Ability.HESSIAN})


class Composite(Problem):
    """N ↦ Σ_k F_k(W N Wᵀ), from evaluations of each F_k at W Z where N = Z Zᵀ.

    `parts` : the F_k, all of order n. `W` : (n, q) with orthonormal columns, an array or a sparse one; None for I.
    """

    def __init__(self, parts: Sequence[Problem], W: Any = None) -> None:
        self.parts, self.W, self.rows, self.device = tuple(parts), W, parts[0].rows, parts[0].device
        self.n = parts[0].n if W is None else W.shape[1]
        self.abilities = SHARED.intersection(*(part.abilities for part in parts))
        self.convex_by_word = any(part.convex_by_word for part in parts)
        if Ability.CONVEX in self.abilities:
            self.lower_curvature = sum(part.lower_curvature for part in parts)  # |W N Wᵀ| = |N|

    def at(self, Y: Array) -> CompositeEvaluation:
        Y = self.check_factor(Y)
        return CompositeEvaluation(self, Y, [part.at(self.lifted(Y)) for part in self.parts])

    def lifted(self, V: Array) -> Array:
        """W V (n, k)."""
        return V if self.W is None else self.W @ V

    def lowered(self, V: Array) -> Array:
        """WᵀV (q, k)."""
        return V if self.W is None else np.asarray(self.W.T @ V)

    @property
    def data(self) -> Mapping[str, Any]:
        """The data of the first part."""
        return self.parts[0].data

    def counts(self) -> Mapping[str, int]:
        return self.parts[0].counts()


class CompositeEvaluation(Evaluation):
    """All F_k at W Z Zᵀ Wᵀ."""

    problem: Any

    def __init__(self, problem: Any, factor: Array, parts: Sequence[Evaluation]) -> None:
        self.problem, self.factor, self.parts = problem, factor, parts
        self.curvature_apart = all(part.curvature_apart for part in parts)

    def moved(self, factor: Array, parts: Sequence[Evaluation]) -> Self:
        """The evaluation of the same problem at another factor, from the known evaluations of its parts."""
        return type(self)(self.problem, factor, parts)

    @cached_property
    def value(self) -> float:
        return sum([part.value for part in self.parts])

    @property
    def gradient(self) -> LinearOperator:
        problem, operators = self.problem, [part.gradient for part in self.parts]
        if problem.W is None and len(operators) == 1:
            return operators[0]

        def product(V: Array) -> Array:
            lifted = problem.lifted(V)
            return as_array(problem.lowered(sum(S @ lifted for S in operators)))

        def known(V: Array) -> Array | None:
            return 0.5 * self.factor_gradient() if V is self.factor else None

        return GradientOperator(problem.n, product, known, device=problem.device)

    def factor_gradient(self) -> Array:
        return as_array(self.problem.lowered(sum(part.factor_gradient() for part in self.parts)))

    def hessian_vector(self, D: Array) -> Array:
        lifted = self.problem.lifted(D)
        return as_array(self.problem.lowered(sum(part.hessian_vector(lifted) for part in self.parts)))

    def curvature_product(self, D: Array) -> Array:
        lifted = self.problem.lifted(D)
        return as_array(self.problem.lowered(sum(part.curvature_product(lifted) for part in self.parts)))

    def data_gradient(self, D: Array | None = None) -> Mapping[str, Any]:
        """That of the first part, whose data are those of the sum."""
        return self.parts[0].data_gradient(None if D is None else self.problem.lifted(D))

    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        return np.asarray(self.problem.lowered(self.parts[0].data_force(tangents)))

    def corner(self) -> float:
        return min(part.corner() for part in self.parts)

    def curvatures(self, thorough: bool = False) -> Sequence[Curvature]:
        if self.problem.W is not None or Ability.CONVEX not in self.problem.abilities:
            return super().curvatures()
        return added(each for part in self.parts for each in part.curvatures(thorough))

    def along(self, D: Array) -> LineModel:
        return CompositeLine(self, D, [part.along(self.problem.lifted(D)) for part in self.parts])

    def along_atom(self, v: Array) -> PlaneModel:
        v = v.reshape(-1)
        return CompositePlane(self, v, [part.along_atom(self.problem.lifted(v)) for part in self.parts])

    def mix(self, T: Array) -> Self:
        parts = [part.mix(T) for part in self.parts]
        return self.moved(parts[0].factor if self.problem.W is None else self.factor @ T, parts)

    def append(self, v: Array) -> Self:
        columns = v.reshape(self.problem.n, -1)
        lifted = self.problem.lifted(columns)
        return self.moved(np.hstack([self.factor, columns]), [part.append(lifted) for part in self.parts])

    def refresh(self) -> Evaluation:
        refreshed: Evaluation = self.problem.at(self.factor)
        return refreshed


class CompositeLine(LineModel):
    """All F_k along W (Z + mu D)."""

    def __init__(self, evaluation: CompositeEvaluation, D: Array, parts: Sequence[LineModel]) -> None:
        self.evaluation, self.D, self.parts = evaluation, D, parts
        known = [part.coefficients for part in parts if part.coefficients is not None]
        self.coefficients = [sum(column) for column in zip(*known, strict=True)] if len(known) == len(parts) else None

    def value(self, mu: float) -> float:
        return sum(part.value(mu) for part in self.parts)

    def derivatives(self, mu: float) -> tuple[float, float]:
        first, second = zip(*(part.derivatives(mu) for part in self.parts), strict=True)
        return sum(first), sum(second)

    def minimize(self, upper: float = np.inf) -> float:
        return self.parts[0].minimize(upper) if len(self.parts) == 1 else super().minimize(upper)

    def step(self, mu: float) -> CompositeEvaluation:
        here = self.evaluation
        return here.moved(here.factor + mu * self.D, [part.step(mu) for part in self.parts])


class CompositePlane(PlaneModel):
    """All F_k over alpha N + beta v vᵀ."""

    def __init__(self, evaluation: CompositeEvaluation, v: Array, parts: Sequence[PlaneModel]) -> None:
        self.evaluation, self.v, self.parts = evaluation, v, parts
        self.quadratic = parts[0].quadratic if len(parts) == 1 else None

    def value(self, alpha: float, beta: float) -> float:
        return sum(part.value(alpha, beta) for part in self.parts)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        gradients, hessians = zip(*(part.derivatives(alpha, beta) for part in self.parts), strict=True)
        return np.sum(gradients, axis=0), np.sum(hessians, axis=0)

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        return self.parts[0].minimize(alpha, beta) if len(self.parts) == 1 else super().minimize(alpha, beta)

    def step(self, alpha: float, beta: float) -> CompositeEvaluation:
        columns = np.hstack([np.sqrt(alpha) * self.evaluation.factor, np.sqrt(beta) * self.v[:, None]])
        return self.evaluation.moved(columns, [part.step(alpha, beta) for part in self.parts])
