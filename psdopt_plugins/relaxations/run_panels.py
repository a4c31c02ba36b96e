"""Pictures of a constrained run: iterates violate constraints, so that a value alone says little."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from psdopt.linalg import Array
from psdopt.plugins import BLUE, GREY, draw_certificate, new_figure
from psdopt_plugins.pictures import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psdopt import Result


def plot_constrained(draw: Callable[[Any, Any], None], *, result: Result, **run: Unpack[Run]) -> Figure:
    """Four panels: the upper two by `draw` (left axes, right axes), the run in the lower two."""
    figure = new_figure(11.0, 9.0)
    upper, lower = figure.subplots(2, 2)
    draw(*upper)
    _draw_run(lower[0], lower[1], result, run)
    figure.suptitle(run.get("title", ""), fontweight="bold")
    return figure


def _draw_run(left: Axes, right: Axes, result: Result, run: Run) -> None:
    """Left: |F(M_t) − proven bound| relative to |bound − F(0)|, and the infeasibility. Right: the certificates."""
    from matplotlib.ticker import MaxNLocator

    history = result.history
    certificate = result.certificate
    bound = None if certificate is None else certificate.dual_value
    if bound is not None and certificate is not None:
        unit = max(abs(bound - certificate.value_at_zero), np.finfo(float).tiny)
        distance = np.abs(history["value"] - bound) / unit
        _curve(left, history["iteration"], distance, BLUE, "|F(M) − final proven bound|")
    if "infeasibility" in history.columns:
        _curve(left, history["iteration"], history["infeasibility"], GREY, "infeasibility")
    left.set(xlabel="iteration", ylabel="relative (no unit)", yscale="log", title="Value and constraints")
    left.grid(alpha=0.25, lw=0.6)
    if left.lines:
        left.legend(framealpha=0.9, edgecolor="none")
    draw_certificate(right, result, run.get("certificates"), run.get("tol"))
    left.set_xlim(right.get_xlim())
    left.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _curve(axes: Axes, x: Array, y: Array, colour: Any, label: str) -> None:
    shown = np.isfinite(y) & (y > 0.0)
    if np.any(shown):
        axes.plot(x[shown], y[shown], color=colour, lw=1.8, marker="o" if len(x) <= 40 else None, ms=4, label=label)
