"""What a master problem answers, and how it says that it has no answer."""

from __future__ import annotations

from dataclasses import dataclass

from psdopt.linalg.arrays import Array


class Unsolved(ArithmeticError):
    """A solver gave up: a quadratic program is then done without, a master ends the run where it is."""


@dataclass(frozen=True)
class Answer:
    """Solution of min F(V T Vᵀ) over a set of T (k, k), and its dual.

    weights : T (k, k), PSD, trace one (diagonal for a linear program). dual : w (m,), 0 <= w <= cap, Σ w = 1.
    steps : iterations it took.
    """

    weights: Array
    dual: Array
    steps: int
