"""Sparse blocks of M split into the cliques of a chordal graph, and M completed from them.

If C and all A_t have entries only on the edges of a chordal graph, a partial matrix on these edges has a completion
M ⪰ 0 exactly where its submatrices on the cliques are ⪰ 0 (Grone, Johnson, Sá, Wolkowicz 1984). The program is then one
over the submatrices, with equations where cliques overlap (Fukuda, Kojima, Murota, Nakata 2000).
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array


class Cliques:
    """Submatrices M_k of M, in the order of trees: each clique after its parent, which has what it shares with earlier
    ones. The matrix of all M_k, one after the other, is called M' (n', n').

    Attributes: `rows`, for each clique its rows of M by increasing number; `parent`, its number, −1 without one;
    `origin` (n',), the rows of M in the order of M'; `start`, of each clique the first row in M'.
    """

    def __init__(self, rows: list[NDArray[np.intp]], parent: list[int]) -> None:
        self.rows, self.parent, self.origin = rows, parent, np.concatenate(rows)
        self.start = np.cumsum([0, *map(len, rows)])[:-1]
        none = np.zeros(0, dtype=np.intp)
        #: Of each clique the places, in it and in its parent, of the rows that both have.
        self.shared = [
            np.intersect1d(each, rows[p], assume_unique=True, return_indices=True)[1:] if p >= 0 else (none, none)
            for each, p in zip(rows, parent, strict=True)
        ]

    def placed(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns of M' that stand for the entries (i, j) of M: those in the first clique that has both."""
        n, clique = int(self.origin.max()) + 1, np.repeat(np.arange(len(self.rows)), [len(each) for each in self.rows])
        first = np.full(n, len(self.rows))
        np.minimum.at(first, self.origin, clique)
        codes, k = clique * n + self.origin, np.maximum(first[i], first[j])
        return np.searchsorted(codes, k * n + i), np.searchsorted(codes, k * n + j)

    def copies(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Entries of M', (2, q) as rows and columns, of a clique and its parent that stand for the same ones of M."""
        own, above = [np.zeros((2, 0), dtype=np.intp)], [np.zeros((2, 0), dtype=np.intp)]
        for k, (places, up) in enumerate(self.shared):
            pairs = np.array(np.triu_indices(len(places)))
            own.append(self.start[k] + places[pairs])
            above.append(self.start[self.parent[k]] + up[pairs])
        return np.hstack(own), np.hstack(above)

    def completed(self, Y: Array) -> Array:
        """Z (n, r) with Z Zᵀ = M_k on each clique, for Y (n', r) whose rows in clique k are a factor of M_k.

        The rows of a clique are turned by the orthogonal matrix that brings those it shares nearest to its parent's,
        exactly onto them if both give the same submatrix. O(Σ s_k r²), where cliques share rows.
        """
        Z = np.empty((int(self.origin.max()) + 1, Y.shape[1]))
        Z[self.origin[::-1]] = Y[::-1]  # of rows in several cliques those of the first
        for k, (own, _) in enumerate(self.shared):
            if len(own):
                rows, H = self.rows[k], Y[self.start[k] : self.start[k] + len(self.rows[k])]
                U, _, V = np.linalg.svd(H[own].T @ Z[rows[own]])
                new = np.delete(np.arange(len(rows)), own)
                Z[rows[new]] = H[new] @ (U @ V)
        return Z


def cliques_of(
    i: NDArray[np.intp], j: NDArray[np.intp], blocks: list[NDArray[np.intp]], large: NDArray[np.bool_]
) -> Cliques:
    """Cliques of a chordal graph with the edges (i, j), small ones merged with their parents, found by eliminating
    vertices of least degree.

    One clique each are the `blocks`, components of the graph, that are not `large`, and those in which the degrees of
    eliminated vertices exceed √s in quadratic mean for s rows. Time O(s²) for each block, memory that of the edges.
    """
    label = np.empty(sum(map(len, blocks)), dtype=np.intp)
    for k, block in enumerate(blocks):
        label[block] = k
    edges, sizes = np.bincount(label[i[i != j]], minlength=len(blocks)), np.array([len(block) for block in blocks])
    sparse = large & (2.0 * edges <= sizes**1.5)
    rows: list[NDArray[np.intp]] = []
    parent: list[int] = []
    used = sparse[label[i]] & (i != j)
    near: dict[int, set[int]] = {k: set() for block in np.flatnonzero(sparse) for k in blocks[block].tolist()}
    for a, b in zip(i[used].tolist(), j[used].tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    for k, block in enumerate(blocks):
        found = _eliminated(near, block.tolist()) if sparse[k] else None
        cliques, above = ([block], [-1]) if found is None else _merged(*found)
        parent += [p + len(rows) if p >= 0 else -1 for p in above]
        rows += cliques
    return Cliques(rows, parent)


def _eliminated(near: dict[int, set[int]], block: list[int]) -> tuple[list[set[int]], list[int]] | None:
    """Maximal cliques and their parents, by eliminating the vertices of a block, unless the sum of their squared
    degrees exceeds s²; `near`, the neighbours, is used up."""
    left = len(block) ** 2
    queue = [(len(near[k]), k) for k in block]
    heapq.heapify(queue)
    later: dict[int, set[int]] = {}
    while queue:
        degree, k = heapq.heappop(queue)
        if k in later or degree != len(near[k]):
            continue
        left -= degree**2
        if left < 0:
            return None
        later[k] = near[k]
        for j in near[k]:
            near[j] |= near[k]
            near[j] -= {j, k}
            heapq.heappush(queue, (len(near[j]), j))
    place = {k: t for t, k in enumerate(later)}
    rows: list[set[int]] = []
    parent: list[int] = []
    holder: dict[int, int] = {}
    for k in reversed(later):
        above = holder[min(later[k], key=place.__getitem__)] if later[k] else -1
        if above >= 0 and later[k] == rows[above]:
            rows[above] = rows[above] | {k}
            holder[k] = above
        else:
            holder[k] = len(rows)
            rows.append({k} | later[k])
            parent.append(above)
    return rows, parent


def _merged(rows: list[set[int]], parent: list[int]) -> tuple[list[NDArray[np.intp]], list[int]]:
    """Cliques merged with their parents, from the leaves on, where one is cheaper than two with their equations.

    Of order s with e equations a clique is taken to cost s³ + e³: decompositions, and its part of the system of order
    m. The e are the entries that it shares with its parent.
    """

    def cost(clique: set[int], above: int) -> float:
        e = len(clique & rows[above]) if above >= 0 else 0
        return float(len(clique)) ** 3 + (0.5 * e * (e + 1)) ** 3

    into = list(range(len(rows)))
    for k in range(len(rows) - 1, 0, -1):
        p = parent[k]
        if p >= 0:
            both = rows[k] | rows[p]
            if cost(both, parent[p]) <= cost(rows[k], p) + cost(rows[p], parent[p]):
                rows[p], into[k] = both, p
    place, kept, ups = {-1: -1}, list[NDArray[np.intp]](), list[int]()
    for k, p in enumerate(parent):
        if into[k] != k:
            place[k] = place[into[k]]
        else:
            place[k] = len(kept)
            kept.append(np.array(sorted(rows[k]), dtype=np.intp))
            ups.append(place[p])
    return kept, ups
