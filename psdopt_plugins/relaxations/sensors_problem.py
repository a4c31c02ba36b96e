"""Positions from distances as a semidefinite program: the problem, and how far its solutions can reach."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from psdopt import Constrained, Duality, Evaluation, TermSum
from psdopt.checks import finite, indices, integer
from psdopt.constraints import Constraint, entries, quadratic_forms
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms
from psdopt_plugins.manifold_learning.graph import Edges
from psdopt_plugins.relaxations.sensors_graph import SensorGraph
from psdopt_plugins.rows import any_numbers

#: Ability of a problem whose F is a sum over pairs of sensors and anchors alone.
SENSOR_NETWORK = "sensor-network"


class Network(NamedTuple):
    """Checked data: pairs (m, 2), the sensor first, distances (m,) with NaN where none was measured, their bounds."""

    n: int
    anchors: Array
    pairs: NDArray[np.intp]
    distances: Array
    lower: Array
    upper: Array

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which pairs have a distance, (m,)."""
        return np.asarray(~np.isnan(self.distances))


def sensor_problem(
    n: int, pairs: Any, distances: Any, anchors: Any, lower: Any = None, upper: Any = None
) -> SensorProblem:
    """min Σ_t (x_tᵀ Z x_t − distance_t²)² over Z = [I, P; Pᵀ, Q] ⪰ 0, Z of order d + n (Biswas & Ye).

    The columns of P (d, n) are the sensors' positions; Q = PᵀP where Z has rank d, which exact distances of a uniquely
    localisable network enforce. x_t is (0, e_i − e_j) between sensors and (−a_k, e_i) between a sensor and an anchor.
    Where paths of distances or of upper bounds join every sensor of a pair to an anchor, the trace of a solution is
    bounded (:func:`trace_reach`), and the problem carries this bound for the proof of optimality.

    Parameters
    ----------
    n : number of sensors. anchors : (k, d) known positions, called n, ..., n + k − 1 in `pairs`.
    pairs : (m, 2) indices below n + k.
    distances : (m,) above 0; NaN for a pair of which only bounds are known.
    lower, upper : None, or (m,) bounds of the pairs' true distances, 0 and inf where there are none.

    Raises
    ------
    InvalidInputError for arrays of a wrong shape or range, a pair of equal indices or of two anchors, no distance.
    """
    return problem_of(checked_network(n, pairs, distances, anchors, lower, upper))


def problem_of(network: Network) -> SensorProblem:
    """:func:`sensor_problem` for data that are checked."""
    d = network.anchors.shape[1]
    a, b = np.triu_indices(d)
    constraints: list[Constraint] = [entries(a, b, d + network.n, (a == b).astype(float))]
    X = difference_rows(network)
    bounded = bounded_pairs(network)
    if np.any(bounded):
        least, most = network.lower[bounded] ** 2, network.upper[bounded] ** 2
        constraints.append(quadratic_forms(X[bounded], lower=least, upper=most))
    known = network.measured
    squares = LeastSquares(network.distances[known] ** 2)
    problem = TermSum([MeasuredTerm(QuadraticForms(X[known]), squares)])
    return SensorProblem(network, problem, constraints)


class Tensions(NamedTuple):
    """Dual variables of F: a tension w_t for each measured pair, (m,)."""

    weights: Array


class SensorProblem(Constrained):
    """:func:`sensor_problem` with its network, and with lower bounds of its own from tensions of the pairs.

    Attributes: `network`; `graph`, made on first use. The ability SENSOR_NETWORK says that no distance has bounds, and
    that paths of pairs lead from all sensors in pairs to anchors.
    """

    def __init__(self, network: Network, problem: TermSum, constraints: list[Constraint]) -> None:
        reach = trace_reach(network)
        super().__init__(problem, constraints, trace_bound=reach)
        self.network = network
        if reach is not None and bool(np.all(network.measured)) and not np.any(bounded_pairs(network)):
            self.abilities = self.abilities | {SENSOR_NETWORK}

    @cached_property
    def graph(self) -> SensorGraph:
        """The network as a graph in which all anchors are one vertex."""
        network = self.network
        return SensorGraph(network.n, network.pairs, network.distances**2, network.anchors)

    @property
    def duality(self) -> SensorDuality:
        return SensorDuality(self, super().duality)


