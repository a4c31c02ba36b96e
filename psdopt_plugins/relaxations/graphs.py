"""Weighted undirected graphs, checked on construction; and some to try the relaxations on, from a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import CheckedIndices
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import symmetric_map
from psdopt.plugins import Dataset


@dataclass(frozen=True)
class Graph:
    """A graph of n >= 2 vertices. weights : (n, n), a symmetric CSR array without diagonal, zeros left out."""

    weights: sp.csr_array

    @classmethod
    def of(cls, W: Any, name: str = "W", checked: bool = False) -> Graph:
        """The graph of symmetric weights W (n, n), dense or sparse; the diagonal is left out. A Graph as it is.

        checked : whether W is known to hold finite real numbers.

        Raises InvalidInputError for a W that is not square, symmetric and finite, InvalidTypeError for an operator,
        whose entries are not at hand. O(entries).
        """
        if isinstance(W, Graph):
            return W
        data = symmetric_map(W, name, checked=checked)
        if not data.is_matrix:
            raise InvalidTypeError(f"{name} must be an array, dense or sparse; found {type(W).__name__}")
        if data.shape[0] < 2:
            raise InvalidInputError(f"{name} must hold a graph of at least 2 vertices; found n = {data.shape[0]}")
        A = 0.5 * sp.csr_array(data.data, dtype=np.float64)  # halve first, so that the sum is finite
        A = sp.csr_array(A + A.T)
        A.data[np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) == A.indices] = 0.0
        with np.errstate(over="ignore"):
            if np.isinf(np.abs(A.data).sum()):
                raise InvalidInputError(f"{name} must be finite, in sum too; found weights up to {A.max():.3g}")
        A.eliminate_zeros()
        A.sort_indices()
        return cls(A)

    @property
    def n(self) -> int:
        """The number of vertices."""
        return int(self.weights.shape[0])

    def with_edges(self, name: str = "W") -> Graph:
        """The graph itself. Raises InvalidInputError if no vertices are joined."""
        if self.weights.nnz == 0:
            raise InvalidInputError(f"{name} must have an edge between two of its {self.n} vertices; found none")
        return self

    def among(self, vertices: NDArray[np.intp]) -> Graph:
        """The graph of two or more of the vertices, sorted."""
        return Graph(sp.csr_array(self.weights[vertices][:, vertices]))

    @cached_property
    def edges(self) -> CheckedIndices:
        """Rows (i, j), i < j, of every edge once."""
        return CheckedIndices(np.stack(sp.coo_array(sp.triu(self.weights, k=1)).coords, axis=1), self.n, distinct=True)


SIDE = 16


def torus_graph() -> Dataset:
    """A SIDE × SIDE grid whose opposite borders are joined, with weights 1 and −1 on its edges."""
    rng = np.random.default_rng(0)
    at = np.arange(SIDE**2).reshape(SIDE, SIDE)
    i = np.tile(at.ravel(), 2)
    j = np.concatenate([np.roll(at, -1, axis=0).ravel(), np.roll(at, -1, axis=1).ravel()])
    return Dataset("torus_graph", _symmetric(i, j, rng.choice([-1.0, 1.0], len(i)), SIDE**2))


def random_graph() -> Dataset:
    """50 vertices, each pair joined with probability 0.2."""
    i, j = np.triu_indices(50, 1)
    kept = np.random.default_rng(0).random(len(i)) < 0.2
    return Dataset("random_graph", _symmetric(i[kept], j[kept], np.ones(int(kept.sum())), 50))


def planted_graph() -> Dataset:
    """150 vertices in three groups; pairs are joined with probability 0.2 within a group and 0.03 between groups."""
    groups = np.repeat(np.arange(3), 50)
    i, j = np.triu_indices(150, 1)
    kept = np.random.default_rng(0).random(len(i)) < np.where(groups[i] == groups[j], 0.2, 0.03)
    return Dataset("planted_graph", _symmetric(i[kept], j[kept], np.ones(int(kept.sum())), 150), groups)


def _symmetric(i: np.ndarray, j: np.ndarray, weights: np.ndarray, n: int) -> sp.csr_array:
    half = sp.csr_array((weights, (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)
