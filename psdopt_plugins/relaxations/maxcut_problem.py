"""The semidefinite relaxation of the largest cut of a weighted graph."""

from __future__ import annotations

from typing import Any

from psdopt import Constrained, TermSum
from psdopt.constraints import diagonal
from psdopt.linalg import LinearMap
from psdopt.terms import LinearTerm, MatrixForm
from psdopt_plugins.relaxations.graphs import Graph


def maxcut_problem(W: Any) -> Constrained:
    """min ¼ ⟨W, M⟩ − ¼ eᵀW e over M ⪰ 0 with M_ii = 1 (Goemans & Williamson).

    For signs s (n,) of the two sides M = s sᵀ is feasible, and −F is the weight of the cut: −min F bounds every cut
    from above. As tr M = n is fixed, every vector of multipliers proves such a bound. F(0) is minus half the weight of
    all edges, what a random cut has in the mean: gaps are relative to what is won beyond that.

    Parameters
    ----------
    W : (n, n) symmetric weights of the edges, of any sign, dense or sparse; the diagonal is left out. Or a
        :class:`~psdopt_plugins.relaxations.graphs.Graph`, which was checked when it was made.

    Raises
    ------
    InvalidInputError for a W that is not square, symmetric and finite, without an edge, or n < 2.
    """
    graph = Graph.of(W).with_edges()
    term = LinearTerm(MatrixForm(LinearMap(graph.weights, "W", checked=True), 0.25))
    return Constrained(TermSum([term], -0.25 * float(graph.weights.sum())), diagonal(graph.n, 1.0))
