"""Small cone programs by an installed Clarabel, whose answer counts once it is proven by the program's own numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import number, number_or_none
from psdopt.constraints.limits import FEASIBLE
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_epigraph import forms_of
from psdopt.interop._cone_forms import DualForm, Point, PrimalForm
from psdopt.interop._cone_log import note
from psdopt.interop._cone_optimal import cone_certificate
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import refutes
from psdopt.interop._cone_repair import repaired_multipliers, repaired_point
from psdopt.interop._cone_solve import Answer, solved_in_either
from psdopt.linalg.arrays import Array
from psdopt.linalg.threads import one_blas_thread
from psdopt.running.result import Status

#: Options with which a program may be handed over: those that do not speak of psdopt's own run.
COMMON = ("tol", "max_time")
#: Largest Σ R_k³ over blocks of R_k rows, to which a step of Clarabel is proportional: up to it ten steps take less
#: than the calls of psdopt's own, and most rows and unknowns.
MOST_FLOPS, MOST_ROWS = 5e6, 1000
PROVEN = "Clarabel's answer, proven by psdopt"


def answered(
    program: ConeProgram, options: dict[str, Any], last: Any, verbose: bool
) -> tuple[PrimalForm | DualForm | None, Answer]:
    """Clarabel's answer if it is proven, with no form; else that of psdopt's run, and its form.

    `options` : of the run, `form`, and `clarabel`, whether Clarabel may be asked.
    """
    run = dict(options)
    handed = by_clarabel(program, run) if run.pop("clarabel", True) else None
    if handed is None:
        return solved_in_either(forms_of(program, run.pop("form", "auto")), run, last, verbose)
    if verbose:
        note(handed.message)
    return None, handed


@one_blas_thread()
def by_clarabel(program: ConeProgram, options: dict[str, Any]) -> Answer | None:
    """Clarabel's answer to a small program with its proof; None where there is none, or Clarabel is not installed.

    Its multipliers are moved onto the dual's equations (:mod:`psdopt.interop._cone_repair`), and then prove a bound, or
    that no x is feasible; its point is moved where it violates a row too much.
    """
    clarabel = _clarabel()
    if clarabel is None or not _small(program) or not set(options) <= set(COMMON):
        return None
    tol = number(options.get("tol", FEASIBLE), "tol", above=0.0, below=1.0)
    limit = number_or_none(options.get("max_time"), "max_time (seconds)", least=0.0)
    found, x, y, s = _solved(clarabel, program, math.inf if limit is None else limit)
    refuted = found.status == clarabel.SolverStatus.PrimalInfeasible
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return None
    answer = Answer(Status.INFEASIBLE, f"infeasible: {PROVEN}", iterations=int(found.iterations))
    if refuted:
        y = repaired_multipliers(program, np.zeros(len(x)), y)
        proof = y / -float(program.b @ y) if refutes(program, y) else None
        return None if proof is None else replace(answer, ending=Ending.INFEASIBLE, proof=proof)
    multipliers = repaired_multipliers(program, program.gradient(x), y)
    certificate = cone_certificate(program, x, multipliers)
    if certificate is not None and certificate.infeasibility > tol and certificate.gap_relative <= tol:
        x = repaired_point(program, x, s)
        if program.P is not None:
            multipliers = repaired_multipliers(program, program.gradient(x), y)
        certificate = cone_certificate(program, x, multipliers)
    if certificate is None or not certificate.proves(tol):
        return None
    answer = replace(
        answer,
        status=Status.OPTIMAL,
        message=f"optimal: {PROVEN}",
        point=Point(x, multipliers),
        own_numbers=certificate,
    )
    return answer if answer.proven(tol) else None


@cache
def _clarabel() -> Any:
    try:
        return import_module("clarabel")  # here, as not everybody has it
    except ImportError:
        return None


def _small(program: ConeProgram) -> bool:
    p = program
    flops = sum((k * (k + 1) // 2) ** 3 for k in p.psd)
    return flops <= MOST_FLOPS and len(p.b) + len(p.c) <= MOST_ROWS and not p.log_dets


def _solved(clarabel: Any, program: ConeProgram, limit: float) -> tuple[Any, Array, Array, Array]:
    """Clarabel's solution, its x (N,), multipliers y (R,) and slacks s (R,).

    Its blocks are upper triangles, column by column, entries beside the diagonal times √2.
    """
    p = program
    order, scale, first = [np.arange(p.first_psd)], [np.ones(p.first_psd)], p.first_psd
    cones = [clarabel.ZeroConeT(p.zero)] if p.zero else []
    cones += [clarabel.NonnegativeConeT(p.nonneg)] if p.nonneg else []
    for k in p.psd:
        column, row = np.triu_indices(k)
        upper = np.lexsort((column, row))
        order.append(first + upper)
        scale.append(np.where(row == column, 1.0, math.sqrt(2.0))[upper])
        cones.append(clarabel.PSDTriangleConeT(k))
        first += len(row)
    places, factors = np.concatenate(order), np.concatenate(scale)
    onto = sp.csr_array((factors, (np.arange(first), places)), shape=(first, first))
    P = sp.csc_matrix((len(p.c), len(p.c))) if p.P is None else sp.csc_matrix(sp.triu(p.P))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit = False, limit
    found = clarabel.DefaultSolver(P, p.c, sp.csc_matrix(onto @ p.A), onto @ p.b, cones, settings).solve()
    s = np.empty(first)
    s[places] = np.asarray(found.s) / factors
    return found, np.asarray(found.x), np.asarray(onto.T @ np.asarray(found.z)), s
