"""Moves of a factor that change its width: a block of atoms at once, and compression."""

from __future__ import annotations

import math

import numpy as np

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


def compressed(evaluation: Evaluation) -> Evaluation:
    """Y in its own principal axes, without the columns that M does not need. No application of a map.

    Trailing eigenvalues are dropped down to the largest group whose loss does not increase F; those at
    rounding level always.
    """
    Y = evaluation.factor
    values, vectors = np.linalg.eigh(Y.T @ Y)
    if not values[-1] > 0.0:
        return evaluation.mix(np.eye(Y.shape[1])[:, :1]) if Y.shape[1] > 1 else evaluation
    negligible = int(np.sum(values <= max(Y.shape) * EPS * values[-1]))
    best = None
    for fraction in (1e-2, 1e-4, 1e-6):
        drop = int(np.searchsorted(np.cumsum(values), fraction * float(values.sum())))
        if drop > negligible:
            trial = evaluation.mix(vectors[:, drop:])
            if trial.value <= evaluation.value:
                best = trial
                break
    if best is not None:
        return best
    return evaluation.mix(vectors[:, negligible:]) if negligible else evaluation
