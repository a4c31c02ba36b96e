"""Cone programs as constrained problems in one M ⪰ 0: with the slacks as M, or with the multipliers as M."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints import Constrained, Constraint, SparseForms
from psdopt.constraints.limits import CANCELLED
from psdopt.contracts.problem import Problem
from psdopt.interop._cone_hermitian import twins
from psdopt.interop._cone_objective import objective, square_root
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._elimination import Elimination, eliminate, merged, pruned, violated
from psdopt.linalg.arrays import Array, gathered_row_dots
from psdopt.linalg.tolerances import EPS
from psdopt.problems.term_sum import TermSum
from psdopt.terms.log_det import LogDet


@dataclass(frozen=True)
class Point:
    """The point of the cone program that M and its multipliers give: x (N,), and y (R,) with c + P x + Aᵀy = 0."""

    x: Array
    y: Array


class PrimalForm:
    """M holds the PSD slacks block by block, and on its diagonal the slacks of inequalities that define an unknown.

    Of a block that is the real form of a Hermitian matrix M holds any matrix with that mean
    (:class:`~psdopt.interop._cone_hermitian.Twins`). x is affine in M; rows that define no unknown are the constraints
    on M. An unknown without a defining row, if the objective or a row contains it, is the difference of two further
    diagonal entries.

    Attributes: `n`, order of M; `m`, constraints; `costs`, of the entries of M; `contradiction`, where a row without
    unknowns cannot be met: y (R,) with Aᵀy = 0, bᵀy < 0, y >= 0 on inequalities and 0 on PSD rows, else None;
    `feasibility`, whether the objective is constant, so that every feasible M is optimal.
    """

    swapped = False

    def __init__(self, program: ConeProgram) -> None:
        self.program = p = program
        A, b, R = p.A, p.b, len(p.b)
        kind = np.concatenate([np.full(p.zero, 1), np.full(p.nonneg, 2), np.zeros(R - p.first_psd, dtype=int)])
        self.elimination = e = eliminate(A, b, kind.astype(np.intp))
        AK, AZ, right = e.rest()
        self.twins = twins(p)
        unused = ~e.used
        if self.twins is not None:  # of two twins that are both left one is enough
            unused &= ~(self.twins.repeated & unused[self.twins.of])
        rest = np.flatnonzero(unused)
        needed = (_costs(p, e) != 0.0) | (np.diff(sp.csc_array(AZ[rest]).indptr) > 0)
        if p.P is not None:
            needed |= np.diff(sp.csc_array(p.P @ e.Z).indptr) > 0
        lifted = np.flatnonzero(needed)
        single = np.flatnonzero(e.used & (kind == 2))
        i, j = p.places()
        first = sum(p.psd)
        slack = first + np.arange(len(single))
        plus = first + len(single) + np.arange(len(lifted))
        self.i = np.concatenate([i, slack, plus, plus + len(lifted)])
        self.j = np.concatenate([j, slack, plus, plus + len(lifted)])
        self.n = max(first + len(single) + 2 * len(lifted), 1)  # a row that nothing refers to, if there is no other
        columns = np.concatenate([np.arange(p.first_psd, R), single])
        Z = e.Z[:, lifted]
        self.K = sp.csr_array(sp.hstack([sp.csc_array(e.K)[:, columns], Z, -Z], format="csr"))
        own, free = sp.eye_array(R, format="csr")[rest], AZ[rest][:, lifted]
        rows = sp.csr_array(sp.hstack([(AK[rest] + own)[:, columns], free, -free], format="csr"))
        sizes = np.concatenate([(e.K_sizes.T @ np.abs(p.c))[columns], np.tile((e.Z_sizes.T @ np.abs(p.c))[lifted], 2)])
        if self.twins is not None:
            mean = sp.csr_array(sp.block_diag([self.twins.mean[columns][:, columns], sp.eye_array(2 * len(lifted))]))
            sizes = abs(mean).T @ sizes
            self.K, rows = sp.csr_array(self.K @ mean), pruned(sp.csr_array(rows @ mean), abs(rows) @ abs(mean))
        right = right[rest]
        loose = kind[rest] == 2
        allowed = e.allowed[rest]
        empty = np.diff(rows.indptr) == 0
        self.contradiction = _contradiction(p, e, rest, rows, np.where(loose, np.minimum(right, 0.0), right), allowed)
        rows, self.rest, right, loose = sp.csr_array(rows[~empty]), rest[~empty], right[~empty], loose[~empty]
        kept, self.shares = merged(rows, right, loose)
        self.rows, self.upper = sp.csr_array(rows[kept]), right[kept]
        self.lower = np.where(loose[kept], -math.inf, self.upper)
        self.m = len(kept)
        self.costs = _uncancelled(self.K.T @ p.c, sizes)
        self.feasibility = p.P is None and not p.log_dets and not np.any(self.costs)

    def problem(self, trace_bound: float | None = None) -> Problem:
        p, x0 = self.program, self.elimination.offset
        squares, target = sp.csr_array((0, len(self.i))), np.zeros(0)
        if p.P is not None:
            V = square_root(p.P)
            squares, target = sp.csr_array(V @ self.K), -np.asarray(V @ x0)
        F = objective(self.costs, squares, target, float(p.c @ x0), self.i, self.j, self.n)
        F = _with_log_dets(F, p, 0.0)
        return _constrained(F, self.rows, self.i, self.j, self.lower, self.upper, self.n, trace_bound)

    def point(self, Y: Array, multipliers: Array) -> Point:
        """x and y from M = Y Yᵀ and the multipliers (m,) of :meth:`problem`."""
        x = self.elimination.offset + self.direction(Y)
        return Point(x, self._multipliers(multipliers, self.program.gradient(x)))

    def direction(self, D: Array) -> Array:
        """The change of x as M grows along D Dᵀ: a ray of the program where A(D Dᵀ) is within bounds for ever."""
        return np.asarray(self.K @ gathered_row_dots(self.i, self.j, D, D))

    def refutation(self, w: Array) -> Array:
        """Multipliers w (m,) as a proof for the program: y (R,) with Aᵀy = 0, bᵀy = σ(w), and A*(w) on PSD rows."""
        return self._multipliers(w, 0.0 * self.program.c)

    def _multipliers(self, w: Array, gradient: Array) -> Array:
        """y with gradient + Aᵀy = 0 and the multipliers w of the rows that remain."""
        y = np.zeros(len(self.program.b))
        y[self.rest] = self.shares @ w
        y = self.elimination.multipliers(gradient, y)
        return y if self.twins is None else self.twins.averaged(y)


class DualForm:
    """M holds the multipliers of the PSD rows block by block and of the inequalities on its diagonal: F_0 + Σ x_j F_j.

    Multipliers of a block that is the real form of a Hermitian matrix are handed out as one too: the mean with their
    twins. Equations are first solved for unknowns. Each remaining unknown x_j is the multiplier of a constraint on M.
    The optimal value of the problem is minus that of the program. Linear objectives only.

    Attributes: `n`, `m`, `contradiction` as in :class:`PrimalForm`; `suits`, whether the objective is
    linear and not constant, and equations can be solved for unknowns.
    """

    swapped = True
    feasibility = False

    def __init__(self, program: ConeProgram) -> None:
        self.program = p = program
        order = np.where(np.arange(len(p.b)) < p.zero, 0, -1).astype(np.intp)
        self.elimination = e = eliminate(p.A, p.b, order)
        self.twins = twins(p)
        _, AZ, right = e.rest()
        left = np.flatnonzero(~e.used[: p.zero])
        solved = p.P is None and AZ[left].nnz == 0
        self.contradiction = _contradiction(p, e, left, sp.csr_array(AZ[left]), right[left], e.allowed[left])
        i, j = p.places()
        slack = sum(p.psd) + np.arange(p.nonneg)
        self.i, self.j = np.concatenate([slack, i]), np.concatenate([slack, j])
        self.n = sum(p.psd) + p.nonneg
        twice = np.where(self.i == self.j, 1.0, 2.0)
        self.right = right[p.zero :] * twice
        columns = sp.csr_array((sp.diags_array(twice) @ AZ[p.zero :]).T)
        cost = _costs(p, e)
        empty = np.diff(columns.indptr) == 0
        self.rows, self.columns = sp.csr_array(columns[~empty]), np.flatnonzero(~empty)
        self.level = -cost[~empty]
        self.m = len(self.columns)
        # an unknown that has a cost but is in no row gives a constraint that no M meets
        some = bool(p.log_dets) or np.any(self.level)
        self.suits = bool(solved and self.m > 0 and some and not np.any(cost[empty]))

    def problem(self, trace_bound: float | None = None) -> Problem:
        constant = -float(self.program.c @ self.elimination.offset)
        F = objective(self.right, sp.csr_array((0, len(self.i))), np.zeros(0), constant, self.i, self.j, self.n)
        # min over S ≻ 0 of ⟨Y, S⟩ − ν log det S is ν s (1 − log ν) + ν log det Y
        p = self.program
        F = _with_log_dets(F, p, -sum(nu * p.psd[k] * (1.0 - math.log(nu)) for k, nu in p.log_dets))
        return _constrained(F, self.rows, self.i, self.j, self.level, self.level, self.n, trace_bound)

    def point(self, Y: Array, multipliers: Array) -> Point:
        """x and y from M = Y Yᵀ and the multipliers (m,) of :meth:`problem`."""
        y = self._multipliers(Y, self.program.c)
        return Point(self.elimination.offset + self.refutation(multipliers), y)

    def direction(self, D: Array) -> Array:
        """y (R,) with Aᵀy = 0 from D with A(D Dᵀ) = 0: a proof of infeasibility where the objective falls along it."""
        return self._multipliers(D, 0.0 * self.program.c)

    def refutation(self, w: Array) -> Array:
        """The direction of x that multipliers w (m,) define: −A x is A*(w), cᵀx is σ(w)."""
        u = np.zeros(self.elimination.Z.shape[1])
        u[self.columns] = -w
        return np.asarray(self.elimination.Z @ u)

    def _multipliers(self, Y: Array, gradient: Array) -> Array:
        """y with gradient + Aᵀy = 0 and Y Yᵀ as multipliers of inequalities and PSD rows."""
        y, p = np.zeros(len(self.program.b)), self.program
        y[p.zero :] = np.where(self.i == self.j, 1.0, 2.0) * gathered_row_dots(self.i, self.j, Y, Y)
        y = self.elimination.multipliers(gradient, y)
        return y if self.twins is None else self.twins.averaged(y)


def _with_log_dets(F: TermSum, program: ConeProgram, constant: float) -> TermSum:
    """F + `constant` less the log dets of the program's blocks, which are the first rows of M in their order."""
    terms = [LogDet(F.n, nu, program.block(k)) for k, nu in program.log_dets]
    return TermSum([*F.terms, *terms], F.constant + constant) if terms else F


