"""Moves of a factor that change its width: towards an atom, a block of atoms at once, and compression."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.linalg

from psdopt.contracts.problem import Evaluation, PlaneModel
from psdopt.linalg.arrays import Array
from psdopt.linalg.polynomials import minimize_smooth
from psdopt.linalg.subset import principal_axes
from psdopt.linalg.tolerances import EPS, SLIGHT, VANISHED


def with_block(evaluation: Evaluation, V: Array, beta: float) -> Evaluation:
    """M + mu² beta Σ_i v_i v_iᵀ with the best mu: one block application; a later search corrects the weights.

    The search starts from columns √beta V, since from columns of zeros the slope in mu is zero.
    """
    if beta <= 0.0:
        return evaluation
    Y, W = evaluation.factor, math.sqrt(beta) * V
    grown = evaluation.append(W)
    line = grown.along(np.concatenate([np.zeros_like(Y), -W], axis=1))
    mu = line.minimize(1.0)
    return line.step(mu) if 0.0 < mu < 1.0 else grown if grown.value < evaluation.value else evaluation


def outside(V: Array, Y: Array) -> Array:
    """Which unit columns of V (n, k) have over half of their squared length outside the span that Y (n, r) uses."""
    values, W = principal_axes(Y, VANISHED)
    inside = (V.T @ Y) @ (W / np.sqrt(values))
    return np.asarray(np.einsum("ij,ij->i", inside, inside) < 0.5)


def compressed(
    evaluation: Evaluation, lasting: bool = True, shares: Sequence[float] = (SLIGHT**2, VANISHED)
) -> Evaluation:
    """Y in its own principal axes, without the columns that M does not need. No application of a map.

    Axes at rounding level are always dropped. The smallest others are dropped up to the first of the `shares` of tr M
    (1 %, else a millionth) at which F does not increase. With `lasting`, only axes on whose span S has no negative
    eigenvalue are dropped; otherwise they would have to be added again, at the cost of a search.
    """
    Y = evaluation.factor
    values, vectors = np.linalg.eigh(Y.T @ Y)
    if not values[-1] > 0.0:
        return evaluation.mix(np.eye(Y.shape[1])[:, :1]) if Y.shape[1] > 1 else evaluation
    negligible = int(np.sum(values <= max(Y.shape) * EPS * values[-1]))
    flat = negligible + _flat(evaluation, vectors[:, negligible:], values[negligible:]) if lasting else len(values)
    held, last = np.cumsum(values), len(values)
    for share in shares:
        drop = min(flat, int(np.searchsorted(held, share * float(values.sum()))))
        if negligible < drop < last:
            trial = evaluation.mix(vectors[:, drop:])
            if trial.value <= evaluation.value:
                return trial
            last = drop
    return evaluation.mix(vectors[:, negligible:]) if negligible else evaluation


def _flat(evaluation: Evaluation, vectors: Array, values: Array) -> int:
    """The number of axes Y w, counted from the shortest, on whose span S is positive definite."""
    W = vectors / np.sqrt(values)
    S = W.T @ (0.5 * (evaluation.factor.T @ evaluation.factor_gradient())) @ W
    failed = int(scipy.linalg.lapack.dpotrf(0.5 * (S + S.T), lower=1)[1])  # order of the first minor not positive
    return failed - 1 if failed > 0 else len(S)


def share_toward(plane: PlaneModel) -> float:
    """t in [0, 1] of the least F((1 − t) M + t v vᵀ), between M and the atom of the plane, if F is convex."""

    def derivatives(t: float) -> tuple[float, float]:
        g, H = plane.derivatives(1.0 - t, t)
        return float(g[1] - g[0]), float(H[0, 0] - 2.0 * H[0, 1] + H[1, 1])

    return minimize_smooth(derivatives, 1.0)
