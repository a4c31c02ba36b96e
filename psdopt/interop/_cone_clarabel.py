"""Cone programs in Clarabel's form, and its answers back; log dets of blocks by exponential cones.

Clarabel's blocks are upper triangles, column by column, entries beside the diagonal times √2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.arrays import Array


@dataclass(frozen=True)
class Found:
    """Clarabel's answer: x (N,), multipliers y (R,), slacks s (R,); `refuted`: it says that no x is feasible."""

    x: Array
    y: Array
    s: Array
    iterations: int
    refuted: bool


@cache
def clarabel() -> Any:
    """The module, or None where it is not installed."""
    try:
        return import_module("clarabel")
    except ImportError:
        return None


def flops(program: ConeProgram) -> float:
    """Σ R_k³ over the blocks of R_k rows that Clarabel gets, to which the cost of its steps is proportional."""
    p, twice = program, dict(program.log_dets)
    orders = [2 * order if k in twice else order for k, order in enumerate(p.psd)]
    return float(sum((k * (k + 1) // 2) ** 3 for k in orders))


def found_by_clarabel(program: ConeProgram, limit: float) -> Found:
    """Clarabel's answer to the program at its own tolerances, after at most `limit` seconds."""
    module, given = clarabel(), lifted(program)
    p, cones = given.program, []
    cones += [module.ZeroConeT(p.zero)] if p.zero else []
    cones += [module.NonnegativeConeT(p.nonneg)] if p.nonneg else []
    cones += [module.PSDTriangleConeT(k) for k in p.psd]
    cones += [module.ExponentialConeT()] * (given.exponential.shape[0] // 3)
    order, scale = [np.arange(p.first_psd)], [np.ones(p.first_psd)]
    for k, size in enumerate(p.psd):
        column, row = np.triu_indices(size)
        upper = np.lexsort((column, row))
        order.append(p.rows_of(k).start + upper)
        scale.append(np.where(row == column, 1.0, math.sqrt(2.0))[upper])
    places, factors = np.concatenate(order), np.concatenate(scale)
    onto = sp.csr_array((factors, (np.arange(len(p.b)), places)), shape=(len(p.b), len(p.b)))
    A = sp.csc_matrix(sp.vstack([onto @ p.A, given.exponential]))
    right = np.concatenate([onto @ p.b, np.tile([0.0, 1.0, 0.0], given.exponential.shape[0] // 3)])
    P = sp.csc_matrix((len(p.c), len(p.c))) if p.P is None else sp.csc_matrix(sp.triu(p.P))
    settings = module.DefaultSettings()
    settings.verbose, settings.time_limit = False, limit
    answer = module.DefaultSolver(P, p.c, A, right, cones, settings).solve()
    y, s = np.empty(len(p.b)), np.empty(len(p.b))
    y[places] = np.asarray(answer.z)[: len(y)] * factors
    s[places] = np.asarray(answer.s)[: len(s)] / factors
    refuted = answer.status == module.SolverStatus.PrimalInfeasible
    x = np.asarray(answer.x)[: len(program.c)]
    return Found(x, y[given.kept], s[given.kept], int(answer.iterations), bool(refuted))


@dataclass(frozen=True)
class Lifted:
    """A program without log dets: `program` and three rows (t, 1, w) of each exponential cone w >= exp(t), of which
    `exponential` are the coefficients; `kept` (R,), the places of the rows of the program that was given."""

    program: ConeProgram
    exponential: sp.csr_array
    kept: NDArray[np.intp]


def lifted(program: ConeProgram) -> Lifted:
    """−ν log det S as −ν Σ t_i, exp(t_i) <= W_ii, [[S, W], [Wᵀ, Diag(W)]] ⪰ 0 for a lower triangular W.

    Where that holds, S ⪰ W Diag(W)⁻¹ Wᵀ, whose determinant is Π W_ii; with S = L D Lᵀ, W = L D reaches it.
    """
    p, weights = program, dict(program.log_dets)
    if not weights:
        return Lifted(p, sp.csr_array((0, len(p.c))), np.arange(len(p.b)))
    unknowns = [k * (k + 3) // 2 for k in (p.psd[t] for t in weights)]
    N, first = len(p.c) + sum(unknowns), len(p.c)
    c = np.concatenate([p.c, np.zeros(sum(unknowns))])
    P = None if p.P is None else sp.csr_array(sp.block_diag([p.P, sp.csr_array((sum(unknowns),) * 2)]))
    start = p.first_psd
    A, b, kept = [_wide(p.A[:start], N)], [p.b[:start]], [np.arange(start)]
    exponential: list[sp.csr_array] = []
    orders: list[int] = []
    for t, k in enumerate(p.psd):
        rows, height = p.rows_of(t), k * (k + 1) // 2
        if t not in weights:
            A, b = [*A, _wide(p.A[rows], N)], [*b, p.b[rows]]
            kept, orders = [*kept, start + np.arange(height)], [*orders, k]
            start += height
            continue
        column, row = np.triu_indices(2 * k)
        own = np.flatnonzero(row < k)  # S, in the order of its own triangle
        beside = np.flatnonzero((row >= k) & (column < k) & (column >= row - k))  # W_(column, row − k)
        below = np.flatnonzero((row >= k) & (row == column))  # W_(row − k, row − k)
        place = np.zeros((k, k), dtype=np.intp)
        place[np.tril_indices(k)] = first + np.arange(height)
        W = [place[column[beside], row[beside] - k], place[row[below] - k, row[below] - k]]
        onto = sp.csr_array((np.ones(len(own)), (own, np.arange(height))), shape=(len(row), height))
        at = np.concatenate([beside, below]), np.concatenate(W)
        A.append(sp.csr_array(_wide(onto @ p.A[rows], N) - sp.csr_array((np.ones(len(at[0])), at), (len(row), N))))
        b.append(np.asarray(onto @ p.b[rows]))
        kept.append(start + own)
        orders.append(2 * k)
        start += len(row)
        logs = first + height + np.arange(k)
        c[logs] = -weights[t]
        three = np.concatenate([3 * np.arange(k), 3 * np.arange(k) + 2]), np.concatenate([logs, np.diagonal(place)])
        exponential.append(-sp.csr_array((np.ones(2 * k), three), shape=(3 * k, N)))
        first += height + k
    rows_of_all = sp.csr_array(sp.vstack(A))
    wide = replace(p, c=c, P=P, A=rows_of_all, b=np.concatenate(b), psd=tuple(orders), log_dets=())
    return Lifted(wide, sp.csr_array(sp.vstack(exponential)), np.concatenate(kept))


def _wide(A: Any, unknowns: int) -> sp.csr_array:
    """A with columns of zeros beside it."""
    A = sp.csr_array(A)
    return sp.csr_array((A.data, A.indices, A.indptr), shape=(A.shape[0], unknowns))
