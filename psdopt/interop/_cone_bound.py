"""What the point and the multipliers of any solver prove about a cone program: a lower bound on its value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.certify import certify
from psdopt.contracts.problem import Problem
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_epigraph import forms_of
from psdopt.interop._cone_forms import PrimalForm
from psdopt.interop._cone_optimal import cone_certificate
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_repair import MOST_FLOPS, Repair, inside
from psdopt.interop._cone_solve import solved_in_either
from psdopt.linalg.arrays import Array
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.threads import one_blas_thread

#: Shares of the largest multiplier by which those of an answer are moved inside before they are repaired.
INSIDE = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)


@dataclass(frozen=True)
class Bound:
    """A proven lower bound on the optimal value: -inf where nothing is proven, inf where no point is feasible.

    `origin` : what the multipliers were: "answer", those of the answer alone; "repaired", those moved a little onto
    the dual's equations and into its cones; "psdopt", psdopt's own; "program" where the rows need none;
    "" without a bound. `certificate` : of the primal form; None where no form was asked. `unit` : of a gap, at the
    point of the answer; nan if unknown. `message` : why the bound is infinite, else "".
    """

    value: float
    origin: str
    certificate: Certificate | None = None
    unit: float = math.nan
    message: str = ""


@one_blas_thread()
def bounded(program: ConeProgram, x: Array, y: Array, value: float, tol: float, own_run: bool = True) -> Bound:
    """The bound of multipliers y (R,) at x (N,), for any of both. `value` : the objective at the answer.

    In a program of moderate size y is first moved onto the dual's equations (:mod:`psdopt.interop._cone_repair`). If
    the bound is further from `value` than `tol` units, y itself is tried in the primal form. If that proves no more,
    and `own_run`, psdopt solves the program for multipliers of its own.
    """
    best = _by_own_numbers(program, x, y, value, tol)
    if _close(best, value, tol):
        return best
    form = PrimalForm(program)
    if form.contradiction is not None:
        return Bound(math.inf, "program", message="infeasible: equations without unknowns contradict each other")
    if form.feasibility:
        return Bound(float(program.c @ form.elimination.offset), "program")
    problem = form.problem()
    Y, w = factor_of(form, x), multipliers_of(form, y)
    best = max(_bound(problem, Y, w, tol, "answer"), best, key=_rank)
    if _close(best, value, tol):
        return best
    if not own_run:
        return best
    # bounds of curved objectives need a point of many digits, which the epigraph's run does not give
    which = "auto" if program.P is None else "primal"
    run_form, answer = solved_in_either(forms_of(program, which), {"tol": tol}, None, False)
    if answer.ending is Ending.INFEASIBLE:
        return Bound(math.inf, "psdopt", answer.certificate, message=answer.message)
    if answer.ending is not None or answer.point is None:
        return replace(best, message=answer.message)
    own_Y, own_w = factor_of(form, answer.point.x), multipliers_of(form, answer.point.y)
    if answer.warm is not None and not run_form.swapped:
        own_Y, own_w = answer.warm
    near = _by_own_numbers(program, answer.point.x, answer.point.y, value, tol)
    near = replace(near, origin="psdopt" if near.origin else "")
    return max(best, _bound(problem, own_Y, own_w, tol, "psdopt"), near, key=_rank)


def _by_own_numbers(program: ConeProgram, x: Array, y: Array, value: float, tol: float) -> Bound:
    """The bound of multipliers that are moved onto the dual's equations, from y and from a little inside of it.

    -inf where none are in the dual cones, or the program is too large for the dense systems.
    """
    best, gradient = Bound(-math.inf, ""), program.gradient(x)
    constant = program.P is None and not program.log_dets and not np.any(program.c)
    finite = np.all(np.isfinite(x)) and np.all(np.isfinite(y))
    if constant or not finite or len(program.b) * len(program.c) ** 2 > MOST_FLOPS:
        return best
    repair = Repair(program)
    for share in INSIDE:
        near = repair.multipliers(gradient, inside(program, y, share))
        found = cone_certificate(program, x, near)
        if found is not None and found.bound > best.value:
            best = Bound(found.bound, "repaired", unit=found.unit)
        elif best.value > -math.inf:  # further inside bounds get worse
            break
        if _close(best, value, tol):
            break
    return best


def _rank(bound: Bound) -> float:
    return bound.value


def _close(bound: Bound, value: float, tol: float) -> bool:
    unit = bound.unit if bound.unit > 0.0 else max(abs(value), abs(bound.value))
    return math.isfinite(bound.value) and abs(value - bound.value) <= tol * unit


def _bound(problem: Problem, Y: Array, w: Array, tol: float, origin: str) -> Bound:
    """The bound that psdopt's certificate of Y Yᵀ and w proves; -inf where it proves none."""
    found = certify(problem, Y, tol=tol, dual=w if len(w) else None)
    if found.constraints is None:
        value = -math.inf if found.gap is None else found.value - found.gap
    else:
        value = -math.inf if found.dual_value is None else found.dual_value
        if found.infeasible:
            return Bound(math.inf, origin, found, message="infeasible: the multipliers prove that no point is feasible")
    if not found.convex or value == -math.inf:
        return Bound(-math.inf, "", found, found.unit)
    return Bound(value, origin, found, found.unit)


def multipliers_of(form: PrimalForm, y: Array) -> Array:
    """Multipliers w (m,) of the form's problem from those of the program's rows, y (R,); left inverse of `point`."""
    shared = form.shares.copy()
    shared.data = np.ones_like(shared.data)
    return np.asarray(shared.T @ y[form.rest])


def factor_of(form: PrimalForm, x: Array) -> Array:
    """Y (n, r) with Y Yᵀ the M ⪰ 0 nearest to that of x (N,): its slacks b − A x, with blocks made semidefinite.

    Cost: the eigenvalues of the blocks.
    """
    p, first = form.program, sum(form.program.psd)
    s = p.b - p.A @ x
    rows = len(p.b) - p.first_psd
    single = np.flatnonzero(form.elimination.used[p.zero : p.first_psd]) + p.zero
    entries = np.concatenate([s[p.first_psd :], s[single]])
    lifted = (form.n - first - len(single)) // 2
    if lifted:  # x = offset + K entries + Z (plus − minus)
        K = sp.csc_array(form.K)
        Z = K[:, len(entries) : len(entries) + lifted]
        u = least_squares(Z, x - form.elimination.offset - K[:, : len(entries)] @ entries)
        entries = np.concatenate([entries, np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    columns, start, place = [], 0, 0
    for k in p.psd:
        size = k * (k + 1) // 2
        column, row = np.triu_indices(k)
        S = np.zeros((k, k))
        S[row, column] = S[column, row] = entries[place : place + size]
        values, V = np.linalg.eigh(S)
        kept = values > 0.0
        block = np.zeros((form.n, int(kept.sum())))
        block[start : start + k] = V[:, kept] * np.sqrt(values[kept])
        columns.append(block)
        start, place = start + k, place + size
    diagonal = np.maximum(entries[rows:], 0.0)
    used = np.flatnonzero(diagonal)
    slacks = np.zeros((form.n, len(used)))
    slacks[first + used, np.arange(len(used))] = np.sqrt(diagonal[used])
    Y = np.hstack([*columns, slacks])
    return Y if Y.shape[1] else np.zeros((form.n, 1))