def _costs(program: ConeProgram, e: Elimination) -> Array:
    """Zᵀc (k,) : the costs of the unknowns that stay free; zero where their terms cancel up to rounding."""
    return _uncancelled(e.Z.T @ program.c, e.Z_sizes.T @ np.abs(program.c))


def _uncancelled(costs: Array, sizes: Array) -> Array:
    """`costs`, zero where they are rounding beside the `sizes` of their terms."""
    return np.where(np.abs(costs) > CANCELLED * EPS * sizes, costs, 0.0)


def _contradiction(
    program: ConeProgram, e: Elimination, rest: NDArray[np.intp], rows: sp.csr_array, asked: Array, allowed: Array
) -> Array | None:
    """y (R,) with Aᵀy = 0 and bᵀy < 0, 0 on PSD rows: from the row without unknowns that is violated most clearly."""
    t = violated(rows, asked, allowed)
    if t is None:
        return None
    y = np.zeros(len(program.b))
    y[rest[t]] = -np.sign(asked[t])
    return e.multipliers(0.0 * program.c, y)


def _constrained(
    F: Problem,
    rows: sp.csr_array,
    i: np.ndarray,
    j: np.ndarray,
    lower: Array,
    upper: Array,
    n: int,
    trace_bound: float | None,
) -> Problem:
    """F with `rows` of the entries (i, j) between bounds; F itself if there are no rows."""
    columns = sp.csc_array(rows)
    used = np.flatnonzero(np.diff(columns.indptr))
    if not len(used):
        return F
    forms = SparseForms(i[used], j[used], columns[:, used], n)
    return Constrained(F, Constraint(forms, lower, upper, name="cone program"), trace_bound)
