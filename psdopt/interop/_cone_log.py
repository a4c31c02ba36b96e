"""The log of a run on a cone program, as a table like those of other solvers, on standard output."""

from __future__ import annotations

import math
from typing import Any

from psdopt.contracts.abilities import name_of
from psdopt.contracts.method import Method
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.running.run import Snapshot

#: Columns: the title and the width of each.
COLUMNS = (("it", 5), ("primal", 15), ("dual", 15), ("pinf", 9), ("dinf", 9), ("gap", 9), ("step", 9), ("seconds", 9))


class Log:
    """A callback of :func:`psdopt.solve` that prints a row after each iteration; it never stops the run.

    Both objectives are those of the program, so that in the dual form, whose M holds multipliers, primal and dual
    change places: primal is the value of x, dual the bound that y gives. pinf and dinf are relative residuals of the
    rows and of c + P x + Aᵀy, gap the relative difference of both objectives. What a method does not know stays empty.
    """

    def __init__(self, form: PrimalForm | DualForm, method: Method) -> None:
        p, self._swapped = form.program, form.swapped
        held = f"{len(p.psd)} PSD blocks" if len(p.psd) != 1 else "1 PSD block"
        print(
            f"psdopt {name_of(method)} on the {'dual' if form.swapped else 'primal'} form: M of order {form.n}, "
            f"{form.m} constraints\nprogram: {len(p.c)} unknowns, {p.zero} equations, {p.nonneg} inequalities, {held}"
        )
        print("".join(f"{title:>{width}}" for title, width in COLUMNS))

    def __call__(self, snapshot: Snapshot) -> None:
        extras = snapshot.state.extras
        bound = extras.get("dual_bound", math.nan)
        infeasibility, residual = extras.get("infeasibility", math.nan), extras.get("dual_residual", math.nan)
        objectives = (-bound, -snapshot.value) if self._swapped else (snapshot.value, bound)
        residuals = (residual, infeasibility) if self._swapped else (infeasibility, residual)
        numbers: list[Any] = [*objectives, *residuals, extras.get("gap", math.nan), snapshot.state.step or math.nan]
        digits = [".8g"] * 2 + [".1e"] * 4
        cells = [format(v, d) if math.isfinite(v) else "" for v, d in zip(numbers, digits, strict=True)]
        row = [str(snapshot.iteration), *cells, format(snapshot.seconds, ".2f")]
        print("".join(f"{cell:>{width}}" for cell, (_, width) in zip(row, COLUMNS, strict=True)), flush=True)


def note(text: str) -> None:
    """A line between or after runs: how one ended, or why another one follows."""
    print(text, flush=True)
