"""Newton steps on the factor and the multipliers of linear constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints.augmented.start import first_multipliers
from psdopt.constraints.model import ConstrainedModel
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability, Requires, on_factors
from psdopt.contracts.constrained_fit import ConstrainedFit, constrained_fit_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, rounding
from psdopt.methods.lagrange_newton.constrained_moves import Active, Move, newton_move
from psdopt.methods.lagrange_newton.steps import DAMPING, SLOW
from psdopt.methods.searches.step_lengths import SUFFICIENT


@dataclass(kw_only=True)
class ConstrainedState(State):
    """Multipliers y (m,), zero where M pushes against no bound; the penalty `sigma`; `pull` = |S(y) Y|.

    `residual` is the largest relative error of Lagrange's conditions. `indefinite` is τ max(0, −λ_min(S)) at the
    multipliers before the step, relative to the values; `saddle` says whether Y has too few columns, so that S stays
    indefinite. `slow` counts the steps since the residual was `mark`, its least value apart from steps that gained
    little.
    """

    y: Array
    sigma: float
    base: float
    pull: float
    residual: float
    indefinite: float
    saddle: bool
    slow: int = 0
    mark: float = math.inf


@dataclass(frozen=True)
class ConstrainedSteps(Method[ConstrainedState]):
    """Newton's step on S(y) Y = 0, A(Y Yᵀ) = b, in Y and y at once: :class:`~psdopt.LagrangeNewton` under constraints.

        (S(y) + delta I) X + ∇²F[X Yᵀ + Y Xᵀ] Y + Σ_t v_t A_t Y = −S(y) Y,   2 ⟨A_t Y, Xᵀ⟩ = b_t − a_t.

    A constraint is tied to a bound where a_t + y_t / w_t lies beyond it; elsewhere y_t = 0. The step follows the arc
    Y + mu X + mu² Z, Z the least correction of the stretch ⟨A_t, X Xᵀ⟩. mu is halved until the augmented Lagrangian of
    (Y, y) falls; if the step is not downhill, its penalty grows. delta vanishes with the residual, and keeps the
    rotations Y Q, which leave M as it is, out of the step. Where F is curved the system is solved by conjugate gradient
    among the X that meet the second equation.

    Stalls if no step is downhill, and once the residual is rounding. Cost of a step: n³ + m³/3 + O(n² r) flops and what
    the products A_s M A_t S⁻¹ take, for m tied constraints; memory n² + 3 m².
    """

    requires: ClassVar[Requires] = on_factors(Ability.CONSTRAINED_FIT)
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ConstrainedState:
        model = constrained_of(problem)
        evaluation = _onto(model, evaluation or problem.at(geometry.factor(start)))
        sigma, _ = first_multipliers(model, evaluation)
        return _at(model, geometry, evaluation, np.zeros(model.m), sigma, sigma)

    def continued(self, state: State) -> ConstrainedState:
        """From the point, the multipliers and the penalty of another method under constraints."""
        problem = constrained_of(state.problem)
        if not isinstance(state.dual, Multipliers):
            return self.init(problem, state.geometry, state.point, state.evaluation)
        sigma = state.extras.get("sigma") or first_multipliers(problem, state.evaluation)[0]
        here = _onto(problem, state.evaluation)
        return _at(problem, state.geometry, here, state.dual.y, sigma, sigma)

    def step(self, state: ConstrainedState) -> ConstrainedState:
        problem, here = constrained_of(state.problem), state.evaluation
        fit = constrained_fit_of(problem)
        if not math.isfinite(state.residual):
            raise FloatingPointError(f"the residual of Lagrange's conditions is {state.residual}")
        stalled = replace(state, outcome=Outcome.STALLED)
        if state.residual == 0.0 or here.size == 0.0:
            return stalled
        # the penalty of the merit function falls where the slope allows, but not below its first value
        sigma, a = max(state.base, SLIGHT * state.sigma), fit.measured(here)
        lost = rounding(max(abs(here.value), abs(here.value - problem.value_at_zero())), here.factor.size)
        while True:
            active = Active.of(fit, a, state.y, sigma)
            try:
                with np.errstate(over="raise", invalid="raise"):  # from a Y near zero a step to the bounds is too long
                    move = newton_move(fit, here, active, DAMPING * state.pull / here.size, state.residual)
                    needed = move.needed(fit, active, lost)
            except (np.linalg.LinAlgError, FloatingPointError):
                return stalled
            if needed <= sigma:
                break
            if not EPS * needed <= MINOR * state.base:  # the linearised constraints do not lead to a solution
                return stalled
            sigma = 2.0 * needed
        active = Active.of(fit, a, state.y, sigma)
        after = self._searched(state, fit, active, move, sigma, lost)
        if after is None:
            return stalled
        # S was taken before the step, so compare its negative eigenvalue with the residual before the step
        saddle = after.residual <= MINOR and MINOR * after.indefinite > state.residual
        mark = min(state.mark, state.residual)
        fast = after.residual <= SLOW * mark
        return replace(after, saddle=saddle, slow=0 if fast else state.slow + 1, mark=after.residual if fast else mark)

    def _searched(
        self, state: ConstrainedState, fit: ConstrainedFit, active: Active, move: Move, sigma: float, lost: float
    ) -> ConstrainedState | None:
        """The step by the first of mu = 1, 1/2, ... that lowers the merit function enough; None if none does."""
        problem, here = constrained_of(state.problem), state.evaluation
        first, slope = here.value + active.merit, move.slope(active)
        shown, mu = -slope > lost, 1.0
        while mu > MINOR:  # after shorter steps another method is faster
            there = problem.at(here.factor + mu * (move.X + mu * move.Z))
            y = active.y.copy()
            y[active.rows] += mu * (move.v + mu * move.bent)
            value = there.value + Active.of(fit, fit.measured(there), y, sigma, keep=True).merit
            if not shown or value <= first + SUFFICIENT * mu * slope + lost:
                after = _at(problem, state.geometry, there, y, sigma, state.base, mu, move)
                return after if shown or after.residual < 0.5 * state.residual else None
            mu *= 0.5
        return None


def _at(
    problem: ConstrainedModel,
    geometry: Geometry,
    evaluation: Evaluation,
    y: Array,
    sigma: float,
    base: float,
    step: float = math.nan,
    move: Move | None = None,
) -> ConstrainedState:
    """The state at Y and y, with the relative errors of Lagrange's conditions there."""
    fit = constrained_fit_of(problem)
    a = fit.measured(evaluation)
    active = Active.of(fit, a, y, sigma)
    pull = norm(fit.onto(np.asarray(slack_operator(problem, evaluation, active.y) @ evaluation.factor)))
    infeasibility = relative_violation(problem, a, evaluation.factor)
    nearest = np.clip(a, fit.lower, fit.upper) / fit.norms
    unit = norm(nearest) or norm(evaluation.factor.T @ evaluation.factor)
    tied = norm(active.off / fit.norms[active.rows]) / unit if unit > 0.0 else 0.0
    scale = stationarity_scale(problem, evaluation.value, evaluation.size) or 1.0
    residual = max(pull / scale, infeasibility, tied)
    limit = problem.trace_limit
    reach = evaluation.size**2 if limit is None else limit.value
    value_unit = problem.duality.value_unit(evaluation.value, reach) or 1.0
    indefinite = 0.0 if move is None else move.shift * reach / value_unit
    return ConstrainedState(
        problem,
        geometry,
        evaluation.factor,
        evaluation,
        gradient_norm=2.0 * max(residual, indefinite) * scale,
        step=step,
        extras={
            "sigma": base,
            "penalty": sigma,
            "infeasibility": infeasibility,
            "damping": math.nan if move is None else move.delta,
        },
        dual=Multipliers(active.y),
        y=active.y,
        sigma=sigma,
        base=base,
        pull=pull,
        residual=residual,
        indefinite=indefinite,
        saddle=False,
    )


def _onto(problem: ConstrainedModel, evaluation: Evaluation) -> Evaluation:
    """F at the projection of Y to the face that feasible M lie in."""
    Y = constrained_fit_of(problem).onto(evaluation.factor)
    return evaluation if Y is evaluation.factor else problem.at(Y)
