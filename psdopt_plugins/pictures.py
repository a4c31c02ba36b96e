"""Pictures of data: samples before and after a learned map, predictions, two panels of any other answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.linalg import Array, as_dense
from psdopt.plugins import BLUE, COLOURS, GREY, MARKERS, Dataset, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More classes than this are drawn but not named.
LEGEND_CLASSES = 20
#: Share of the samples that may be outside the frame, at either end of an axis.
OUTLIERS = 0.003
#: Most points drawn per panel; of more points, an evenly spaced part is shown.
DRAWN = 3000


def plot_metric(
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    labels: tuple[Array, Array],
    *,
    scaling: str = "",
    errors: tuple[float, float] | None = None,
    label_text: Callable[[Any], str] = str,
    title: str = "",
    **run: Any,
) -> Figure:
    """Two panels: data before, data after.

    before, after : (training, test) samples (m, d) and their images (m, r) under the learned map; each shown in its
        own first two principal axes, fitted on the training part. labels : of both parts.
    errors : test errors of the nearest-neighbour rule before and after, for the titles. run : not drawn, as in all
        functions here; what :func:`psdopt.plugins.run_report` says of the run has a picture of its own.
    """
    titles = [f"Before: {scaling}" if scaling else "Before", "After: learned metric"]
    if errors is not None:
        titles = [f"{text}\n3-NN test error {100 * e:.1f} %" for text, e in zip(titles, errors, strict=True)]
    return _samples((before, after), labels, titles, label_text, title)


def plot_embedding(
    before: Any,
    after: Any,
    labels: Array | None,
    *,
    titles: Sequence[str] = ("Before", "After"),
    label_text: Callable[[Any], str] = str,
    title: str = "",
    **run: Any,
) -> Figure:
    """Two panels for samples that were embedded together: before, after.

    before (m, d), after (m, r) : each shown in its own first two principal axes. labels (m,) : one colour per class;
    many different numbers, or none: a scale of colours along them. titles : of the two panels.
    """
    colours = np.zeros(len(after)) if labels is None else labels
    return _samples(((before,), (after,)), (colours,), titles, label_text, title)


def embedding_picture(dataset: Dataset, before: Any, after: Any, titles: Sequence[str]) -> Callable[..., Figure]:
    """:func:`plot_embedding` of the samples of `dataset`, for :func:`psdopt.plugins.run_report`."""
    marks: dict[str, Any] = {"labels": dataset.y, "label_text": dataset.label_text}
    return partial(plot_embedding, before=before, after=after, titles=titles, **marks)


def plot_prediction(measured: Array, predicted: Array, *, title: str = "", **run: Any) -> Figure:
    """Predictions against measured values (m,)."""
    figure = new_figure(6.4, 5.4)
    axes = figure.subplots()
    ends = [min(measured.min(), predicted.min()), max(measured.max(), predicted.max())]
    axes.plot(ends, ends, color=GREY, lw=1.0, ls="--", label="exact")
    axes.scatter(measured, predicted, s=16, color=BLUE, alpha=0.7, linewidths=0.0, label="test samples")
    axes.set(xlabel="measured", ylabel="predicted", title="Prediction of samples kept back")
    axes.legend(framealpha=0.9, edgecolor="none")
    figure.suptitle(title, fontweight="bold")
    return figure


def two_panels(draw: Callable[[Axes, Axes], None], *, title: str = "", **run: Any) -> Figure:
    """A figure whose two panels `draw` (left axes, right axes) fills."""
    figure = new_figure(11.5, 5.2)
    draw(*figure.subplots(1, 2))
    figure.suptitle(title, fontweight="bold")
    return figure


def _samples(
    panels: Sequence[Sequence[Any]],
    labels: Sequence[Array],
    titles: Sequence[str],
    label_text: Callable[[Any], str],
    title: str,
) -> Figure:
    """Samples before and after, each in (training, test) or in one part."""

    def draw(*both: Axes) -> None:
        classes = len(np.unique(labels[0]))
        for axes, parts, text in zip(both, panels, titles, strict=True):
            planes, shares = _principal_planes(parts)
            if classes > LEGEND_CLASSES and labels[0].dtype.kind in "iuf":
                _draw_scale(axes, planes, labels)
            else:
                _draw_classes(axes, planes, labels, label_text)
            _frame(axes, np.concatenate([*planes]))
            _axis_names(axes, shares)
            axes.set_title(text)
        if classes > 1:
            _add_legend(both[1], classes, len(labels))

    return two_panels(draw, title=title)


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
