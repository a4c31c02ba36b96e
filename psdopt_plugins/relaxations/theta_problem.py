"""Lovász's theta number as a semidefinite program, and a lower bound from any matrix that nearly solves it."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt import Constrained, LowRankPSD, TermSum
from psdopt.constraints import Constraint, entries, trace
from psdopt.linalg import EPS
from psdopt.terms import GramForm, LinearTerm
from psdopt_plugins.relaxations.graphs import Graph


def theta_problem(graph: Any) -> Constrained:
    """min −⟨e eᵀ, M⟩ over M ⪰ 0 with tr M = 1 and M_ij = 0 for the edges of the graph: −min F is theta (Lovász 1979).

    Parameters
    ----------
    graph : (n, n) symmetric, dense or sparse; each entry beside the diagonal that is not 0 is an edge.

    Raises
    ------
    InvalidInputError for an array that is not square, symmetric and finite, or n < 2.

    m = 1 + edges constraints: :func:`psdopt.solve` needs m³/3 flops a step up to some thousands of edges.
    """
    graph = Graph.of(graph, "graph")
    n = graph.n
    constraints: list[Constraint] = [trace(n, 1.0)]
    if len(graph.edges):
        constraints.append(entries(graph.edges[:, 0], graph.edges[:, 1], n, 0.0))
    return Constrained(TermSum([LinearTerm(GramForm(np.ones((1, n))), -1.0)]), constraints)


def theta_lower_bound(graph: Any, M: LowRankPSD) -> float:
    """A proven lower bound of theta from any M: its entries on edges are set to 0, and M is shifted until M ⪰ 0.

    The bound is eᵀN e / tr N of the N that comes out, and at least 1. One O(n³) eigensolve.
    """
    i, j = Graph.of(graph, "graph").edges.array.T
    N = M.to_dense()
    N[i, j] = N[j, i] = 0.0
    low = float(np.linalg.eigvalsh(N)[0])
    rounding = len(N) * EPS * float(np.linalg.norm(N))
    shift = max(0.0, rounding - low)
    size = float(np.trace(N)) + len(N) * shift
    if not size > 0.0:
        return 1.0
    return max(1.0, (float(N.sum()) + len(N) * shift) / size * (1.0 - len(N) * EPS))
