"""Riemannian gradient descent as Meyer et al. print it, for the figures that were made with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from psdopt import Ability, Evaluation, Geometry, Method, Outcome, Problem, State, factor_residual
from psdopt.contracts.abilities import Requires
from psdopt.contracts.method import without_step
from psdopt.linalg.arrays import norm
from psdopt.methods.searches.paths import Located, locate, path_along
from psdopt.methods.searches.step_lengths import halved


@dataclass(kw_only=True)
class PrintedState(State):
    """The Riemannian gradient, and the evaluated frame of the geometry if it has one."""

    gradient: Any
    here: Located


@dataclass(frozen=True)
class PrintedGradient(Method[PrintedState]):
    """x⁺ = R(x, −s grad F(x)), s by Armijo's rule (section 7.4.1), the rule of the printed experiments.

    F(x⁺) <= F(x) − s |grad F|²/2, s the first of first/|grad F| · 1, 1/2, 1/4, ... (the printed condition has the wrong
    sign and lacks s: it accepts increases). The library's own gradient descent is ``ConjugateGradient("none")``.

    Parameters
    ----------
    first : s₀ > 0, in lengths of the metric.
    change_tol : > 0 ends the run, without a claim of convergence, when the relative change of F or of Y is at most
        this (eq. 24 with absolute values, without its third part, which depends on the units of F).
    """

    first: float = 100.0
    change_tol: float = 0.0

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,), "geometry": (Ability.RIEMANNIAN,)}
    descends: ClassVar[bool] = True

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> PrintedState:
        return _at(problem, geometry, locate(problem, geometry, start, evaluation))

    def step(self, state: PrintedState) -> PrintedState:
        here, geometry = state.here, state.geometry
        size = geometry.norm(here.point, state.gradient)
        if size == 0.0:
            return without_step(state, 0.0, None)
        path = path_along(state.problem, geometry, here, -state.gradient)
        s = halved(path, here.evaluation.value, -(size**2), self.first / size, 0.5)
        if not 0.0 < s < math.inf:
            return without_step(state, s, -state.gradient, path.lost)
        after = _at(state.problem, geometry, path.at(s))
        ended = self.change_tol > 0.0 and self._settled(here.evaluation, after.evaluation)
        return replace(after, step=s, outcome=Outcome.FINISHED if ended else Outcome.RUNNING)

    def _settled(self, old: Evaluation, new: Evaluation) -> bool:
        """Eq. (24): relative change of F, or of Y along the curve, so that both Y are comparable representatives."""
        if abs(new.value - old.value) <= self.change_tol * abs(old.value):
            return True
        return norm(new.factor - old.factor) <= self.change_tol * norm(old.factor)


def _at(problem: Problem, geometry: Geometry, here: Located) -> PrintedState:
    return PrintedState(
        problem,
        geometry,
        here.point,
        here.evaluation,
        gradient_norm=factor_residual(geometry, here.evaluation, here.point),
        gradient=geometry.gradient(here.point, here.evaluation.gradient),
        here=here,
    )
