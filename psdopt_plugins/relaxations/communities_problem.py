"""The semidefinite relaxation of modularity, its value for a partition, and moves of single vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Constrained, TermSum
from psdopt.checks import positive
from psdopt.constraints import diagonal
from psdopt.errors import InvalidInputError
from psdopt.linalg import EPS, Array, LinearMap
from psdopt.terms import GramForm, LinearTerm, MatrixForm
from psdopt_plugins.relaxations.graphs import Graph


def modularity_problem(W: Any, resolution: float = 1.0) -> Constrained:
    """min −⟨B, M⟩/(2w) over M ⪰ 0 with M_ii = 1, B = W − resolution d dᵀ/(2w), d = W e, 2w = eᵀd.

    For a partition into at most k parts let M_ij = 1 within a part and −1/(k − 1) between parts: its modularity is
    (k − 1)/k (−F) + (1 − resolution)/k, and so −min F bounds the modularity of every such partition. B_ii is taken into
    the constant, as M_ii = 1. One step costs a product with W and one with d.

    Parameters
    ----------
    W : (n, n) symmetric weights >= 0 of the edges, dense or sparse; the diagonal is left out. resolution : above 0.

    Raises
    ------
    InvalidInputError for a W that is not square, symmetric and finite, negative or without an edge, or n < 2.
    """
    A = community_graph(W).weights
    resolution = positive(resolution, "resolution")
    d, total = degrees(A)
    own = resolution * (d / total) ** 2
    sparse = sp.csr_array(A / -total - sp.diags_array(own))
    null = LinearTerm(GramForm(d[None, :] / total), resolution)
    terms = [LinearTerm(MatrixForm(LinearMap(sparse, "W", checked=True))), null]
    return Constrained(TermSum(terms, float(own.sum())), diagonal(A.shape[0], 1.0))


def community_graph(W: Any, checked: bool = False) -> Graph:
    """The graph of W, if no weight is negative and there is an edge; `checked` as in :class:`Graph`."""
    graph = Graph.of(W, checked=checked).with_edges()
    if graph.weights.data.min() < 0.0:
        raise InvalidInputError(f"W must be at least 0 for communities; found {graph.weights.data.min():g}")
    return graph


def degrees(A: sp.csr_array) -> tuple[Array, float]:
    """d = A e (n,), and its sum."""
    d = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    return d, float(d.sum())


def modularity(A: sp.csr_array, labels: NDArray[np.intp], resolution: float = 1.0) -> float:
    """Σ over communities of (weight within)/w − resolution ((degree)/(2w))², each edge counted once in the weight."""
    d, total = degrees(A)
    i = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    within = float(A.data[labels[i] == labels[A.indices]].sum()) / total
    return within - resolution * float(np.sum((np.bincount(labels, weights=d) / total) ** 2))


def moved(A: sp.csr_array, labels: NDArray[np.intp], k: int, resolution: float = 1.0) -> NDArray[np.intp]:
    """Labels in 0..k − 1 whose modularity no move of a single vertex increases: the best move first.

    Moves below rounding are not made. O(n k) each.
    """
    d, total = degrees(A)
    labels = labels.copy()
    H = np.zeros((A.shape[0], k))
    H[np.arange(len(labels)), labels] = 1.0
    links = np.asarray(A @ H)  # weight from each vertex to each community
    sizes = d @ H
    rows = np.arange(len(labels))
    while True:
        score = links - resolution / total * d[:, None] * (sizes[None, :] - d[:, None] * H)
        gain = score - score[rows, labels][:, None]
        i, c = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not gain[i, c] > 64.0 * EPS * float(d.max()):
            return labels
        old = labels[i]
        part = slice(A.indptr[i], A.indptr[i + 1])
        near, weight = A.indices[part], A.data[part]
        links[near, old] -= weight
        links[near, c] += weight
        sizes[old] -= d[i]
        sizes[c] += d[i]
        H[i, old], H[i, c], labels[i] = 0.0, 1.0, c
