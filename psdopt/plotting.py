"""Pictures of a run: convergence, certificate, and data before and after a learned metric.

All drawing goes through matplotlib's Figure objects; pyplot and its global state are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.result import Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psdopt.result import Result

#: Ten colours that people with the common colour-vision deficiencies tell apart (Petroff 2021), each with its marker.
COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
MARKERS = "os^Dv<>PXh"
BLUE, ORANGE, RED, GREY = COLOURS[0], COLOURS[6], COLOURS[2], COLOURS[8]
#: More classes than this are drawn but not named.
LEGEND_CLASSES = 20
#: Share of the samples, at either end of an axis, that may end up outside the frame.
OUTLIERS = 0.003
#: Points drawn per panel; beyond, an evenly spaced part is shown.
DRAWN = 3000
#: Up to this many iterations each is marked by a dot.
FEW = 40
RESOLUTION_DPI = 150


def plot_convergence(result: Result, axes: Axes | None = None) -> Axes:
    """Value gap, stationarity and certificate of a run against iterations, log scale; returns the axes.

    The gap is F(M_t) minus the best F of the run, relative to F(0) − F of the best where that is positive, so that
    all three curves are relative and share one axis.
    """
    axes = _new_axes() if axes is None else axes
    iterations, gap = _gap(result, None)
    unit = _decrease(result)
    label = "value above the best" + (", relative" if unit != 1.0 else "")
    _curve(axes, iterations, gap / unit, color=BLUE, label=label)
    _curve(axes, result.history["iteration"], result.history["stationarity"], color=GREY, lw=1.0, label="stationarity")
    at, relative = _certificates(result)
    _curve(axes, at, relative, color=ORANGE, marker="o", ms=4, label="certificate")
    _finish(axes, "iteration", "relative residual", f"{result.method}: {result.status.label.replace('_', ' ')}")
    axes.legend(framealpha=0.9, edgecolor="none")
    return axes


def plot_run(
    result: Result,
    certificates: tuple[Array, Array] | None = None,
    best: float | None = None,
    tol: float | None = None,
    title: str = "",
) -> Figure:
    """Two panels: F(M_t) above the best value, and the certificate."""
    figure = _new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    _draw_gap(left, result, best)
    _draw_certificate(right, result, certificates, tol)
    if title:
        figure.suptitle(title, fontweight="bold")
    return figure


def plot_metric(
    result: Result,
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    labels: tuple[Array, Array],
    *,
    certificates: tuple[Array, Array] | None = None,
    best: float | None = None,
    tol: float | None = None,
    title: str = "",
    scaling: str = "",
    errors: tuple[float, float] | None = None,
    label_text: Callable[[Any], str] = str,
) -> Figure:
    """Four panels: data before, data after, convergence of the value, certificate.

    before, after : (training, test) samples (m, d) and their images (m, r) under the learned map; each shown in its
        own first two principal axes, fitted on the training part. labels : of both parts.
    certificates : (iterations, relative certificates). best : a better lower value of F than the run's own, such as
        the closed form's. errors : test errors of the nearest-neighbour rule before and after, for the titles.
    """
    figure = _new_figure(11.5, 9.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.15, 1.0))
    top = [figure.add_subplot(grid[0, k]) for k in range(2)]
    names = (f"Before: {scaling}" if scaling else "Before", "After: learned metric")
    for k, (axes, parts) in enumerate(zip(top, (before, after), strict=True)):
        planes, shares = _principal_planes(*parts)
        _draw_classes(axes, planes, labels, label_text)
        text = names[k] if errors is None else f"{names[k]}\n3-NN test error {100 * errors[k]:.1f} %"
        _axis_names(axes, shares)
        axes.set_title(text)
    _add_legend(top[1], len(np.unique(labels[0])))
    _draw_gap(figure.add_subplot(grid[1, 0]), result, best)
    _draw_certificate(figure.add_subplot(grid[1, 1]), result, certificates, tol)
    if title:
        figure.suptitle(title, fontweight="bold", fontsize=14)
    return figure


def _draw_classes(
    axes: Axes, planes: Sequence[Array], labels: Sequence[Array], label_text: Callable[[Any], str]
) -> None:
    """Training samples small and pale, test samples full, one colour and marker per class."""
    for index, label in enumerate(np.unique(labels[0])):
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[(index + index // len(COLOURS)) % len(MARKERS)]
        for part, (plane, y) in enumerate(zip(planes, labels, strict=True)):
            points = _thinned(plane[y == label], DRAWN * max(len(plane[y == label]), 1) // max(len(y), 1))
            axes.scatter(
                points[:, 0], points[:, 1], s=(10, 24)[part], alpha=(0.25, 0.85)[part], color=colour, marker=marker,
                linewidths=0.0, label=label_text(label) if part == 1 else None, zorder=2 + part,
            )  # fmt: skip
    _frame(axes, np.concatenate([*planes]))


def _add_legend(axes: Axes, classes: int) -> None:
    """Classes, and what pale and full marks are, to the right of `axes`."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "ls": "", "color": "0.35", "markeredgewidth": 0.0}
    handles, texts = axes.get_legend_handles_labels()
    if classes > LEGEND_CLASSES:
        handles, texts = [], []
    parts = [Line2D([], [], ms=4, alpha=0.4, **style), Line2D([], [], ms=5.5, **style)]
    axes.legend(
        [*handles, *parts], [*texts, "training", "test"], title="class" if handles else None,
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False,
    )  # fmt: skip


