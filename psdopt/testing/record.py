"""The answer of a check: a measured error, a computed tolerance, and the pattern of the error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, asdict, dataclass, field
from enum import StrEnum
from typing import Any

from psdopt.testing.units import Unit, enough


class CheckStatus(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    WAIVED = "waived"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Deviation:
    """One sample of a check: `error` must not exceed `tolerance`; `diagnosis` says what an error looks like.

    allowed : the tolerance, or a unit, which is sampled only if `error` exceeds its known part.
    traceback : where the object raised, for a sample that ended in an exception.
    """

    error: float
    allowed: InitVar[float | Unit]
    diagnosis: str = ""
    traceback: str = ""
    tolerance: float = field(init=False)

    def __post_init__(self, allowed: float | Unit) -> None:
        object.__setattr__(self, "tolerance", enough(allowed, self.error))

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance  # False for nan

    @property
    def ratio(self) -> float:
        """error / tolerance; inf for nan or for any error where none is allowed."""
        if math.isnan(self.error):
            return math.inf
        if self.error == 0.0:
            return 0.0
        return self.error / self.tolerance if self.tolerance > 0.0 else math.inf


@dataclass(frozen=True)
class Record:
    """Result of one check on one object.

    name : "kind.check". subject : the object, in words. verdict : passed, failed, waived (every sample that counts is
    covered by a waiver) or skipped.
    error, tolerance : of the failing sample, or of the sample that came closest to failing.
    statement : the theorem that was tested. diagnosis : what the error looks like, or why skipped.
    example : Python text that repeats the failing sample. samples : how many were tried.
    traceback : where the object raised, if it did. waived : "regime: reason" for every waiver that was needed.
    """

    name: str
    subject: str
    verdict: CheckStatus
    error: float
    tolerance: float
    statement: str
    diagnosis: str = ""
    example: str = ""
    samples: int = 0
    seconds: float = 0.0
    traceback: str = ""
    waived: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True unless failed."""
        return self.verdict is not CheckStatus.FAILED

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return {**asdict(self), "verdict": str(self.verdict)}

    def __str__(self) -> str:
        head = f"{self.name} on {self.subject}: {self.verdict}"
        if self.verdict is CheckStatus.SKIPPED:
            return f"{head} ({self.diagnosis})"
        waived = "".join(f"\n  waived in {reason}" for reason in self.waived)
        if self.verdict is CheckStatus.WAIVED:
            return head + waived
        head += f", error {self.error:.3g}, tolerance {self.tolerance:.3g}"
        if self.verdict is CheckStatus.PASSED:
            return head + waived
        text = f"{head}\n  claim: {self.statement}\n  looks like: {self.diagnosis}{waived}"
        if self.traceback:
            text += f"\n  raised at:\n{_indented(self.traceback)}"
        return f"{text}\n  to repeat:\n{_indented(self.example)}"


def by_cause(records: Iterable[Record]) -> list[list[Record]]:
    """Failed records together if the same exception was raised at the same place, each other one by itself."""
    found: dict[Any, list[Record]] = {}
    for number, record in enumerate(records):
        raised = record.diagnosis.partition(":")[0], record.traceback.rpartition("  File ")[2]
        found.setdefault(raised if record.traceback else number, []).append(record)
    return list(found.values())


class Trivial(Exception):
    """Raised by a check if the claim is trivial for a sample, which then does not count."""


def worst(deviations: Sequence[Deviation], none: str | None = None) -> Deviation:
    """The one that comes closest to failing, or fails most. Raises Trivial, with the text `none`, for no deviations."""
    if not deviations:
        raise Trivial(none or "there is nothing to measure")
    return max(deviations, key=lambda deviation: deviation.ratio)


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
