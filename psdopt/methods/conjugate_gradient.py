"""Nonlinear conjugate gradient on the factor, with exact quartic line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.method import Method, Outcome, State
from psdopt.methods.curved_conjugate_gradient import CurvedState, curved_init, curved_step
from psdopt.problem import Evaluation, LineModel, Problem
from psdopt.searches.armijo import armijo_step
from psdopt.searches.preconditioning import PRECONDITIONERS, preconditioned

#: beta from (⟨g⁺,z⁺⟩, ⟨g,z⁺⟩, ⟨g,z⟩, ⟨y,d⟩), with z = P⁻¹g and y = g⁺ − g (numerators of the field's rules).
Rule = Callable[[float, float, float, float], float]
RULES: dict[str, Rule] = {
    "PR+": lambda new, mixed, old, curvature: max(0.0, (new - mixed) / old),
    "FR": lambda new, mixed, old, curvature: new / old,
    "HS": lambda new, mixed, old, curvature: (new - mixed) / curvature if curvature != 0.0 else 0.0,
    "DY": lambda new, mixed, old, curvature: new / curvature if curvature != 0.0 else 0.0,
}
SEARCHES = ("exact", "armijo")


@dataclass
class ConjugateGradientState(State):
    """Gradient G here; of the step that led here the gradient at its start, its direction D and ⟨G, P⁻¹G⟩ there.

    P⁻¹G is computed by the step that needs it: the last point of a run does without.
    """

    gradient: Array | None = None
    last_gradient: Array | None = None
    direction: Array | None = None
    decrement: float = 0.0


@dataclass(frozen=True)
class ConjugateGradient(Method):
    """D⁺ = −P⁻¹G⁺ + beta D on the factor Y, with the best mu along each line (Yuan et al., algorithm 1).

    Departures from the printed algorithm, each of which it needs: beta divides by the *old* ⟨G, Z⟩;
    every positive stationary point of the quartic is a candidate, not only those in (0, 1); a
    direction that is no descent direction is replaced by −P⁻¹G.

    Parameters
    ----------
    update : "PR+" (Polak-Ribière, restarting), "FR" (Fletcher-Reeves), "HS" (Hestenes-Stiefel) or
        "DY" (Dai-Yuan).
    search : "exact" (global minimiser of the line model) or "armijo" (backtracking on the line model).
    preconditioner : "auto" takes the problem's own approximation of the factor Hessian if it has one,
        else "gram"; "gram" scales by (YᵀY + eta I)⁻¹; "problem"; "diagonal", the problem's own in a form
        that needs no set-up; "none".

    Cost per iteration: one application of the problem's maps to one (n, r) block in each direction,
    O(n r²) for the preconditioner, a few combinations of (n, r) arrays.
    """

    update: str = "PR+"
    search: str = "exact"
    preconditioner: str = "auto"

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_LINE),
        "geometry": (Ability.FACTOR, (Ability.STRAIGHT, Ability.RIEMANNIAN)),
    }
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _one_of("update", self.update, tuple(RULES))
        _one_of("search", self.search, SEARCHES)
        _one_of("preconditioner", self.preconditioner, PRECONDITIONERS)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ConjugateGradientState | CurvedState:
        if Ability.STRAIGHT not in geometry.abilities:
            return curved_init(self, problem, geometry, start, evaluation)
        evaluation = evaluation or problem.at(geometry.factor(start))
        G = geometry.gradient(evaluation.factor, evaluation.gradient)
        return ConjugateGradientState(problem, geometry, evaluation.factor, evaluation, norm(G), gradient=G)

    def step(self, state: Any) -> ConjugateGradientState | CurvedState:
        if isinstance(state, CurvedState):
            return curved_step(self, state, RULES[self.update])
        G = state.gradient
        assert G is not None
        Z = preconditioned(self.preconditioner, state.evaluation, G)
        decrement = inner(G, Z)
        beta = self._beta(state, Z, decrement)
        D = beta * state.direction - Z if beta != 0.0 else -Z
        line = state.evaluation.along(D)
        mu = self._search(line)
        if mu == 0.0 and beta != 0.0:
            D, beta = -Z, 0.0
            line = state.evaluation.along(D)
            mu = self._search(line)
        if math.isnan(mu):
            return _ended(state, Outcome.STALLED, beyond=line.step(mu))
        if not 0.0 < mu < math.inf:
            return _ended(state, Outcome.UNBOUNDED if mu == math.inf else Outcome.STALLED)
        evaluation = line.step(mu)
        G_new = state.geometry.gradient(evaluation.factor, evaluation.gradient)
        return ConjugateGradientState(
            state.problem, state.geometry, evaluation.factor, evaluation, norm(G_new), mu,
            extras={"beta": beta},
            gradient=G_new, last_gradient=G, direction=D, decrement=decrement,
        )  # fmt: skip

    def _beta(self, state: ConjugateGradientState, Z: Array, new: float) -> float:
        """The share of the last direction in the next one; 0 where that would not lead downhill."""
        G, D, last = state.gradient, state.direction, state.last_gradient
        if D is None or not state.decrement > 0.0:
            return 0.0
        assert G is not None
        assert last is not None
        along = inner(G, D)
        beta = RULES[self.update](new, inner(last, Z), state.decrement, along - inner(last, D))
        return beta if math.isfinite(beta) and beta * along < new else 0.0  # ⟨G, D⁺⟩ < 0

    def _search(self, line: LineModel) -> float:
        return line.minimize() if self.search == "exact" else armijo_step(line)


def _ended(state: ConjugateGradientState, outcome: Outcome, beyond: Evaluation | None = None) -> ConjugateGradientState:
    """No move; but a non-finite evaluation `beyond` is passed on, for the driver to see and name."""
    lost = beyond is not None and not np.isfinite(beyond.value)
    evaluation = beyond if beyond is not None and lost else state.evaluation
    return ConjugateGradientState(
        state.problem, state.geometry, state.point, evaluation, state.gradient_norm, 0.0, outcome,
        gradient=state.gradient, last_gradient=state.last_gradient, direction=state.direction,
        decrement=state.decrement,
    )  # fmt: skip


def _one_of(argument: str, found: object, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise InvalidInputError(f"{argument} must be one of {', '.join(map(repr, allowed))}; found {found!r}")
