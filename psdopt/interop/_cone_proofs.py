"""Vectors that prove a cone program infeasible or its objective unbounded, checked against the program's own numbers.

A program whose dual has no point may still have an optimum, and one without a point need not have a proof by
multipliers: [[0, x], [x, y]] ⪰ 0 with min x, and X_00 = 0 with X_01 = 1. So the conclusion of a form on a face of the
cone holds for the program only if the vector itself is a proof.
"""

from __future__ import annotations

import numpy as np

from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import ROOT_EPS, rounding

#: Rounding allowed in a sum, as a multiple of the rounding of its products, since entries of y and x are rounded as
#: well.
COMPUTED = 512.0


def refutes(program: ConeProgram, y: Array) -> bool:
    """Whether Aᵀy = 0 and y in the dual cones up to the rounding of their terms, and bᵀy < 0 beyond that of its own.

    Then 0 = yᵀ(A x + s − b) > 0 for any feasible x, so no x is feasible. y (R,). Cost: the eigenvalues of its blocks.
    """
    p, sizes = program, np.abs(y)
    lost = rounding(1.0, len(y), COMPUTED)
    below = bool(p.b @ y < -lost * float(np.abs(p.b) @ sizes))
    return below and _dual_feasible(p, y, np.zeros(len(p.c)), sizes)


def cleared(program: ConeProgram, y: Array) -> Array:
    """y with zeros for entries, and for whole PSD blocks, that are rounding beside the largest entry.

    Where an unknown occurs in these rows only, Aᵀy = 0 there demands exact zeros.
    """
    kept = np.abs(y) > rounding(1.0, len(y), COMPUTED) * np.abs(y).max(initial=0.0)
    for stack in program.stacks:
        kept[stack.rows] = kept[stack.rows].any(axis=1, keepdims=True)
    return np.where(kept, y, 0.0)


def dual_feasible(program: ConeProgram, y: Array, gradient: Array) -> bool:
    """Whether gradient + Aᵀy = 0 and y (R,) in the dual cones up to the rounding of their terms.

    Terms have the :func:`entry_sizes` of y. Cost: the eigenvalues of the blocks.
    """
    return _dual_feasible(program, y, gradient, entry_sizes(program, y))


def entry_sizes(program: ConeProgram, y: Array) -> Array:
    """|y| (R,), where an entry 2 Y_ij beside the diagonal of a block counts as 2 √(Y_ii Y_jj) if that is larger."""
    sizes = np.abs(y)
    for stack in program.stacks:
        entries = sizes[stack.rows]
        d = np.sqrt(entries[:, stack.i == stack.j])
        sizes[stack.rows] = np.maximum(entries, stack.twice * d[:, stack.i] * d[:, stack.j])
    return sizes


def _dual_feasible(p: ConeProgram, y: Array, gradient: Array, sizes: Array) -> bool:
    lost = rounding(1.0, len(y), COMPUTED)
    if not np.all(np.isfinite(y)):
        return False
    if np.any(np.abs(gradient + p.A.T @ y) > lost * (np.abs(gradient) + abs(p.A).T @ sizes)):
        return False
    return _inside(p, y / p.twice, lost * sizes / p.twice)


def falls(program: ConeProgram, x: Array) -> bool:
    """Whether P x = 0 and −A x in the cones up to the rounding of their terms, and cᵀx < 0 clearly beyond that.

    Then the objective falls without end along x from every feasible point. So it does where cᵀx has no terms, and a
    block of −A x whose log det is in the objective is not zero. x (N,). Cost: the eigenvalues of the blocks of A x.
    """
    p, lost, sizes = program, rounding(1.0, len(x), COMPUTED), np.abs(x)
    # a small fall may come from numbers of the program that are themselves rounded
    terms = float(np.abs(p.c) @ sizes)
    if not np.all(np.isfinite(x)) or not (p.c @ x < -ROOT_EPS * terms or (p.log_dets and terms == 0.0)):
        return False
    if p.P is not None and np.any(np.abs(p.P @ x) > lost * (abs(p.P) @ sizes)):
        return False
    s, allowed = -(p.A @ x), lost * (abs(p.A) @ sizes)
    if terms == 0.0 and not any(np.any(np.abs(s[rows]) > allowed[rows]) for rows in map(p.rows_of, dict(p.log_dets))):
        return False
    return bool(np.all(np.abs(s[: p.zero]) <= allowed[: p.zero])) and _inside(p, s, allowed)


def scaled(program: ConeProgram, x: Array) -> Array:
    """x / −cᵀx; where only log dets fall along x, x / |x|."""
    return np.asarray(x / (-(program.c @ x) or np.linalg.norm(x)))


def _inside(program: ConeProgram, v: Array, allowed: Array) -> bool:
    """Whether v (R,) is in the cones of the inequalities and blocks, each entry up to `allowed`."""
    loose = slice(program.zero, program.first_psd)
    if np.any(v[loose] < -allowed[loose]):
        return False
    return all(_semidefinite(stack.matrices(v), stack.matrices(allowed)) for stack in program.stacks)


def _semidefinite(V: Array, allowed: Array) -> bool:
    """Whether changes of entries V_ij by about `allowed` make all V (blocks, k, k) semidefinite.

    If a diagonal entry is exactly zero, its row must be zero: no multiple of the identity counts as rounding there.
    """
    d = np.sqrt(np.einsum("bii->bi", allowed))
    exact = d == 0.0
    rows = exact[:, :, None] | exact[:, None, :]
    if np.any(np.einsum("bii->bi", V)[exact] < 0.0) or np.any((np.abs(V) > allowed)[rows]):
        return False
    units = np.where(rows, np.inf, d[:, :, None] * d[:, None, :])
    least = np.linalg.eigvalsh(V / units)[:, 0]
    return bool(np.all(least >= -np.linalg.norm(allowed / units, axis=(1, 2))))
