"""Whether the steps of a primal-dual method still come nearer, and the iterate that came nearest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from psdopt.constraints.limits import GAIN
from psdopt.contracts.problem import Evaluation


@dataclass(frozen=True)
class Progress:
    """Residuals that fall towards zero in a run.

    `least` : each of them when it last fell by a tenth. `since` : steps since one of them did.
    """

    least: tuple[float, ...] = ()
    since: int = 0

    def after(self, *residuals: float) -> Progress:
        """After a step with these residuals, always in one order; infinite where one says nothing."""
        before = self.least or (math.inf,) * len(residuals)
        least = tuple(new if new < GAIN * old else old for new, old in zip(residuals, before, strict=True))
        return Progress(least, 0 if least != before else self.since + 1)


@dataclass(frozen=True)
class Nearest:
    """F at an iterate, its `violation` of the constraints, and its `error`, what a certificate would report.

    That is the larger of the violation and of the gap to the best proven bound; before any bound is proven, the
    relative residual of the iterate.
    """

    evaluation: Evaluation
    violation: float
    error: float

    def above(self, bound: float, unit: float) -> Nearest:
        """With the error by a proven `bound`, whose gap is measured in this unit."""
        return replace(self, error=max(abs(self.evaluation.value - bound) / unit, self.violation))
