"""How a run leaves a stationary point of rank r that is not a global optimum: by adding columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psdopt.certificates.certificate import Certificate
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.subset import principal_axes
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT
from psdopt.methods.factor_moves import share_toward
from psdopt.running.result import Status

#: Steps after a widening before the next certificate, unless stationarity is slight beside what it was. New columns are
#: short at first, so that stationarity is still small, and the method has just restarted.
SETTLING = 10
#: An error is clearly smaller than another one if it is below this share of it.
CLEARLY = 0.5
#: A dual infeasibility above tolerance and stationarity by this factor is due to the rank limit, and steps do not help.
FAR_OFF = 100.0


@dataclass
class Escape:
    """The policy by which a run adds columns, and its record of the last widening.

    `allowed` : whether columns may be added, up to `max_rank`. `last` : iteration of the last widening; the next one
    waits for `wait` steps. `last_infeasibility`, `stationarity`, `columns` : the relative dual infeasibility, the
    stationarity and the number of columns before the last widening. `fine` : a stationarity above it is too coarse to
    tell what columns lack, unless it is clear.
    """

    allowed: bool
    max_rank: int
    last: int = -1
    wait: int = 0
    last_infeasibility: float = math.inf
    columns: int = 0
    stationarity: float = 0.0
    fine: float = math.inf

    def settles(self, iteration: int, stationarity: float = math.inf) -> bool:
        """Whether the last widening is too recent for a certificate; by default for more columns."""
        return iteration < self.last + min(self.wait, SETTLING) and stationarity > SLIGHT * self.stationarity

    def waits(self, iteration: int, binds: Callable[[], bool]) -> bool:
        """Whether to take more steps before the next widening."""
        return iteration < self.last + self.wait and not binds()

    def wants(self, certificate: Certificate, stationarity: float, tol: float, binds: Callable[[], bool]) -> bool:
        """Whether the dual infeasibility is too large to come from stationarity, so that the rank limit causes it.

        Above the stationarity `fine`, only if steps promise a minor share of what columns do: to second order F falls
        by the square of either.
        """
        infeasible = off(certificate)
        if self.allowed and stationarity > self.fine:
            return stationarity**2 <= MINOR * infeasible**2 and binds()
        own = certificate.stationarity_relative if certificate.fixed_trace is None else 0.0
        if not self.allowed or infeasible <= max(tol, own):
            return False
        return CLEARLY * infeasible > max(tol, stationarity) or binds()

    def note(
        self, iteration: int, certificate: Certificate, spare: bool, columns: int, stationarity: float = 0.0
    ) -> None:
        """Record a widening at `iteration` from `columns` columns. `spare` : some of these were hardly used.

        If the infeasibility is then not clearly smaller than before the last widening, the run needs steps rather than
        columns, and the next widening, which restarts the method, waits twice as long.
        """
        infeasible = off(certificate)
        stuck = spare and infeasible > CLEARLY * self.last_infeasibility
        self.wait = 2 * self.wait if stuck else SETTLING
        self.last_infeasibility, self.last, self.columns = infeasible, iteration, columns
        self.stationarity = stationarity


def clearly_bound(certificate: Certificate, stationarity: float, tol: float) -> bool:
    """Whether the dual infeasibility is so much larger than stationarity explains that no further step helps."""
    return off(certificate) > FAR_OFF * max(tol, stationarity)


def off(certificate: Certificate) -> float:
    """How far S is from proving M optimal: the relative dual infeasibility; the relative gap where the trace is fixed,
    as only the eigenvalues of S beside ⟨S, M⟩ / tr M count there."""
    return certificate.dual_infeasibility_relative if certificate.fixed_trace is None else certificate.relative


def widened(
    evaluation: Evaluation, max_rank: int, smallest: float, seed: int = 0, trace: float | None = None
) -> Evaluation | None:
    """Y with new columns along eigenvectors of negative eigenvalues of S; None without room or without a decrease of F.

    At a stationary Y the factor gradient of a zero column is zero, yet F decreases to second order along
    an eigenvector v of S with vᵀSv < 0. At most half as many columns as Y has are added at once. Each eigenvector
    gets the weight beta that is best for it alone; then F is minimised exactly along the ray of all new columns.
    `smallest` is λ_min(S) < 0 from the certificate; the eigenvalues are computed to a tenth of its size.

    With a fixed `trace` t, F decreases from M towards t v vᵀ if vᵀSv < ⟨S, M⟩ / t. The new matrix is the mean of the
    best ones towards each eigenvector, whose F is at most the mean of theirs, as F is convex.
    """
    _, W = principal_axes(evaluation.factor)
    # drop columns that are zero to rounding, to make room for new ones
    compact = evaluation if W.shape[1] == evaluation.factor.shape[1] else evaluation.mix(W)
    Y = compact.factor
    room = max_rank - Y.shape[1]
    if room <= 0:
        return None
    count = min(room, max(1, math.ceil(Y.shape[1] / 2)), Y.shape[0])
    level = 0.0 if trace is None else 0.5 * inner(evaluation.factor, evaluation.factor_gradient()) / trace
    pair = evaluation.problem.duality.smallest_eigenpair(
        evaluation, evaluation.gradient, count=count, tol=0.1 * abs(smallest - level), seed=seed
    )
    # if an eigenvalue is zero up to rounding, F does not decrease along its vector, and the best weight is noise
    negative = pair.values - level < -64.0 * EPS * math.sqrt(Y.shape[0]) * pair.norm
    if not np.any(negative):
        return None
    vectors, slopes = pair.vectors[:, negative], pair.values[negative]
    if trace is not None:
        return _towards(compact, math.sqrt(trace) * vectors)
    # the best weight of each by itself: curvatures differ by orders of magnitude
    pairs = zip(vectors.T, slopes, strict=True)
    weights = np.array([evaluation.along_atom(v).nearly_best_beta(float(slope)) for v, slope in pairs])
    weights = np.maximum(np.where(np.isfinite(weights), weights, 1.0), np.finfo(float).tiny)
    directions: Array = vectors * np.sqrt(weights)
    k = directions.shape[1]
    padded = compact.append(np.zeros((Y.shape[0], k)))
    line = padded.along(np.concatenate([np.zeros_like(Y), directions], axis=1))
    mu = line.nearly_minimize()
    if mu == math.inf:
        mu = 1.0  # F is unbounded along this ray: the method's next line search detects and reports it
    return line.step(mu) if mu > 0.0 else None


def _towards(evaluation: Evaluation, atoms: Array) -> Evaluation | None:
    """The mean over the columns v of `atoms` of the best points from M to v vᵀ; None if all of them are M."""
    shares = np.array([share_toward(evaluation.along_atom(v)) for v in atoms.T]) / atoms.shape[1]
    used = shares > 0.0  # False for a nan
    if not np.any(used):
        return None
    mixed = evaluation.append(atoms[:, used])
    kept = np.full(evaluation.factor.shape[1], 1.0 - shares[used].sum())
    return mixed.mix(np.diag(np.sqrt(np.concatenate([kept, shares[used]]))))


def rank_binds(evaluation: Evaluation, tol: float) -> bool:
    """Whether every column of Y is in use: λ_r(M) > tol · λ_1(M)."""
    values = np.linalg.svd(evaluation.factor, compute_uv=False) ** 2
    return bool(values[-1] > tol * values[0])


def explained(certificate: Certificate, columns: int, n: int, limited: bool, tol: float) -> str:
    """The message for a stationary point with `columns` columns that the certificate does not prove optimal.

    `limited` : whether the geometry limits the rank, so that more columns are an option.
    """
    found = f"the relative dual infeasibility is {certificate.dual_infeasibility_relative:.2g}"
    if certificate.fixed_trace is not None:
        found = f"the relative duality gap is {certificate.relative:.2g}"
    gap, allowed = certificate.gap, certificate.allowed(tol)
    if gap is not None and allowed < gap <= tol * certificate.unit:
        found += f", but F(M) - min F may be {gap:.3g}, where {allowed:.3g} would be a proof"
    if columns == n or not limited:
        return f"{Status.STATIONARY.value}: at full rank {columns} {found}"
    advice = "If the rank is not a limit you want, pass escape=True or a larger rank"
    return f"{Status.STATIONARY.value}: at rank {columns} of {n} {found}. {advice}"
