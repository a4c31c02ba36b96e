"""Nonlinear conjugate gradient on any geometry: along straight lines, known curves or retractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from psdopt.checks import one_of
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, State, factor_residual, without_step
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.deprecated import former_argument
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS
from psdopt.methods.searches.paths import Carried, Located, Path, locate, path_along
from psdopt.methods.searches.preconditioning import PRECONDITIONERS, ask_ahead, preconditioned_on, resolved
from psdopt.methods.searches.step_lengths import modelled

#: beta from (⟨g⁺,z⁺⟩, ⟨g,z⁺⟩, ⟨g,z⟩, ⟨y,d⟩), with z = P⁻¹g and y = g⁺ − g (numerators of the field's rules).
Rule = Callable[[float, float, float, float], float]
RULES: dict[str, Rule] = {
    "PR+": lambda new, mixed, old, curvature: max(0.0, (new - mixed) / old),
    "FR": lambda new, mixed, old, curvature: new / old,
    "HS": lambda new, mixed, old, curvature: (new - mixed) / curvature if curvature != 0.0 else 0.0,
    "DY": lambda new, mixed, old, curvature: new / curvature if curvature != 0.0 else 0.0,
    "none": lambda new, mixed, old, curvature: 0.0,
}


@dataclass(kw_only=True)
class ConjugateGradientState(State):
    """Riemannian gradient; of the last step `last`, its decrement ⟨g, P⁻¹g⟩ and the curvatures found so far.

    The next step computes P⁻¹g, so that the last point of a run saves that cost.
    """

    here: Located
    kind: str
    gradient: Any
    last: Carried | None = None
    decrement: float = 0.0
    curvature: float | None = None


@former_argument("search sufficient first change_tol", None, "the exact search is used")
@dataclass(frozen=True)
class ConjugateGradient(Method[ConjugateGradientState]):
    """d⁺ = −P⁻¹g⁺ + beta T(d), x⁺ = R(x, s d⁺), with s the best step along the curve (Yuan et al., algorithm 1).

    On geometries with straight lines R(x, s d) is Y + s D, T the identity, and s the global minimiser of F along the
    line. On others R is the retraction, or a cheaper curve that the geometry offers, T the vector transport, and s a
    step from the minimiser along the tangent line, corrected once.

    Corrections to the printed algorithm: beta divides by the *old* ⟨g, P⁻¹g⟩; every positive
    stationary point of the quartic along a line is a candidate, not only those in (0, 1); a direction that is not a
    descent direction is replaced by −P⁻¹g.

    Parameters
    ----------
    update : "PR+" (Polak-Ribière, restarting), "FR" (Fletcher-Reeves), "HS" (Hestenes-Stiefel) or
        "DY" (Dai-Yuan); "none" is gradient descent, beta = 0.
    preconditioner : "auto" takes the problem's own approximation of the factor Hessian if it has one,
        else "gram"; "gram" scales by (YᵀY + eta I)⁻¹; "problem"; "diagonal", the problem's own in a form
        that needs no set-up; "none". InvalidInputError if a curved geometry does not support the given one.

    Cost per iteration: one application of the problem's maps to one (n, r) block in each direction, O(n r²) for the
    preconditioner, a few combinations of (n, r) arrays. On geometries without known curves one evaluation per trial.
    """

    update: str = "PR+"
    preconditioner: str = "auto"

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_LINE),
        "geometry": ((Ability.STRAIGHT, Ability.RIEMANNIAN),),
    }
    takes_device_arrays: ClassVar[bool] = True
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of(self.update, "update", tuple(RULES))
        one_of(self.preconditioner, "preconditioner", PRECONDITIONERS)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ConjugateGradientState:
        kind = resolved(self.preconditioner, problem, geometry)
        return self._state(problem, geometry, locate(problem, geometry, start, evaluation), kind=kind)

    def step(self, state: ConjugateGradientState) -> ConjugateGradientState:
        here, geometry = state.here, state.geometry
        z = preconditioned_on(geometry, state.kind, here.point, here.evaluation, state.gradient, state.curvature)
        decrement = geometry.inner(here.point, state.gradient, z)
        beta, along = self._beta(state, z, decrement)
        if beta != 0.0 and state.last is not None:
            d, slope = beta * state.last.direction - z, beta * along - decrement
        else:
            d, slope = -z, -decrement
        path, s = self._search(state, d, slope)
        if s == 0.0 and beta != 0.0:
            d, slope, beta = -z, -decrement, 0.0
            path, s = self._search(state, d, slope)
        if not 0.0 < s < math.inf:
            return without_step(state, s, d, path.lost)
        moved = path.at(s)
        value = here.evaluation.value
        # after a NaN in a search only a decrease above rounding counts as progress
        if path.lost is not None and not value - moved.evaluation.value > 4096.0 * EPS * abs(value):
            return replace(state, evaluation=path.lost, step=s)
        seen, curvature = path.curvature(s) if state.kind == "gram" else None, state.curvature
        if seen is not None and curvature is not None:  # the mean along this and earlier paths
            seen = math.sqrt(max(seen, 0.0) * curvature)
        return self._state(
            state.problem,
            geometry,
            moved,
            step=s,
            extras={"beta": beta},
            kind=state.kind,
            last=path.carried(s, d, state.gradient, slope),
            decrement=decrement,
            curvature=seen,
        )

    def _state(self, problem: Problem, geometry: Geometry, here: Located, **fields: Any) -> ConjugateGradientState:
        if Ability.STRAIGHT in geometry.abilities:
            gradient: Any = here.evaluation.factor_gradient()
            residual = norm(gradient)
        else:
            gradient = geometry.gradient(here.point, here.evaluation.gradient)
            residual = factor_residual(geometry, here.evaluation, here.point)
        ask_ahead(fields["kind"], here.evaluation)
        return ConjugateGradientState(
            problem,
            geometry,
            here.point,
            here.evaluation,
            gradient_norm=residual,
            here=here,
            gradient=gradient,
            **fields,
        )

    def _beta(self, state: ConjugateGradientState, z: Any, new: float) -> tuple[float, float]:
        """(beta, ⟨g, last direction⟩); beta is 0 if it would not give a descent direction."""
        last, geometry, point = state.last, state.geometry, state.here.point
        if last is None or not state.decrement > 0.0:
            return 0.0, 0.0
        along = geometry.inner(point, state.gradient, last.direction)
        beta = RULES[self.update](new, last.pair(geometry, point, z), state.decrement, along - last.slope)
        return (beta if math.isfinite(beta) and beta * along < new else 0.0), along

    def _search(self, state: ConjugateGradientState, d: Any, slope: float) -> tuple[Path, float]:
        path = path_along(state.problem, state.geometry, state.here, d, straight=True)
        return path, modelled(path, state.evaluation.value, slope)
