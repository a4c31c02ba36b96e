"""Neighbour graphs as edge lists: building, reading and checking them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.neighbors import NearestNeighbors

from psdopt.checks import integer
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import EPS, Array, is_finite, row_dots
from psdopt_plugins.limits import BLOCK, ROOT_EPS

Indices = NDArray[np.intp]
#: Nearest neighbours by which two sheets of a surface are hardly ever joined, if it is sampled well enough to be seen.
SAFE_NEIGHBORS = 4
#: The way along the edges between safe neighbours is at most this many times as long as any edge on the surface. Around
#: holes between samples it was up to three times as long, around a turn of a swiss roll six times and more.
DETOUR = 4.0


@dataclass(frozen=True)
class Edges:
    """Undirected edges (i_t, j_t), i_t < j_t, each once, with squared lengths D_t >= 0; n vertices."""

    i: Indices
    j: Indices
    squared: Array
    n: int

    def components(self) -> tuple[int, Indices]:
        """(number of connected components, component of every vertex)."""
        pattern = sp.coo_array((np.ones(len(self.i)), (self.i, self.j)), shape=(self.n, self.n))
        count, labels = connected_components(pattern, directed=False)
        return int(count), np.asarray(labels, dtype=np.intp)

    def restricted(self, vertices: Indices) -> Edges:
        """The edges within `vertices` (ascending), renumbered. O(n + edges)."""
        position = np.full(self.n, -1)
        position[vertices] = np.arange(len(vertices))
        keep = (position[self.i] >= 0) & (position[self.j] >= 0)
        return Edges(position[self.i[keep]], position[self.j[keep]], self.squared[keep], len(vertices))

    def matrix(self) -> sp.csr_array:
        """Sparse symmetric (n, n) with D at both orders of every edge (zeros stored)."""
        rows, columns = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        return sp.csr_array((np.tile(self.squared, 2), (rows, columns)), shape=(self.n, self.n))

    def path_graph(self) -> sp.csr_array:
        """Lengths √D (n, n), each edge in one order, for shortest paths; of repeated edges the shortest.

        A length of zero counts as a share of the mean, since SciPy's graph routines ignore stored zeros.
        """
        lengths = np.sqrt(self.squared)
        lengths = np.maximum(lengths, ROOT_EPS * lengths.mean())
        order = np.lexsort((lengths, self.j, self.i))
        i, j = (ends[order].astype(np.int32) for ends in (self.i, self.j))  # SciPy 1.14 finds paths with 32 bits only
        first = np.append(True, (np.diff(i) != 0) | (np.diff(j) != 0))
        return sp.csr_array((lengths[order][first], (i[first], j[first])), shape=(self.n, self.n))

    @classmethod
    def once(cls, i: Any, j: Any, squared: Array, n: int) -> Edges:
        """Edges between i and j, in either order, of repeated ones the first."""
        codes, first = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
        return cls(codes // n, codes % n, squared[first], n)


def nearest_neighbour_edges(X: Any, n_neighbors: int) -> Edges:
    """Edges between samples of which one is among the `n_neighbors` nearest of the other. X (n, d), dense or sparse.

    Raises InvalidInputError unless 1 <= n_neighbors < n.
    """
    n = int(X.shape[0])
    count = integer(n_neighbors, "n_neighbors", 1, n - 1, "n_samples - 1")
    distances, indices = NearestNeighbors(n_neighbors=count).fit(X).kneighbors()
    rows = np.repeat(np.arange(n), count)
    return Edges.once(rows, indices.ravel().astype(np.intp), distances.ravel() ** 2, n)


def surface_edges(X: Any, n_neighbors: int) -> Edges:
    """:func:`nearest_neighbour_edges` of the samples X (n, d) without short cuts between sheets of a surface.

    An edge is a short cut if the shortest path between its ends along the edges of the SAFE_NEIGHBORS nearest
    neighbours is more than DETOUR times as long as the edge. An edge between two components of that graph is none.

    O(n) searches for paths, none longer than DETOUR times the longest edge of its first sample; O(n²) time at worst,
    memory of one block.
    """
    edges = nearest_neighbour_edges(X, n_neighbors)
    if n_neighbors <= SAFE_NEIGHBORS:
        return edges
    safe = nearest_neighbour_edges(X, SAFE_NEIGHBORS)
    paths, lengths, labels = safe.path_graph(), np.sqrt(edges.squared), safe.components()[1]
    reach = np.zeros(edges.n)
    np.maximum.at(reach, edges.i, DETOUR * lengths)
    keep = labels[edges.i] != labels[edges.j]
    sources, size = np.argsort(reach, kind="stable"), max(1, BLOCK // edges.n)
    turn = np.argsort(sources)[edges.i]  # of the first sample of each edge
    order = np.argsort(turn, kind="stable")
    turns = turn[order]
    for start in range(0, edges.n, size):  # samples with edges of similar lengths search together, equally far
        block = sources[start : start + size]
        found = dijkstra(paths, directed=False, indices=block, limit=reach[block[-1]])
        own = order[slice(*np.searchsorted(turns, (start, start + size)))]
        keep[own] |= found[turn[own] - start, edges.j[own]] <= DETOUR * lengths[own]
    return Edges(edges.i[keep], edges.j[keep], edges.squared[keep], edges.n)


def connecting_edges(X: Any, edges: Edges, n_neighbors: int) -> Edges:
    """`edges` on the samples X (n, d), with more edges until the graph is connected.

    In each round every component gets its `n_neighbors` shortest edges to samples outside it. A single edge would carry
    all the repulsion between two parts. At most log2(components) rounds of O(n² d).
    """
    count, labels = edges.components()
    while count > 1:
        found = [(edges.i, edges.j, edges.squared)]
        for c in range(count):
            own, others = np.flatnonzero(labels == c), np.flatnonzero(labels != c)
            search = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
            distances, indices = search.kneighbors(X[own])
            rows = np.repeat(own, distances.shape[1])
            shortest = np.argsort(distances, axis=None, kind="stable")[:n_neighbors]
            found.append((rows[shortest], others[indices.ravel()[shortest]], distances.ravel()[shortest] ** 2))
        i, j, squared = (np.concatenate(lists) for lists in zip(*found, strict=True))
        edges = Edges.once(i, j, squared, edges.n)
        count, labels = edges.components()
    return edges


def smallest_connecting(X: Any, n_neighbors: int) -> int:
    """Smallest number of neighbours, above `n_neighbors`, whose graph is connected: doubling, then bisection."""
    n = int(X.shape[0])
    low, high = n_neighbors, min(2 * n_neighbors, n - 1)
    while nearest_neighbour_edges(X, high).components()[0] > 1:
        low, high = high, min(2 * high, n - 1)
    between = range(low + 1, high)
    return low + 1 + bisect_left(between, True, key=lambda k: nearest_neighbour_edges(X, k).components()[0] == 1)


def read_edges(distances: Any) -> Edges:
    """Edges of a sparse symmetric matrix of squared distances; every stored entry is an edge, zeros included.

    Raises InvalidTypeError if it is not sparse; InvalidInputError if it is not square and symmetric, has entries on
    the diagonal, or holds NaN, infinite or negative values.
    """
    sparse = sp.issparse(distances)
    if not sparse:
        raise InvalidTypeError(
            f"distances must be a SciPy sparse array of squared neighbour distances; found {type(distances).__name__}"
        )
    entries: Any = sp.coo_array(distances)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InvalidInputError(f"distances must be square; found shape {entries.shape}")
    n = int(entries.shape[0])
    if entries.nnz == 0:
        raise InvalidInputError("distances must hold at least one pair of neighbours; found none")
    rows, columns = (np.asarray(c, dtype=np.intp) for c in entries.coords)
    values = np.asarray(entries.data, dtype=np.float64)
    if not is_finite(values) or np.any(values < 0.0):
        bad = values[~(values >= 0.0) | ~np.isfinite(values)][0]
        raise InvalidInputError(f"distances must be finite and non-negative; found {bad:g}")
    if np.any(rows == columns):
        at = rows[rows == columns][0]
        raise InvalidInputError(f"distances must have no entries on its diagonal; found one at {at}")
    upper, lower = rows < columns, rows > columns
    codes = rows[upper] * n + columns[upper]
    mirrored = columns[lower] * n + rows[lower]
    a, b = np.argsort(codes), np.argsort(mirrored)
    if not np.array_equal(codes[a], mirrored[b]):
        raise InvalidInputError("distances must be symmetric; found an entry (i, j) without its (j, i)")
    left, right = values[upper][a], values[lower][b]
    if np.any(np.abs(left - right) > 64 * EPS * np.maximum(left, right)):
        worst = float(np.max(np.abs(left - right)))
        raise InvalidInputError(f"distances must be symmetric; found entries that differ by {worst:.3g}")
    codes = codes[a]
    return Edges(codes // n, codes % n, 0.5 * (left + right), n)


def stretched(edges: Edges, errors: Array) -> int:
    """Number of edges longer or shorter by more than half the median length; `errors` as of :func:`edge_errors`."""
    lengths = np.sqrt(edges.squared[edges.squared > 0.0])
    return int(np.sum(2.0 * errors * lengths > np.median(lengths)))


def edge_errors(edges: Edges, Y: Array) -> Array:
    """|√d − √D| / √D for all edges of positive length, d the squared lengths in Y."""
    positive = edges.squared > 0.0
    difference = Y[edges.i[positive]] - Y[edges.j[positive]]
    return np.abs(np.sqrt(row_dots(difference, difference) / edges.squared[positive]) - 1.0)
