"""Primal-dual Newton steps for sensors in more dimensions than their own: a sparse block Hessian on the network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt import Ability, Evaluation, Geometry, Method, Outcome, Problem, Requires, Residual, State, ensure_finite
from psdopt.checks import integer
from psdopt.linalg import Array, arc_polynomial, first_minimizer, inner, row_dots
from psdopt_plugins.limits import MINOR, SLIGHT
from psdopt_plugins.manifold_learning.graph_matrices import base_weights
from psdopt_plugins.relaxations.sensors_graph import SensorGraph
from psdopt_plugins.relaxations.sensors_problem import SENSOR_NETWORK, SensorProblem, Tensions


@dataclass(kw_only=True)
class SensorNewtonState(State):
    """Tensions w predicted by the last step, the multiple theta of |w| that makes them feasible, and the best `bound`.

    `gradient_norm` is 2 gap / |Y|, gap = F(M) − bound.
    """

    weights: Array
    theta: float
    bound: float
    waited: int = 0
    waited_from: float = np.inf


@dataclass(frozen=True)
class SensorNewton(Method[SensorNewtonState]):
    """Damped Newton on Lagrange's conditions in the places Z (n, k) of sensors and the tensions w of their pairs.

    M = [I, Pᵀ; P, Z Zᵀ], Z = [P, V]: sensors at places of k >= d dimensions, anchors fixed in the first d. F is the sum
    of r_t², r_t = |z_i − z_j|² − distance_t², and any such Z of least F in enough dimensions is a solution. With
    w independent of Z, the conditions L(w) Z = forces of the anchors and w = r linearise to

        [4 L(w + delta |w|) + 8 Σ_t (δ_t δ_tᵀ) ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X = −∇F(Z),   δ_t = z_i − z_j,

    and w⁺ = r + 2 ⟨δ_t, X_i − X_j⟩. delta is the least number with L(w + delta |w|) ⪰ 0, so that each step also
    proves a bound (:meth:`~psdopt_plugins.relaxations.sensors_graph.SensorGraph.bound`). The step is the arc
    Z + mu X + mu² X₂ with X₂ from the same Hessian, as in
    :class:`~psdopt_plugins.manifold_learning.unfolding_newton.UnfoldingNewton`.

    A run begins in the d dimensions of its start. If that is not proven optimal, `lift` dimensions are added, with
    small random coordinates from a fixed seed, and again half as many as there are if the gap stops falling.

    Parameters
    ----------
    lift : dimensions added at first, at most n in all. patience : steps without a gap of half the size after which more
        are added.

    For a :class:`~psdopt_plugins.relaxations.sensors_problem.SensorProblem` without bounds on distances, on the cone.
    Cost of a step: a sparse factorisation of order n k, and about five of order n.
    """

    lift: int = 10
    patience: int = 8

    requires: ClassVar[Requires] = {
        "problem": (Ability.CONSTRAINTS, SENSOR_NETWORK),
        "geometry": (Ability.FULL_CONE,),
    }
    residual: ClassVar[Residual] = Residual.GAP

    def __post_init__(self) -> None:
        integer(self.lift, "lift")
        integer(self.patience, "patience")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SensorNewtonState:
        graph = graph_of(problem)
        Z = graph.places(geometry.factor(start))
        blank = SensorNewtonState(
            problem, geometry, start, problem.at(graph.factor(Z)), weights=np.zeros(0), theta=MINOR, bound=0.0
        )
        return self._judged(blank, Z, base_weights(graph.excess(graph.differences(Z))), 0.0)

    def step(self, state: SensorNewtonState) -> SensorNewtonState:
        graph = graph_of(state.problem)
        Z = state.evaluation.factor[graph.d + graph.seen]
        k = Z.shape[1]
        if state.waited >= self.patience or k == graph.d:
            return self._lifted(state)
        steps = graph.differences(Z)
        excess = graph.excess(steps)
        tension = state.weights + max(state.theta, MINOR) * base_weights(state.weights)
        blocks = 8.0 * steps[:, :, None] * steps[:, None, :] + 4.0 * tension[:, None, None] * np.eye(k)
        solve = graph.factors(blocks)
        gradient = graph.Et @ (4.0 * excess[:, None] * steps)
        X = solve(-gradient)
        if not (np.all(np.isfinite(X)) and inner(gradient, X) < 0.0):
            return replace(state, outcome=Outcome.STALLED)
        first = np.asarray(graph.E @ X)
        linear, stretch = 2.0 * row_dots(steps, first), row_dots(first, first)
        X2 = solve(-(graph.Et @ (4.0 * stretch[:, None] * steps)))
        second = np.asarray(graph.E @ X2)
        bent = [stretch + 2.0 * row_dots(steps, second), 2.0 * row_dots(first, second), row_dots(second, second)]
        mu = first_minimizer(arc_polynomial(np.stack([linear, *bent]), 2.0 * excess, 2.0, []))
        return self._judged(state, Z + mu * X + mu * mu * X2, excess + linear, mu)

    def _judged(self, state: SensorNewtonState, Z: Array, weights: Array, mu: float) -> SensorNewtonState:
        """The state at Z (n, k): the multiple that makes `weights` feasible, and the gap that they prove."""
        graph = graph_of(state.problem)
        evaluation = ensure_finite(state.problem.at(graph.factor(Z)))
        feasible, theta = graph.feasible(weights, state.theta)
        value, dual, bound = graph.bound(feasible), state.dual, state.bound
        if value > bound or dual is None:
            dual, bound = Tensions(feasible), max(value, bound)
        gap = max(evaluation.value - bound, 0.0)
        halved = gap <= 0.5 * state.waited_from
        return replace(
            state,
            point=evaluation.factor,
            evaluation=evaluation,
            gradient_norm=2.0 * gap / evaluation.size,
            step=mu,
            extras={"gap": gap, "theta": theta},
            weights=weights,
            theta=theta,
            dual=dual,
            bound=bound,
            waited=0 if halved else state.waited + 1,
            waited_from=gap if halved else state.waited_from,
        )

    def _lifted(self, state: SensorNewtonState) -> SensorNewtonState:
        """More dimensions, with random coordinates of a slight share of the mean length of a pair."""
        graph = graph_of(state.problem)
        Z = state.evaluation.factor[graph.d + graph.seen]
        n, k = Z.shape
        more = min(self.lift if k == graph.d else -(-k // 2), graph.d + n - k)
        if more <= 0:
            return replace(state, waited=0, waited_from=np.inf)
        spread = SLIGHT * float(np.sqrt(graph.squares.mean()))
        wider = np.column_stack([Z, spread * np.random.default_rng(k).standard_normal((n, more))])
        weights = base_weights(graph.excess(graph.differences(wider)))
        return self._judged(replace(state, waited=0, waited_from=np.inf), wider, weights, 0.0)


def graph_of(problem: Any) -> SensorGraph:
    """The network of a :class:`SensorProblem`."""
    found: SensorProblem = problem
    return found.graph
