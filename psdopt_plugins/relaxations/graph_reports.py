"""Reports and pictures of graphs: vertices in the plane, the matrix sorted by group, and the run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.linalg import Array, norm
from psdopt.plugins import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    CertificateTrace,
    Dataset,
    Report,
    RunOptions,
    fitted,
    run_report,
)
from psdopt_plugins.pictures import DRAWN, two_panels
from psdopt_plugins.relaxations.graphs import Graph


def maxcut_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Cut the graph of the data, X or K symmetric, and show the cut beside the bound that no cut exceeds."""
    trace = CertificateTrace()
    weights = Graph.of(dataset.X, dataset.name).weights
    estimator = fitted(estimator, options, weights.shape[0], trace, dataset.X)
    rows = [
        ("graph", graph_text(dataset, weights)),
        ("cut", f"{estimator.cut_value_:.10g}"),
        ("no cut exceeds (proven)", f"{estimator.upper_bound_:.10g}"),
        ("proven share of the heaviest cut", f"{100 * estimator.ratio_:.2f} %"),
        ("mean of the random hyperplanes", f"{estimator.expected_cut_:.10g}"),
    ]
    sides = "Unit vectors of the vertices, coloured by side", "Weights, one side first"
    draw = partial(two_panels, partial(draw_graph, weights, estimator.labels_, estimator.embedding_, sides))
    arrays = {"labels": estimator.labels_, "embedding": estimator.embedding_}
    return run_report(estimator, dataset, options, trace, rows, draw, arrays)


def theta_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Bound theta of the graph of the data, X or K symmetric, beside an independent set."""
    trace = CertificateTrace()
    weights = Graph.of(dataset.X, dataset.name).weights
    n = weights.shape[0]
    estimator = fitted(estimator, options, n, trace, dataset.X)
    chosen = np.zeros(n, dtype=np.intp)
    chosen[estimator.independent_set_] = 1
    rows = [
        ("graph", graph_text(dataset, weights)),
        ("theta (proven interval)", f"{estimator.lower_:.10g} to {estimator.upper_:.10g}"),
        ("independent set found", f"{int(chosen.sum())} vertices; none has more than {int(estimator.upper_)}"),
    ]
    vectors = np.linalg.eigh(weights.toarray())[1]
    titles = "Vertices in two eigenvectors; 1: in the set", "Edges, the independent set last"
    draw = partial(two_panels, partial(draw_graph, weights, chosen, vectors, titles))
    return run_report(estimator, dataset, options, trace, rows, draw, {"independent_set": estimator.independent_set_})


def communities_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Communities of the graph of the data, where X is square and symmetric, else of the samples' neighbours."""
    trace = CertificateTrace()
    X = dataset.X
    if X.shape[0] == X.shape[1] and norm((X - X.T).data if dataset.sparse else X - X.T) == 0.0:
        estimator.set_params(affinity="precomputed")
    estimator = fitted(estimator, options, X.shape[0], trace, X)
    labels = estimator.labels_
    rows = [
        ("data", f"{dataset.name}: {X.shape[0]} vertices, affinity {estimator.affinity}"),
        ("communities", f"{labels.max() + 1}, of {', '.join(map(str, np.bincount(labels)))} vertices"),
        ("modularity", f"{estimator.modularity_:.6f}"),
        ("no partition exceeds (proven)", f"{estimator.modularity_bound_:.6f}"),
    ]
    if dataset.y is not None:
        from sklearn.metrics import adjusted_rand_score

        rows.append(("adjusted Rand index with the labels", f"{adjusted_rand_score(dataset.y, labels):.3f}"))
    titles = "Unit vectors of the vertices, coloured by community", "Edges, sorted by community"
    draw = partial(two_panels, partial(draw_graph, estimator.graph_, labels, estimator.embedding_, titles))
    arrays = {"labels": labels, "embedding": estimator.embedding_}
    return run_report(estimator, dataset, options, trace, rows, draw, arrays)


def graph_text(dataset: Dataset, weights: sp.csr_array) -> str:
    """Name and sizes of a graph."""
    return f"{dataset.name}: {weights.shape[0]} vertices, {weights.nnz // 2} edges"


def draw_graph(weights: sp.csr_array, labels: Any, V: Array, titles: tuple[str, str], plane: Any, matrix: Any) -> None:
    """Vertices V (n, r) in the first two axes with edges, and `weights` sorted by `labels`."""
    _draw_vertices(plane, weights, labels, V)
    order = np.argsort(labels, kind="stable")
    i, j = sp.coo_array(weights[order][:, order]).coords
    matrix.plot(j, i, ls="", marker="s", ms=max(0.6, 200.0 / len(order)), color=BLUE, markeredgewidth=0.0)
    for end in np.cumsum(np.unique(labels, return_counts=True)[1])[:-1]:
        matrix.axhline(end - 0.5, color=GREY, lw=0.8)
        matrix.axvline(end - 0.5, color=GREY, lw=0.8)
    matrix.set(xlim=(-0.5, len(order) - 0.5), ylim=(len(order) - 0.5, -0.5), aspect="equal", xlabel="vertex")
    plane.set_title(titles[0])
    matrix.set_title(titles[1])


def _draw_vertices(axes: Any, weights: sp.csr_array, labels: Array, V: Array) -> None:
    from matplotlib.collections import LineCollection

    P = np.column_stack([V, np.zeros((len(V), 2))])[:, :2]
    edges = Graph(weights).edges.array
    drawn = edges[:: max(1, -(-len(edges) // DRAWN))]  # more edges would be a grey field
    axes.add_collection(LineCollection(list(P[drawn]), colors="0.8", lw=0.4))
    for k, label in enumerate(np.unique(labels)):
        own = P[labels == label]
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        axes.scatter(
            own[:, 0], own[:, 1], s=18, color=colour, marker=marker, linewidths=0.0, label=str(label), zorder=3
        )
    axes.set(xlabel="principal axis 1", ylabel="principal axis 2", aspect="equal")
    axes.legend(framealpha=0.9, edgecolor="none")
