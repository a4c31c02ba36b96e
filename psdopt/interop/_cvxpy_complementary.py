"""Multipliers of cones that are complementary to a slack: V S = 0 for matrices, (λ, μ) along (t, −u) at |u| = t."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.constraints.psd import PSD
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import BLOCK
from psdopt.linalg.tolerances import MINOR


def cones(data: Any) -> Iterator[NDArray[np.intp]]:
    """The rows of each second-order cone, (d,), and of each matrix, (k, k), in CVXPY's program."""
    dims = data[ConicSolver.DIMS]
    first = dims.zero + dims.nonneg
    for d in dims.soc:
        yield np.arange(first, first + d)
        first += d
    for constraint in data[settings.PARAM_PROB].constr_map[PSD]:
        shape = constraint.args[0].shape
        yield from (first + np.arange(constraint.size).reshape(shape, order="F")).reshape(-1, *shape[-2:])
        first += constraint.size


def complementary(s: Array) -> Array | None:
    """A basis (rows, p) of multipliers that are complementary to a slack s, (d,) or (k, k); None if it is too large.

    An eigenvalue of S, or t − |u|, of at most a thousandth of the largest counts as zero.
    """
    if s.ndim == 1:
        t, u = float(s[0]), s[1:]
        size = float(np.linalg.norm(u))
        if max(abs(t), size) == 0.0:
            return np.eye(len(s))
        along = np.concatenate([[1.0], -u / max(size, MINOR * abs(t))])
        return along[:, None] if t - size <= MINOR * max(abs(t), size) else np.zeros((len(s), 0))
    values, Q = np.linalg.eigh(0.5 * (s + s.T))
    Q = Q[:, values <= MINOR * values[-1]]
    i, j = np.triu_indices(Q.shape[1])
    if s.size * len(i) > BLOCK:
        return None
    first, second = Q[:, None, i] * Q[None, :, j], Q[:, None, j] * Q[None, :, i]
    return np.asarray(np.where(i == j, 1.0, np.sqrt(0.5)) * np.where(i == j, first, first + second)).reshape(s.size, -1)


def spanned(unknown: NDArray[np.intp], apart: list[Any], data: Any, room: Array) -> tuple[sp.csr_array, Array]:
    """(T, row): multipliers of the rows `unknown` (k,) are T θ, T (k, p); `row` (p,), where θ is one of them, else −1.

    `apart` : sets of positions in `unknown` that share no unknown of the program. Of cones that have company in their
    sets, all of whose rows are unknown and whose slack `room` (rows,) is known, T holds a basis of complementary
    multipliers; all other rows are free. A cone alone needs none, since its multipliers follow.
    """
    place = np.full(len(room), -1)
    place[unknown] = np.arange(len(unknown))
    company = np.zeros(len(unknown), dtype=np.intp)
    for k, positions in enumerate(apart):
        company[positions] = k
    sizes, free = np.bincount(company), np.ones(len(unknown), dtype=bool)
    parts: list[sp.csr_array] = []
    for cone in cones(data):
        at = place[cone.ravel()]
        if np.any(at < 0) or np.any(np.isnan(room[cone])):
            continue
        met, counts = np.unique(company[at], return_counts=True)
        basis = complementary(room[cone]) if np.any(counts < sizes[met]) else None
        if basis is not None:
            free[at] = False
            i, j = np.nonzero(basis)
            parts.append(sp.csr_array((basis[i, j], (at[i], j)), shape=(len(unknown), basis.shape[1])))
    single = np.flatnonzero(free)
    alone = sp.csr_array((np.ones(len(single)), (single, np.arange(len(single)))), shape=(len(unknown), len(single)))
    T = sp.csr_array(sp.hstack([alone, *parts], format="csr"))
    return T, np.concatenate([unknown[single], np.full(T.shape[1] - len(single), -1)])
