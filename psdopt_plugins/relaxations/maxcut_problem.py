"""The semidefinite relaxation of the largest cut of a weighted graph."""

from __future__ import annotations

from typing import Any

from psdopt import Constrained, TermSum
from psdopt.constraints import diagonal
from psdopt.errors import InvalidInputError
from psdopt.linalg import symmetric_map
from psdopt.terms import LinearTerm, MatrixForm
from psdopt_plugins.relaxations.graphs import weights_of


def maxcut_problem(W: Any) -> Constrained:
    """min ¼ ⟨W, M⟩ − ¼ eᵀW e over M ⪰ 0 with M_ii = 1 (Goemans & Williamson).

    For signs s (n,) of the two sides M = s sᵀ is feasible, and −F is the weight of the cut: −min F bounds every cut
    from above. As tr M = n is fixed, every vector of multipliers proves such a bound. F(0) is minus half the weight of
    all edges, what a random cut has in the mean: gaps are relative to what is won beyond that.

    Parameters
    ----------
    W : (n, n) symmetric weights of the edges, of any sign, dense or sparse; the diagonal is left out.

    Raises
    ------
    InvalidInputError for a W that is not square, symmetric and finite, without an edge, or n < 2.
    """
    A = weights_of(W)
    n = int(A.shape[0])
    if A.nnz == 0:
        raise InvalidInputError(f"W must have an edge between two of its {n} vertices; found none")
    term = LinearTerm(MatrixForm(symmetric_map(0.25 * A, "W")))
    return Constrained(TermSum([term], -0.25 * float(A.sum())), diagonal(n, 1.0))
