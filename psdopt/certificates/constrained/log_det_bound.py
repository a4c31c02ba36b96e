"""A lower bound on min ⟨C, M⟩ − Σ ν log det M_k from multipliers alone, rounding included."""

from __future__ import annotations

import math

import numpy as np

from psdopt.certificates.constrained.definite_slack import least_entries, stacks_semidefinite
from psdopt.certificates.constrained.directed_log_det import directed_log_det
from psdopt.constraints.conic import barrier_value
from psdopt.constraints.model import ConstrainedModel
from psdopt.constraints.stacks import Stack
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.tolerances import EPS, rounding


def log_det_bound(problem: ConstrainedModel, y: Array) -> float:
    """c − σ(y) + Σ_k ν_k (s_k (1 − log ν_k) + log det S_k), S_k the blocks of S = C + A*(y); −inf if there is no proof.

    For feasible N, F(N) >= c − σ(y) + ⟨S, N⟩ − Σ ν_k log det N_k, and each ⟨S_k, N_k⟩ − ν_k log det N_k is least at
    N_k = ν_k S_k⁻¹. No bound on tr N is needed. The S_k must be proven definite, and all other blocks semidefinite. The
    log det is that of a Cholesky factor of less than S_k: rounding of S and of the factor are first subtracted from the
    diagonal. n³/3 flops for each block. y (m,) must be admissible.
    """
    conic = problem.central
    if conic is None or conic.weights is None:
        return -math.inf
    weights = conic.weights
    curved, others = (
        [part for stack in conic.stacks if len(part := stack[(weights[stack.rows[:, 0]] > 0.0) == above])]
        for above in (True, False)
    )
    if not stacks_semidefinite(conic, y, others):
        return -math.inf
    entries, diagonal = least_entries(conic, y, np.float64)
    terms = [np.array([conic.constant, -problem.support(y)])]
    for stack in curved:
        logs = _least_log_dets(stack, entries, diagonal[stack.rows])
        if stack.rows.size == stack.order == conic.n and not conic.C.data.any():
            own = directed_log_det(problem, y)
            logs = np.array([own]) if logs is None and own > -math.inf else logs
            logs = None if logs is None else np.maximum(logs, own)
        if logs is None:
            return -math.inf
        terms.append(barrier_value(weights[stack.rows[:, 0]], stack.order, logs))
    parts = np.concatenate(terms)
    return math.fsum(parts) - rounding(float(np.abs(parts).sum()) + _spread(problem, y), 1)


def _least_log_dets(stack: Stack, entries: Array, diagonal: Array) -> Array | None:
    """Lower bounds (K,) of log det S_k with this `diagonal` (K, s); None if an S_k is not proven definite."""
    if stack.order > FACTOR_ORDER or not np.all(diagonal > 0.0):
        return None
    S, each, found = stack.dense(entries), np.arange(stack.order), np.empty(len(stack))
    S[:, each, each] = diagonal
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal)))
    S *= scale[:, :, None]
    S *= scale[:, None, :]
    for k, H in enumerate(S):
        # the factor of H − g I is exact for a matrix that exceeds it by at most 2 (s + 1) eps tr H (Rump 2006)
        factor = factor_above(H, 2.0 * (len(H) + 1) * EPS * float(np.trace(H)))
        if factor is None:
            return None
        logs = np.concatenate([2.0 * np.log(np.diagonal(factor[0])), -2.0 * np.log(scale[k])])
        found[k] = math.fsum(logs) - rounding(float(np.abs(logs).sum()), 1)
    return found


def _spread(problem: ConstrainedModel, y: Array) -> float:
    """Σ |y_t b_t|, the size of the terms of σ(y)."""
    used = y != 0.0
    return float(np.abs(y[used] * problem.allowed.bound(y)[used]).sum())
