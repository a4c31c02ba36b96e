"""The solution of a master problem, and the error that reports a failed solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from psdopt.linalg.arrays import Array
from psdopt.margins.loss import CappedMargin
from psdopt.margins.structure import SignedSquares


class Unsolved(ArithmeticError):
    """The solver of a master gave up: the run ends where it is."""


@dataclass(frozen=True)
class Answer:
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
    ) -> Answer:
        """T and w with a duality gap of about `gap` (absolute), from `start` = (T, w) if that helps.

        Raises Unsolved if no answer is found.
        """
