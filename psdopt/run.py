"""What a run of solve() is made of: its state, what its callback sees, and what its caller asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psdopt.certificate import Certificate
from psdopt.geometry import Geometry
from psdopt.method import State
from psdopt.progress import Bar
from psdopt.result import History
from psdopt.stopping import Stopping


@dataclass
class Run:
    """Everything a checkpoint holds."""

    state: State
    geometry: Geometry
    inner_tol: float
    pieces: tuple[str, str] = ("", "")  # of the first geometry and the method, to refuse another on resume
    history: History = field(default_factory=History)
    iteration: int = 0
    seconds: float = 0.0
    judged: int = -1
    calm: int = 0
    best_stationarity: float = math.inf
    zero_tried: bool = False
    first_trace: float = 0.0
    best: State | None = None
    certificate: Certificate | None = None
    counts: dict[str, int] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """What a callback sees after every iteration. Return True from it to stop."""

    iteration: int
    seconds: float
    value: float
    record: dict[str, float]
    state: State
    history: History


@dataclass
class Rules:
    """What the caller of solve() asked for."""

    tol: float
    limits: Stopping
    escape: bool
    max_rank: int
    callback: Callable[[Snapshot], Any] | None = None
    checkpoint: str | Path | None = None
    checkpoint_seconds: float = 60.0
    bar: Bar | None = None