def _frame(axes: Axes, points: Array) -> None:
    """Limits that keep a few far points from squeezing all others; how many are outside is written in a corner."""
    low, high = np.quantile(points, [OUTLIERS, 1.0 - OUTLIERS], axis=0)
    room = np.where(high > low, 0.12 * (high - low), 1.0)
    low = np.maximum(low - room, points.min(axis=0) - 0.4 * room)
    high = np.minimum(high + room, points.max(axis=0) + 0.4 * room)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    outside = int(np.sum(np.any((points < low) | (points > high), axis=1)))
    if outside:
        text = f"{outside} sample{'s' if outside > 1 else ''} outside"
        axes.text(0.99, 0.01, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color="0.4")


def _axis_names(axes: Axes, shares: Array) -> None:
    axes.set_xlabel(f"principal axis 1 ({100 * shares[0]:.0f} % of variance)")
    axes.set_ylabel(f"principal axis 2 ({100 * shares[1]:.0f} % of variance)")
    axes.set_xticks([])
    axes.set_yticks([])


def _principal_planes(train: Any, test: Any) -> tuple[tuple[Array, Array], Array]:
    """Both parts in the first two principal axes of the training part, and their shares of its variance.

    A map of rank 1 gets a second axis of zeros.
    """
    from sklearn.decomposition import PCA

    train, test = _dense(train), _dense(test)
    if train.shape[1] == 1:
        train, test = (np.column_stack([part, np.zeros(len(part))]) for part in (train, test))
    if np.ptp(train, axis=0).max() == 0.0:
        return (train[:, :2], test[:, :2]), np.zeros(2)
    pca = PCA(2, svd_solver="full" if min(train.shape) < 500 else "randomized", random_state=0).fit(train)
    return (pca.transform(train), pca.transform(test)), pca.explained_variance_ratio_


def _dense(X: Any) -> Array:
    dense: Array = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return dense


def _thinned(points: Array, most: int) -> Array:
    step = max(1, -(-len(points) // max(most, 1)))
    return points[::step]


def _draw_gap(axes: Axes, result: Result, best: float | None) -> None:
    if result.status is Status.STATIONARY:  # a best value without a rank limit is not what this run runs to
        best = None
    iterations, gap = _gap(result, best)
    of = "the closed form's value" if best is not None and best <= result.value else "the run's best value"
    rounding = 4 * EPS * np.abs(result.history["value"])
    _curve(axes, iterations, gap, color=BLUE, marker="o" if len(iterations) <= FEW else None, ms=4)
    _mark_widenings(axes, result)
    reached = iterations[gap <= rounding]
    if len(reached) and len(iterations) > 1 and np.any(gap[iterations >= reached[0]] <= 0.0):  # points not drawn
        text = f"iteration {int(reached[0])}: equal to rounding"
        axes.text(0.98, 0.96, text, transform=axes.transAxes, ha="right", va="top", fontsize=9, color="0.4")
    _finish(axes, "iteration", "F(M) minus the best value (units of F)", f"Objective, above {of}")


def _draw_certificate(axes: Axes, result: Result, certificates: tuple[Array, Array] | None, tol: float | None) -> None:
    at, relative = certificates if certificates is not None else _certificates(result)
    iterations, stationarity = result.history["iteration"], result.history["stationarity"]
    _curve(axes, iterations, stationarity, color=GREY, lw=1.0, label="stationarity |S Y|")
    if len(at):
        _curve(axes, at, relative, color=ORANGE, marker="o", ms=5, label="certificate of optimality")
    if tol is not None:
        axes.axhline(tol, color=RED, ls="--", lw=1.0, label=f"asked for: {tol:g}")
    _mark_widenings(axes, result)
    _finish(
        axes,
        "iteration",
        "relative residual (no unit)",
        "Distance from proven optimality" if len(at) else "Stationarity",
    )
    axes.legend(framealpha=0.9, edgecolor="none")


def _mark_widenings(axes: Axes, result: Result) -> None:
    """A dotted line wherever the run added columns to its factor."""
    marks = [record["iteration"] for record in result.history if "widened_to" in record]
    for k, iteration in enumerate(marks):
        axes.axvline(iteration, color="0.75", ls=":", lw=0.9, zorder=0, label="columns added" if k == 0 else None)


def _gap(result: Result, best: float | None) -> tuple[Array, Array]:
    values = result.history["value"]
    candidates = [*values[np.isfinite(values)], result.value] + ([] if best is None else [best])
    return result.history["iteration"], values - min(candidates)


def _decrease(result: Result) -> float:
    certificate = result.certificate
    decrease = certificate.value_at_zero - certificate.value if certificate is not None else 0.0
    return decrease if decrease > 0.0 else 1.0


def _certificates(result: Result) -> tuple[Array, Array]:
    """Certificates that the driver itself took."""
    relative = result.history["certificate"]
    there = np.isfinite(relative)
    return result.history["iteration"][there], relative[there]


def _curve(axes: Axes, x: Array, y: Array, **style: Any) -> None:
    """A line through the positive, finite values: the others have no place on a log scale."""
    y = np.asarray(y, dtype=float)
    usable = np.isfinite(y) & (y > 0.0)
    axes.plot(np.asarray(x)[usable], y[usable], **{"lw": 1.8, **style})


def _finish(axes: Axes, x: str, y: str, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.grid(alpha=0.25, lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=RESOLUTION_DPI, layout="constrained")


def _new_axes() -> Axes:
    axes: Axes = _new_figure(6.4, 4.4).subplots()
    return axes
