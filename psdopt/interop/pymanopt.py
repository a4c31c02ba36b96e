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
import pymanopt
from pymanopt.manifolds.manifold import Manifold

from psdopt.checks import integer
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import Geodesics, GradientConversion, HessianConversion
from psdopt.contracts.method import Method, Outcome, State, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError
from psdopt.interop._geometry import PymanoptGeometry
from psdopt.linalg.arrays import norm
from psdopt.methods.trust_regions import riemannian_hessian

__all__ = [
    "PsdoptManifold",
    "PymanoptGeometry",
    "PymanoptOptimizer",
    "from_pymanopt",
    "pymanopt_problem",
    "riemannian_hessian",
    "to_pymanopt",
]


class PsdoptManifold(Manifold):
    """`geometry` under pymanopt's names. Points and vectors are those of the geometry itself; pymanopt's optimizers
    need vectors with ``+``, ``-`` and multiplication by numbers.

    exp, log and dist are those of the geometry's geodesics, if it has ``exp`` and ``log``. On a geometry with
    straight lines over factors, Euclidean gradients and Hessians of Y ↦ f(Y) convert by the horizontal part.
    On other geometries these conversions need the problem, not only a gradient: use
    :func:`psdopt.interop.pymanopt.pymanopt_problem`, which passes Riemannian gradients and Hessians.
    Randomness comes from `seed`, not from a global generator.
    """

    def __init__(self, geometry: Geometry, seed: int = 0) -> None:
        if Ability.RIEMANNIAN not in geometry.abilities:
            raise InvalidInputError(f"geometry must be Riemannian; {geometry!r} offers {sorted(geometry.abilities)}")
        self.geometry = geometry
        self._rng = np.random.default_rng(seed)
        point = geometry.random_point(np.random.default_rng(0))
        super().__init__(repr(geometry), _dimension(geometry, point), point_layout=1)

    @property
    def typical_dist(self) -> float:
        """Pymanopt's scale for trust regions: the square root of the dimension."""
        return float(np.sqrt(max(self.dim, 1)))

    def inner_product(self, point: Any, tangent_vector_a: Any, tangent_vector_b: Any) -> float:
        return self.geometry.inner(point, tangent_vector_a, tangent_vector_b)

    def norm(self, point: Any, tangent_vector: Any) -> float:
        return self.geometry.norm(point, tangent_vector)

    def projection(self, point: Any, vector: Any) -> Any:
        """The horizontal part, which pymanopt calls projection."""
        return self.geometry.horizontal(point, vector)

    to_tangent_space = projection

    def random_point(self) -> Any:
        return self.geometry.random_point(self._rng)

    def random_tangent_vector(self, point: Any) -> Any:
        return self.geometry.random_vector(point, self._rng)

    def zero_vector(self, point: Any) -> Any:
        return 0.0 * self.geometry.random_vector(point, np.random.default_rng(0))

    def retraction(self, point: Any, tangent_vector: Any) -> Any:
        return self.geometry.retract(point, tangent_vector)

    def exp(self, point: Any, tangent_vector: Any) -> Any:
        """The end of the geometry's geodesic, if it has geodesics."""
        return self._with_geodesics("exp").exp(point, tangent_vector)

    def log(self, point_a: Any, point_b: Any) -> Any:
        """The velocity of the geometry's geodesic from `point_a` to `point_b`."""
        return self._with_geodesics("log").log(point_a, point_b)

    def dist(self, point_a: Any, point_b: Any) -> float:
        return self.norm(point_a, self.log(point_a, point_b))

    def transport(self, point_a: Any, point_b: Any, tangent_vector_a: Any) -> Any:
        return self.geometry.transport(point_a, point_b, tangent_vector_a)

    def euclidean_to_riemannian_gradient(self, point: Any, euclidean_gradient: Any) -> Any:
        if isinstance(self.geometry, GradientConversion):
            return self.geometry.euclidean_to_riemannian_gradient(point, euclidean_gradient)
        return self._horizontal("euclidean_to_riemannian_gradient", point, euclidean_gradient)

    def euclidean_to_riemannian_hessian(
        self, point: Any, euclidean_gradient: Any, euclidean_hessian: Any, tangent_vector: Any
    ) -> Any:
        if isinstance(self.geometry, HessianConversion):
            convert = self.geometry.euclidean_to_riemannian_hessian
            return convert(point, euclidean_gradient, euclidean_hessian, tangent_vector)
        return self._horizontal("euclidean_to_riemannian_hessian", point, euclidean_hessian)

    def _with_geodesics(self, what: str) -> Geodesics:
        if not isinstance(self.geometry, Geodesics):
            raise self._lacks(what)
        return self.geometry

    def _horizontal(self, what: str, point: Any, vector: Any) -> Any:
        if Ability.STRAIGHT not in self.geometry.abilities:
            raise self._lacks(what)
        return self.geometry.horizontal(point, vector)

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{self.geometry!r} offers no {what}; see psdopt.interop.pymanopt.pymanopt_problem")


def _dimension(geometry: Geometry, point: Any) -> int:
    """The geometry's own `dimension`, else that of the matrices of its rank, and of its trace if that is fixed."""
    if geometry.dimension is not None:
        return geometry.dimension
    n, r = geometry.factor(point).shape
    return int(n * r - r * (r - 1) // 2) - (geometry.trace is not None)


#: A geometry as a pymanopt manifold, and a pymanopt manifold as a geometry. Check the latter with ``run_checks``.
to_pymanopt, from_pymanopt = PsdoptManifold, PymanoptGeometry


def pymanopt_problem(problem: Problem, geometry: Geometry, manifold: Any = None) -> Any:
    """min F(M) over `geometry` as a ``pymanopt.Problem``, with Riemannian gradient and Hessian.

    Evaluations at the last two points are kept, so that value, gradient and Hessian share their images.
    The cost raises :class:`NonFiniteValue` (a FloatingPointError) where F is NaN.
    """
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
