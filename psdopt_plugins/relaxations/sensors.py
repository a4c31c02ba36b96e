"""Positions of sensors from distances to each other and to anchors: a semidefinite relaxation, then least squares."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import PSDCone, Result, solve
from psdopt.checks import finite, number_or_none
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt_plugins.estimators import Estimator, finished, options_for_solve, parameters, proven_bound
from psdopt_plugins.manifold_learning.graph import Edges
from psdopt_plugins.relaxations.sensors_newton import SensorNewton
from psdopt_plugins.relaxations.sensors_positions import (
    first_positions,
    nearest,
    own_axes,
    pair_lengths,
    refined,
    relaxed_positions,
)
from psdopt_plugins.relaxations.sensors_problem import (
    SENSOR_NETWORK,
    Network,
    bounded_pairs,
    checked_network,
    in_units,
    problem_of,
    unit_of_length,
    unreached,
)
from psdopt_plugins.rows import any_numbers, validated

#: Options of :func:`psdopt.solve` that say how, from where or to what rank to run.
OWN_WAY = {"geometry", "method", "start", "escape", "max_rank"}


class Localization(NamedTuple):
    """Positions (n, d) of the sensors, those of the relaxation before the refinement, and its run."""

    positions: Array
    relaxed: Array
    result: Result


def localize_sensors(
    n: int, pairs: Any, distances: Any, anchors: Any, lower: Any = None, upper: Any = None, **options: Any
) -> Localization:
    """Positions of n sensors: P of :func:`sensor_problem`, refined by least squares on Σ (|p_i − p_j| − distance)².

    The refinement starts from P, and treats bounds as soft (:func:`refined`). It makes noisy distances count equally,
    and sharpens P if Z has higher rank. Without bounds, refined positions from shortest paths come first; they are
    proven, or refuted by a bound above which no solution of the relaxation lies, and returned where they fit better.
    options : keyword arguments for :func:`psdopt.solve`. Raises what
    :func:`~psdopt_plugins.relaxations.sensor_problem` raises.

    Examples
    --------
    >>> import numpy as np
    >>> anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> lengths = np.linalg.norm(anchors - [0.3, 0.4], axis=1)
    >>> localize_sensors(1, [(0, 1), (0, 2), (0, 3)], lengths, anchors).positions.round(6)
    array([[0.3, 0.4]])
    """
    network = checked_network(n, pairs, distances, anchors, lower, upper)
    first, result = started(network, options)
    P, _ = relaxed_positions(result, network.anchors.shape[1])
    return Localization(nearest([first, refined(P, network)], network), P, result)


@parameters
class SensorLocalization(Estimator):
    """Positions of sensors from measured distances to each other and to anchors, of known positions.

    min Σ_t (x_tᵀ Z x_t − distance_t²)² over Z = [I, P; Pᵀ, Q] ⪰ 0 (:func:`sensor_problem`) gives positions P without
    any start; least squares on the distances refines them.

    Distances alone know positions up to a motion. Without anchors all nodes are sensors: one is held at 0, and answers
    are centred, along principal axes whose largest entry is positive. P is then what the first d such axes of Z hold.

    Parameters
    ----------
    anchors : (k, d) positions of the last k nodes of the data; (0, d) for none in d dimensions, None for none in two.
    error : None, or every true distance lies within distance · (1 ± error), 0 <= error < 1, as a hard constraint.
    refine : whether Σ (|p_i − p_j| − distance)² is minimised from P afterwards.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    positions_ : (n, d) of the n = N − k sensors. relaxed_ : (n, d) before the refinement, P.
    uncertainty_ : (n,) Q_ii − |p_i|² >= 0. 0 means that the relaxation fixes the position of sensor i; if it is large,
        the distances leave the sensor room, in dimensions beyond d (Biswas & Ye).
    misfit_ : Σ (|p_i − p_j|² − distance²)² at `positions_`. misfit_bound_ : proven; no positions have less, in any
        dimension, that keep the bounds.
    edges_ : (m, 2) pairs with a measured distance, the sensor first; distances_ : (m,) their distances.
    result_ : the :class:`psdopt.Result` of the relaxation, for anchors less their mean, with lengths in units of unit_.
    unit_ : 1; where pairs have bounds, :func:`unit_of_length`, since Z is then far from its block I in other units.

    Cost: without bounds some tens of systems of order n k, each a sparse factorisation, k about d + 10, or for many
    neighbours up to 200 products linear in the pairs, k about d + 20; with bounds that of the method that
    :func:`psdopt.solve` chooses, at least O(n³) a step. Memory: the factors, k² times those of order n, or k arrays.
    990 sensors with 20 distances each took 0.7 s of processor time.

    Examples
    --------
    >>> import numpy as np
    >>> nodes = np.array([[0.3, 0.4], [0.8, 0.7], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> D = np.linalg.norm(nodes[:, None] - nodes, axis=2)
    >>> SensorLocalization(anchors=nodes[2:]).fit(D).positions_.round(6)
    array([[0.3, 0.4],
           [0.8, 0.7]])
    >>> P = SensorLocalization().fit(D).positions_  # all five, up to a motion
    >>> bool(np.allclose(np.linalg.norm(P[:, None] - P, axis=2), D))
    True
    """

    anchors: Any = None
    _: KW_ONLY
    error: float | None = None
    refine: bool = True
    solver_options: Mapping[str, Any] | None = None

    takes_sparse, pairwise = True, True

    def fit(self, X: Any, y: Any = None, *, lower: Any = None, upper: Any = None) -> Self:
        """Locate the first N − k of N nodes from distances X (N, N), symmetric, dense or sparse: 0 is not measured.

        lower, upper : None, or (N, N) like X: hard bounds of true distances, 0 where there is none. They may bound
        pairs without a distance in X. Distances between anchors are not used.

        Sensors that no path of measured or bounded pairs joins to an anchor get the position NaN, and a warning;
        without anchors those outside the largest connected part do.

        Raises InvalidInputError for arrays of a wrong shape or range, and where no sensor is joined to an anchor.
        """
        X = validated(self, X, accept_sparse=["csr", "csc", "coo"], dtype=np.float64, ensure_min_samples=2)
        network, order = self._network(X, lower, upper)
        network, alone = self._reached(network, order)
        d = network.anchors.shape[1]
        centre = network.anchors.mean(axis=0)  # positions far from zero lose digits in their squares
        centred = network._replace(anchors=network.anchors - centre)
        self.unit_ = unit_of_length(network) if np.any(bounded_pairs(network)) else 1.0
        first, self.result_ = started(in_units(centred, self.unit_), self.solver_options)
        free = self.anchors is None or len(self.anchors) == 0
        if free:
            Y = self.unit_ * self.result_.matrix.factor[d:]
            self.relaxed_, self.uncertainty_ = own_axes(np.vstack([Y, 0.0 * Y[:1]]), d, alone)
            P = self.relaxed_[:-1] - self.relaxed_[-1]
        else:
            P, spread = relaxed_positions(self.result_, d)
            P, self.uncertainty_ = self.unit_ * P, self.unit_**2 * spread
            P[alone] = 0.0
            self.relaxed_ = P + centre
        self.positions_ = self.relaxed_.copy()
        if self.refine:
            P = nearest([first, refined(P, centred)], centred)
            self.positions_ = own_axes(np.vstack([P, np.zeros(d)]), d, alone)[0] if free else P + centre
        known = network.measured
        self.edges_, self.distances_ = np.sort(order[network.pairs[known]], axis=1), network.distances[known]
        off = pair_lengths(P, centred)[known] ** 2 - self.distances_**2
        self.relaxed_[alone] = self.positions_[alone] = np.nan
        self.uncertainty_[alone] = np.inf
        rows = order[: len(self.relaxed_)]
        self.relaxed_, self.positions_ = self.relaxed_[rows], self.positions_[rows]
        self.uncertainty_ = self.uncertainty_[rows]
        self.misfit_ = float(off @ off)
        self.misfit_bound_ = self.unit_**4 * max(proven_bound(self.result_), 0.0)
        return self

    def _network(self, X: Any, lower: Any, upper: Any) -> tuple[Network, NDArray[np.intp]]:
        """The network, and the node of X for each of its sensors and anchors.

        Without anchors, the last node of the largest connected part is one, at 0; it and the last node change places.
        """
        at = np.zeros((0, 2)) if self.anchors is None else finite(self.anchors, "anchors")
        error = number_or_none(self.error, "error", least=0.0, below=1.0)
        N = X.shape[0]
        if at.ndim != 2 or at.shape[1] == 0 or len(at) >= N:
            raise InvalidInputError(f"anchors must have shape (k, d) with k < {N} nodes and d >= 1; found {at.shape}")
        D = symmetric_entries(X, "X")
        bounds = [
            None if B is None else symmetric_entries(B, name, N) for B, name in ((lower, "lower"), (upper, "upper"))
        ]
        there = sp.coo_array(sum((abs(B) for B in bounds if B is not None), abs(D)))
        i, j = there.coords
        kept = (i < j) & (i < N - len(at)) & (there.data > 0.0)
        i, j = i[kept], j[kept]
        if len(i) == 0:
            raise InvalidInputError("X holds no distance of a sensor; entries that are not 0 are distances")
        lengths = _at(D, i, j)
        lengths[lengths == 0.0] = np.nan
        least = np.zeros(len(i)) if bounds[0] is None else _at(bounds[0], i, j)
        most = np.zeros(len(i)) if bounds[1] is None else _at(bounds[1], i, j)
        most[most == 0.0] = np.inf
        if error is not None:
            least, most = np.fmax(least, (1.0 - error) * lengths), np.fmin(most, (1.0 + error) * lengths)
        order = np.arange(N)
        if len(at) == 0:
            _, parts = Edges(i, j, np.ones(len(i)), N).components()
            one = np.flatnonzero(parts == np.bincount(parts).argmax())[-1]
            order[[one, -1]], at = [N - 1, one], np.zeros((1, at.shape[1]))
        pairs = np.column_stack([order[i], order[j]])  # an exchange is its own inverse
        return checked_network(N - len(at), pairs, lengths, at, least, most), order

    @staticmethod
    def _reached(network: Network, order: NDArray[np.intp]) -> tuple[Network, NDArray[np.intp]]:
        """The network without the pairs of sensors that no path joins to an anchor, and those sensors."""
        alone = unreached(network)
        if len(alone) == network.n:
            raise InvalidInputError("no sensor is joined to an anchor by a distance or bound")
        if len(alone):
            shown = ", ".join(map(str, np.sort(order[alone])[:5])) + (", ..." if len(alone) > 5 else "")
            where = "to an anchor or, without anchors, to the largest connected part"
            text = f"no path of distances or bounds joins these sensors {where}; their positions are NaN: {shown}"
            warnings.warn(text, stacklevel=3)
        kept = ~np.isin(network.pairs, alone).any(axis=1)
        n, at, pairs, distances, lower, upper = network
        return Network(n, at, pairs[kept], distances[kept], lower[kept], upper[kept]), alone

    @staticmethod
    def conformance_data() -> tuple[Array, None]:
        """Distances among nine sensors and three anchors (0, 0), (1, 0), (0, 1), for the conformance kit."""
        sensors = np.random.default_rng(0).random((9, 2))
        nodes = np.concatenate([sensors, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
        return np.linalg.norm(nodes[:, None] - nodes, axis=2), None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def started(network: Network, options: Mapping[str, Any] | None) -> tuple[Array | None, Result]:
    """The :func:`first_positions`, refined, and the run of the relaxation that begins there and proves or refutes them.

    None, and the run that :func:`psdopt.solve` chooses, where pairs have bounds or are joined to no anchor, and where
    `options` say how or from where to run.
    """
    problem = problem_of(network)
    given = options_for_solve(options)
    if SENSOR_NETWORK not in problem.abilities or OWN_WAY & set(given):
        return None, finished(solve(problem, **{"rng": 0, **given}), stacklevel=5)
    P = refined(first_positions(network), network)
    start = problem.graph.factor(P[problem.graph.seen])
    result = solve(problem, PSDCone(problem.n), SensorNewton(), start=start, **given)
    return P, finished(result, stacklevel=5)


def symmetric_entries(values: Any, name: str, order: int | None = None) -> sp.csr_array:
    """`values` as a symmetric CSR array (N, N) >= 0 without stored zeros; infinity is 0, no bound."""
    given: Any = values if sp.issparse(values) else any_numbers(values, name)
    if given.ndim != 2 or len(set(given.shape)) > 1 or (order is not None and given.shape[0] != order):
        expected = "square" if order is None else f"of shape ({order}, {order})"
        raise InvalidInputError(f"{name} must be {expected}; found shape {given.shape}")
    A = sp.csr_array(sp.coo_array(given).astype(np.float64))
    A.data[np.isinf(A.data) & (A.data > 0.0)] = 0.0
    A.eliminate_zeros()
    if not np.all(A.data >= 0.0):
        raise InvalidInputError(f"Negative values in data, or NaN: {name} must be at least 0; found {A.data.min():g}")
    off = abs(A - A.T)
    if off.nnz and off.data.max() > 1e-12 * A.data.max():
        raise InvalidInputError(f"{name} must be symmetric; |{name} - {name}ᵀ| is up to {off.data.max():.1e}")
    return A


def _at(A: sp.csr_array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
    return np.array(A[i, j], dtype=np.float64).ravel()
