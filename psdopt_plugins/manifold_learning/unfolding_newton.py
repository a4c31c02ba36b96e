"""Primal-dual Newton steps for maximum variance unfolding: a sparse block Hessian on the graph."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt import (
    Ability,
    Evaluation,
    Geometry,
    Problem,
    PSDCone,
    Requires,
    ensure_finite,
    stationarity_scale,
    widened,
)
from psdopt.checks import integer
from psdopt.linalg import EPS, Array, principal_axes
from psdopt_plugins.limits import MINOR
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges
from psdopt_plugins.manifold_learning.mvu_problem import GRAPH_HESSIAN, UnfoldingProblem, graph_dual_of
from psdopt_plugins.manifold_learning.newton_systems import NewtonSystem
from psdopt_plugins.manifold_learning.tension_newton import Linearised, TensionNewton, TensionState


@dataclass(frozen=True)
class UnfoldingNewton(TensionNewton):
    """Damped Newton on Lagrange's conditions in Y and w, with the Hessian of all columns at once.

    With w independent of Y, the conditions (L(w) − nu H) Y = 0 and w = 4 (d(Y) − D) linearise to

        [2 L(w + delta |w|) − 2 nu H + 16 Σ_t (δ_t δ_tᵀ) ⊗ (e_i − e_j)(e_i − e_j)ᵀ] X = −2 S Y,   δ_t = y_i − y_j,

    and w⁺ = 4 (d − D) + 8 ⟨δ_t, X_i − X_j⟩. The Hessian is taken at the predicted w and not at 4 (d − D), since for
    tight edges (small nu) the errors are stiff while the predicted tensions are smooth. delta is the least
    number with L(w + delta |w|) − nu H ⪰ 0, found by inertia; w + delta |w| is then dual feasible, so that every
    step also has a proven gap. Since edges resist the second-order stretch |X_i − X_j|² of a long step, the step is the
    arc Y + mu X + mu² X₂ with X₂ from the same Hessian, at the first minimiser of a polynomial of degree eight.

    If the factors of the Hessian stay sparse, as on the neighbour graph of a surface, it is factorised. Otherwise,
    as for images of digits, its systems are solved by conjugate gradient, to a tenth, preconditioned by the
    factors of its r diagonal blocks (:mod:`psdopt_plugins.manifold_learning.newton_systems`).

    Parameters
    ----------
    columns : most columns of Y; 0 means no limit. If the gap stops falling, or F has converged far above the best dual
        point, half as many columns as there are now are added along negative eigenvectors of S.
    patience : steps without a gap of half the size after which columns are added. A full step that finds no better dual
        point and lowers F by less than a thousandth of the gap counts as half of them: more would not close the gap.

    For an :class:`~psdopt_plugins.manifold_learning.mvu_problem.UnfoldingProblem`, or any problem with the members of
    :class:`~psdopt_plugins.manifold_learning.mvu_problem.GraphDual`, on the cone. Cost of a step: one sparse
    factorisation of order n r, or r of order n and some tens of solves with each; about five more of order n.
    5 neighbours: n = 20,000 of a swiss roll, r = 8, three seconds, 700 MB; 3,000 digits, r = 16, three seconds.
    """

    columns: int = 0
    patience: int = 8

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, GRAPH_HESSIAN),
        "geometry": (Ability.FULL_CONE,),
    }
    descends: ClassVar[bool] = True

    @staticmethod
    def conformance_instances() -> list[tuple[Problem, Geometry]]:
        """Instances for the conformance kit: loose and tight edges of a small graph."""
        X = np.random.default_rng(0).standard_normal((10, 3))
        edges = nearest_neighbour_edges(X, 5)
        return [(UnfoldingProblem(edges, nu), PSDCone(edges.n)) for nu in (0.1, 1e-3)]

    def __post_init__(self) -> None:
        integer(self.columns, "columns", 0)
        integer(self.patience, "patience")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TensionState:
        dual = graph_dual_of(problem)
        evaluation = _principal(ensure_finite(evaluation or problem.at(geometry.factor(start))))
        weights = np.maximum(dual.tensions(evaluation), 0.0)
        blank = TensionState(problem, geometry, evaluation.factor, evaluation, weights=weights)
        return self.judged(blank, evaluation, weights)

    def linearised(self, problem: Any, state: TensionState) -> Linearised:
        dual, evaluation = graph_dual_of(problem), state.evaluation
        graph, nu, Y, tensions = dual.graph, dual.nu, evaluation.factor, dual.tensions(evaluation)
        # columns that shrink to zero are nearly free, and with less damping only short steps descend
        system = NewtonSystem.of(graph, nu, Y, state.weights, max(state.theta, MINOR))
        gradient = evaluation.factor_gradient()
        return Linearised(Y, graph, system.differences, tensions, 4.0, system.solve, gradient, nu)

    def at(self, problem: Any, Y: Array) -> Evaluation:
        return _principal(ensure_finite(problem.at(Y)))

    def proven(self, problem: Any, weights: Array, guess: float) -> tuple[float, Array, float]:
        dual = graph_dual_of(problem)
        feasible, theta = dual.graph.feasible(weights, dual.nu, guess)
        return theta, feasible, dual.dual_value(feasible)

    def grown(self, problem: Any, state: TensionState) -> TensionState | None:
        """More columns along negative eigenvectors of S."""
        r = state.evaluation.factor.shape[1]
        most = self.columns or problem.n
        unit = stationarity_scale(problem, state.evaluation.value, 1.0)
        wider = widened(state.evaluation, most, -EPS * unit) if r < most else None
        if wider is None or not wider.value < state.evaluation.value:
            return None
        return self.judged(replace(state, waited=0, waited_from=math.inf), _principal(wider), state.weights)


def _principal(evaluation: Evaluation) -> Evaluation:
    """Y in its principal axes, columns at rounding level dropped. No application of a map."""
    _, W = principal_axes(evaluation.factor)
    return evaluation.mix(W) if W.shape[1] else evaluation
