"""Newton's method on the factor, its systems solved by truncated conjugate gradient, with exact line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.checks import integer, number
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.method import Method, Outcome, State
from psdopt.problem import Evaluation, Problem


@dataclass
class TruncatedNewtonState(State):
    """Gradient 2 S Y of the current point, and how many products its last system took."""

    gradient: Array | None = None


@dataclass(frozen=True)
class TruncatedNewton(Method):
    """Y + mu D, D from ∇²F(Y)[D] ≈ −∇F(Y) by preconditioned conjugate gradient, mu the best along the line.

    The solve ends at a residual of `share` |g|, both in the metric of the preconditioner's inverse, at a direction of
    negative curvature, which is followed downhill where it is the first one, or after `inner` Hessian products.

    Parameters
    ----------
    inner : most Hessian products per step, at least 1. share, in (0, 1).

    Cost per step: up to `inner` Hessian products (two passes over the terms each) and as many preconditioner solves.
    """

    inner: int = 200
    share: float = 0.1

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_LINE, Ability.HESSIAN),
        "geometry": (Ability.FACTOR, Ability.STRAIGHT),
    }
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.inner, "inner")
        number(self.share, "share", above=0.0, below=1.0)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TruncatedNewtonState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        G = evaluation.factor_gradient()
        return TruncatedNewtonState(problem, geometry, evaluation.factor, evaluation, gradient_norm=norm(G), gradient=G)

    def step(self, state: Any) -> TruncatedNewtonState:
        evaluation, G = state.evaluation, state.gradient
        if not norm(G) > 0.0:
            return self._stalled(state)
        D, products = self._direction(evaluation, G)
        line = evaluation.along(D)
        mu = line.minimize()
        if mu == math.inf:
            stalled = self._stalled(state, Outcome.UNBOUNDED)
            stalled.ray = D
            return stalled
        if not mu > 0.0:
            return self._stalled(state)
        moved = line.step(mu)
        G = moved.factor_gradient()
        return TruncatedNewtonState(
            state.problem,
            state.geometry,
            moved.factor,
            moved,
            gradient_norm=norm(G),
            step=mu,
            extras={"products": float(products)},
            gradient=G,
        )

    def _stalled(self, state: TruncatedNewtonState, outcome: Outcome = Outcome.STALLED) -> TruncatedNewtonState:
        return TruncatedNewtonState(
            state.problem,
            state.geometry,
            state.point,
            state.evaluation,
            gradient_norm=state.gradient_norm,
            step=0.0,
            outcome=outcome,
            gradient=state.gradient,
        )

    def _direction(self, evaluation: Evaluation, G: Array) -> tuple[Array, int]:
        precondition: Callable[[Array], Array] = lambda R: R  # noqa: E731
        if Ability.PRECONDITIONER in evaluation.problem.abilities:
            precondition = evaluation.preconditioner()
        D, R = np.zeros_like(G), -G
        Z = precondition(R)
        P, rz = Z.copy(), inner(R, Z)
        stop = self.share**2 * abs(rz)
        for product in range(1, self.inner + 1):
            HP = evaluation.hessian_vector(P)
            curvature = inner(P, HP)
            if not curvature > 1e-14 * inner(P, P) ** 0.5 * norm(HP):
                return (P if product == 1 else D), product
            step = rz / curvature
            D += step * P
            R -= step * HP
            Z = precondition(R)
            new = inner(R, Z)
            if not new > stop:
                break
            P *= new / rz
            P += Z
            rz = new
        return D, product
