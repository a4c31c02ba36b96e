"""Proof that S = C + A*(y) is positive semidefinite where its rows differ by many orders of magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.constraints.conic import Conic
from psdopt.constraints.stacks import Stack
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import BLOCK, FACTOR_ORDER, ITERATED_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: Extended precision; not used on machines where it is no wider than a double. It decides for programs of the family
#: hinf, whose multipliers are about 1e4 times larger in some rows: without it they end without progress.
EXTENDED: Any = np.longdouble


def proven_semidefinite(conic: Conic, y: Array) -> bool:
    """Whether S = C + A*(y) ⪰ 0 is proven, rounding of its own entries included.

    Rounding of an entry of S is at most k eps times the sum of the sizes of its k terms. The row sums of these errors
    are subtracted from the diagonal, and the rest has to be definite. D S D is factorised, with powers of two in D and
    a diagonal near one, so that rounding of the factor is relative to each row and not to the largest. Therefore
    multipliers that are large in a few rows do not spoil the proof, whereas they spoil a bound on λ_min(S) relative to
    |S|. n³/3 flops for each block. A block of order up to 300 that fails is tried again with mantissas of 64 bits, if
    the machine has them.
    """
    return stacks_semidefinite(conic, y, conic.stacks)


def stacks_semidefinite(conic: Conic, y: Array, stacks: list[Stack]) -> bool:
    """:func:`proven_semidefinite` of these diagonal blocks alone."""
    if max((stack.order for stack in conic.matrices), default=0) > FACTOR_ORDER:
        return False
    left = _undecided(conic, y, stacks, np.float64)
    # beyond this order a factor in extended precision, without LAPACK, takes seconds
    finer = np.finfo(EXTENDED).eps < EPS and all(stack.arrow or stack.order <= ITERATED_ORDER for stack in left)
    return not left or (bool(finer) and not _undecided(conic, y, left, EXTENDED))


def least_entries(conic: Conic, y: Array, kind: Any) -> tuple[Array, Array]:
    """Entries of S at the places of the conic, and the diagonal of S less the row sums of the rounding of S.

    The sums are taken of D S D, with powers of two in D and a diagonal near one, so that each is relative to its row.
    With this diagonal S is semidefinite only if the exact C + A*(y) is.
    """
    i, j, C, at = conic.places
    B, entries, diagonal, own = conic.forms.B, conic.entries(y.astype(kind)), np.zeros(conic.n, dtype=kind), i == j
    diagonal[i[own]] = entries[own]
    sizes, terms = np.abs(C), np.bincount(B.indices, minlength=B.shape[1]) + 2.0  # C is as given; adding rounds once
    of_terms = np.bincount(B.indices, np.abs(B.data * np.repeat(y, np.diff(B.indptr))), B.shape[1])
    sizes[at] += conic.forms.halves * of_terms * terms
    unit = np.exp2(-np.rint(0.5 * np.log2(np.where(diagonal > 0.0, diagonal, 1.0).astype(np.float64))))
    rounding = np.bincount(i, sizes * unit[j], conic.n) + np.bincount(j, np.where(own, 0.0, sizes * unit[i]), conic.n)
    diagonal -= float(np.finfo(kind).eps) * (1.0 + math.sqrt(EPS)) * (rounding / unit)
    return entries, diagonal


def _undecided(conic: Conic, y: Array, stacks: list[Stack], kind: Any) -> list[Stack]:
    """The blocks that are not proven definite in floating-point numbers of this type."""
    eps, (entries, diagonal) = float(np.finfo(kind).eps), least_entries(conic, y, kind)
    left = []
    for stack in _pieces(stacks):
        d = diagonal[stack.rows]
        definite = np.logical_and.reduce(d > 0.0, axis=1)
        if stack.arrow:  # the least eigenvalue of [[a, uᵀ], [u, a I]] is a − |u|
            least = np.where(definite, np.min(d, axis=1), 1.0)
            with np.errstate(over="ignore"):
                u = stack.first_rows(entries)[:, 1:] / least[:, None]  # beside 1 no square is lost to underflow
                definite &= np.sqrt(np.sum(u**2, axis=1)) * (1.0 + eps * (stack.order + 1.0)) < 1.0
        elif stack.order > 1 and definite.any():
            each, some = np.arange(stack.order), definite.copy()
            S, d = (stack if some.all() else stack[some]).dense(entries), d[some]
            S[:, each, each] = d
            scale = np.exp2(-np.rint(0.5 * np.log2(d.astype(np.float64)))).astype(kind)
            S *= scale[:, :, None]
            S *= scale[:, None, :]
            definite[some] = _definite(S, eps)
        if not definite.all():
            left.append(stack[~definite])
    return left


def _pieces(stacks: list[Stack]) -> Iterator[Stack]:
    """The blocks in pieces whose matrices together have at most `BLOCK` entries, or are a single one."""
    for stack in stacks:
        count = len(stack) if stack.arrow else max(1, BLOCK // stack.order**2)
        parts = (stack[first : first + count] for first in range(0, len(stack), count))
        yield from parts if count < len(stack) else (stack,)


def _definite(H: Array, eps: float) -> NDArray[np.bool_]:
    """For which k a Cholesky factor proves H_k ⪰ 0, H (K, s, s): of H_k less ROUNDINGS times Rump's bound on its
    rounding, (s + 1) eps tr H_k (BIT 46 (2006))."""
    each = np.arange(H.shape[1])
    R = H.copy()
    R[:, each, each] -= ROUNDINGS * (H.shape[1] + 1) * eps * np.trace(H, axis1=1, axis2=2)[:, None]
    if H.dtype == np.float64:
        deadline.ask()
        if len(H) > 1:
            try:
                return np.asarray(np.isfinite(np.linalg.cholesky(R)).all(axis=(1, 2)))
            except np.linalg.LinAlgError:  # one of them has no factor: which one, the factors apart tell
                pass
        return np.array([factor_above(A, 0.0) is not None for A in R])
    found = np.ones(len(H), dtype=bool)
    for k in each:
        pivot = R[:, k, k]
        found &= pivot > 0.0
        row = R[:, k, k + 1 :] / np.sqrt(np.where(found, pivot, 1.0))[:, None]
        row[~found] = 0.0  # rows of pivots that are not positive may be of any size
        R[:, k + 1 :, k + 1 :] -= row[:, :, None] * row[:, None, :]
    return found
