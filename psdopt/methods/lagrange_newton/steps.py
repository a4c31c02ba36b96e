"""Newton steps on Lagrange's conditions in the factor and the multipliers of few measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability, Requires, on_factors
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.quadratic_fit import Block, QuadraticFit, quadratic_fit_of
from psdopt.linalg.arc import arc_polynomial, first_minimizer
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import tie
from psdopt.methods.alternating import STEP
from psdopt.methods.lagrange_newton.system import LagrangeSystem

#: Damping of S(w), as a multiple of |S Y| / |Y|: it vanishes with the residual, so that convergence is quadratic.
DAMPING = 0.2
#: A Newton step is slow if the residual stays above this share of its least value so far.
SLOW = 0.7
#: For small arrays the number of calls decides: a Newton step costs CALLS steps of conjugate gradient. Beyond
#: MULTIPLICATIONS, factorisations increase this ratio; beyond ENTRIES of Y, and beyond MEASURED of its images under the
#: measurements, passes over these decrease it. It holds to a factor of two for n from 10 to 150 and m from 50 to 2,400.
CALLS, MULTIPLICATIONS, ENTRIES, MEASURED = 3.0, 1e7, 3e3, 2e4
#: A step of conjugate gradient on a quartic line costs about as much as so many products with ∇²F(Y).
PRODUCTS = 2.0


@dataclass(kw_only=True)
class LagrangeState(State):
    """`multipliers` w (m,) as the last step predicts them, None before the first step.

    `slow` counts the steps since the residual was `mark`, its least value apart from steps that gained little.
    """

    multipliers: Array | None = None
    slow: int = 0
    mark: float = math.inf


@dataclass(frozen=True)
class LagrangeSteps(Method[LagrangeState]):
    """Newton's step on S(w) Y = 0, w = phi'(a), along an arc: :class:`~psdopt.LagrangeNewton` without a first phase.

    Stalls if the system cannot be solved or no step along the arc lowers F. The history's column `damping`
    is delta of :class:`~psdopt.methods.lagrange_newton.system.LagrangeSystem`, `products` the number of products with
    ∇²F(Y) that cost as much as the step beyond a first-order one.
    """

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.QUADRATIC_FIT)
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> LagrangeState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        gradient_norm = norm(evaluation.factor_gradient())
        return LagrangeState(problem, geometry, start, evaluation, gradient_norm=gradient_norm)

    def step(self, state: LagrangeState) -> LagrangeState:
        here = state.evaluation
        if not math.isfinite(state.gradient_norm):
            raise FloatingPointError(f"the gradient's norm is {state.gradient_norm}")
        if here.size == 0.0 or state.gradient_norm == 0.0:
            return replace(state, outcome=Outcome.STALLED)
        fit = quadratic_fit_of(state.problem)
        Y, measured = fit.at(here)
        own = fit.multipliers(measured)
        arc = _arc(fit, state, Y, own)
        if arc is None:
            return replace(state, outcome=Outcome.STALLED)
        slope = inner(here.factor_gradient(), arc.X)
        # a decrease below the rounding of F gives no information on the step length
        shown = abs(slope) > tie(here.value, state.problem.value_at_zero())
        mu = first_minimizer(_polynomial(fit, Y, own, arc, slope)) if shown else 1.0
        if math.isinf(mu):
            return replace(state, step=mu, outcome=Outcome.UNBOUNDED, ray=arc.Z if norm(arc.Z) > 0.0 else arc.X)
        if not mu > 0.0:
            return replace(state, outcome=Outcome.STALLED)
        there = state.problem.at(here.factor + mu * (arc.X + mu * arc.Z))
        gradient_norm = norm(there.factor_gradient())
        if not _better(state, there, gradient_norm):
            return replace(state, outcome=Outcome.STALLED)
        mark = min(state.mark, state.gradient_norm)
        fast = gradient_norm <= SLOW * mark
        return replace(
            state,
            point=there.factor,
            evaluation=there,
            gradient_norm=gradient_norm,
            step=mu,
            extras={"damping": arc.damping, "products": max(PRODUCTS * price(fit, here.factor.shape[1]) - STEP, 0.0)},
            multipliers=arc.multipliers,
            slow=0 if fast else state.slow + 1,
            mark=gradient_norm if fast else mark,
        )


@dataclass(frozen=True)
class _Arc:
    """Y + mu X + mu² Z; `first` and `second` (m,) are the coefficients of mu and mu² in the measurements.

    `multipliers` (m,) are those predicted at mu = 1.
    """

    X: Array
    Z: Array
    move: Block  # X as a block
    first: Array
    second: Array
    multipliers: Array
    damping: float


def _arc(fit: QuadraticFit, state: LagrangeState, Y: Block, own: Array) -> _Arc | None:
    """The arc from the current point, or None if the system of the multipliers cannot be solved."""
    here = state.evaluation
    damping = DAMPING * 0.5 * state.gradient_norm / here.size
    w = own if state.multipliers is None else state.multipliers
    try:
        system = LagrangeSystem(fit, Y, here.factor, w, damping, np.empty((fit.size, fit.size)))
    except np.linalg.LinAlgError:
        return None
    X, predicted = system.newton(w, own)
    move = fit.block(X)
    Z, bent = system.bend(fit.pair(move, move))
    rates = (predicted - own) / fit.curvatures, bent / fit.curvatures
    return _Arc(X, Z, move, *rates, predicted + bent, system.delta)


def _polynomial(fit: QuadraticFit, Y: Block, own: Array, arc: _Arc, slope: float) -> list[float]:
    """F along the arc, minus F at its start."""
    X, Z = arc.move, fit.block(arc.Z)
    rates = np.stack([arc.first, arc.second, *fit.along(X, Z)])
    linear = [
        2.0 * fit.linear(Y, X),
        fit.linear(X, X) + 2.0 * fit.linear(Y, Z),
        2.0 * fit.linear(X, Z),
        fit.linear(Z, Z),
    ]
    return arc_polynomial(rates, own, fit.curvatures, linear, slope)


def _better(state: LagrangeState, there: Evaluation, gradient_norm: float) -> bool:
    """Whether F is lower, or equal up to rounding with half the gradient; near the optimum only gradients differ."""
    value = state.evaluation.value
    if there.value < value or not math.isfinite(there.value):
        return True
    level = value + tie(value, state.problem.value_at_zero())
    return there.value <= level and gradient_norm < 0.5 * state.gradient_norm


def price(fit: QuadraticFit, columns: int) -> float:
    """An estimate of the cost of a Newton step in steps of conjugate gradient on Y (n, `columns`), from n, m and r."""
    n, m = float(fit.n), float(fit.size)
    return (
        CALLS * (1.0 + (m**3 / 3.0 + n**3) / MULTIPLICATIONS) / (1.0 + n * columns / ENTRIES + m * columns / MEASURED)
    )
