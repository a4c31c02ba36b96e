"""A function of the dense matrix M: S and the Hessian are arrays (n, n) and a map of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.devices import on_host, released
from psdopt.linalg.arrays import Array, append_columns
from psdopt.problems.functions.backend import Local
from psdopt.problems.functions.evaluation import FunctionEvaluation, FunctionPlane, dot


class MatrixEvaluation(FunctionEvaluation):
    """F at M = Y Yᵀ through f(M)."""

    curvature_apart = True

    @cached_property
    def dense(self) -> Any:
        """M (n, n)."""
        return self.raw @ self.raw.T

    @cached_property
    def value(self) -> float:
        known: Local | None = vars(self).get("local")
        return self.problem.evaluate(self.dense) if known is None else known.value

    @cached_property
    def dense_gradient(self) -> Any:
        """S (n, n), computed once."""
        known: Local | None = vars(self).get("local")
        return self.problem.dense_gradient(self.dense) if known is None else known.gradient

    @cached_property
    def local(self) -> Local:
        """F, S and the Hessian at M as a map, traced once for all products."""
        found: Local = self.problem.local(self.dense)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The state without the trace, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "local"}

    def entries(self) -> Array | None:
        return np.array(on_host(self.given(self.dense_gradient)))

    def gradient_times(self, V: Any) -> Any:
        return self.dense_gradient @ V

    def factor_gradient(self) -> Array:
        return self._doubled

    @cached_property
    def _doubled(self) -> Array:
        return self.given(2.0 * (self.dense_gradient @ self.raw))

    def hessian_vector(self, D: Array) -> Array:
        D = self.taken(D)
        cross = self.raw @ D.T
        local = self.local
        return self.given(2.0 * (local.gradient @ D + local.product(cross + cross.T) @ self.raw))

    def curvature_product(self, D: Array) -> Array:
        cross = self.raw @ self.taken(D).T
        return self.given(self.local.product(cross + cross.T) @ self.raw)

    def curved(self, D: Any) -> tuple[Any, Any]:
        cross = self.raw @ D.T
        return cross + cross.T, D @ D.T

    def parameter_gradient(self, D: Array | None = None) -> Any:
        if D is None:
            return self.problem.backend.parameter_gradient(self.dense, None)
        cross = self.raw @ self.taken(D).T
        return self.problem.backend.parameter_gradient(self.dense, cross + cross.T)

    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        moved = self.problem.backend.parameter_force(self.dense, tangents)
        return self.given(0.5 * (moved + moved.T) @ self.raw)

    def along_atom(self, v: Array) -> MatrixPlane:
        return MatrixPlane(self, self.block(v))


class MatrixPlane(FunctionPlane):
    """The plane in the space of matrices."""

    evaluation: MatrixEvaluation

    def __init__(self, evaluation: MatrixEvaluation, v: Array) -> None:
        self.evaluation, self.v = evaluation, v
        raw: Any = released(v)
        self.atom = raw @ raw.T

    def value(self, alpha: float, beta: float) -> float:
        return float(self.evaluation.problem.evaluate(alpha * self.evaluation.dense + beta * self.atom))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """NaN where the function raises LinAlgError."""
        problem, M, N = self.evaluation.problem, self.evaluation.dense, self.atom
        try:
            _, S, product = problem.local(alpha * M + beta * N)
            HM, HN = product(M), product(N)
        except np.linalg.LinAlgError:
            return np.full(2, np.nan), np.full((2, 2), np.nan)
        g = np.array([dot(problem, S, M), dot(problem, S, N)])
        mixed = dot(problem, HM, N)
        return g, np.array([[dot(problem, HM, M), mixed], [mixed, dot(problem, HN, N)]])

    def step(self, alpha: float, beta: float) -> MatrixEvaluation:
        grown = append_columns(math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v)
        return MatrixEvaluation(self.evaluation.problem, grown)
