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
    Method,
    Outcome,
    Problem,
    PSDCone,
    Requires,
    Residual,
    State,
    ensure_finite,
    stationarity_scale,
    widened,
)
from psdopt.checks import integer
from psdopt.linalg import (
    EPS,
    Array,
    arc_of_inner,
    arc_polynomial,
    first_minimizer,
    inner,
    is_finite,
    norm,
    principal_axes,
    row_dots,
)
from psdopt_plugins.limits import MINOR
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges
from psdopt_plugins.manifold_learning.graph_matrices import base_weights
from psdopt_plugins.manifold_learning.mvu_problem import GRAPH_HESSIAN, GraphDual, UnfoldingProblem, graph_dual_of
from psdopt_plugins.manifold_learning.newton_systems import NewtonSystem


@dataclass(kw_only=True)
class UnfoldingNewtonState(State):
    """Edge weights w predicted by the last step, the multiple theta of |w| that makes w feasible, and the best dual.

    `gradient_norm` is 2 gap / |Y|, gap = F(M) − best dual value: the gap in the units of the factor gradient.
    """

    weights: Array
    theta: float = 1.0
    bound: float = -math.inf
    waited: int = 0
    waited_from: float = math.inf


@dataclass(frozen=True)
class UnfoldingNewton(Method[UnfoldingNewtonState]):
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
    residual: ClassVar[Residual] = Residual.GAP

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
    ) -> UnfoldingNewtonState:
        dual = graph_dual_of(problem)
        evaluation = _principal(ensure_finite(evaluation or problem.at(geometry.factor(start))))
        weights = np.maximum(dual.tensions(evaluation), 0.0)
        blank = UnfoldingNewtonState(problem, geometry, evaluation.factor, evaluation, weights=weights)
        return self._judged(blank, evaluation, weights, 0.0)

    def step(self, state: UnfoldingNewtonState) -> UnfoldingNewtonState:
        problem = graph_dual_of(state.problem)
        if state.waited >= self.patience:
            return self._grown(state) or replace(state, waited=0, waited_from=math.inf)
        Y = state.evaluation.factor
        # columns that shrink to zero are nearly free, and with less damping only short steps descend
        system = NewtonSystem.of(problem.graph, problem.nu, Y, state.weights, max(state.theta, MINOR))
        gradient = state.evaluation.factor_gradient()
        if not is_finite(gradient):
            raise FloatingPointError("the gradient is not finite")
        X = system.solve(-gradient)
        if not (np.all(np.isfinite(X)) and inner(gradient, X) < 0.0):
            return self._grown(state) or replace(state, outcome=Outcome.STALLED)
        second, mu, weights = _arc(problem, system, state.evaluation, X)
        if mu == math.inf:
            return replace(state, outcome=Outcome.UNBOUNDED)
        evaluation = ensure_finite(state.problem.at(Y + mu * X + mu * mu * second))
        if not evaluation.value < state.evaluation.value:
            return self._grown(state) or replace(state, outcome=Outcome.STALLED)
        return self._judged(state, _principal(evaluation), weights, mu)

    def _judged(
        self, state: UnfoldingNewtonState, evaluation: Evaluation, weights: Array, mu: float
    ) -> UnfoldingNewtonState:
        """The state at `evaluation`: the multiple that makes `weights` feasible, and the gap that they prove."""
        problem = graph_dual_of(state.problem)
        base = base_weights(weights)
        theta = problem.graph.feasible_multiple(weights, base, problem.nu, state.theta)
        feasible = weights + theta * base
        value, dual, bound = problem.dual_value(feasible), state.dual, state.bound
        if value > bound:
            dual, bound = feasible, value
        gap = max(evaluation.value - bound, 0.0)
        halved = gap <= 0.5 * state.waited_from
        idle = mu >= 1.0 and value <= state.bound and state.evaluation.value - evaluation.value <= MINOR * gap
        size = norm(evaluation.factor)
        return UnfoldingNewtonState(
            state.problem,
            state.geometry,
            evaluation.factor,
            evaluation,
            gradient_norm=2.0 * gap / size if size > 0.0 else 0.0,
            step=mu,
            outcome=Outcome.RUNNING,
            extras={"gap": gap, "theta": theta},
            weights=weights,
            theta=theta,
            dual=dual,
            bound=bound,
            waited=0 if halved else state.waited + (-(-self.patience // 2) if idle else 1),
            waited_from=gap if halved else state.waited_from,
        )

    def _grown(self, state: UnfoldingNewtonState) -> UnfoldingNewtonState | None:
        """More columns along negative eigenvectors of S, or None if there are none or no more are allowed."""
        r = state.evaluation.factor.shape[1]
        most = self.columns or state.problem.n
        unit = stationarity_scale(state.problem, state.evaluation.value, 1.0)
        wider = widened(state.evaluation, most, -EPS * unit) if r < most else None
        if wider is None or not wider.value < state.evaluation.value:
            return None
        fresh = replace(state, waited=0, waited_from=math.inf)
        return self._judged(fresh, _principal(wider), state.weights, 0.0)


def _arc(problem: GraphDual, system: NewtonSystem, evaluation: Evaluation, X: Array) -> tuple[Array, float, Array]:
    """(X₂, best mu of Y + mu X + mu² X₂, predicted weights)."""
    graph, Y = problem.graph, evaluation.factor
    tensions = problem.tensions(evaluation)
    first = graph.E @ X
    linear = 2.0 * row_dots(system.differences, first)
    stretch = row_dots(first, first)
    X2 = system.solve(-8.0 * (graph.adjoint @ (stretch[:, None] * system.differences)))
    second = graph.E @ X2
    rates = np.stack(
        [
            linear,
            stretch + 2.0 * row_dots(system.differences, second),
            2.0 * row_dots(first, second),
            row_dots(second, second),
        ]
    )
    spread = arc_of_inner(*(V - V.mean(axis=0) for V in (Y, X, X2)))
    p = arc_polynomial(rates, tensions, 4.0, [-problem.nu * part for part in spread])
    return X2, first_minimizer(p), tensions + 4.0 * linear


def _principal(evaluation: Evaluation) -> Evaluation:
    """Y in its principal axes, columns at rounding level dropped. No application of a map."""
    _, W = principal_axes(evaluation.factor)
    return evaluation.mix(W) if W.shape[1] else evaluation
