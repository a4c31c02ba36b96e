"""Report and picture of located sensors, and a network to try them on."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import brief
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt.plugins import (
    BLUE,
    COLOURS,
    GREY,
    CertificateTrace,
    Dataset,
    Report,
    RunOptions,
    fitted,
    run_report,
)
from psdopt_plugins.limits import BLOCK
from psdopt_plugins.pictures import two_panels

ORANGE = COLOURS[1]
SENSORS, REACH, NOISE = 60, 0.35, 0.02
CORNERS = ((0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9), (0.5, 0.5))


@dataclass(frozen=True)
class SensorNetwork(Dataset):
    """Distances X (N, N), 0 where not measured, with the anchors (k, d), the last nodes, and true `positions`."""

    anchors: Array | None = None
    positions: Array | None = None


def sensor_network() -> SensorNetwork:
    """SENSORS in a unit square and five anchors; distances up to REACH, each off by NOISE, relative (fixed seed)."""
    rng = np.random.default_rng(0)
    P, at = rng.random((SENSORS, 2)), np.array(CORNERS)
    nodes = np.concatenate([P, at])
    i, j = np.triu_indices(len(nodes), 1)
    lengths = np.linalg.norm(nodes[i] - nodes[j], axis=1)
    kept = (lengths < REACH) & (i < SENSORS)
    i, j, lengths = i[kept], j[kept], lengths[kept]
    measured = lengths * (1.0 + NOISE * rng.standard_normal(len(lengths)))
    half = sp.csr_array((measured, (i, j)), shape=(len(nodes), len(nodes)))
    return SensorNetwork("sensor_network", sp.csr_array(half + half.T), symmetric=True, anchors=at, positions=P)


def sensors_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Locate the nodes whose distances the data hold, X or K symmetric, from the anchors of the data or of a file."""
    trace = CertificateTrace()
    own = dataset.anchors if isinstance(dataset, SensorNetwork) else None
    anchors = own if estimator.anchors is None else anchors_in(estimator.anchors)
    if anchors is None:
        raise InvalidInputError(
            f"{dataset.name} holds no anchors; name a file of them with anchors=FILE (.npy or .csv)"
        )
    if anchors.ndim == 2 and anchors.shape[1] > dataset.X.shape[0]:
        raise InvalidInputError(
            f"anchors must have at most as many coordinates as there are nodes, {dataset.X.shape[0]}; "
            f"found shape {anchors.shape}"
        )
    estimator.set_params(anchors=anchors)
    order = dataset.X.shape[0] - len(anchors) + anchors.shape[1]
    estimator = fitted(estimator, options, max(order, 1), trace, dataset.X)
    edges, lengths = estimator.edges_, estimator.distances_
    nodes = np.concatenate([estimator.positions_, anchors])
    found = np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1)
    off, uncertainty = found - lengths, estimator.uncertainty_
    misfit, bound = estimator.misfit_, estimator.misfit_bound_
    spread = np.sqrt(np.mean(off**2))
    sizes = f"{len(nodes) - len(anchors)} sensors, {len(anchors)} anchors, {len(edges)} distances"
    rows = [
        ("network", f"{dataset.name}: {sizes}"),
        ("found − measured distance", f"{spread:.4g} root mean square, {np.abs(off).max():.4g} at most"),
        ("Σ (found² − measured²)²", f"{misfit:.6g}; no positions have less than {bound:.6g} (proven)"),
        ("least certain sensor", f"{int(np.argmax(uncertainty))}, √(Q_ii − |p_i|²) = {np.sqrt(uncertainty.max()):.4g}"),
    ]
    true = dataset.positions if isinstance(dataset, SensorNetwork) else None
    if true is not None and true.shape != estimator.positions_.shape:  # those of the network's own anchors
        true = None
    if true is not None:
        error = np.linalg.norm(estimator.positions_ - true, axis=1)
        rows.append(("position error", f"{np.median(error):.4g} in the median, {error.max():.4g} at most"))
    draw = partial(two_panels, partial(draw_network, nodes, len(anchors), edges, lengths, true))
    arrays = {"positions": estimator.positions_, "relaxed": estimator.relaxed_, "uncertainty": estimator.uncertainty_}
    return run_report(estimator, dataset, options, trace, rows, draw, arrays)


def anchors_in(source: Any) -> Array:
    """The anchors themselves, or those in a file: an array (.npy) or a line of numbers for each (.csv, .txt)."""
    if not isinstance(source, str):
        return np.asarray(source, dtype=np.float64)
    try:
        found = _read(Path(source))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"anchors: cannot read {source}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "buif":
        kind = f"dtype {found.dtype}" if isinstance(found, np.ndarray) else "an archive"
        raise InvalidInputError(f"anchors: {source} must hold an array of real numbers; found {kind}")
    at = found.astype(np.float64)
    if at.ndim != 2 or 0 in at.shape:
        raise InvalidInputError(f"anchors: {source} must hold an array (k, d); found shape {at.shape}")
    return at


def _read(path: Path) -> Any:
    """What the file holds; OSError or ValueError if it is too large or cannot be read."""
    with path.open("rb") as file:
        content = file.read(16 * BLOCK + 1)  # a number takes about 16 bytes
    if len(content) > 16 * BLOCK:
        raise ValueError(f"a file of anchors must have at most {16 * BLOCK} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an empty file, whose shape is refused
            if path.suffix.lower() == ".npy":
                return np.load(io.BytesIO(content), allow_pickle=False)
            text = io.StringIO(content.decode("utf-8-sig"))
            return np.loadtxt(text, delimiter="," if path.suffix.lower() == ".csv" else None, ndmin=2)
    except Exception as error:  # of damaged headers: SyntaxError, tokenize.TokenError, MemoryError, ...
        raise ValueError(brief(error)) from error


def draw_network(
    nodes: Array, anchors: int, edges: Array, lengths: Array, true: Array | None, plane: Any, scatter: Any
) -> None:
    """Nodes (N, d) in the first two coordinates, and the distances found and measured."""
    _draw_nodes(plane, nodes, anchors, edges, true)
    found = np.linalg.norm(nodes[edges[:, 0]] - nodes[edges[:, 1]], axis=1)
    scatter.plot(lengths, found - lengths, ls="", marker="o", ms=3, color=BLUE)
    scatter.axhline(0.0, color=GREY, lw=0.8)
    scatter.set(title="Distances", xlabel="measured", ylabel="found − measured")


def _draw_nodes(axes: Any, nodes: Array, anchors: int, edges: Array, true: Array | None) -> None:
    from matplotlib.collections import LineCollection

    points = np.column_stack([nodes, np.zeros(len(nodes))])[:, :2]
    n = len(points) - anchors
    axes.add_collection(LineCollection(list(points[edges]), colors="0.85", lw=0.6, zorder=0))
    if true is not None:
        places = np.column_stack([true, np.zeros(n)])[:, :2]
        moves: Sequence[Array] = list(np.stack([places, points[:n]], axis=1))
        axes.add_collection(LineCollection(moves, colors=ORANGE, lw=1.4, zorder=1))
        axes.scatter(*places.T, s=50, facecolors="none", edgecolors="0.4", linewidths=0.9, label="true", zorder=1)
    axes.scatter(*points[:n].T, s=16, color=BLUE, linewidths=0.0, label="found", zorder=2)
    axes.scatter(*points[n:].T, s=60, marker="s", color=ORANGE, edgecolors="0.2", label="anchor", zorder=3)
    axes.set(xlabel="coordinate 1", ylabel="coordinate 2", aspect="equal")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, edgecolor="none")
