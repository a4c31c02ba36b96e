"""Projected gradient with full eigendecompositions: a dense reference for comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner, is_finite, norm
from psdopt.linalg.tolerances import EPS

#: The Lipschitz estimate is multiplied by this factor at each step, so that it follows local curvature.
RELAXATION = 0.8

#: W (k, k) PSD, factored -> the evaluation there, whose value and gradient are used.
At = Callable[[LowRankPSD], Evaluation]
#: evaluation -> ∇F as an array (k, k).
Slope = Callable[[Evaluation], Array]


@dataclass(frozen=True)
class Momentum:
    """Iterates of the accelerated scheme: x and the one before, dense (k, k) PSD; t, Lipschitz estimate L."""

    x: Array
    evaluation: Evaluation
    before: Array
    t: float
    L: float
    residual: float = math.inf
    moved: bool = True


def accelerated_step(
    m: Momentum, at: At, slope: Slope, project: Callable[[Array], LowRankPSD], accelerated: bool = True
) -> Momentum:
    """One step of Nesterov's scheme, monotone and feasible throughout.

    y = P(x + beta (x − x₋)), x⁺ = P(y − ∇F(y)/L), beta = (t − 1)/t⁺. The extrapolated point is projected as well, so
    that F is never evaluated at an indefinite matrix. L is found by backtracking on the descent inequality. If F would
    increase, momentum is dropped and the step repeated, which then decreases F. Cost: two evaluations, one gradient and
    three eigendecompositions. `residual` is L |x⁺ − y|.
    """
    t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * m.t**2)) if accelerated else 1.0
    beta = (m.t - 1.0) / t
    y, at_y = m.x, m.evaluation
    if beta > 0.0:
        extrapolated = project(m.x + beta * (m.x - m.before))
        y, at_y = extrapolated.to_dense(), at(extrapolated)
    g = slope(at_y)
    L = RELAXATION * m.L
    for _ in range(60):  # at most 60 doublings of L
        projected = project(y - g / L)
        x = projected.to_dense()
        d, at_x = x - y, ensure_finite(at(projected))
        bound = at_y.value + inner(g, d) + 0.5 * L * inner(d, d)
        if at_x.value <= bound + 8 * EPS * abs(at_y.value):
            break
        L *= 2.0
    if not at_x.value <= m.evaluation.value:
        if beta > 0.0:
            return accelerated_step(replace(m, before=m.x, t=1.0), at, slope, project, accelerated)
        return replace(m, moved=False)
    return Momentum(x, at_x, m.x, t, L, L * norm(d), bool(np.any(d)))


@dataclass(kw_only=True)
class ProjectedGradientState(State):
    """Dense iterates; see :class:`Momentum`."""

    momentum: Momentum


@dataclass(frozen=True)
class ProjectedGradient(Method[ProjectedGradientState]):
    """M⁺ = P(M − ∇F(M)/L), with Nesterov's acceleration: O(n²) memory and a few O(n³) eigensolves per step.

    A reference that shows how much methods on a factor save. Unlike the version of Hao et al., section 6.3, it is
    monotone and finds L itself. F(M_k) − min F is of the order of L |M_0 − M*|²/k²: if the curvature of F is only 1e-8
    L in the directions in which M* is large, 20,000 steps are too few, and the run ends at its limit. Methods on a
    factor, with exact steps, do not depend on this ratio.

    Parameters
    ----------
    accelerated : whether momentum is used; without it this is plain projected gradient.
    """

    accelerated: bool = True

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,), "geometry": (Ability.PROJECTION,)}
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def __post_init__(self) -> None:
        if not isinstance(self.accelerated, (bool, np.bool_)):
            raise InvalidInputError(f"accelerated must be True or False; found {self.accelerated!r}")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ProjectedGradientState:
        evaluation = ensure_finite(evaluation or problem.at(geometry.factor(start)))
        x = evaluation.matrix.to_dense()
        g = finite_gradient(evaluation)
        L = first_lipschitz(evaluation, g)
        residual = L * norm(x - geometry.project(x - g / L).to_dense())
        momentum = Momentum(x, evaluation, x, 1.0, L, residual)
        residual = _residual(geometry, momentum)
        return ProjectedGradientState(
            problem, geometry, evaluation.factor, evaluation, gradient_norm=residual, momentum=momentum
        )

    def step(self, state: ProjectedGradientState) -> ProjectedGradientState:
        problem, geometry = state.problem, state.geometry

        def at(M: LowRankPSD) -> Evaluation:
            evaluation: Evaluation = problem.at(M.factor if M.factor.shape[1] else np.zeros((problem.n, 1)))
            return evaluation

        m = accelerated_step(state.momentum, at, finite_gradient, geometry.project, self.accelerated)
        return replace(
            state,
            point=m.evaluation.factor,
            evaluation=m.evaluation,
            gradient_norm=_residual(geometry, m),
            step=1.0 / m.L,
            outcome=Outcome.RUNNING if m.moved else Outcome.STALLED,
            extras={"momentum": m.t},
            momentum=m,
        )


def finite_gradient(evaluation: Evaluation) -> Array:
    """S = ∇F(M) as an array (n, n); FloatingPointError where it is not finite."""
    S = dense_gradient(evaluation)
    if not is_finite(S):
        raise FloatingPointError("the gradient is not finite")
    return S


def _residual(geometry: Geometry, m: Momentum) -> float:
    """The larger of the projected step's residual 2 L |x⁺ − y| |Y|, which includes S ⪰ 0, and the factor's residual."""
    return max(2.0 * m.residual * norm(m.evaluation.factor), factor_residual(geometry, m.evaluation))


def first_lipschitz(evaluation: Evaluation, g: Array) -> float:
    """|∇F(M + D) − ∇F(M)| / |D| for D = tr M · vvᵀ, v the eigenvector of ∇F(M) where F falls most; the unit of 1/step.

    If the gradient does not change, F may be linear: its change is then replaced by eps |∇F(M)|, which gives the
    longest first step that rounding allows.
    """
    v = np.linalg.eigh(g)[1][:, :1] * (norm(evaluation.factor) or 1.0)
    moved = finite_gradient(evaluation.append(v))
    return float(max(norm(moved - g), EPS * norm(g)) / norm(v) ** 2) or 1.0
