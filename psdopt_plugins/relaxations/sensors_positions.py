"""Positions of sensors: from shortest paths, from a solution of the relaxation, and refined by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from psdopt import Result
from psdopt.linalg import EPS, Array, incidence, row_dots
from psdopt_plugins.estimators import column_signs
from psdopt_plugins.limits import MOST_STEPS, ROUNDINGS
from psdopt_plugins.manifold_learning.graph import Edges
from psdopt_plugins.manifold_learning.new_points import geodesic_axes
from psdopt_plugins.relaxations.sensors_problem import Network


def first_positions(network: Network) -> Array:
    """Positions (n, d) from shortest paths: classical scaling, then the similarity that brings the anchors nearest to
    their places. Sensors in no pair are at 0. Cost: that of :func:`geodesic_axes`."""
    n, at, (i, j) = network.n, network.anchors, network.pairs.T
    a, b = np.triu_indices(len(at), 1)
    apart = np.linalg.norm(at[a] - at[b], axis=1)
    seen = np.append(np.unique(network.pairs[network.pairs < n]), np.arange(n, n + len(at)))
    squares = np.append(network.distances, apart) ** 2
    nodes = Edges(np.append(i, a + n), np.append(j, b + n), squares, n + len(at)).restricted(seen)
    Y = geodesic_axes(nodes, at.shape[1])
    mean, centre = Y[-len(at) :].mean(axis=0), at.mean(axis=0)
    own = Y[-len(at) :] - mean
    U, sizes, Vt = np.linalg.svd(own.T @ (at - centre))
    spread = float(np.vdot(own, own))
    P = np.zeros((n, at.shape[1]))
    P[seen[: -len(at)]] = (Y[: -len(at)] - mean) @ U @ Vt * (sizes.sum() / spread if spread > 0.0 else 1.0) + centre
    return P


def nearest(candidates: Sequence[Array | None], network: Network) -> Array:
    """The positions of least Σ (|p_i − p_j| − distance)² among those that are not None."""
    known = network.measured
    found = [P for P in candidates if P is not None]
    off = [(pair_lengths(P, network) - network.distances)[known] for P in found]
    return found[int(np.argmin([each @ each for each in off]))]


def own_axes(Z: Array, d: int, alone: NDArray[np.intp]) -> tuple[Array, Array]:
    """The first d principal coordinates of the rows of Z, and |rest|² of each; rows `alone` do not count, and get 0."""
    moved = Z - np.delete(Z, alone, axis=0).mean(axis=0)
    moved[alone] = 0.0
    U, s, _ = np.linalg.svd(moved, full_matrices=False)
    axes = np.column_stack([U * (s * column_signs(U)), np.zeros((len(Z), d))])
    return axes[:, :d], row_dots(axes[:, d:], axes[:, d:])


def relaxed_positions(result: Result, d: int) -> tuple[Array, Array]:
    """P (n, d), and Q_ii − |p_i|² (n,), of Z = [I, Pᵀ; P, Q]."""
    Y = result.matrix.factor
    P = np.asarray(Y[d:] @ Y[:d].T)
    return P, np.maximum(row_dots(Y[d:], Y[d:]) - row_dots(P, P), 0.0)


def refined(P: Array, network: Network) -> Array:
    """A local minimum of ½ Σ (|p_i − p_j| − distance)², plus squares by which bounds are exceeded, from P (n, d).

    Newton's method with a trust region, by conjugate gradient, until the gradient, in units of the mean length of a
    pair, is rounding. Pairs without a distance count only through their bounds. Cost of a product with the Hessian:
    O(pairs d).
    """
    n, d = P.shape
    if not len(network.pairs):
        return P
    E, known = incidence(network.pairs[:, 0], network.pairs[:, 1], n + len(network.anchors)), network.measured
    unit = float(np.mean(np.linalg.norm(E @ np.concatenate([P, network.anchors]), axis=1))) or 1.0
    D, lower, upper = (lengths / unit for lengths in (network.distances, network.lower, network.upper))
    E, fixed = E[:, :n], E[:, n:] @ network.anchors / unit
    Et = E.T.tocsr()

    def pulls(p: Array) -> tuple[Array, Array, Array]:
        """Unit vectors along the pairs, their lengths, and the excess of each."""
        steps = E @ p.reshape(n, d) + fixed
        lengths = np.maximum(np.linalg.norm(steps, axis=1), EPS)  # the curvature of a pair at one place is finite
        return steps / lengths[:, None], lengths, lengths - np.clip(lengths, lower, upper)

    def misfit(p: Array) -> tuple[float, Array]:
        u, lengths, outside = pulls(p)
        residual = np.where(known, lengths - D, 0.0)
        return 0.5 * float(residual @ residual + outside @ outside), (Et @ ((residual + outside)[:, None] * u)).ravel()

    def curvature(p: Array, v: Array) -> Array:
        u, lengths, outside = pulls(p)
        across = (np.where(known, lengths - D, 0.0) + outside) / lengths
        V = E @ v.reshape(n, d)
        along = (known + (outside != 0.0) - across) * row_dots(u, V)
        return np.asarray(Et @ (across[:, None] * V + along[:, None] * u)).ravel()

    limits: Any = {"gtol": ROUNDINGS * len(network.pairs) * EPS, "maxiter": MOST_STEPS}
    found = scipy.optimize.minimize(
        misfit, P.ravel() / unit, jac=True, hessp=curvature, method="trust-ncg", options=limits
    )
    return np.asarray(found.x.reshape(n, d) * unit)


def pair_lengths(P: Array, network: Network) -> Array:
    """|p_i − p_j| (m,) of the pairs, anchors among them, for sensors at P (n, d)."""
    points = np.concatenate([P, network.anchors])
    i, j = network.pairs.T
    return np.asarray(np.linalg.norm(points[i] - points[j], axis=1))
