"""Gradient steps under linear equations, each ended at the nearest matrix that is feasible."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers, multipliers_at_zero
from psdopt.certificates.constrained.refutation import proven_infeasible, suspected_ray
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.scales import stationarity_scale
from psdopt.checks import integer
from psdopt.constraints.problem import Constrained, constrained_of
from psdopt.contracts.abilities import Ability, Requires, name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import MINOR, rounding
from psdopt.methods.nearest import Model, solution
from psdopt.methods.projected_gradient import first_lipschitz


@dataclass
class ConstrainedGradientState(State):
    """M and G = ∇F(M) as arrays, those before, the multipliers y, Nesterov's t, and the `curvature` L."""

    y: Array = field(default_factory=lambda: np.zeros(0))
    now: tuple[Array, Array] = field(default_factory=lambda: (np.zeros((0, 0)), np.zeros((0, 0))))
    before: tuple[Array, Array] = field(default_factory=lambda: (np.zeros((0, 0)), np.zeros((0, 0))))
    t: float = 1.0
    curvature: float = 1.0


@dataclass(frozen=True)
class ConstrainedGradient(Method[ConstrainedGradientState]):
    """M⁺ = argmin ⟨∇F(N), M⟩ + (L/2) |M − N|² over M ⪰ 0 with A(M) = b, for a quadratic F; N = M + beta (M − M₋).

    :class:`~psdopt.DualNewton` as it runs where F is no distance.

    Each M⁺ is the nearest feasible matrix to N − ∇F(N)/L, found by Newton steps on the multipliers, from the last ones:
    a step or two once these settle. ∇F is affine, so that ∇F(N) is at hand, and L is raised to the curvature of F along
    M⁺ − N where that is larger. Momentum begins anew where it leads against the step. If F is curved by at least μ in
    the directions in which M may move, an error falls by 1 − √(μ/L) a step.

    Beck, Teboulle (2009); O'Donoghue, Candès (2015) for the new beginnings.

    Parameters
    ----------
    inner : largest number of products with the Hessian of the dual per Newton step, at least 1.

    Cost per step: an evaluation and a gradient as arrays (n, n), and one to three eigendecompositions, 9 n³ flops or
    so, with products of O(n² p) as in :class:`~psdopt.DualNewton`.
    """

    inner: int = 100

    requires: ClassVar[Requires] = {"problem": (Ability.EQUATIONS,), "geometry": (Ability.FULL_CONE,)}
    ranks_by_value: ClassVar[bool] = False
    starts_at_zero: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        integer(self.inner, "inner")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ConstrainedGradientState:
        problem = _of_equations(problem)
        evaluation = ensure_finite(evaluation or problem.at(geometry.factor(start)))
        state = ConstrainedGradientState(problem, geometry, start, evaluation, gradient_norm=math.inf)
        if problem.only_zero or problem.contradiction is not None:
            return ended_at_zero(state, problem)
        state.dual = multipliers_at_zero(problem)
        G = dense_gradient(evaluation)
        state.y, state.now = np.zeros(problem.m), (evaluation.matrix.to_dense(), G)
        state.before, state.curvature = state.now, first_lipschitz(evaluation, G)
        return state

    def warmed(self, state: ConstrainedGradientState, multipliers: Array) -> ConstrainedGradientState:
        """The state with these multipliers, from which the first Newton steps begin."""
        return replace(state, y=multipliers)

    def step(self, state: ConstrainedGradientState) -> ConstrainedGradientState:
        problem = _of_equations(state.problem)
        forms, M, L = problem.forms, state.now[0], state.curvature
        assert forms is not None
        t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * state.t**2))
        beta = (state.t - 1.0) / t
        N, at_N = (now + beta * (now - before) for now, before in zip(state.now, state.before, strict=True))
        y = state.y
        for _ in range(MOST_STEPS):
            model = Model(L, at_N - L * N)
            y, Y, residual = solution((problem, model, forms), y, M, self.inner)
            evaluation = ensure_finite(problem.at(Y))
            found, there = evaluation.matrix.to_dense(), dense_gradient(evaluation)
            D = found - N
            curvature, square = inner(D, there - at_N), inner(D, D)
            if curvature <= L * square * (1.0 + MINOR) or not square > 0.0:
                break
            L = curvature / square
        turned = inner(N - found, found - M) > 0.0
        new = replace(
            state,
            point=state.geometry.from_factor(Y),
            evaluation=evaluation,
            step=1.0 / L,
            y=y,
            now=(found, there),
            before=(found, there) if turned else state.now,
            t=1.0 if turned else t,
            curvature=L,
            extras={"curvature": L},
            outcome=Outcome.RUNNING if np.any(found != M) else Outcome.STALLED,
        )
        off, trace = residual / problem.scale, norm(Y) ** 2
        error = there - at_N - L * D  # S less this is ⪰ 0 and takes M to 0
        gap = abs(inner(error, found)) + abs(float(y @ off)) + norm(error) * trace
        unit = problem.duality.value_unit(evaluation.value, trace) or 1.0
        infeasibility = relative_violation(problem, off + problem.lower, Y)
        return judged(new, infeasibility, gap / unit, norm(there))


def judged(
    state: ConstrainedGradientState, infeasibility: float, error: float, size: float, slack: Array | None = None
) -> ConstrainedGradientState:
    """`state` with its residual and its multipliers, and ended where these prove that no M is feasible.

    `infeasibility`, `error` : the violation and the gap, each over its unit; `size` : of ∇F; `slack` : a factor of S.
    """
    problem = _of_equations(state.problem)
    relative = max(infeasibility, error, rounding(1.0, 1)) if math.isfinite(infeasibility) else 1.0
    scale = stationarity_scale(problem, state.evaluation.value, state.evaluation.size) or 1.0
    ray = suspected_ray(problem, state.y, size, infeasibility)
    state.gradient_norm, state.dual = 2.0 * relative * scale, Multipliers(state.y, ray=ray, slack=slack)
    state.extras = {"infeasibility": infeasibility, **state.extras}
    if ray is not None and proven_infeasible(problem, [ray]) is not None:
        state.outcome = Outcome.FINISHED
    return state


def ended_at_zero(state: ConstrainedGradientState, problem: Constrained) -> ConstrainedGradientState:
    """`state` at M = 0, where no other M is feasible or none is."""
    zero = problem.at(np.zeros((problem.n, 1)))
    state.evaluation, state.point = zero, state.geometry.from_factor(zero.factor)
    state.dual, state.outcome = multipliers_at_zero(problem), Outcome.FINISHED
    return state


def _of_equations(problem: Problem) -> Constrained:
    """`problem`; IncompatibleError for any other problem."""
    known = constrained_of(problem)
    if Ability.EQUATIONS not in known.abilities:
        raise IncompatibleError(
            f"DualNewton needs Constrained(F, equations) with a quadratic F; found {name_of(problem)}"
        )
    return known
