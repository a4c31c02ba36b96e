"""Small cone programs by an installed Clarabel, whose answer counts once it is proven by the program's own numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from psdopt.checks import number, number_or_none
from psdopt.constraints.limits import FEASIBLE
from psdopt.interop._cone_clarabel import clarabel, flops, found_by_clarabel
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_epigraph import forms_of
from psdopt.interop._cone_forms import DualForm, Point, PrimalForm
from psdopt.interop._cone_log import note
from psdopt.interop._cone_optimal import proven_near
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import refutes
from psdopt.interop._cone_repair import Repair
from psdopt.interop._cone_solve import Answer, solved_in_either
from psdopt.linalg.threads import one_blas_thread
from psdopt.running.result import Status

#: Options with which a program may be handed over: those that do not speak of psdopt's own run.
COMMON = ("tol", "max_time")
#: Largest :func:`~psdopt.interop._cone_clarabel.flops`, up to which Clarabel's ten steps take less than the calls of
#: psdopt's own, and most rows and unknowns.
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
    rows = len(program.b) + len(program.c)
    small = rows <= MOST_ROWS and flops(program) <= MOST_FLOPS
    if not (small and set(options) <= set(COMMON) and clarabel() is not None):
        return None
    tol = number(options.get("tol", FEASIBLE), "tol", above=0.0, below=1.0)
    limit = number_or_none(options.get("max_time"), "max_time (seconds)", least=0.0)
    found = found_by_clarabel(program, math.inf if limit is None else limit)
    x, y = found.x, found.y
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return None
    repair = Repair(program)
    answer = Answer(Status.INFEASIBLE, f"infeasible: {PROVEN}", iterations=found.iterations)
    if found.refuted:
        y = repair.multipliers(np.zeros(len(x)), y)
        proof = y / -float(program.b @ y) if refutes(program, y) else None
        return None if proof is None else replace(answer, ending=Ending.INFEASIBLE, proof=proof)
    near = proven_near(program, repair, x, y, found.s, tol)
    if near is None:
        return None
    x, y, certificate = near
    message = f"optimal: {PROVEN}"
    answer = replace(answer, status=Status.OPTIMAL, message=message, point=Point(x, y), own_numbers=certificate)
    return answer if answer.proven(tol) else None
