"""The method for problems whose global minimiser is known from eigendecompositions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import norm


@dataclass(frozen=True)
class ClosedForm(Method):
    """One step from the start to the known global minimiser. O(n²) memory, O(n³) flops.

    Raises IncompatibleError in the first step if the data admit no closed form (for
    instance if the unconstrained minimiser is not PSD).
    """

    requires: ClassVar[Requires] = {"problem": (Ability.CLOSED_FORM,), "geometry": (Ability.FULL_CONE,)}
    descends: ClassVar[bool] = True
    starts_at_zero: ClassVar[bool] = True

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        evaluation = evaluation or problem.at(geometry.factor(start))
        # at M = 0 the factor gradient is always zero: do not certify that point before the step
        gradient_norm = norm(evaluation.factor_gradient()) if evaluation.size > 0.0 else math.inf
        return State(problem, geometry, start, evaluation, gradient_norm=gradient_norm)

    def step(self, state: State) -> State:
        M = state.problem.solve_in_closed_form()
        if M is None:
            raise IncompatibleError(f"{type(state.problem).__name__} has no closed form for these data")
        after = self.init(state.problem, state.geometry, state.geometry.from_matrix(M), state.problem.at(M.factor))
        residual = norm(after.evaluation.factor_gradient())
        return replace(after, gradient_norm=residual, step=1.0, outcome=Outcome.FINISHED)
