"""The way out of a rank-r stationary point that is no global optimum: more columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psdopt.certificate import Certificate
from psdopt.linalg.arrays import Array
from psdopt.linalg.principal import principal_axes
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation
from psdopt.result import Status

#: Columns of Y below this fraction of the largest (squared) make room for new ones.
NEGLIGIBLE = 1e-14
#: Steps after a widening before the certificate is asked again: new columns are short at first, so that stationarity is
#: as small as before, and the method's memory is that of a fresh start.
SETTLING = 10
#: A widening that leaves more than this share of the infeasibility, while columns are hardly in use, did not help: each
#: widening restarts the method, and the run needs steps rather than columns. The next widening waits twice as long.
STUCK = 0.5
#: A dual infeasibility this many times above tolerance and stationarity asks for more columns,
CLEARLY_OFF = 3.0
#: and one this many times above them is the rank's doing for certain.
FAR_OFF = 100.0


@dataclass
class Escape:
    """When columns are added: the policy of a run, and what it remembers of the last widening.

    `allowed` up to `max_rank` columns; `last` is the iteration of the last widening, after which the next one waits
    for `wait` steps; `last_infeasibility` is the relative dual infeasibility that it found.
    """

    allowed: bool
    max_rank: int
    last: int = -1
    wait: int = 0
    last_infeasibility: float = math.inf

    def settles(self, iteration: int) -> bool:
        """Whether the last widening is too fresh for a certificate."""
        return iteration < self.last + min(self.wait, SETTLING)

    def waits(self, iteration: int, binds: Callable[[], bool]) -> bool:
        """Whether columns that are still growing or shrinking need steps rather than further columns."""
        return iteration < self.last + self.wait and not binds()

    def wants(self, certificate: Certificate, stationarity: float, tol: float, binds: Callable[[], bool]) -> bool:
        """Whether the dual infeasibility is the rank's doing: it exceeds what stationarity explains."""
        infeasible = certificate.dual_infeasibility_relative
        if not self.allowed or infeasible <= max(tol, certificate.stationarity_relative):
            return False
        return infeasible > CLEARLY_OFF * max(tol, stationarity) or binds()

    def note(self, iteration: int, certificate: Certificate, spare: bool) -> None:
        """Remember a widening at `iteration`, made with columns to spare or not."""
        infeasible = certificate.dual_infeasibility_relative
        stuck = spare and infeasible > STUCK * self.last_infeasibility
        self.wait = 2 * self.wait if stuck else SETTLING
        self.last_infeasibility, self.last = infeasible, iteration


def clearly_bound(certificate: Certificate, stationarity: float, tol: float) -> bool:
    """Whether the dual infeasibility is so far above what stationarity explains that no further step helps."""
    free = certificate.fixed_trace is None
    return (certificate.dual_infeasibility_relative if free else certificate.relative) > FAR_OFF * max(
        tol, stationarity
    )


def widened(evaluation: Evaluation, max_rank: int, smallest: float, seed: int = 0) -> Evaluation | None:
    """Y with new columns along eigenvectors of negative eigenvalues of S, or None if there is no room or use.

    At a stationary Y the factor gradient of a zero column is zero, yet F decreases to second order along
    an eigenvector v of S with vᵀSv < 0. Up to half as many columns as there are now are added at once, each
    with the weight beta that is best for it alone, together at the exact minimiser along that ray. `smallest`
    is λ_min(S) < 0 as the certificate saw it; the eigenvectors need a tenth of it in accuracy, no more.
    """
    compact = _without_negligible_columns(evaluation)
    Y = compact.factor
    room = max_rank - Y.shape[1]
    if room <= 0:
        return None
    count = min(room, max(1, math.ceil(Y.shape[1] / 2)), Y.shape[0])
    pair = evaluation.problem.duality.smallest_eigenpair(
        evaluation, evaluation.gradient, count=count, tol=0.1 * abs(smallest), seed=seed
    )
    # an eigenvalue that is zero but for rounding is no way down, and its own best weight would be noise
    negative = pair.values < -64.0 * EPS * math.sqrt(Y.shape[0]) * pair.norm
    if not np.any(negative):
        return None
    directions: Array = pair.vectors[:, negative] * np.sqrt(_own_weights(evaluation, pair.vectors[:, negative]))
    k = directions.shape[1]
    padded = compact.append(np.zeros((Y.shape[0], k)))
    line = padded.along(np.concatenate([np.zeros_like(Y), directions], axis=1))
    mu = line.minimize()
    if mu == math.inf:
        mu = 1.0  # unbounded along this ray: the method's next line search will find and say so
    return line.step(mu) if mu > 0.0 else None


def _own_weights(evaluation: Evaluation, vectors: Array) -> Array:
    """Best beta >= 0 of M + beta v vᵀ for each column v: curvatures differ by orders of magnitude."""
    weights = [evaluation.along_atom(v).minimize(alpha=(1.0, 1.0))[1] for v in vectors.T]
    finite = np.where(np.isfinite(weights), weights, 1.0)
    return np.maximum(finite, np.finfo(float).tiny)


def _without_negligible_columns(evaluation: Evaluation) -> Evaluation:
    r = evaluation.factor.shape[1]
    _, W = principal_axes(evaluation.factor, max(NEGLIGIBLE, r * EPS))
    return evaluation if W.shape[1] == r else evaluation.mix(W)


def rank_binds(evaluation: Evaluation, tol: float) -> bool:
    """Whether every column of Y is in use: λ_r(M) > tol · λ_1(M)."""
    values = np.linalg.svd(evaluation.factor, compute_uv=False) ** 2
    return bool(values[-1] > tol * values[0])


def explained(certificate: Certificate, columns: int, n: int, limited: bool) -> str:
    """What to say of a stationary point of `columns` columns that the certificate does not prove optimal.

    `limited` : whether the geometry limits the rank, so that more columns are an option.
    """
    what, found = "dual infeasibility", f"{certificate.dual_infeasibility_relative:.2g}"
    if certificate.fixed_trace is not None:
        what, found = "duality gap", f"{certificate.relative:.2g}"
    if columns == n or not limited:
        return f"stationary: at full rank {columns} the relative {what} stays at {found}"
    return (
        f"{Status.STATIONARY.value}: at rank {columns} of {n} the relative {what} is {found}. "
        "If the rank is not a limit you want, pass escape=True or a larger rank"
    )
