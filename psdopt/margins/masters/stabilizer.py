"""Where the oracle is asked: at the duals of a linear-programming master, or near the best ones so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

from psdopt.linalg.arrays import Array
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import Answer
from psdopt.margins.masters.lp import LPMaster


@runtime_checkable
class Stabilizer(Protocol):
    """One dual w per round to ask the oracle about, and what is learned from φ(w) = λ_max(Σ w_r A_r). Immutable.

    `reprices` says that the oracle is asked again, at the master's own dual, if its answer does not cut that one off.
    """

    reprices: ClassVar[bool]

    def ask(self, lp: LPMaster, columns: list[Array], loss: CappedMargin) -> tuple[Answer, Array, Stabilizer]:
        """The master's answer on the margins (m,) of its columns, w (m,), and the stabilizer that observes φ(w)."""

    def observe(self, w: Array, value: float) -> Stabilizer:
        """The next stabilizer, after the oracle's φ(w) = `value`."""


@dataclass(frozen=True)
class Smoothing:
    """w = share · (the best w so far) + (1 − share) · (the master's dual) (Wentges 1997); as printed if share = 0."""

    share: float = 0.8
    centre: Array | None = None
    value: float = float("inf")

    reprices: ClassVar[bool] = True

    def ask(self, lp: LPMaster, columns: list[Array], loss: CappedMargin) -> tuple[Answer, Array, Smoothing]:
        answer = lp.solve(columns, loss)
        if self.centre is None or self.share == 0.0:
            return answer, answer.dual, self
        return answer, self.share * self.centre + (1.0 - self.share) * answer.dual, self

    def observe(self, w: Array, value: float) -> Smoothing:
        return replace(self, centre=w, value=value) if value < self.value else self
