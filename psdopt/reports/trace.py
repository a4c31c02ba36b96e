"""Certificates along a run, for its curve."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from psdopt.certificate import certify
from psdopt.linalg.arrays import Array
from psdopt.problem import Problem
from psdopt.result import Result
from psdopt.run import Snapshot

#: Iterations of successive certificates grow by this factor: about 15 in 300 iterations, 20 in 2000.
SPACING = 1.45
#: λ_min(S) is decided to this fraction of the residual that is there anyway.
SHARE = 0.1
#: No eigenvalue of the curve needs to be worse than this.
COARSEST = 1e-2
#: Nor better than this: a curve is read by its decades.
FINEST = 1e-8


@dataclass
class CertificateTrace:
    """A callback for solve() that certifies the iterate at geometrically spaced iterations.

    `problem` is that of the run, once it has made a step. `points` holds (iteration, relative certificate).
    `seconds` and `applications` (of the problem's maps) say how much of the run's own figures was spent here.
    An estimator that calls solve() several times leaves what belongs to its last run.
    Costs about log(iterations) / log(1.45) extreme eigenpairs.
    """

    points: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    applications: int = 0
    problem: Problem | None = None
    _next: float = 1.0
    _last: int = 0
    _eigenvector: Array | None = None

    def __call__(self, snapshot: Snapshot) -> bool:
        """Certify if it is time to; never stops the run."""
        if snapshot.iteration <= self._last:  # another run has begun
            self.points, self.seconds, self.applications = [], 0.0, 0
            self._next, self._eigenvector = 1.0, None
        self._last = snapshot.iteration
        self.problem = snapshot.state.problem
        if snapshot.iteration < self._next:
            return False
        self._next = max(snapshot.iteration + 1, SPACING * snapshot.iteration)
        state, clock = snapshot.state, time.perf_counter()
        before = state.problem.counts().get("operator_applications", 0)
        stationarity = snapshot.record.get("stationarity", np.nan)
        wanted = SHARE * stationarity if np.isfinite(stationarity) else COARSEST
        certificate = certify(
            state.problem,
            state.evaluation,
            tol=min(max(wanted, FINEST), COARSEST),
            trace=state.geometry.trace,
            start=self._eigenvector,
        )
        self._eigenvector = certificate.eigenvector
        self.points.append((snapshot.iteration, certificate.relative))
        self.applications += state.problem.counts().get("operator_applications", 0) - before
        self.seconds += time.perf_counter() - clock
        return False

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
