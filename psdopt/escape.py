"""The way out of a rank-r stationary point that is no global optimum: more columns."""

from __future__ import annotations

import math

import numpy as np

from psdopt.certificate import Certificate
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation
from psdopt.result import Status

#: Columns of Y below this fraction of the largest (squared) make room for new ones.
NEGLIGIBLE = 1e-14


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
    gram = evaluation.factor.T @ evaluation.factor
    values, vectors = np.linalg.eigh(gram)
    keep = values > max(NEGLIGIBLE, len(values) * EPS) * max(values[-1], np.finfo(float).tiny)
    if np.all(keep):
        return evaluation
    return evaluation.mix(vectors[:, keep])


def rank_binds(evaluation: Evaluation, tol: float) -> bool:
    """Whether every column of Y is in use: λ_r(M) > tol · λ_1(M)."""
    values = np.linalg.svd(evaluation.factor, compute_uv=False) ** 2
    return bool(values[-1] > tol * values[0])


def explained(certificate: Certificate, columns: int, n: int) -> str:
    """What to say of a stationary point of rank `columns` that the certificate does not prove optimal."""
    what, found = "dual infeasibility", f"{certificate.dual_infeasibility_relative:.2g}"
    if certificate.fixed_trace is not None:
        what, found = "duality gap", f"{certificate.relative:.2g}"
    if columns == n:
        return f"{Status.STATIONARY.value}: at full rank {n} the relative {what} stays at {found}"
    return (
        f"{Status.STATIONARY.value}: at rank {columns} of {n} the relative {what} is {found}. "
        "If the rank is not a limit you want, pass escape=True or a larger rank"
    )