class SensorDuality(Duality):
    """Bounds from tensions, for a :class:`SensorProblem` with the ability SENSOR_NETWORK; 0 for others."""

    def __init__(self, problem: SensorProblem, constrained: Duality) -> None:
        self.problem, self.value_unit = problem, constrained.value_unit  # type: ignore[method-assign]

    def dual_bound(self, evaluation: Evaluation, dual: Any = None) -> float:
        """The bound of :class:`Tensions` `dual`, by default r at M, with the least multiple of |w| that makes them
        feasible (:meth:`~psdopt_plugins.relaxations.sensors_graph.SensorGraph.bound`).

        Cost: some ten sparse factorisations of order n.
        """
        if SENSOR_NETWORK not in self.problem.abilities:
            return 0.0
        graph = self.problem.graph
        if isinstance(dual, Tensions):
            weights = finite(dual.weights, "tensions")
            if weights.shape != graph.squares.shape:
                raise InvalidInputError(f"tensions must have shape {graph.squares.shape}; found {weights.shape}")
        else:
            weights = graph.excess(graph.differences(graph.places(evaluation.factor)))
        return max(graph.bound(graph.feasible(weights)[0]), 0.0)

    def multipliers(self, evaluation: Evaluation, dual: Any) -> Any:
        """Those of M_ab = δ_ab, a <= b, with which S Y = 0 in the first d rows; `dual` itself if it has no tensions."""
        if not isinstance(dual, Tensions):
            return dual
        d = self.problem.graph.d
        force = (evaluation.gradient @ evaluation.factor)[:d] @ np.linalg.pinv(evaluation.factor[:d])
        a, b = np.triu_indices(d)
        return -(force + force.T)[a, b] / np.where(a == b, 2.0, 1.0)


def bounded_pairs(network: Network) -> NDArray[np.bool_]:
    """Which pairs have a bound, (m,)."""
    return np.asarray((network.lower > 0.0) | (network.upper < np.inf))


def unit_of_length(network: Network) -> float:
    """The power of two next to the root of the mean squared distance, by which numbers are divided without rounding."""
    lengths = network.distances[network.measured]
    largest = float(lengths.max())
    return float(2.0 ** np.round(np.log2(largest * np.sqrt(np.mean((lengths / largest) ** 2)))))


def in_units(network: Network, unit: float) -> Network:
    """The same network with lengths in this unit."""
    n, at, pairs, *lengths = network
    return Network(n, at / unit, pairs, *(each / unit for each in lengths))


def checked_network(n: Any, pairs: Any, distances: Any, anchors: Any, lower: Any, upper: Any) -> Network:
    """The arguments of :func:`sensor_problem` as arrays; raises what it raises."""
    n = integer(n, "n")
    at = finite(anchors, "anchors")
    if at.ndim != 2 or 0 in at.shape:
        raise InvalidInputError(f"anchors must have shape (k, d), k and d at least 1; found {at.shape}")
    edges = np.sort(indices(pairs, "pairs", n + len(at), 2, empty=False), axis=1)
    if np.any(edges[:, 0] == edges[:, 1]) or np.any(edges[:, 0] >= n):
        raise InvalidInputError("pairs must join two different nodes, at least one of which is a sensor")
    lengths = _per_pair(distances, "distances", len(edges))
    if np.all(np.isnan(lengths)):
        raise InvalidInputError("distances must hold at least one number; found NaN only")
    if np.any(lengths <= 0.0) or np.any(np.isinf(lengths)):
        raise InvalidInputError(f"distances must be finite and above 0; found {np.nanmin(lengths):g}")
    least = np.zeros(len(edges)) if lower is None else _per_pair(lower, "lower", len(edges))
    most = np.full(len(edges), np.inf) if upper is None else _per_pair(upper, "upper", len(edges))
    if not np.all((least >= 0.0) & (least <= most) & (least < np.inf)):
        raise InvalidInputError("lower and upper must satisfy 0 <= lower <= upper for every pair, lower finite")
    return Network(n, at, edges, lengths, least, most)


