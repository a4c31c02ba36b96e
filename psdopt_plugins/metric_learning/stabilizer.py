"""Where the oracle is asked: at the duals of the linear program, or near the best ones so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

from psdopt.linalg import Array
from psdopt_plugins.metric_learning.linear_program import Answer, CappedSimplex, LinearProgram


@runtime_checkable
class Stabilizer(Protocol):
    """One dual w per round to ask the oracle about, and what is learned from φ(w) = λ_max(Σ w_r A_r). Immutable.

    `reprices` says that the oracle is asked again, at the dual of the linear program, if its answer does not cut that
    dual off.
    """

    reprices: ClassVar[bool]

    def ask(
        self, program: LinearProgram, columns: Sequence[Array], weights: CappedSimplex
    ) -> tuple[Answer, Array, Stabilizer]:
        """The program's answer for the margins (m,) of its columns, w (m,), and the stabilizer that observes φ(w)."""

    def observe(self, w: Array, value: float) -> Stabilizer:
        """The next stabilizer, after the oracle's φ(w) = `value`."""


@dataclass(frozen=True)
class Smoothing:
    """w = share · (the best w so far) + (1 − share) · (the program's dual) (Wentges 1997); as printed if share = 0."""

    share: float = 0.8
    centre: Array | None = None
    value: float = float("inf")

    reprices: ClassVar[bool] = True

    def ask(
        self, program: LinearProgram, columns: Sequence[Array], weights: CappedSimplex
    ) -> tuple[Answer, Array, Smoothing]:
        answer = program.solve(columns, weights)
        if self.centre is None or self.share == 0.0:
            return answer, answer.dual, self
        return answer, self.share * self.centre + (1.0 - self.share) * answer.dual, self

    def observe(self, w: Array, value: float) -> Smoothing:
        return replace(self, centre=w, value=value) if value < self.value else self
