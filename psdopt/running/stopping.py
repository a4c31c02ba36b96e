"""Stopping criteria: small pure objects, combined with ``|`` (any) and ``&`` (all)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from psdopt.checks import integer, number
from psdopt.running.result import Status


class Progress(NamedTuple):
    """The data of a criterion: `seconds` since the start, `stationarity` and the proven `gap` relative as in the
    Certificate; inf if no gap is proven at this point."""

    iteration: int
    seconds: float
    value: float
    stationarity: float
    step: float
    values: Sequence[float]  # of all iterations so far, the newest last
    gap: float = math.inf


class Stopping(ABC):
    """A stopping criterion: a pure function of :class:`Progress`, so that one object may serve any number of runs.

    converges : whether a run that meets the criterion counts as converged; the certificate is computed either way.
    status : the status of a run that meets the criterion and is not proven optimal.
    """

    converges: ClassVar[bool] = False
    status: ClassVar[Status] = Status.STOPPED

    #: Seconds after which the criterion is certainly met; longer work is cut there.
    longest: float = math.inf

    @property
    def awaited_gap(self) -> float:
        """The proven gap that the criterion waits for, for which certificates are computed during the run; 0: none."""
        return 0.0

    @abstractmethod
    def met(self, progress: Progress) -> Stopping | None:
        """The elementary criterion that is met, or None."""

    @abstractmethod
    def reason(self) -> str:
        """The meaning of the criterion being met, in words."""

    def __or__(self, other: Stopping) -> Stopping:
        return AnyOf((self, other))

    def __and__(self, other: Stopping) -> Stopping:
        return AllOf((self, other))


@dataclass(frozen=True)
class MaxIterations(Stopping):
    """Stop after `limit` iterations."""

    limit: int
    status: ClassVar[Status] = Status.ITERATION_LIMIT

    def __post_init__(self) -> None:
        integer(self.limit, "limit", 0)

    def met(self, progress: Progress) -> Stopping | None:
        return self if progress.iteration >= self.limit else None

    def reason(self) -> str:
        return f"the limit of {self.limit} iterations was reached"


@dataclass(frozen=True)
class MaxTime(Stopping):
    """Stop after `seconds` of wall-clock time: between iterations, and within a step that takes longer."""

    seconds: float
    status: ClassVar[Status] = Status.TIME_LIMIT

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, float) and self.seconds == math.inf):
            number(self.seconds, "seconds", least=0.0)

    @property
    def longest(self) -> float:  # type: ignore[override]
        return float(self.seconds)

    def met(self, progress: Progress) -> Stopping | None:
        return self if progress.seconds >= self.seconds else None

    def reason(self) -> str:
        return f"the time limit of {self.seconds:g} s was reached"


@dataclass(frozen=True)
class SmallStationarity(Stopping):
    """|S Y| |Y| <= tol · (F(0) − F(M)): relative, so it does not depend on the scale of F or M."""

    tol: float
    converges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number(self.tol, "tol", least=0.0)

    def met(self, progress: Progress) -> Stopping | None:
        return self if progress.stationarity <= self.tol else None

    def reason(self) -> str:
        return f"relative stationarity is at most {self.tol:g}"


@dataclass(frozen=True)
class ProvenGap(Stopping):
    """F(M) − min F <= share · unit is proven, with the unit of the :class:`~psdopt.Certificate`: 0.01 is one per cent.

    Certificates are computed at intervals: the first once the relative stationarity is at most `share`, or after some
    steps; each later one if all of them so far took at most a tenth of the seconds of the run. The last of them and
    that of the result, with the best bounds there are, come on top: a short run may spend most of its time on these.
    A bound is known where the curvature of F, a fixed trace, a geometry's linear oracle or the problem's own dual gives
    one, and at moderate orders in most other cases.
    """

    share: float
    converges: ClassVar[bool] = True

    @property
    def awaited_gap(self) -> float:
        return self.share

    def __post_init__(self) -> None:
        number(self.share, "share", above=0.0)

    def met(self, progress: Progress) -> Stopping | None:
        return self if progress.gap <= self.share else None

    def reason(self) -> str:
        return f"F(M) - min F is proven to be at most {self.share:g} of its unit"


@dataclass(frozen=True)
class SmallDecrease(Stopping):
    """|F_{t−window} − F_t| <= tol · (|F_t| + 1). For a method that descends: Yuan et al., algorithm 1, line 5.

    A large increase of F, as ``ADMM`` may have, does not stop a run, just as a large decrease does not.
    """

    tol: float
    window: int = 1

    def __post_init__(self) -> None:
        number(self.tol, "tol", least=0.0)
        integer(self.window, "window")

    def met(self, progress: Progress) -> Stopping | None:
        values = progress.values
        if len(values) <= self.window:
            return None
        change = abs(values[-1 - self.window] - values[-1])
        return self if change <= self.tol * (abs(values[-1]) + 1.0) else None

    def reason(self) -> str:
        return f"the value changed by at most {self.tol:g} (relative) over {self.window} iteration(s)"


@dataclass(frozen=True)
class ValueBelow(Stopping):
    """F <= target."""

    target: float

    def __post_init__(self) -> None:
        number(self.target, "target")

    def met(self, progress: Progress) -> Stopping | None:
        return self if progress.value <= self.target else None

    def reason(self) -> str:
        return f"the value fell to {self.target:g} or below"


@dataclass(frozen=True)
class AnyOf(Stopping):
    """Met as soon as one part is met."""

    parts: tuple[Stopping, ...]

    @property
    def longest(self) -> float:  # type: ignore[override]
        return min(part.longest for part in self.parts)

    @property
    def awaited_gap(self) -> float:
        return max(part.awaited_gap for part in self.parts)

    @property
    def converges(self) -> bool:  # type: ignore[override]
        return all(part.converges for part in self.parts)

    def met(self, progress: Progress) -> Stopping | None:
        return next((found for part in self.parts if (found := part.met(progress)) is not None), None)

    def reason(self) -> str:
        return " or ".join(part.reason() for part in self.parts)


@dataclass(frozen=True)
class AllOf(Stopping):
    """Met when every part is met."""

    parts: tuple[Stopping, ...]

    @property
    def converges(self) -> bool:  # type: ignore[override]
        return any(part.converges for part in self.parts)

    @property
    def longest(self) -> float:  # type: ignore[override]
        return max(part.longest for part in self.parts)

    @property
    def awaited_gap(self) -> float:
        return min((part.awaited_gap for part in self.parts if part.awaited_gap > 0.0), default=0.0)

    def met(self, progress: Progress) -> Stopping | None:
        return self if all(part.met(progress) is not None for part in self.parts) else None

    def reason(self) -> str:
        return " and ".join(part.reason() for part in self.parts)
