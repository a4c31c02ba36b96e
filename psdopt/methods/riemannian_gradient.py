"""Riemannian gradient descent with Armijo's rule along a retraction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from psdopt.checks import number, one_of, positive
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State, factor_residual, without_step
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import norm
from psdopt.methods.searches.paths import Located, locate, path_along
from psdopt.methods.searches.step_lengths import halved, modelled

SEARCHES = ("armijo", "modelled")


@dataclass(kw_only=True)
class RiemannianGradientState(State):
    """The Riemannian gradient, and the evaluated frame of the geometry if it has one."""

    gradient: Any
    here: Located


@dataclass(frozen=True)
class RiemannianGradient(Method[RiemannianGradientState]):
    """x⁺ = R(x, −s grad F(x)), s by Armijo's rule (Meyer et al., section 7.4.1).

    F(x⁺) <= F(x) − sufficient · s · |grad F|², s the first of first/|grad F| · 1, 1/2, 1/4, ... (the printed
    condition has the wrong sign and lacks s: it accepts increases). Because the first trial is divided by |grad F|,
    the iterates do not change when data and targets are scaled together. Where rounding of F hides that decrease, a
    step along a curve must also end at a smaller slope; on straight lines values alone decide.

    Parameters
    ----------
    search : "armijo" as above, or "modelled": first trial from the exact minimiser along the tangent line.
    sufficient : c in (0, 1); 0.5 as in the paper accepts no step beyond the minimiser of a quadratic.
    first : s₀ > 0, in lengths of the metric. Trials whose value overflows count as rejected.
    change_tol : > 0 ends the run, without a claim of convergence, when the relative change of F or of Y is at most
        this (eq. 24 with absolute values; its third part F <= change_tol depends on the units of F: use
        :class:`psdopt.running.stopping.ValueBelow`).

    Cost per iteration: one application of the maps each way on geometries with straight lines or a known
    span (trials combine images), else one evaluation per trial.
    """

    search: str = "armijo"
    sufficient: float = 0.5
    first: float = 100.0
    change_tol: float = 0.0

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,), "geometry": (Ability.RIEMANNIAN,)}
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of(self.search, "search", SEARCHES)
        number(self.sufficient, "sufficient", above=0.0, below=1.0)
        positive(self.first, "first")
        number(self.change_tol, "change_tol", least=0.0)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> RiemannianGradientState:
        return self._at(problem, geometry, locate(problem, geometry, start, evaluation))

    def step(self, state: RiemannianGradientState) -> RiemannianGradientState:
        here, geometry = state.here, state.geometry
        value, size = here.evaluation.value, geometry.norm(here.point, state.gradient)
        if size == 0.0:
            return without_step(state, 0.0, None)
        path = path_along(state.problem, geometry, here, -state.gradient)
        if self.search == "modelled":
            s = modelled(path, value, -(size**2), self.sufficient)
        else:
            s = halved(path, value, -(size**2), self.first / size, self.sufficient, by_slopes=True)
        if not 0.0 < s < math.inf:
            return without_step(state, s, -state.gradient, path.lost)
        moved = path.at(s)
        ended = self.change_tol > 0.0 and self._settled(here, moved)
        after = self._at(state.problem, geometry, moved)
        return replace(after, step=s, outcome=Outcome.FINISHED if ended else Outcome.RUNNING)

    def _at(self, problem: Problem, geometry: Geometry, here: Located) -> RiemannianGradientState:
        return RiemannianGradientState(
            problem,
            geometry,
            here.point,
            here.evaluation,
            gradient_norm=factor_residual(geometry, here.evaluation, here.point),
            gradient=geometry.gradient(here.point, here.evaluation.gradient),
            here=here,
        )

    def _settled(self, here: Located, moved: Located) -> bool:
        """Eq. (24): relative change of F, or of Y along the curve, so that both Y are comparable representatives."""
        old, new = here.evaluation, moved.evaluation
        if abs(new.value - old.value) <= self.change_tol * abs(old.value):
            return True
        return norm(new.factor - old.factor) <= self.change_tol * norm(old.factor)
