"""Pictures of samples before and after a learned map, and of constrained runs, with the convergence of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from psdopt.linalg import Array, as_dense
from psdopt.plugins import BLUE, COLOURS, GREY, MARKERS, Dataset, draw_certificate, draw_gap, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psdopt import Result

#: More classes than this are drawn but not named.
LEGEND_CLASSES = 20
#: Share of the samples that may be outside the frame, at either end of an axis.
OUTLIERS = 0.003
#: Most points drawn per panel; of more points, an evenly spaced part is shown.
DRAWN = 3000


class Run(TypedDict, total=False):
    """What :func:`psdopt.plugins.run_report` says of a run.

    certificates : (iterations, relative certificates). best : a value of F below the run's own, such as the closed
    form's. tol : that of the run. title : of the figure.
    """

    certificates: tuple[Array, Array]
    best: float | None
    tol: float | None
    title: str


def plot_metric(
    result: Result,
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    labels: tuple[Array, Array],
    *,
    scaling: str = "",
    errors: tuple[float, float] | None = None,
    label_text: Callable[[Any], str] = str,
    **run: Unpack[Run],
) -> Figure:
    """Four panels: data before, data after, convergence of the value, certificate.

    before, after : (training, test) samples (m, d) and their images (m, r) under the learned map; each shown in its
        own first two principal axes, fitted on the training part. labels : of both parts.
    errors : test errors of the nearest-neighbour rule before and after, for the titles. run : see :class:`Run`.
    """
    titles = [f"Before: {scaling}" if scaling else "Before", "After: learned metric"]
    if errors is not None:
        titles = [f"{text}\n3-NN test error {100 * e:.1f} %" for text, e in zip(titles, errors, strict=True)]
    return _four_panels(result, (before, after), labels, titles, label_text, run)


def plot_embedding(
    result: Result,
    before: Any,
    after: Any,
    labels: Array | None,
    *,
    titles: Sequence[str] = ("Before", "After"),
    label_text: Callable[[Any], str] = str,
    **run: Unpack[Run],
) -> Figure:
    """Four panels for samples that were embedded together: before, after, convergence of the value, certificate.

    before (m, d), after (m, r) : each shown in its own first two principal axes. labels (m,) : one colour per class;
    many different numbers, or none: a scale of colours along them. titles : of the two upper panels. run : see
        :class:`Run`.
    """
    colours = np.zeros(len(after)) if labels is None else labels
    return _four_panels(result, ((before,), (after,)), (colours,), titles, label_text, run)


def embedding_picture(dataset: Dataset, before: Any, after: Any, titles: Sequence[str]) -> Callable[..., Figure]:
    """:func:`plot_embedding` of the samples of `dataset`, for :func:`psdopt.plugins.run_report`."""
    marks: dict[str, Any] = {"labels": dataset.y, "label_text": dataset.label_text}
    return partial(plot_embedding, before=before, after=after, titles=titles, **marks)


def plot_prediction(result: Result, measured: Array, predicted: Array, **run: Unpack[Run]) -> Figure:
    """Three panels: predictions against measured values (m,), convergence of the value, certificate."""
    figure = new_figure(13.5, 4.4)
    left, middle, right = figure.subplots(1, 3)
    ends = [min(measured.min(), predicted.min()), max(measured.max(), predicted.max())]
    left.plot(ends, ends, color=GREY, lw=1.0, ls="--", label="exact")
    left.scatter(measured, predicted, s=16, color=BLUE, alpha=0.7, linewidths=0.0, label="test samples")
    left.set(xlabel="measured", ylabel="predicted", title="Prediction of samples kept back")
    left.legend(framealpha=0.9, edgecolor="none")
    return _with_run(figure, (middle, right), result, run)


def _four_panels(
    result: Result,
    panels: Sequence[Sequence[Any]],
    labels: Sequence[Array],
    titles: Sequence[str],
    label_text: Callable[[Any], str],
    run: Run,
) -> Figure:
    """Samples before and after in the upper row, in (training, test) or one part each; the run in the lower."""
    figure = new_figure(11.5, 9.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.15, 1.0))
    top = [figure.add_subplot(grid[0, k]) for k in range(2)]
    classes = len(np.unique(labels[0]))
    for axes, parts, text in zip(top, panels, titles, strict=True):
        planes, shares = _principal_planes(parts)
        if classes > LEGEND_CLASSES and labels[0].dtype.kind in "iuf":
            _draw_scale(axes, planes, labels)
        else:
            _draw_classes(axes, planes, labels, label_text)
        _frame(axes, np.concatenate([*planes]))
        _axis_names(axes, shares)
        axes.set_title(text)
    if classes > 1:
        _add_legend(top[1], classes, len(labels))
    return _with_run(figure, [figure.add_subplot(grid[1, k]) for k in range(2)], result, run, fontsize=14)


def _with_run(figure: Figure, panels: Sequence[Axes], result: Result, run: Run, **title: Any) -> Figure:
    """`figure` with its title, and in two panels the convergence of the value and the certificate."""
    draw_gap(panels[0], result, run.get("best"))
    draw_certificate(panels[1], result, run.get("certificates"), run.get("tol"))
    figure.suptitle(run.get("title", ""), fontweight="bold", **title)
    return figure


def _draw_scale(axes: Axes, planes: Sequence[Array], labels: Sequence[Array]) -> None:
    """Samples coloured by a number, from blue to yellow."""
    for plane, y in zip(planes, labels, strict=True):
        shown = slice(None, None, max(1, -(-len(plane) // DRAWN)))
        axes.scatter(plane[shown, 0], plane[shown, 1], c=y[shown], cmap="viridis", s=14, linewidths=0.0)


def _draw_classes(
    axes: Axes, planes: Sequence[Array], labels: Sequence[Array], label_text: Callable[[Any], str]
) -> None:
    """Training samples small and pale, test samples full, one colour and marker per class."""
    for index, label in enumerate(np.unique(labels[0])):
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[(index + index // len(COLOURS)) % len(MARKERS)]
        parts = enumerate(zip(planes, labels, strict=True), start=2 - len(planes))  # a single part is drawn opaque
        for part, (plane, y) in parts:
            points = _thinned(plane[y == label], DRAWN * max(len(plane[y == label]), 1) // max(len(y), 1))
            axes.scatter(
                points[:, 0],
                points[:, 1],
                s=(10, 24)[part],
                alpha=(0.25, 0.85)[part],
                color=colour,
                marker=marker,
                linewidths=0.0,
                label=label_text(label) if part == 1 else None,
                zorder=2 + part,
            )


def _add_legend(axes: Axes, classes: int, parts: int) -> None:
    """Classes, and the meaning of pale and full marks, to the right of `axes`."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "ls": "", "color": "0.35", "markeredgewidth": 0.0}
    handles, texts = axes.get_legend_handles_labels()
    if classes > LEGEND_CLASSES:
        handles, texts = [], []
    if parts == 2:
        handles = [*handles, Line2D([], [], ms=4, alpha=0.4, **style), Line2D([], [], ms=5.5, **style)]
        texts = [*texts, "training", "test"]
    if handles:
        named = "class" if classes <= LEGEND_CLASSES else None
        axes.legend(handles, texts, title=named, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _frame(axes: Axes, points: Array) -> None:
    """Limits at which a few far points do not squeeze all others; a corner gives the number of points outside."""
    low, high = np.quantile(points, [OUTLIERS, 1.0 - OUTLIERS], axis=0)
    room = np.where(high > low, 0.12 * (high - low), 1.0)
    low = np.maximum(low - room, points.min(axis=0) - 0.4 * room)
    high = np.minimum(high + room, points.max(axis=0) + 0.4 * room)
    axes.set_xlim(low[0], high[0], auto=True)
    axes.set_ylim(low[1], high[1], auto=True)
    axes.set_aspect("equal", adjustable="datalim")  # an axis of no variance must not fill the panel
    outside = int(np.sum(np.any((points < low) | (points > high), axis=1)))
    if outside:
        text = f"{outside} sample{'s' if outside > 1 else ''} outside"
        axes.text(0.99, 0.01, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color="0.4")


def _axis_names(axes: Axes, shares: Array) -> None:
    axes.set_xlabel(f"principal axis 1 ({100 * shares[0]:.0f} % of variance)")
    axes.set_ylabel(f"principal axis 2 ({100 * shares[1]:.0f} % of variance)")
    axes.set_xticks([])
    axes.set_yticks([])


def _principal_planes(parts: Sequence[Any]) -> tuple[list[Array], Array]:
    """Each part in the first two principal axes of the first (training) part, and their shares of its variance.

    A map of rank 1 gets a second axis of zeros, one of rank 0 two.
    """
    from sklearn.decomposition import PCA

    dense = [as_dense(part) for part in parts]
    lacking = 2 - dense[0].shape[1]
    if lacking > 0:
        dense = [np.column_stack([part, np.zeros((len(part), lacking))]) for part in dense]
    train = dense[0]
    if np.ptp(train, axis=0).max() == 0.0:
        return [part[:, :2] for part in dense], np.zeros(2)
    pca = PCA(2, svd_solver="full" if min(train.shape) < 500 else "randomized", random_state=0).fit(train)
    return [pca.transform(part) for part in dense], pca.explained_variance_ratio_


def _thinned(points: Array, most: int) -> Array:
    step = max(1, -(-len(points) // max(most, 1)))
    return points[::step]


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
