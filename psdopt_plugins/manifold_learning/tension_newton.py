"""Primal-dual Newton steps in a factor and the tensions of edges: what unfolding and locating sensors share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from psdopt import Evaluation, Method, Outcome, Residual, State, ensure_finite
from psdopt.linalg import Array, arc_of_inner, arc_polynomial, first_minimizer, inner, is_finite, row_dots
from psdopt_plugins.limits import MINOR


@dataclass(kw_only=True)
class TensionState(State):
    """Edge weights w predicted by the last step, the multiple theta of |w| that makes w feasible, and the best dual.

    `gradient_norm` is 2 gap / |Y|, gap = F(M) − best dual value: the gap in the units of the factor gradient.
    """

    weights: Array
    theta: float = 1.0
    bound: float = -math.inf
    waited: int = 0
    waited_from: float = math.inf


class Linearised(NamedTuple):
    """F = Σ_t ½ curvature (d_t − D_t)² − nu tr(H Y Yᵀ) at Y (n, r), d_t the squared lengths of edges t = (i, j).

    graph : its E (m, n) and `adjoint`, Eᵀ, make differences. differences : those of Y (m, r), anchors included.
    tensions : w (m,) = curvature (d − D). solve : R (n, r) ↦ X, the inverse of the damped Hessian. gradient : ∇F(Y).
    """

    Y: Array
    graph: Any
    differences: Array
    tensions: Array
    curvature: float
    solve: Callable[[Array], Array]
    gradient: Array
    nu: float = 0.0

    def arc(self, X: Array) -> tuple[Array, float, Array]:
        """(X₂, best mu of Y + mu X + mu² X₂, the weights that X predicts).

        Edges resist the second-order stretch |X_i − X_j|² of a long step, which X₂ from the same Hessian makes up for.
        mu is the first minimiser of a polynomial of degree eight.
        """
        first = np.asarray(self.graph.E @ X)
        linear, stretch = 2.0 * row_dots(self.differences, first), row_dots(first, first)
        X2 = self.solve(-2.0 * self.curvature * (self.graph.adjoint @ (stretch[:, None] * self.differences)))
        second = np.asarray(self.graph.E @ X2)
        bent = stretch + 2.0 * row_dots(self.differences, second)
        rates = np.stack([linear, bent, 2.0 * row_dots(first, second), row_dots(second, second)])
        spread = arc_of_inner(*(V - V.mean(axis=0) for V in (self.Y, X, X2))) if self.nu > 0.0 else []
        p = arc_polynomial(rates, self.tensions, self.curvature, [-self.nu * part for part in spread])
        return X2, first_minimizer(p), self.tensions + self.curvature * linear


class TensionNewton(Method[TensionState]):
    """Base of damped Newton methods on Lagrange's conditions in a factor Y and the tensions w of edges.

    A step is the arc of :class:`Linearised`. Columns are added after `patience` steps without a gap of half the size,
    and where no step descends; the run has stalled where none can be added then.
    """

    patience: int
    residual: ClassVar[Residual] = Residual.GAP

    @abstractmethod
    def linearised(self, problem: Any, state: TensionState) -> Linearised:
        """F at the factor of `state`, its Hessian damped by the multiple theta of |w|."""

    @abstractmethod
    def at(self, problem: Any, Y: Array) -> Evaluation:
        """F at the factor Y of :meth:`linearised`."""

    @abstractmethod
    def proven(self, problem: Any, weights: Array, guess: float) -> tuple[float, Any, float]:
        """(theta, dual point, dual value) of w + theta |w|, feasible; theta is nearly least, sought from `guess`."""

    @abstractmethod
    def grown(self, problem: Any, state: TensionState) -> TensionState | None:
        """The state with more columns, or None if there are none or no more are allowed."""

    def step(self, state: TensionState) -> TensionState:
        if state.waited >= self.patience:
            return self.grown(state.problem, state) or replace(state, waited=0, waited_from=math.inf)
        here = self.linearised(state.problem, state)
        if not is_finite(here.gradient):
            raise FloatingPointError("the gradient is not finite")
        X = here.solve(-here.gradient)
        if not (np.all(np.isfinite(X)) and inner(here.gradient, X) < 0.0):
            return self.grown(state.problem, state) or replace(state, outcome=Outcome.STALLED)
        X2, mu, weights = here.arc(X)
        if mu == math.inf:
            return replace(state, outcome=Outcome.UNBOUNDED)
        evaluation = ensure_finite(self.at(state.problem, here.Y + mu * X + mu * mu * X2))
        if not evaluation.value < state.evaluation.value:
            return self.grown(state.problem, state) or replace(state, outcome=Outcome.STALLED)
        return self.judged(state, evaluation, weights, mu)

    def judged(self, state: TensionState, evaluation: Evaluation, weights: Array, mu: float = 0.0) -> TensionState:
        """The state at `evaluation`, after a step mu that predicted `weights`, with the gap that they prove."""
        theta, dual, value = self.proven(state.problem, weights, state.theta)
        better = value > state.bound or state.dual is None
        bound = max(value, state.bound)
        gap = max(evaluation.value - bound, 0.0)
        halved = gap <= 0.5 * state.waited_from
        idle = mu >= 1.0 and not better and state.evaluation.value - evaluation.value <= MINOR * gap
        return replace(
            state,
            point=evaluation.factor,
            evaluation=evaluation,
            gradient_norm=2.0 * gap / evaluation.size if evaluation.size > 0.0 else 0.0,
            step=mu,
            outcome=Outcome.RUNNING,
            extras={"gap": gap, "theta": theta},
            weights=weights,
            theta=theta,
            dual=dual if better else state.dual,
            bound=bound,
            waited=0 if halved else state.waited + (-(-self.patience // 2) if idle else 1),
            waited_from=gap if halved else state.waited_from,
        )
