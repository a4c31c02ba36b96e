"""Smallest eigenpairs of L(w) − nu H by factorisation, with a bound from the inertia."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.linalg import EPS, Array, ExtremePair, is_finite, norm
from psdopt_plugins.limits import MOST_STEPS, SLIGHT
from psdopt_plugins.manifold_learning.graph_matrices import BRACKET, GraphMatrices, natural


def least_of_graph(
    graph: GraphMatrices,
    weights: Array,
    nu: float,
    S: Any,
    *,
    tol: float = 0.0,
    threshold: float | None = None,
    start: Array | None = None,
    count: int = 1,
    seed: int = 0,
) -> ExtremePair:
    """The `count` smallest eigenpairs of S = L(w) − nu H (n, n), of which e is a null vector.

    S + tau I ⪰ 0 on the complement of e if and only if L(w) − (nu − tau) I has one negative eigenvalue. A
    geometric search brackets the least such tau, then inverse iteration at that shift finds the vectors.
    `lower_bound` = −tau holds up to the rounding of one sparse factorisation. Other arguments as in
    :func:`psdopt.linalg.extreme.smallest_eigenpair`; S is only used to check the residual.
    """
    n = graph.n
    size = 4.0 * float(np.abs(weights).max(initial=0.0)) + nu  # per edge; a lower estimate of |S|
    floor = max(tol, -threshold if threshold is not None else 0.0, 4.0 * np.sqrt(n) * EPS * size)
    low, high = 0.0, floor
    while not _fits(graph, weights, nu, high):
        low, high = high, 4.0 * high
    while high > max(BRACKET * low, floor):
        middle = float(np.sqrt(max(low, floor) * high))
        low, high = (low, middle) if _fits(graph, weights, nu, middle) else (middle, high)
    factors = natural(graph.assemble(weights[:, None, None], high - nu))
    columns = min(count + 1, n - 1)
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n, columns))
    if start is not None and np.all(np.isfinite(start)):
        V[:, 0] = np.asarray(start, dtype=float).reshape(n, -1)[:, 0]
    products, goal = 0, max(SLIGHT * (low if low > 0.0 else high), tol)
    values, residuals = np.zeros(columns), np.full(columns, np.inf)
    for _ in range(MOST_STEPS):  # the shift is within BRACKET of the eigenvalue, so that a few suffice
        V = V - V.mean(axis=0)
        solved = np.empty_like(V)
        solved[graph.order] = factors.solve(np.asfortranarray(V[graph.order]))
        V = np.linalg.qr(solved - solved.mean(axis=0))[0]
        SV = np.asarray(S @ V)
        products += columns
        if not is_finite(SV):
            raise FloatingPointError("S @ V is not finite")
        values, W = np.linalg.eigh(0.5 * (V.T @ SV + SV.T @ V))
        V, SV = V @ W, SV @ W
        residuals = np.linalg.norm(SV - V * values, axis=0)
        if residuals[:count].max() <= goal:
            break
    values, V = values[:count].copy(), V[:, :count].copy()
    if values[0] > 0.0:  # then e, with eigenvalue 0, is the least
        V[:, 0], values[0] = 1.0 / np.sqrt(n), 0.0
        residuals[0] = norm(np.asarray(S @ V[:, :1]))
    converged = bool(residuals[:count].max() <= goal)
    bound = min(-high, float(values[0]))
    return ExtremePair(values, V, float(residuals[0]), bound, 0.0, size, products, "inertia", converged)


def _fits(graph: GraphMatrices, weights: Array, nu: float, tau: float) -> bool:
    """Whether S + tau I ⪰ 0 on the complement of e. With tau >= nu, e is no longer negative."""
    return graph.negatives(weights, nu - tau) == (1 if tau < nu else 0)
