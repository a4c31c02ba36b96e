"""A psdopt geometry as a pymanopt manifold."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymanopt.manifolds.manifold import Manifold

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import Geodesics, GradientConversion, HessianConversion
from psdopt.errors import InvalidInputError


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
        hint = "see psdopt.interop.pymanopt.pymanopt_problem"
        return NotImplementedError(f"{self.geometry!r} offers no {what}; {hint}")


def _dimension(geometry: Geometry, point: Any) -> int:
    """The geometry's own `dimension`, else that of the matrices of its rank, and of its trace if that is fixed."""
    if geometry.dimension is not None:
        return geometry.dimension
    n, r = geometry.factor(point).shape
    return int(n * r - r * (r - 1) // 2) - (geometry.trace is not None)
