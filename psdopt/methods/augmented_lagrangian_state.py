"""What an augmented Lagrangian carries from step to step, and when its rounds no longer gain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from psdopt.constraints.certificate import Multipliers
from psdopt.constraints.limits import GAIN
from psdopt.linalg.arrays import Array
from psdopt.method import Outcome, State
from psdopt.methods.columns import VANISHED

#: Steps after which a round ends although it has not come to its aim, and as how many rounds it counts; with a gain.
LONGEST, LONG, LONG_GAIN = 60, 5, 2
#: The run ends after so many rounds in a row that take less than a tenth off infeasibility and gap.
PATIENCE = 25


@dataclass
class AugmentedLagrangianState(State):
    """Multipliers y, penalty weights w = sigma / |A_t|², and the state of the method inside.

    `dual` is what certificates are made from. `aim` is the relative stationarity this round ends at; `infeasibility`
    that of the last round; `bounded` its value when a dual bound was last computed, `bound` the best one. `base` is the
    first penalty, `first_size` the first |y|, `first_length` the first |Y|. `idle` counts the rounds since
    `least_infeasibility`, or `least`, the larger of that and the gap, has fallen; `waited` the steps of this round;
    `rounds` and `steps` (of the method inside) all of them. `fewest` columns stay, as S was indefinite with one less;
    `grown` says whether this round has more columns than the last one.
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
        """Whether M is so near to 0 that the gradient 2 S Y says nothing of S."""
        return self.evaluation.size <= VANISHED * self.first_length

    def note_progress(self, relative: float) -> None:
        """Count the rounds that leave infeasibility and gap where they were; too many in a row are the last ones.

        `relative` is the larger of gap and infeasibility. A round with more columns counts as a gain.
        """
        gains = self.grown or self.infeasibility < GAIN * self.least_infeasibility or relative < GAIN * self.least
        if self.waited >= LONGEST:
            self.idle += LONG_GAIN if gains else LONG
        else:
            self.idle = 0 if gains else self.idle + 1
        self.waited = 0
        self.least_infeasibility = min(self.least_infeasibility, self.infeasibility)
        self.least = min(self.least, relative)
        if self.idle >= PATIENCE:
            self.outcome = Outcome.STALLED
