"""Step lengths by Armijo's rule, with doubling: along line models, no application of a map per trial."""

from __future__ import annotations

import math
from collections.abc import Callable

#: Armijo's share of the predicted decrease.
SUFFICIENT = 1e-4


def armijo_step(value: Callable[[float], float], start: float, slope: float, longest: float = math.inf) -> float:
    """A mu <= `longest` with F(mu) <= F(0) + SUFFICIENT · mu · F'(0), by doubling then halving from 1; 0.0 if none.

    `value` is F along the curve, `start` = F(0), `slope` = F'(0). Doubling comes first so that the result does not
    depend on the scale of the direction; inf is returned if F still decreases beyond 2^100.
    """
    if not slope < 0.0:
        return 0.0

    def meets(mu: float, trial: float) -> bool:
        return trial <= start + SUFFICIENT * mu * slope

    mu = min(1.0, longest)
    trial = value(mu)
    if meets(mu, trial):
        for _ in range(100):
            if not 2.0 * mu <= longest:
                return mu
            further = value(2.0 * mu)
            if not (meets(2.0 * mu, further) and further < trial):
                return mu
            mu, trial = 2.0 * mu, further
        return math.inf
    for _ in range(200):
        mu *= 0.5
        if meets(mu, value(mu)):
            return mu
    return 0.0
