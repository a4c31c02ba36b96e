"""The correlation matrix nearest to a symmetric matrix, with weights and fixed entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt import Constrained, Problem, QuadraticSDP, TermSum
from psdopt.checks import finite, indices
from psdopt.constraints import Constraint, diagonal, entries
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, as_dense, inner, symmetric_map
from psdopt.terms import Entries, LeastSquares, MatrixForm, MeasuredTerm


def correlation_problem(G: Any, weights: Any = None, fixed: Any = None) -> Constrained:
    """min ½ |W ∘ (M − G)|² over M ⪰ 0 with M_ii = 1, and M_ij = G_ij for the pairs in `fixed` (Higham 2002).

    Parameters
    ----------
    G : (n, n) symmetric, dense. weights : None for W_ij = 1; w (n,) above 0 for W = w wᵀ, where the problem's matrix is
        N = Diag(w) M Diag(w); or W (n, n) symmetric, at least 0, where zeros leave entries free.
    fixed : pairs (p, 2) of different indices, each once.

    Raises
    ------
    InvalidInputError for arrays of a wrong shape, not finite or not symmetric, weights below their bound, or a fixed
    entry beyond [−1, 1]; InvalidTypeError for indices that are no integers.

    Without W (n, n) this is a distance in the Frobenius norm, for which :func:`psdopt.solve` takes Newton's method on
    the n + p multipliers.
    """
    G = checked_matrix(G)
    n = len(G)
    W = checked_weights(weights, n)
    pairs = checked_pairs(fixed, G)
    i, j = pairs[:, 0], pairs[:, 1]
    w = W if W is not None and W.ndim == 1 else np.ones(n)
    constraints: list[Constraint] = [diagonal(n, w**2)]
    if len(pairs):
        constraints.append(entries(i, j, n, (w[i] * w[j]) * G[i, j]))
    problem: Problem
    if W is not None and W.ndim == 2:
        k, t = np.nonzero(np.triu(W, 1))
        if len(k) == 0:
            raise InvalidInputError("weights must be above 0 for at least one entry beside the diagonal; found none")
        own = 0.5 * float(np.sum((np.diagonal(W) * (1.0 - np.diagonal(G))) ** 2))
        problem = TermSum([MeasuredTerm(Entries(k, t, n), LeastSquares(G[k, t], W[k, t] ** 2))], own)
    else:
        H = G if W is None else (w[:, None] * G) * w
        C = MatrixForm(LinearMap(-0.5 * H, "C", checked=W is None))  # weights may be so large that H overflows
        problem = QuadraticSDP(B=0.5, C=C, constant=0.5 * inner(H, H))
    return Constrained(problem, constraints)


def checked_matrix(G: Any) -> Array:
    """G (n, n) symmetric and finite, as a dense array; that of a :class:`LinearMap` as it is."""
    return as_dense((G if isinstance(G, LinearMap) else symmetric_map(G, "G")).data)


def checked_weights(weights: Any, n: int) -> Array | None:
    """None, w (n,) above 0, or W (n, n) symmetric and at least 0."""
    if weights is None:
        return None
    W = finite(weights, "weights")
    if W.shape == (n,):
        if not np.all(W > 0.0):
            raise InvalidInputError(f"weights must be above 0, one for each of {n} variables; found {W.min():g}")
        return W
    if W.shape != (n, n):
        raise InvalidInputError(f"weights must be None or have shape ({n},) or ({n}, {n}); found {W.shape}")
    if not np.all(W >= 0.0):
        raise InvalidInputError(f"weights must be at least 0; found {W.min():g}")
    return np.asarray(symmetric_map(W, "weights").data, dtype=np.float64)


def checked_pairs(fixed: Any, G: Array) -> NDArray[np.intp]:
    """The fixed pairs (p, 2), i < j, each once."""
    if fixed is None:
        return np.empty((0, 2), dtype=np.intp)
    pairs = np.sort(indices(fixed, "fixed", len(G), 2), axis=1)
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InvalidInputError("fixed must hold pairs of different indices: the diagonal is fixed to 1 anyway")
    pairs = np.unique(pairs, axis=0) if len(pairs) else pairs
    beyond = np.abs(G[pairs[:, 0], pairs[:, 1]]) > 1.0
    if np.any(beyond):
        i, j = pairs[np.argmax(beyond)]
        raise InvalidInputError(f"fixed entries must lie between -1 and 1; found G[{i}, {j}] = {G[i, j]:g}")
    return pairs
