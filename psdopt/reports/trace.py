"""Certificates along a run, for its curve."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from psdopt.certificates.certify import certify
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import MINOR, ROOT_EPS, SLIGHT
from psdopt.running.result import History, Result
from psdopt.running.run import Snapshot

#: Iterations of successive certificates grow by this factor: about 15 in 300 iterations, 20 in 2000.
SPACING = 1.45


@dataclass
class CertificateTrace:
    """A callback for solve() that certifies the iterate at geometrically spaced iterations.

    `problem` is the problem of the run, set at its first step. `points` holds (iteration, relative certificate).
    `seconds` and `applications` (of the problem's maps) are the cost of this callback, included in the run's figures.
    If an estimator calls solve() several times, these attributes belong to the last run, and `records` is the history
    of all runs with iterations numbered consecutively.
    Costs about log(iterations) / log(1.45) extreme eigenpairs.
    """

    points: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    applications: int = 0
    problem: Problem | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    _next: float = 1.0
    _last: int = 0
    _earlier: int = 0
    _eigenvector: Array | None = None

    def __call__(self, snapshot: Snapshot) -> bool:
        """Certify at the next of the spaced iterations; never stops the run."""
        if snapshot.iteration <= self._last:  # another run has begun
            self.points, self.seconds, self.applications = [], 0.0, 0
            self._next, self._eigenvector = 1.0, None
            self._earlier += self._last
        self._last = snapshot.iteration
        self.records.append({**snapshot.record, "iteration": self._earlier + snapshot.iteration})
        self.problem = snapshot.state.problem
        if snapshot.iteration < self._next:
            return False
        self._next = max(snapshot.iteration + 1, SPACING * snapshot.iteration)
        state, clock = snapshot.state, time.perf_counter()
        before = state.problem.counts().get("operator_applications", 0)
        stationarity = snapshot.record.get("stationarity", np.nan)
        wanted = SLIGHT * stationarity if np.isfinite(stationarity) else MINOR
        certificate = certify(
            state.problem,
            state.evaluation,
            tol=min(max(wanted, ROOT_EPS), MINOR),  # a curve on a log scale needs no finer one
            trace=state.geometry.trace,
            start=self._eigenvector,
            dual=state.dual,
        )
        self._eigenvector = certificate.eigenvector
        self.points.append((snapshot.iteration, certificate.relative))
        self.applications += state.problem.counts().get("operator_applications", 0) - before
        self.seconds += time.perf_counter() - clock
        return False

    def whole(self, result: Result, earlier: Sequence[float] = ()) -> tuple[Result, tuple[Array, Array]]:
        """`result` with the history of all runs up to it, and their certificates, for a picture of the whole.

        Iterations are numbered consecutively.

        earlier : values of F along steps before the first of these runs.
        """
        if result.iterations == 0:  # the last run ended at its start, without a callback
            self._earlier, self._last, self.points = self._earlier + self._last, 0, []
        last = [{**record, "iteration": self._earlier + record["iteration"]} for record in result.history]
        records = {record["iteration"]: record for record in [*self.records, *last]}
        first = len(earlier)
        joined = [{"iteration": float(k), "value": value} for k, value in enumerate(earlier, start=1)]
        joined += [{**records[k], "iteration": first + k} for k in sorted(records)]
        iterations, relative = self.curve(result)
        return replace(result, history=History(joined)), (iterations + self._earlier + first, relative)

    def curve(self, result: Result) -> tuple[Array, Array]:
        """Iterations and relative certificates of the whole run: those taken here, the driver's own, the final one."""
        found = dict(self.points)
        for record in result.history:
            if "certificate" in record:
                found[int(record["iteration"])] = record["certificate"]
        if result.certificate is not None:
            found[result.iterations] = result.certificate.relative
        iterations = sorted(found)
        return np.array(iterations, dtype=float), np.array([found[k] for k in iterations], dtype=float)
