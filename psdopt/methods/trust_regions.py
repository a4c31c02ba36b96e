"""Riemannian trust regions: the Hessian of F, and its quadratic model within a radius by conjugate gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer_or_none, number, positive
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import HessianConversion, RetractionHessian, RiemannianHessian
from psdopt.contracts.method import Method, Outcome, State, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS, tie
from psdopt.methods.searches.paths import retracted


def riemannian_hessian(geometry: Geometry, point: Any, evaluation: Evaluation, vector: Any) -> Any:
    """Riemannian Hessian of point ↦ F(M) along `vector`.

    - straight lines over factors: the horizontal part of the Euclidean Hessian 2 (S D + ∇²F[..] Y);
    - a geometry's own ``riemannian_hessian`` or ``hessian(point, S, factor_hessian, vector)``, or on factors its
      ``euclidean_to_riemannian_hessian(point, gradient, hessian, vector)``;
    - otherwise differences of Riemannian gradients, transported back by the geometry (Boumal 2015).
    """
    exact = Ability.HESSIAN in evaluation.problem.abilities and Ability.FACTOR in geometry.abilities
    if exact and Ability.STRAIGHT in geometry.abilities:
        return geometry.horizontal(point, evaluation.hessian_vector(vector))
    if exact and isinstance(geometry, RiemannianHessian):
        return geometry.riemannian_hessian(point, evaluation.gradient, evaluation.hessian_vector, vector)
    if exact and isinstance(geometry, RetractionHessian):
        return geometry.hessian(point, evaluation.gradient, evaluation.hessian_vector, vector)
    if exact and isinstance(geometry, HessianConversion):
        moved = evaluation.hessian_vector(vector)
        return geometry.euclidean_to_riemannian_hessian(point, evaluation.factor_gradient(), moved, vector)
    size = geometry.norm(point, vector)
    if size == 0.0:
        return 0.0 * vector
    h = float(np.cbrt(EPS)) * norm(geometry.factor(point)) / size
    moved = geometry.retract(point, h * vector)
    there = evaluation.problem.at(geometry.factor(moved))
    carried = geometry.transport(moved, point, geometry.gradient(moved, there.gradient))
    return (carried - geometry.gradient(point, evaluation.gradient)) * (1.0 / h)


def truncated_cg(
    geometry: Geometry,
    point: Any,
    gradient: Any,
    hessian: Callable[[Any], Any],
    radius: float,
    kappa: float,
    theta: float,
    most: int,
) -> tuple[Any, Any, bool]:
    """(d, H d, whether the radius or negative curvature ended the solve) for d near the least ⟨g, d⟩ + ⟨d, H d⟩/2.

    |d| <= radius. Lengths and inner products are those of the metric at `point`. The solve ends at a residual of
    |g| min(|g|^theta, kappa), at the boundary, after `most` products with H, or where the model rises, as may happen if
    H d is approximated by differences. Cost: a product with H and four inner products per iteration.
    """

    def inner(a: Any, b: Any) -> float:
        return geometry.inner(point, a, b)

    move = image = 0.0 * gradient
    residual, direction = gradient, -1.0 * gradient
    rr = inner(gradient, gradient)
    goal = math.sqrt(rr) * min(math.sqrt(rr) ** theta, kappa)
    # |d|², ⟨d, p⟩ and |p|² of the direction p by recurrence (Conn, Gould, Toint 2000, eqs. 7.5.6 and 7.5.7)
    moved, along, size, model = 0.0, 0.0, rr, 0.0
    for k in range(most):
        product = hessian(direction)
        curvature = inner(direction, product)
        alpha = rr / curvature if curvature > 0.0 else math.inf
        longer = moved + 2.0 * alpha * along + alpha**2 * size if math.isfinite(alpha) else math.inf
        if not longer < radius**2:
            tau = (math.sqrt(along**2 + size * (radius**2 - moved)) - along) / size
            return move + tau * direction, image + tau * product, True
        further, seen = move + alpha * direction, image + alpha * product
        value = inner(further, gradient) + 0.5 * inner(further, seen)
        if not value < model:
            break
        move, image, model, moved = further, seen, value, longer
        residual = residual + alpha * product
        before, rr = rr, inner(residual, residual)
        if rr == 0.0 or (k > 0 and math.sqrt(rr) <= goal):
            break
        beta = rr / before
        direction = geometry.horizontal(point, beta * direction - residual)
        along = beta * (along + alpha * size)
        size = rr + beta**2 * size
    return move, image, False


@dataclass(kw_only=True)
class TrustRegionsState(State):
    """Riemannian gradient, trust radius, and consecutive refusals."""

    gradient: Any
    radius: float
    refused: int = 0


@dataclass(frozen=True)
class TrustRegions(Method[TrustRegionsState]):
    """Second-order steps: the quadratic model of F is minimised within a radius by truncated CG.

    The radius is divided by four after a poor prediction and doubled after a good one at the boundary (Absil,
    Baker, Gallivan 2007). The ratio of actual to predicted decrease is regularised by the rounding of F, so that the
    run does not depend on the scale of F.

    Parameters
    ----------
    kappa, theta : the inner solve stops at a residual of |g| min(|g|^theta, kappa), relative to |g| at start.
    accept : ratio above which a step is taken, in [0, 1/4). inner : most Hessian products per step, default the
        dimension of the geometry or the size of the factor; at least 1.

    Cost per step: one evaluation, one gradient, up to `inner` Hessian-vector products (two applications of
    the maps each). Without the problem's Hessian, or off straight lines, differences of gradients are used.
    """

    kappa: float = 0.1
    theta: float = 1.0
    accept: float = 0.1
    inner: int | None = None

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,), "geometry": (Ability.RIEMANNIAN,)}
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number(self.kappa, "kappa", above=0.0, below=1.0)
        positive(self.theta, "theta")
        number(self.accept, "accept", least=0.0, below=0.25)
        integer_or_none(self.inner, "inner")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TrustRegionsState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        state = self._at(problem, geometry, start, evaluation, 1.0)
        radius = 0.5 * _reach(geometry, start, evaluation, state.gradient) or 1.0
        return replace(state, radius=radius, extras={})

    def step(self, state: TrustRegionsState) -> TrustRegionsState:
        geometry, here = state.geometry, state.evaluation
        slope = geometry.norm(state.point, state.gradient)
        if slope == 0.0 or not math.isfinite(slope):
            return self._same(state, Outcome.STALLED, state.radius, 0)
        move, image, cut_short = self._truncated_cg(state, slope)
        length = geometry.norm(state.point, move)
        point = retracted(geometry, state.point, move)
        if point is None:
            return self._same(state, Outcome.RUNNING, 0.25 * min(state.radius, length), state.refused + 1)
        there = state.problem.at(geometry.factor(point))
        with np.errstate(over="ignore", invalid="ignore"):  # a trial that is too far away is rejected by its value
            if math.isnan(there.value):
                return self._at(state.problem, geometry, point, there, state.radius, length)
        inner = geometry.inner
        predicted = -inner(state.point, state.gradient, move) - 0.5 * inner(state.point, move, image)
        level = tie(here.value, state.problem.value_at_zero())
        rounding = 250.0 * level
        ratio = (here.value - there.value + rounding) / (predicted + rounding) if predicted + rounding > 0.0 else -1.0
        radius = state.radius
        if not ratio >= 0.25:
            radius = 0.25 * min(radius, length)
        elif ratio > 0.75 and cut_short:
            radius = 2.0 * radius
        if ratio > self.accept and there.value <= here.value + level:
            moved = self._at(state.problem, geometry, point, there, radius, length)
            # values tie long before gradients do: the gradients then decide which point is better
            if there.value <= here.value or moved.gradient_norm < 0.5 * state.gradient_norm:
                return moved
        radius = min(radius, 0.25 * length)  # a value that ties says nothing for the model either
        tiny = radius <= EPS * max(_reach(geometry, state.point, here, state.gradient), np.finfo(float).tiny)
        converged = state.refused >= 3 and abs(predicted) <= rounding
        return self._same(state, Outcome.STALLED if tiny or converged else Outcome.RUNNING, radius, state.refused + 1)

    def _truncated_cg(self, state: TrustRegionsState, slope: float) -> tuple[Any, Any, bool]:
        """Step, its image under the Hessian, and whether the radius (or negative curvature) ended the solve."""
        geometry, point, evaluation = state.geometry, state.point, state.evaluation

        # in units of |g| the model does not depend on the scale of F, since g/|g| has length one
        def hessian(vector: Any) -> Any:
            return riemannian_hessian(geometry, point, evaluation, vector) * (1.0 / slope)

        most = self.inner or geometry.dimension or evaluation.factor.size
        gradient = state.gradient * (1.0 / slope)
        move, image, cut_short = truncated_cg(
            geometry, point, gradient, hessian, state.radius, self.kappa, self.theta, most
        )
        return move, image * slope, cut_short

    def _at(
        self, problem: Problem, geometry: Geometry, point: Any, there: Evaluation, radius: float, step: float = math.nan
    ) -> TrustRegionsState:
        return TrustRegionsState(
            problem,
            geometry,
            point,
            there,
            gradient_norm=factor_residual(geometry, there, point),
            step=step,
            extras={"radius": radius},
            gradient=geometry.gradient(point, there.gradient),
            radius=radius,
        )

    def _same(self, state: TrustRegionsState, outcome: Outcome, radius: float, refused: int) -> TrustRegionsState:
        extras = {"radius": radius}
        return replace(state, step=0.0, outcome=outcome, extras=extras, radius=radius, refused=refused)


def _reach(geometry: Geometry, point: Any, evaluation: Evaluation, gradient: Any) -> float:
    """Length, in the metric, of a move along the gradient that changes the factor by its own size.

    This is |Y| if vectors are moves of Y; in metrics of relative changes lengths have no unit.
    """
    size, speed = norm(evaluation.factor), norm(geometry.velocity(point, gradient))
    return size * geometry.norm(point, gradient) / speed if speed > 0.0 else size
