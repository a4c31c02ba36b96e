"""A problem from a plain function of M: the slow reference for tests of hand-written problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.checks import boolean, integer
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import Array, append_columns, inner


class AutogradProblem(Problem):
    """F given as a function of the dense matrix M, written with ``autograd.numpy``.

    The gradient S (symmetric part) and the Hessian-vector product come from autograd. Every quantity
    is computed from scratch at O(n²) memory and the cost of `function`: use it for n up to a few
    hundred, to try an idea, and as an oracle in tests.

    Parameters
    ----------
    function : callable M (n, n) -> scalar. Where it raises ``numpy.linalg.LinAlgError``, as a Cholesky factor of a
        singular M does, F is +inf.
    n : order of M.
    convex : whether F is convex; without it a certificate never proves global optimality.
    """

    def __init__(self, function: Callable[[Any], Any], n: int, convex: bool = False) -> None:
        if not callable(function):
            raise InvalidTypeError(f"function must be callable; found {type(function).__name__}")
        n = integer(n, "n")
        convex = boolean(convex, "convex")
        self.function, self.n = function, n
        self._values = 0
        abilities = {Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE, Ability.HESSIAN}
        self.abilities = frozenset(abilities | {Ability.CONVEX} if convex else abilities)

    def evaluate(self, M: Array) -> float:
        """F(M), counted."""
        self._values += 1
        try:
            return float(self.function(M))
        except np.linalg.LinAlgError:
            return math.inf

    def dense_gradient(self, M: Array) -> Array:
        """Symmetric ∇F(M) (n, n)."""
        from autograd import grad

        return _symmetric(grad(self.function)(M))

    def dense_hessian(self, M: Array, direction: Array) -> Array:
        """∇²F(M)[direction], symmetric (n, n)."""
        from autograd import make_hvp

        return _symmetric(make_hvp(self.function)(M)[0](direction))

    def second_order(self, M: Array) -> tuple[Array, Callable[[Array], Array]]:
        """∇F(M), and the map D ↦ ∇²F(M)[D]: one trace of `function`, and one pass back through it for each product.

        A subclass's own `dense_gradient` or `dense_hessian` is used instead.
        """
        own = type(self)
        if (own.dense_gradient, own.dense_hessian) != (AutogradProblem.dense_gradient, AutogradProblem.dense_hessian):
            return self.dense_gradient(M), lambda direction: self.dense_hessian(M, direction)
        from autograd import make_hvp

        product, S = make_hvp(self.function)(M)
        return _symmetric(S), lambda direction: _symmetric(product(direction))

    def at(self, Y: Array) -> AutogradEvaluation:
        return AutogradEvaluation(self, self.check_factor(Y))

    def counts(self) -> Mapping[str, int]:
        return {"values": self._values}


def _symmetric(S: Any) -> Array:
    S = np.asarray(S, dtype=np.float64)
    return np.asarray(0.5 * S + 0.5 * S.T)


class AutogradEvaluation(Evaluation):
    """F at M = Y Yᵀ, everything recomputed densely."""

    problem: AutogradProblem

    def __init__(self, problem: AutogradProblem, factor: Array) -> None:
        self.problem, self.factor = problem, factor
        self.dense = factor @ factor.T

    @cached_property
    def value(self) -> float:
        return self.problem.evaluate(self.dense)

    @cached_property
    def dense_gradient(self) -> Array:
        """S (n, n), computed once."""
        return self.problem.dense_gradient(self.dense)

    @cached_property
    def second_order(self) -> tuple[Array, Callable[[Array], Array]]:
        """S and the Hessian at M as a map, traced once for all products."""
        return self.problem.second_order(self.dense)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the trace, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "second_order"}

    @property
    def gradient(self) -> GradientOperator:
        return GradientOperator(self.problem.n, lambda V: self.dense_gradient @ V, lambda V: None)

    def factor_gradient(self) -> Array:
        return 2.0 * (self.dense_gradient @ self.factor)

    def hessian_vector(self, D: Array) -> Array:
        cross = self.factor @ D.T
        S, hessian = self.second_order
        return 2.0 * (S @ D + hessian(cross + cross.T) @ self.factor)

    def along(self, D: Array) -> AutogradLine:
        return AutogradLine(self, np.asarray(D))

    def along_atom(self, v: Array) -> AutogradPlane:
        return AutogradPlane(self, np.asarray(v, dtype=np.float64).reshape(-1, 1))

    def mix(self, T: Array) -> AutogradEvaluation:
        return AutogradEvaluation(self.problem, self.factor @ T)

    def append(self, v: Array) -> AutogradEvaluation:
        block = np.asarray(v, dtype=np.float64).reshape(self.problem.n, -1)
        return AutogradEvaluation(self.problem, append_columns(self.factor, block))

    def refresh(self) -> AutogradEvaluation:
        return AutogradEvaluation(self.problem, self.factor)


class AutogradLine(LineModel):
    """F along Y + mu D by direct evaluation."""

    def __init__(self, evaluation: AutogradEvaluation, D: Array) -> None:
        self.evaluation, self.D = evaluation, D

    def value(self, mu: float) -> float:
        return self.step(mu).value

    def derivatives(self, mu: float) -> tuple[float, float]:
        """⟨S, M'⟩ and ⟨∇²F(M)[M'], M'⟩ + 2 ⟨S, D Dᵀ⟩ with M' = Y Dᵀ + D Yᵀ; NaN where `function` raises LinAlgError."""
        moved = self.step(mu)
        cross = moved.factor @ self.D.T
        velocity = cross + cross.T
        try:
            S, hessian = moved.second_order
            return inner(S, velocity), inner(hessian(velocity), velocity) + 2.0 * inner(S @ self.D, self.D)
        except np.linalg.LinAlgError:
            return math.nan, math.nan

    def step(self, mu: float) -> AutogradEvaluation:
        return AutogradEvaluation(self.evaluation.problem, self.evaluation.factor + mu * self.D)


class AutogradPlane(PlaneModel):
    """F over alpha M + beta v vᵀ by direct evaluation."""

    def __init__(self, evaluation: AutogradEvaluation, v: Array) -> None:
        self.evaluation, self.v = evaluation, v
        self.atom = v @ v.T

    def value(self, alpha: float, beta: float) -> float:
        return self.evaluation.problem.evaluate(alpha * self.evaluation.dense + beta * self.atom)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """NaN where `function` raises LinAlgError."""
        problem, M, N = self.evaluation.problem, self.evaluation.dense, self.atom
        at = alpha * M + beta * N
        try:
            S, hessian = problem.second_order(at)
            HM, HN = hessian(M), hessian(N)
        except np.linalg.LinAlgError:
            return np.full(2, np.nan), np.full((2, 2), np.nan)
        g = np.array([inner(S, M), inner(S, N)])
        return g, np.array([[inner(HM, M), inner(HM, N)], [inner(HN, M), inner(HN, N)]])

    def step(self, alpha: float, beta: float) -> AutogradEvaluation:
        grown = append_columns(math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v)
        return AutogradEvaluation(self.evaluation.problem, grown)
