"""Moves of a factor that change its width: a block of atoms at once, and compression."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation


def with_block(evaluation: Evaluation, V: Array, beta: float) -> Evaluation:
    """M + mu² beta Σ_i v_i v_iᵀ with the best mu: one block application, for weights that a search mends.

    From columns √beta V, where the slope in mu is not zero as it is from columns of zeros.
    """
    if beta <= 0.0:
        return evaluation
    Y, W = evaluation.factor, math.sqrt(beta) * V
    grown = evaluation.append(W)
    line = grown.along(np.concatenate([np.zeros_like(Y), -W], axis=1))
    mu = line.minimize(1.0)
    return line.step(mu) if 0.0 < mu < 1.0 else grown if grown.value < evaluation.value else evaluation


#: Principal axes of M with less than this fraction of its largest eigenvalue count as not there.
IN_USE = 1e-6


def outside(V: Array, Y: Array) -> Array:
    """Which of the unit columns of V (n, k) have more than half their square outside the span that Y (n, r) uses."""
    values, W = np.linalg.eigh(Y.T @ Y)
    used = values > IN_USE * max(float(values[-1]), 0.0)
    if not np.any(used):
        return np.ones(V.shape[1], dtype=bool)
    inside = (V.T @ Y) @ (W[:, used] / np.sqrt(values[used]))
    return np.asarray(np.einsum("ij,ij->i", inside, inside) < 0.5)


#: What is dropped at once for its value holds at most this fraction of tr M, and so much less where F increases.
DROPPED, LESS = 1e-2, 1e-2
TRIALS = 3


def compressed(evaluation: Evaluation) -> Evaluation:
    """Y in its own principal axes, without the columns that M does not need. No application of a map.

    Axes at rounding level are dropped always. So are the least ones as long as S has no negative eigenvalue on what
    is dropped (else it would be wanted back) and F does not increase: up to 1 % of tr M, then 10⁻⁴ and 10⁻⁶.
    """
    Y = evaluation.factor
    values, vectors = np.linalg.eigh(Y.T @ Y)
    if not values[-1] > 0.0:
        return evaluation.mix(np.eye(Y.shape[1])[:, :1]) if Y.shape[1] > 1 else evaluation
    negligible = int(np.sum(values <= max(Y.shape) * EPS * values[-1]))
    units = np.sqrt(values[negligible:])
    W = vectors[:, negligible:] / units
    within = W.T @ (0.5 * (Y.T @ evaluation.factor_gradient())) @ W
    flat = negligible + _definite(0.5 * (within + within.T))
    held, fraction, last = np.cumsum(values), DROPPED * float(values.sum()), len(values)
    for _ in range(TRIALS):
        drop = min(flat, int(np.searchsorted(held, fraction)))
        if negligible < drop < last:
            trial = evaluation.mix(vectors[:, drop:])
            if trial.value <= evaluation.value:
                return trial
            last = drop
        fraction *= LESS
    return evaluation.mix(vectors[:, negligible:]) if negligible else evaluation


def _definite(S: Array) -> int:
    """Order of the largest leading block of S that is positive definite."""
    info = int(scipy.linalg.lapack.dpotrf(S, lower=1)[1])
    return info - 1 if info > 0 else len(S)
