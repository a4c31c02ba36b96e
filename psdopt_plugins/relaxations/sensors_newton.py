"""Primal-dual Newton steps for sensors in more dimensions than their own: a sparse block Hessian on the network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from psdopt import Ability, Evaluation, Geometry, Problem, Requires, ensure_finite
from psdopt.checks import integer
from psdopt.linalg import Array, row_dots
from psdopt_plugins.limits import MINOR, SLIGHT
from psdopt_plugins.manifold_learning.graph_matrices import base_weights
from psdopt_plugins.manifold_learning.newton_systems import factorises
from psdopt_plugins.manifold_learning.tension_newton import Linearised, TensionNewton, TensionState
from psdopt_plugins.relaxations.sensors_graph import SensorGraph
from psdopt_plugins.relaxations.sensors_problem import SENSOR_NETWORK, SensorProblem, Tensions


@dataclass(frozen=True)
class SensorNewton(TensionNewton):
    """Damped Newton on Lagrange's conditions in the places Z (n, k) of sensors and the tensions w of their pairs.

    M = [I, Pᵀ; P, Z Zᵀ], Z = [P, V]: sensors at places of k >= d dimensions, anchors fixed in the first d. F is the sum
    of r_t², r_t = |z_i − z_j|² − distance_t², and any such Z of least F in enough dimensions is a solution. With
    w independent of Z, the conditions L(w) Z = forces of the anchors and w = 2 r linearise to

        [2 L(w + delta |w|) + 8 Σ_t (δ_t δ_tᵀ) ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X = −∇F(Z),   δ_t = z_i − z_j,

    and w⁺ = 2 r + 4 ⟨δ_t, X_i − X_j⟩. delta is the least number with L(w + delta |w|) ⪰ 0, so that each step also
    proves a bound (:meth:`~psdopt_plugins.relaxations.sensors_graph.SensorGraph.bound`). The step is the arc
    Z + mu X + mu² X₂ with X₂ from the same Hessian, as in
    :class:`~psdopt_plugins.manifold_learning.unfolding_newton.UnfoldingNewton`.

    A run begins in the d dimensions of its start. If that is not proven optimal, `lift` dimensions are added, with
    small random coordinates from a fixed seed; twice as many where Newton systems are not factorised, whose cost then
    does not grow with their cube. If the gap stops falling, dimensions in which unstable modes of the
    network come to rest take the place of those that F hardly needs. The tensions that they would add also give
    feasible ones, whose bound may be better than that of w + delta |w| (:meth:`SensorGraph.lifted`).

    Parameters
    ----------
    lift : dimensions added at first, or half of them; at most n in all. patience : steps without a gap of half the
        size after which more are added.

    For a :class:`~psdopt_plugins.relaxations.sensors_problem.SensorProblem` without bounds on distances, on the cone.
    Cost of a step: a sparse factorisation of order n k, or up to MOST_PRODUCTS iterations of conjugate gradient
    (:meth:`SensorGraph.hessian`), and some thirty factorisations of order n.
    """

    lift: int = 10
    patience: int = 8

    requires: ClassVar[Requires] = {
        "problem": (Ability.CONSTRAINTS, SENSOR_NETWORK),
        "geometry": (Ability.FULL_CONE,),
    }

    def __post_init__(self) -> None:
        integer(self.lift, "lift")
        integer(self.patience, "patience")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TensionState:
        graph = cast(SensorProblem, problem).graph
        Z = graph.places(geometry.factor(start))
        blank = TensionState(problem, geometry, start, self.at(problem, Z), weights=np.zeros(0), theta=MINOR, bound=0.0)
        first = self.judged(blank, blank.evaluation, base_weights(2.0 * graph.excess(graph.differences(Z))))
        return replace(first, waited=self.patience) if Z.shape[1] == graph.d else first

    def linearised(self, problem: Any, state: TensionState) -> Linearised:
        graph: SensorGraph = problem.graph
        Z = state.evaluation.factor[graph.d + graph.seen]
        steps = graph.differences(Z)
        tensions = 2.0 * graph.excess(steps)
        damped = state.weights + max(state.theta, MINOR) * base_weights(state.weights)
        gradient = graph.adjoint @ (2.0 * tensions[:, None] * steps)
        # the error of the predicted tensions should fall with the multiple of |w| that makes them feasible
        solve = graph.hessian(steps, 2.0 * damped, min(MINOR, state.theta or MINOR))
        return Linearised(Z, graph, steps, tensions, 2.0, solve, gradient)

    def at(self, problem: Any, Y: Array) -> Evaluation:
        return ensure_finite(problem.at(problem.graph.factor(Y)))

    def proven(self, problem: Any, weights: Array, guess: float) -> tuple[float, Tensions, float]:
        graph: SensorGraph = problem.graph
        w = 0.5 * weights
        feasible, theta = graph.feasible(w, guess)
        best = graph.bound(feasible), feasible
        if theta > 0.0 and (U := graph.lifted(w, theta)).shape[1]:
            stable, _ = graph.feasible(w + row_dots(V := graph.E @ U, V), SLIGHT * theta)
            best = max(best, (graph.bound(stable), stable), key=lambda each: each[0])
        return theta, Tensions(best[1]), best[0]

    def grown(self, problem: Any, state: TensionState) -> TensionState | None:
        """At first `lift` dimensions or twice as many: random coordinates, a slight share of the mean length of a pair.

        Later those in which unstable modes rest (:meth:`SensorGraph.lifted`), in place of the dimensions that F hardly
        needs.
        """
        graph: SensorGraph = problem.graph
        Z = state.evaluation.factor[graph.d + graph.seen]
        n, k = Z.shape
        if k == graph.d:
            spread = SLIGHT * float(np.sqrt(graph.squares.mean()))
            few = factorises(graph.matrices, k + self.lift)
            more = min(self.lift if few else 2 * self.lift, n)
            added = spread * np.random.default_rng(k).standard_normal((n, more))
        else:
            Z = self._needed(graph, Z, state.evaluation.value + SLIGHT * state.extras["gap"])
            tensions = graph.excess(graph.differences(Z))
            _, theta = graph.feasible(tensions, state.theta)
            added = graph.lifted(tensions, theta) if theta > 0.0 else Z[:, :0]
        if added.shape[1] == 0:
            return None
        wider = np.column_stack([Z, added])
        weights = 2.0 * graph.excess(graph.differences(wider))
        weights = base_weights(weights) if k == graph.d else weights
        return self.judged(replace(state, waited=0, waited_from=np.inf), self.at(problem, wider), weights)

    @staticmethod
    def _needed(graph: SensorGraph, Z: Array, most: float) -> Array:
        """Z without as many of the least principal axes beyond the first d dimensions as keep F at most `most`."""
        U, sizes, _ = np.linalg.svd(Z[:, graph.d :], full_matrices=False)
        while len(sizes):
            fewer = np.column_stack([Z[:, : graph.d], U[:, : len(sizes) - 1] * sizes[:-1]])
            excess = graph.excess(graph.differences(fewer))
            if not float(excess @ excess) <= most:
                break
            Z, sizes = fewer, sizes[:-1]
        return Z
