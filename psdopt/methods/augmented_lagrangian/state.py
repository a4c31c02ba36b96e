"""State of an augmented Lagrangian, the count of rounds without progress, and how far multipliers moved."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints.feasible import least_move
from psdopt.constraints.limits import GAIN
from psdopt.constraints.problem import Constrained, constrained_of
from psdopt.contracts.method import Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import SLIGHT, VANISHED

#: Idle rounds charged for a round of the most steps without a gain, after which a dual bound is computed, too. In the
#: course of a round columns are sought after this many steps, again and again.
LONG = 5


@dataclass
class AugmentedLagrangianState(State):
    """Multipliers y, penalty weights w = sigma / |A_t|², and the state of the method inside.

    `dual` : multipliers and candidates for certificates. `aim` : the relative stationarity at which this round ends.
    `infeasibility` : that of the last round. `bounded` : the infeasibility when a dual bound was last computed.
    `bound` : the best dual bound. `base` : the first penalty. `first_size` : the first |y|. `first_length` : the first
    |Y|. `least_infeasibility` : the smallest so far. `least` : the smallest so far of the larger of infeasibility and
    gap. `idle` : rounds since either of them fell. `waited` : steps of this round. `rounds`, `steps` : totals, `steps`
    counting inner steps. `fewest` : the least number of columns, since S was indefinite with one less. `grown` :
    whether this round has more columns than the last one.
    """

    y: Array = field(default_factory=lambda: np.zeros(0))
    sigma: float = 1.0
    inside: State | None = None
    dual: Multipliers | None = None
    aim: float = 1e-2
    infeasibility: float = math.inf
    bounded: float = math.inf
    bound: float = -math.inf
    base: float = 1.0
    first_size: float = 0.0
    first_length: float = 1.0
    least_infeasibility: float = math.inf
    least: float = math.inf
    idle: int = 0
    waited: int = 0
    fewest: int = 1
    rounds: int = 0
    steps: int = 0
    grown: bool = False

    @property
    def vanished(self) -> bool:
        """Whether M is so near to 0 that the gradient 2 S Y does not show the signs of S."""
        return self.evaluation.size <= VANISHED * self.first_length

    def note_progress(self, relative: float, patience: int) -> None:
        """Count the rounds that reduce neither infeasibility nor gap; `patience` of them in a row end the run.

        `relative` is the larger of gap and infeasibility. A round with more columns counts as a gain. A round of the
        most steps counts even if it gains.
        """
        gains = self.grown or self.infeasibility < GAIN * self.least_infeasibility or relative < GAIN * self.least
        if self.waited >= MOST_STEPS:
            self.idle += 1 if gains else LONG
        else:
            self.idle = 0 if gains else self.idle + 1
        self.waited = 0
        self.least_infeasibility = min(self.least_infeasibility, self.infeasibility)
        self.least = min(self.least, relative)
        if self.idle >= patience:
            self.outcome = Outcome.STALLED

    def meet(self) -> None:
        """Near the end, one Gauss-Newton step onto the constraints, if it leaves at most a tenth of the violation."""
        problem, Y = constrained_of(self.problem), self.evaluation.factor
        off = problem.violation(problem.measured(Y))
        tied = (problem.lower == problem.upper) | (off != 0.0)
        nearer = Y + least_move(problem.measurement, Y, off, np.where(tied, problem.scale, 0.0))
        a = problem.measured(nearer)
        if norm(problem.scale * problem.violation(a)) <= SLIGHT * norm(problem.scale * off):
            self.evaluation = problem.at(nearer)
            self.point, self.infeasibility = nearer, min(self.infeasibility, relative_violation(problem, a, nearer))


def complementarity(problem: Constrained, a: Array, y: Array, new: Array, w: Array) -> float:
    """|(y⁺ − y)/w| for inequalities, in the units of the relative violation: zero where multipliers have settled."""
    loose = problem.lower < problem.upper
    if not loose.any():
        return 0.0
    move = (new - y)[loose] / w[loose] * problem.scale[loose]
    unit = norm(problem.scale * problem.allowed.nearest(a))
    return norm(move) / unit if unit > 0.0 else 0.0


def unit_of(problem: Problem, evaluation: Evaluation) -> float:
    """The unit of |S Y|: relative stationarity is |S Y| |Y| / max(|F(M) − F(0)|, ...)."""
    factor = evaluation.factor
    value = constrained_of(problem).problem.at(factor).value
    return stationarity_scale(problem, value, float(norm(factor))) or 1.0
