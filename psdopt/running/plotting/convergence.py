"""Convergence of a run: the value, the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS, SLIGHT
from psdopt.running.plotting.style import BLUE, GREY, ORANGE, RED, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Shown(Protocol):
    """Members of a :class:`psdopt.Result` that a picture uses.

    history : ``history["value"]`` and the other columns, one entry per iteration; iterating gives the records.
    """

    value: float
    method: str
    status: Any
    certificate: Any
    history: Any


def plot_convergence(result: Shown, axes: Axes | None = None) -> Axes:
    """Value gap, stationarity and certificate of a run against iterations, log scale; returns the axes.

    The gap is F(M_t) minus the best F of the run, divided by F(0) minus the best F if that is positive, so that
    all three curves are relative and share one axis.
    """
    axes = new_figure(6.4, 4.4).subplots() if axes is None else axes
    iterations, gap = _gap(result, None)
    known = result.certificate
    decrease = known.value_at_zero - known.value if known is not None else 0.0
    unit = decrease if decrease > 0.0 else 1.0
    label = "value above the best" + (", relative" if unit != 1.0 else "")
    _curve(axes, iterations, gap / unit, color=BLUE, label=label)
    _curve(axes, result.history["iteration"], result.history["stationarity"], color=GREY, lw=1.0, label="stationarity")
    at, relative = _certificates(result)
    _curve(axes, at, relative, color=ORANGE, marker="o", ms=4, label="certificate")
    _finish(axes, result, "relative residual", f"{result.method}: {result.status.label.replace('_', ' ')}")
    axes.legend(framealpha=0.9, edgecolor="none")
    return axes


def plot_run(
    result: Shown,
    certificates: tuple[Array, Array] | None = None,
    best: float | None = None,
    tol: float | None = None,
    title: str = "",
) -> Figure:
    """Two panels: F(M_t) above the best value, and the certificate."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    draw_gap(left, result, best)
    draw_certificate(right, result, certificates, tol)
    if title:
        figure.suptitle(title, fontweight="bold")
    return figure


def draw_gap(axes: Axes, result: Shown, best: float | None) -> None:
    """F(M_t) above `best`, or above the run's own best value.

    Under constraints, where F may lie below its least feasible value: |F(M_t) − proven bound| and the infeasibility.
    """
    if "infeasibility" in result.history.columns:
        _draw_feasibility(axes, result)
        return
    if result.status.label == "stationary":  # this run does not converge to the best value without a rank limit
        best = None
    iterations, gap = _gap(result, best)
    of = "the closed form's value" if best is not None and best <= result.value else "the run's best value"
    rounding = 4 * EPS * np.abs(result.history["value"])
    _curve(axes, iterations, gap, color=BLUE, marker="o", markevery=SLIGHT, ms=4)  # dots at a tenth of the diagonal
    _mark_widenings(axes, result)
    reached = iterations[gap <= rounding]
    if len(reached) and len(iterations) > 1 and np.any(gap[iterations >= reached[0]] <= 0.0):  # points not drawn
        text = f"iteration {int(reached[0])}: equal to rounding"
        axes.text(0.98, 0.96, text, transform=axes.transAxes, ha="right", va="top", fontsize=9, color="0.4")
    _finish(axes, result, "F(M) minus the best value (units of F)", f"Objective, above {of}")


def _draw_feasibility(axes: Axes, result: Shown) -> None:
    """|F(M_t) − proven bound| relative to |bound − F(0)|, and the infeasibility."""
    history, known = result.history, result.certificate
    bound = None if known is None else known.dual_value
    if bound is not None:
        unit = max(abs(bound - known.value_at_zero), np.finfo(float).tiny)
        distance = np.abs(history["value"] - bound) / unit
        _curve(axes, history["iteration"], distance, color=BLUE, label="|F(M) − final proven bound|")
    if np.any(history["infeasibility"] > 0.0):  # none, where each step meets the constraints
        _curve(axes, history["iteration"], history["infeasibility"], color=GREY, label="infeasibility")
    _finish(axes, result, "relative (no unit)", "Value and constraints")
    axes.legend(framealpha=0.9, edgecolor="none")


def draw_certificate(axes: Axes, result: Shown, certificates: tuple[Array, Array] | None, tol: float | None) -> None:
    """Stationarity and certificates along the run, with the requested tolerance."""
    at, relative = certificates if certificates is not None else _certificates(result)
    at, relative = np.asarray(at)[np.isfinite(relative)], np.asarray(relative)[np.isfinite(relative)]
    history = result.history
    _curve(axes, history["iteration"], history["stationarity"], color=GREY, lw=1.0, label="stationarity |S Y|")
    if len(at):
        _curve(axes, at, relative, color=ORANGE, marker="o", ms=5, label="certificate of optimality")
    if tol is not None:
        axes.axhline(tol, color=RED, ls="--", lw=1.0, label=f"asked for: {tol:g}")
    _mark_widenings(axes, result)
    title = "Distance from proven optimality" if len(at) else "Stationarity"
    _finish(axes, result, "relative residual (no unit)", title)
    axes.legend(framealpha=0.9, edgecolor="none")


def _mark_widenings(axes: Axes, result: Shown) -> None:
    """A dotted line wherever the run added columns to its factor."""
    marks = [record["iteration"] for record in result.history if "widened_to" in record]
    for k, iteration in enumerate(marks):
        axes.axvline(iteration, color="0.75", ls=":", lw=0.9, zorder=0, label="columns added" if k == 0 else None)


def _gap(result: Shown, best: float | None) -> tuple[Array, Array]:
    values = result.history["value"]
    candidates = [*values[np.isfinite(values)], result.value] + ([] if best is None else [best])
    return result.history["iteration"], values - min(candidates)


def _certificates(result: Shown) -> tuple[Array, Array]:
    """Certificates that the driver itself took."""
    relative = result.history["certificate"]
    return result.history["iteration"][np.isfinite(relative)], relative[np.isfinite(relative)]


def _curve(axes: Axes, x: Array, y: Array, **style: Any) -> None:
    """A line through the positive, finite values; a log scale cannot show others."""
    y = np.asarray(y, dtype=float)
    usable = np.isfinite(y) & (y > 0.0)
    axes.plot(np.asarray(x)[usable], y[usable], **{"lw": 1.8, **style})


def _finish(axes: Axes, result: Shown, y: str, title: str) -> None:
    """Axes from the first iteration to the last, wherever there are points to draw."""
    from matplotlib.ticker import MaxNLocator

    axes.set_yscale("log")
    last = max(float(np.max(result.history["iteration"], initial=0.0)), 1.0)
    axes.set_xlim(-0.04 * last, 1.04 * last)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("iteration")
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.grid(alpha=0.25, lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
