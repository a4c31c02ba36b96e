"""Time to accuracy of several solvers on one cost: curves of best value against seconds, and ratios.

Seconds are processor time of this process: with one BLAS thread it is what the wall clock would show on an idle
machine, and other work on the machine does not enter.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Curve:
    """Best value so far against seconds and work units (cost and Hessian evaluations, or iterations)."""

    name: str
    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    limit: float = math.inf  # seconds after which the run was cut

    def add(self, seconds: float, value: float, work: int) -> None:
        """Note a value; only improvements are kept."""
        if not self.values or value < self.values[-1]:
            self.seconds.append(seconds)
            self.values.append(value)
            self.work.append(work)

    def reached(self, target: float) -> tuple[float, int] | None:
        """(seconds, work) at which the value first was at most `target`, or None."""
        for seconds, value, work in zip(self.seconds, self.values, self.work, strict=True):
            if value <= target:
                return seconds, work
        return None


class TimeUp(Exception):
    """Raised inside a peer's cost function when its time is over."""


class Meter:
    """Wraps a peer's evaluations: shares cost and gradient at one point, notes values, cuts at the limit."""

    def __init__(self, name: str, limit: float) -> None:
        self.curve = Curve(name, limit=limit)
        self.start = time.process_time()
        self.evaluations = 0

    def note(self, value: float) -> None:
        """One evaluation that gave `value`."""
        self.evaluations += 1
        now = time.process_time() - self.start
        self.curve.add(now, value, self.evaluations)
        if now > self.curve.limit:
            raise TimeUp

    def tick(self) -> None:
        """One further unit of work without a value (a Hessian product)."""
        self.evaluations += 1
        if time.process_time() - self.start > self.curve.limit:
            raise TimeUp


def run_peer(name: str, limit: float, solve: Callable[[Meter], None]) -> Curve:
    """Curve of a peer, cut after `limit` seconds."""
    meter = Meter(name, limit)
    with contextlib.suppress(TimeUp):
        solve(meter)
    return meter.curve


def table(curves: Sequence[Curve], best: float, accuracies: Sequence[float]) -> list[dict[str, object]]:
    """One row per solver: seconds and work to each relative suboptimality, or what was left at the end."""
    rows: list[dict[str, object]] = []
    for curve in curves:
        row: dict[str, object] = {"solver": curve.name, "end": (curve.values[-1] - best) / abs(best)}
        for accuracy in accuracies:
            row[f"{accuracy:g}"] = curve.reached(best + accuracy * abs(best))
        rows.append(row)
    return rows


def ratio(ours: Curve, peers: Sequence[Curve], target: float) -> tuple[float, bool] | None:
    """Best peer's seconds over ours; True if it is only a lower bound because every peer was cut off."""
    mine = ours.reached(target)
    if mine is None:
        return None
    times = [found[0] for peer in peers if (found := peer.reached(target)) is not None]
    if times:
        return min(times) / mine[0], False
    return min(peer.limit for peer in peers) / mine[0], True
