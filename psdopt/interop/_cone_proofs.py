"""Vectors that prove a cone program infeasible or its objective unbounded, checked against the program's own numbers.

A program whose dual has no point may still have an optimum, and one without a point need not have a proof by
multipliers: [[0, x], [x, y]] ⪰ 0 with min x, and X_00 = 0 with X_01 = 1. So the conclusion of a form on a face of the
cone holds for the program only if the vector itself is a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

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
    p, lost, sizes = program, rounding(1.0, len(y), COMPUTED), np.abs(y)
    if not np.all(np.isfinite(y)) or not p.b @ y < -lost * float(np.abs(p.b) @ sizes):
        return False
    if np.any(np.abs(p.A.T @ y) > lost * (abs(p.A).T @ sizes)):
        return False
    i, j = p.places()
    halves = np.concatenate([np.ones(p.first_psd), np.where(i == j, 1.0, 0.5)])
    return _inside(p, halves * y, lost * halves * sizes)


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
    return all(starmap(_semidefinite, zip(_blocks(program, v), _blocks(program, allowed), strict=True)))


def _semidefinite(V: Array, allowed: Array) -> bool:
    """Whether changes of entries V_ij by about `allowed` make V semidefinite.

    If a diagonal entry is exactly zero, its row must be zero: no multiple of the identity counts as rounding there.
    """
    d = np.sqrt(np.diagonal(allowed))
    exact = d == 0.0
    if np.any(np.diagonal(V)[exact] < 0.0) or np.any((np.abs(V) > allowed)[exact]):
        return False
    d, V, allowed = d[~exact], V[~exact][:, ~exact], allowed[~exact][:, ~exact]
    if not len(d):
        return True
    least = float(np.linalg.eigvalsh(V / np.outer(d, d))[0])
    return least >= -float(np.linalg.norm(allowed / np.outer(d, d)))


def _blocks(program: ConeProgram, v: Array) -> Iterator[Array]:
    """The symmetric matrices of the PSD rows of v."""
    first = program.first_psd
    for k in program.psd:
        column, row = np.triu_indices(k)
        V, end = np.zeros((k, k)), first + len(row)
        V[row, column] = V[column, row] = v[first:end]
        first = end
        yield V
