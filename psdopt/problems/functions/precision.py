"""Whether a function that returns double precision sees its argument in single precision only."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import MINOR

#: Stairs that must be seen, with no change elsewhere, in at most TRIALS; none are expected after WITHOUT any change.
STAIRS, TRIALS, WITHOUT = 6, 24, 4
#: Points on either side of a stair, within LOW and HIGH last places in single precision of its edge.
POINTS, LOW, HIGH = 4, 0.01, 0.99
#: A stair is at least so many times as high as what changes on either side. A smooth function changes 25 times as much
#: on a side as between the sides; one whose values are rounded hardly has its one change between them in every trial.
SHARE = 4.0


def sees_single(value: Callable[[Array], float], x: Array) -> bool:
    """Whether f, given by its `value`, is a staircase near x whose stairs are those of single precision.

    All entries of a random point near x in single precision, symmetric if x is, move away from zero by random parts of
    their last place there. A function that casts its argument to single precision changes, if at all, where half of
    that place is passed. Casts of intermediate results are not seen, nor is a function whose own value is rounded more
    coarsely than it changes there. Cost: three values where f is honest, 40 where it does not change.
    """
    rng, symmetric = np.random.default_rng(0), np.array_equal(x, x.T)
    stairs = 0
    for trial in range(TRIALS):
        spread = rng.random(x.shape)
        single = (x * (1.0 + MINOR * (spread + spread.T if symmetric else spread))).astype(np.float32)
        last = np.where(single == 0.0, 0.0, np.copysign(np.spacing(np.abs(single)), single))
        point, place = single.astype(np.float64), last.astype(np.float64)
        parts = rng.uniform(LOW, 0.5 - LOW, POINTS), rng.uniform(0.5 + LOW, 0.5 + HIGH, POINTS)

        def at(part: float, point: Array = point, place: Array = place) -> float:
            return value(point + part * place)

        below, above = at(0.5 - LOW), at(0.5 + LOW)
        jump = abs(above - below)
        for side, level in zip(parts, (below, above), strict=True):
            if not all(SHARE * abs(at(part) - level) <= jump < math.inf for part in side):
                return False
        stairs += jump > 0.0
        if stairs == STAIRS or (trial + 1 == WITHOUT and not stairs):
            break
    return stairs == STAIRS
