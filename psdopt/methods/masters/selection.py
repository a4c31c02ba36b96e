"""What a block master looks at and what it hands on: a working set of margins, a trimmed matrix."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problems.term_sum import TermEvaluation
from psdopt.terms.margin import CappedMargin

#: Eigenvalues of T below a level, relative to the largest, are trimmed if that costs this fraction of the gap.
TRIM = 0.1
TRIM_LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: Margins in a block master, in units of 1/cap (the least number that can carry the weight), and the least number
#: for which a selection pays.
ROWS = 2.5
FEWEST_ROWS = 600
#: Weight, relative to the cap, below which a margin may leave the master near the end.
WEIGHTLESS = 0.02


def working_rows(
    a: Array, w: Array, loss: CappedMargin, openness: float, before: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """The margins that a master looks at: the ROWS / cap lowest, all that carry weight, and those of `before`.

    Up to FEWEST_ROWS margins a selection does not pay, and all are taken. The others have w_r = 0 for now, which is
    feasible; should one fall below ρ, the next round has it. While the relative gap `openness` is large, w is spread
    over many that will not matter: then only large weights count.
    """
    count = max(math.ceil(ROWS / loss.cap), FEWEST_ROWS)
    if count >= loss.size:
        return np.ones(loss.size, dtype=bool)
    heavy = min(max(openness, WEIGHTLESS), 0.5) * loss.cap
    chosen: NDArray[np.bool_] = (a <= np.partition(a, count)[count]) | (w > heavy)
    return chosen if before is None else chosen | before


def trimmed(basis: TermEvaluation, T: Array, trace: float, bound: float) -> TermEvaluation:
    """V T Vᵀ of the right trace, less the smallest eigenvalues of T that cost at most TRIM of the gap to `bound`.

    Interior-point weights are never exactly singular; O(m r) per trial, no application of a map.
    """
    values, W = np.linalg.eigh(T)

    def above(level: float) -> TermEvaluation:
        used = values > level * values[-1]
        factor = W[:, used] * np.sqrt(values[used])
        return basis.mix(factor * (math.sqrt(trace) / norm(basis.factor @ factor)))

    full = above(EPS * len(values))
    allowed = full.value + TRIM * max(full.value - bound, 0.0)
    for level in TRIM_LEVELS:
        candidate = above(level)
        if candidate.value <= allowed:
            return candidate
    return full
