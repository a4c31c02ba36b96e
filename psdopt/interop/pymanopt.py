"""pymanopt both ways: geometries as manifolds, manifolds as geometries, optimizers as methods.

manifold = to_pymanopt(FlatQuotient(50, 5))          # for pymanopt's own problems
geometry = from_pymanopt(PSDFixedRank(50, 5), n=50)  # for psdopt.solve
method = PymanoptOptimizer(SteepestDescent())        # any pymanopt optimizer, in psdopt.solve
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError
from psdopt.interop._geometry import PymanoptGeometry
from psdopt.interop._manifold import PsdoptManifold
from psdopt.linalg.arrays import norm
from psdopt.methods.riemannian_hessian import riemannian_hessian

__all__ = [
    "PsdoptManifold",
    "PymanoptGeometry",
    "PymanoptOptimizer",
    "from_pymanopt",
    "pymanopt_problem",
    "riemannian_hessian",
    "to_pymanopt",
]


#: A geometry as a pymanopt manifold, and a pymanopt manifold as a geometry. Check the latter with ``run_checks``.
to_pymanopt, from_pymanopt = PsdoptManifold, PymanoptGeometry


def pymanopt_problem(problem: Problem, geometry: Geometry, manifold: Any = None) -> Any:
    """min F(M) over `geometry` as a ``pymanopt.Problem``, with Riemannian gradient and Hessian.

    Evaluations at the last two points are kept, so that value, gradient and Hessian share their images.
    The cost raises :class:`NonFiniteValue` (a FloatingPointError) where F is NaN.
    """
    import pymanopt

    manifold = manifold if manifold is not None else to_pymanopt(geometry)
    known: list[tuple[Any, Evaluation]] = []

    def at(point: Any) -> Evaluation:
        for other, evaluation in known:
            if other is point:
                return evaluation
        known[:] = [*known[-1:], (point, problem.at(geometry.factor(point)))]
        return known[-1][1]

    @pymanopt.function.numpy(manifold)
    def cost(point: Any) -> float:
        evaluation = at(point)
        if np.isnan(evaluation.value):
            raise NonFiniteValue(point, evaluation)
        return evaluation.value

    @pymanopt.function.numpy(manifold)
    def gradient(point: Any) -> Any:
        return geometry.gradient(point, at(point).gradient)

    @pymanopt.function.numpy(manifold)
    def hessian(point: Any, vector: Any) -> Any:
        return riemannian_hessian(geometry, point, at(point), vector)

    return pymanopt.Problem(manifold, cost, riemannian_gradient=gradient, riemannian_hessian=hessian)


class NonFiniteValue(FloatingPointError):
    """F was NaN at `point`; pymanopt's optimizers would continue from it."""

    def __init__(self, point: Any, evaluation: Evaluation) -> None:
        super().__init__("the problem returned NaN")
        self.point, self.evaluation = point, evaluation


@dataclass(frozen=True)
class PymanoptOptimizer(Method):
    """Any pymanopt optimizer: each step runs a fresh copy of it for `inner` of its iterations.

    Momentum is lost between steps, so that a larger `inner` needs fewer iterations; budgets are checked between steps.
    For pymanopt's trust regions use :class:`psdopt.methods.TrustRegions`, which keeps its radius.
    """

    optimizer: Any = field(default=None)
    inner: int = 20

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,), "geometry": (Ability.RIEMANNIAN,)}
    evaluations_per_step: ClassVar[int] = 2000

    def __post_init__(self) -> None:
        if not hasattr(self.optimizer, "run"):
            raise InvalidInputError(f"optimizer must be a pymanopt optimizer; found {self.optimizer!r}")
        integer(self.inner, "inner")

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        evaluation = evaluation or problem.at(geometry.factor(start))
        return State(problem, geometry, start, evaluation, gradient_norm=factor_residual(geometry, evaluation, start))

    def step(self, state: State) -> State:
        optimizer = copy.deepcopy(self.optimizer)
        optimizer._verbosity = 0
        optimizer._max_iterations = self.inner
        optimizer._min_gradient_norm = 0.0
        geometry, problem = state.geometry, state.problem
        try:
            point = optimizer.run(pymanopt_problem(problem, geometry), initial_point=copy.deepcopy(state.point)).point
        except NonFiniteValue as stop:
            return State(problem, geometry, stop.point, stop.evaluation)
        moved = norm(geometry.factor(point) - state.evaluation.factor)
        outcome = Outcome.STALLED if moved == 0.0 else Outcome.RUNNING
        return replace(self.init(problem, geometry, point), step=moved, outcome=outcome)
