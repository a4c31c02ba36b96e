"""The answer of a master problem, the error without an answer, and the margins that it uses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import SLIGHT
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.newton_system import MOST_ROWS
from psdopt.margins.structure import SignedSquares

#: Number of margins in a block master, in units of 1/cap, the least number that can carry all the weight; and the least
#: number for which a selection pays.
ROWS = 2.5
FEWEST_ROWS = 600


class Unsolved(ArithmeticError):
    """The solver of a master gave up: the run ends where it is."""


@dataclass(frozen=True)
class MasterSolution:
    """Solution of min F(V T Vᵀ) over T (k, k), and its dual.

    weights : T (k, k), PSD, trace one. dual : w (m,), 0 <= w <= cap, Σ w = 1.
    steps : iterations it took.
    """

    weights: Array
    dual: Array
    steps: int


@runtime_checkable
class Master(Protocol):
    """A solver of the block master, T any PSD matrix (k, k) of trace one."""

    def solve(
        self, squares: SignedSquares, loss: CappedMargin, gap: float, start: tuple[Array, Array] | None = None
    ) -> MasterSolution:
        """T and w with a duality gap of about `gap` (absolute), from `start` = (T, w) if that helps.

        Raises Unsolved if no answer is found.
        """


def working_rows(
    a: Array, w: Array, loss: CappedMargin, openness: float, before: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """The margins that a master uses: the ROWS / cap lowest, all that carry weight, and those of `before`.

    Up to FEWEST_ROWS margins a selection does not pay, and all are taken. The margins left out have w_r = 0, which is
    feasible; one that falls below ρ joins in the next round. While the relative gap `openness` is large, w is spread
    over many margins that do not matter at the optimum: then only large weights count. Near the end, a weight that is
    slight beside the cap does not keep a margin.
    """
    count = max(math.ceil(ROWS / loss.cap), FEWEST_ROWS)
    if count >= loss.size:
        return np.ones(loss.size, dtype=bool)
    heavy = min(max(openness, SLIGHT), 0.5) * loss.cap
    chosen: NDArray[np.bool_] = (a <= np.partition(a, count)[count]) | (w > heavy)
    return chosen if before is None else chosen | before


def widest_block(loss: CappedMargin) -> int:
    """Most columns k of a block master: with too many margins for rows, k(k + 1)/2 unknowns are factorised instead.

    Either way at most half a gigabyte; with few margins there is no bound.
    """
    rows = ROWS / loss.cap
    return math.isqrt(2 * MOST_ROWS) if min(rows, loss.size) > MOST_ROWS else 10**9


def solve_selected(
    master: Master,
    squares: SignedSquares,
    loss: CappedMargin,
    gap: float,
    start: tuple[Array, Array],
    rows: NDArray[np.bool_] | None,
) -> MasterSolution:
    """The master's answer from the margins `rows` (all if None); w (m,) is zero on the others. `start` is (T, w)."""
    if rows is None or np.all(rows):
        return master.solve(squares, loss, gap, start)
    chosen = np.flatnonzero(rows)
    fewer = CappedMargin(len(chosen), loss.cap)
    answer = master.solve(
        squares.rows(chosen), fewer, gap, (start[0], project_simplex(start[1][chosen], 1.0, fewer.cap))
    )
    dual = np.zeros(loss.size)
    dual[chosen] = answer.dual
    return MasterSolution(answer.weights, dual, answer.steps)