def difference_rows(network: Network) -> sp.csr_array:
    """x_t as rows of a sparse X (m, d + n)."""
    n, at, pairs = network.n, network.anchors, network.pairs
    m, d = len(pairs), at.shape[1]
    i, j = pairs.T
    fixed = np.flatnonzero(j >= n)
    free = np.flatnonzero(j < n)
    rows = np.concatenate([np.arange(m), free, np.repeat(fixed, d)])
    columns = np.concatenate([d + i, d + j[free], np.tile(np.arange(d), len(fixed))])
    values = np.concatenate([np.ones(m), -np.ones(len(free)), -at[j[fixed] - n].ravel()])
    return sp.csr_array((values, (rows, columns)), shape=(m, d + n))


def trace_reach(network: Network) -> float | None:
    """τ with tr Z <= τ for a solution Z; None where pairs join sensors to no anchor.

    Rows z_i of a factor of Z are points, anchors included, whose squared distances are the x_tᵀ Z x_t. No pair is
    farther apart than its `upper`. Without any `upper`, |x_tᵀ Z x_t − distance_t²| <= √F₀ at a solution, F₀ = F(Z₀)
    for any feasible Z₀, so that a measured pair is at most √(distance² + √F₀) apart. Shortest paths from the anchors
    then bound each |z_i|. Z₀ has all sensors at the mean of the anchors, and each of them moved off by s/√2 in a
    dimension of its own, s² twice the largest squared `lower`: then all pairs are at least `lower` apart.
    """
    n, at, pairs = network.n, network.anchors, network.pairs
    d, known = at.shape[1], network.measured
    longest = network.upper
    if np.all(np.isinf(longest)):
        centre = np.concatenate([np.tile(at.mean(axis=0), (n, 1)), at])
        squares = np.sum((centre[pairs[:, 0]] - centre[pairs[:, 1]]) ** 2, axis=1)
        squares += network.lower.max() ** 2 * np.where(pairs[:, 1] < n, 2.0, 1.0)
        start = np.linalg.norm((squares - network.distances**2)[known])  # √F₀
        longest = np.sqrt(network.distances**2 + start)
    used = np.isfinite(longest)
    i, j = pairs[used].T
    size = n + len(at) + 1  # the last node is the origin
    origin = np.full(len(at), size - 1)
    a = np.concatenate([i, np.arange(n, n + len(at))])
    b = np.concatenate([j, origin])
    squares = np.concatenate([longest[used], np.linalg.norm(at, axis=1)]) ** 2
    graph = Edges(a, b, squares, size).path_graph()
    reach = dijkstra(graph, directed=False, indices=np.array([size - 1]))[0, :n]
    reach[np.setdiff1d(np.arange(n), pairs)] = 0.0  # a sensor in no pair may lie anywhere, so at 0
    return float(d + np.sum(reach**2)) if np.all(np.isfinite(reach)) else None


def unreached(network: Network) -> NDArray[np.intp]:
    """The sensors that no path of pairs joins to an anchor."""
    i, j = network.pairs.T
    _, parts = Edges(i, j, np.ones(len(i)), network.n + len(network.anchors)).components()
    return np.flatnonzero(~np.isin(parts[: network.n], parts[network.n :]))


def _per_pair(values: Any, name: str, size: int) -> Array:
    """`values` as :func:`any_numbers` (size,); a single number applies to each pair."""
    array = any_numbers(values, name)
    if array.shape not in ((), (size,)):
        raise InvalidInputError(f"{name} must be a number or have shape ({size},), one per pair; found {array.shape}")
    return np.array(np.broadcast_to(array, (size,)))
