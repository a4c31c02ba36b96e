"""Geometry checks: what pymanopt is handed, its models of F along geodesics, its Hessian, and its retraction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.linalg.tolerances import EPS
from psdopt.testing import quotient, vectors
from psdopt.testing.checks.common import failed
from psdopt.testing.checks.geometry_points import PLAIN, riemannian
from psdopt.testing.gallery import with_spectrum
from psdopt.testing.registry import Case, Deviation, Deviations
from psdopt.testing.slopes import observed_order

#: How far a measured order may lie below the required one.
SLACK = 0.15
#: Errors, relative to the size of the quantity, that count as zero.
ZERO = 1e-9
#: The longest step of a model along a unit vector; steps so short that a distance is only rounding.
LONGEST, GROUND = 0.1, (1e-12, 1e-11, 1e-10)


class _Subject:
    """pymanopt's problem of a quadratic F over the geometry, at a point, along a unit vector there."""

    def __init__(self, geometry: Geometry, case: Case) -> None:
        from psdopt.interop.pymanopt import pymanopt_problem, to_pymanopt
        from psdopt.problems import QuadraticSDP

        n, seed = geometry.n, int(case.rng.integers(1000))
        A, C = with_spectrum(np.linspace(0.5, 2.0, n), seed), with_spectrum(np.linspace(-2.0, 1.0, n), seed + 1)
        self.geometry, self.point = geometry, geometry.random_point(case.rng)
        self.vector = quotient.unit_vector(geometry, self.point, case)
        self.manifold = to_pymanopt(geometry, seed)
        self.problem = pymanopt_problem(QuadraticSDP(A, 0.5, C), geometry, self.manifold)

    def along(self, way: Callable[[Any, Any], Any], t: float) -> Any:
        return way(self.point, vectors.scaled(self.geometry, self.point, t, self.vector))

    def model(self, words: str, slope: float, bend: float, order: float) -> Deviation:
        """Whether F(M) + slope t + bend t²/2 errs like t^order along the geodesic, or else the retraction."""
        value, way = self.problem.cost(self.point), self.manifold.retraction
        if hasattr(self.geometry, "exp"):
            way = self.manifold.exp

        def error_of(t: float) -> float:
            return float(abs(self.problem.cost(self.along(way, t)) - value - slope * t - 0.5 * bend * t**2))

        found = observed_order(error_of, LONGEST, 16.0 * EPS * (abs(value) + abs(slope) * LONGEST))
        words = f"the error of the {words} falls like t^{found:.3g}, not t^{order:g}"
        return Deviation(max(order - found, 0.0), SLACK, words)

    def off(self, words: str, v: Any, size: float, u: Any = None) -> Deviation:
        """The length of v − u, u by default the horizontal part of v, against rounding of quantities of this size."""
        part = self.geometry.horizontal(self.point, v) if u is None else u
        length = self.geometry.norm(self.point, vectors.combine(self.geometry, self.point, 1.0, v, -1.0, part))
        return Deviation(length, size, f"{words} by {length:.3g}")


@riemannian("0.1", regimes=PLAIN)
def pymanopt_gradient(geometry: Geometry, case: Case) -> Deviations:
    """As in pymanopt's check_gradient, the linear model of F errs like t², and the gradient is a tangent vector."""
    at = _Subject(geometry, case)
    gradient = at.problem.riemannian_gradient(at.point)
    yield at.model("linear model", geometry.inner(at.point, gradient, at.vector), 0.0, 2.0)
    yield at.off("the gradient leaves the tangent space", gradient, ZERO * geometry.norm(at.point, gradient))


def _second_order(geometry: Geometry) -> bool:
    """Whether F can be followed along curves without acceleration: else no quadratic model holds at a generic point."""
    return hasattr(geometry, "exp") or getattr(geometry, "retraction_order", 1) >= 2


@riemannian("0.1", regimes=PLAIN, when=_second_order, reason="has no geodesics (exp), nor a retraction of second order")
def pymanopt_hessian(geometry: Geometry, case: Case) -> Deviations:
    """As in pymanopt's check_hessian, the quadratic model errs like t³; the Hessian is tangent, linear, symmetric."""
    at = _Subject(geometry, case)
    gradient, hessian = at.problem.riemannian_gradient(at.point), at.problem.riemannian_hessian
    inner, Hv = geometry.inner, hessian(at.point, at.vector)
    yield at.model("quadratic model", inner(at.point, gradient, at.vector), inner(at.point, Hv, at.vector), 3.0)
    # without a formula the Hessian is a difference of gradients, with half the digits
    formulas = ("riemannian_hessian", "hessian", "euclidean_to_riemannian_hessian")
    exact = Ability.STRAIGHT in geometry.abilities or any(hasattr(geometry, name) for name in formulas)
    size = geometry.norm(at.point, Hv) + geometry.norm(at.point, gradient)
    allowed = 10.0 * size * (ZERO if exact else 1e-4)
    yield at.off("the Hessian leaves the tangent space", Hv, allowed)
    u, (a, b) = quotient.unit_vector(geometry, at.point, case), case.rng.standard_normal(2)
    Hu = hessian(at.point, u)
    both = hessian(at.point, vectors.combine(geometry, at.point, a, at.vector, b, u))
    yield at.off("the Hessian is not linear", both, allowed, vectors.combine(geometry, at.point, a, Hv, b, Hu))
    skew = abs(inner(at.point, at.vector, Hu) - inner(at.point, Hv, u))
    yield Deviation(skew, allowed, f"the Hessian is not symmetric by {skew:.3g}")


@riemannian(
    "0.1",
    regimes=PLAIN,
    when=lambda g: hasattr(g, "exp") and hasattr(g, "log"),
    reason="has no geodesics to compare with (exp, log)",
)
def pymanopt_retraction(geometry: Geometry, case: Case) -> Deviation:
    """As in pymanopt's check_retraction, R and exp part like t², like t³ where second order is claimed."""
    at = _Subject(geometry, case)

    def apart(t: float) -> float:
        return float(at.manifold.dist(at.along(at.manifold.exp, t), at.along(at.manifold.retraction, t)))

    ground = max(map(apart, GROUND))
    if not ground <= ZERO:
        return failed("exp and the retraction differ even at the shortest steps")
    order = 3.0 if getattr(geometry, "retraction_order", 1) >= 2 else 2.0
    found = observed_order(apart, 1.0, max(ground, EPS))
    if found == np.inf and apart(1.0) > ZERO:
        return failed("exp and the retraction agree for short steps, and part all at once")
    words = f"retraction and geodesic part like t^{found:.3g}, not t^{order:g}"
    return Deviation(max(order - found, 0.0), SLACK, words)
