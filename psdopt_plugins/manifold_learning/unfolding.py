"""Unfolding a neighbour graph: the start, the tension, and the choice of method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psdopt import PSDCone, Result, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, row_dots
from psdopt_plugins.estimators import one_of_several, options_for_solve, was_cut
from psdopt_plugins.limits import MINOR, MOST_STEPS, SLIGHT
from psdopt_plugins.manifold_learning.continuation import CHANGE, COLUMNS, DEFAULT_TOL, Unfolding, by_continuation
from psdopt_plugins.manifold_learning.graph import Edges, edge_errors
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices
from psdopt_plugins.manifold_learning.mvu_problem import UnfoldingProblem, connected
from psdopt_plugins.manifold_learning.new_points import geodesic_axes
from psdopt_plugins.manifold_learning.newton_systems import affordable, factorises
from psdopt_plugins.manifold_learning.unfolding_newton import UnfoldingNewton

#: Columns along geodesic axes at the start, and in the rough stages.
ROUGH_COLUMNS = 3
#: Columns of the last stage if the Hessian fills in. Unless the graph is that of a surface, more columns are needed,
#: and columns added late take tens of steps to grow from zero.
MORE_COLUMNS = 16
#: Target for the median edge error, as a fraction of the allowed one; edge errors are about proportional to nu.
AIM = 0.8


def unfold(
    edges: Edges, nu: float | None, edge_error: float, labels: Any = None, options: Mapping[str, Any] | None = None
) -> Unfolding:
    """Solve mvu for `nu`, or for a nu at which the median edge error is at most `edge_error`.

    Errors are |√d − √D| / √D over edges with D > 0; a first nu comes from the balance of tensions, see
    :func:`_tension_for`, at a rough solution in a few columns, and decreases where the median is above `edge_error`.
    By primal-dual Newton steps where a few factors of the graph's Laplacian fit into memory, else, with `labels`, or
    with a `method` in `options`, by conjugate gradient with continuation in nu; the Result is then in Laplacian
    coordinates.
    """
    graph = GraphMatrices(connected(edges))
    if not float(edges.squared.mean()) > 0.0:
        raise InvalidInputError("distances must not all be zero: every pair of neighbours coincides")
    given = options_for_solve(options)
    if labels is not None or "method" in given or not affordable(graph, MORE_COLUMNS):
        return by_continuation(edges, nu, edge_error, labels, options)
    return _by_newton(graph, nu, edge_error, options)


def _by_newton(
    graph: GraphMatrices, nu: float | None, edge_error: float, options: Mapping[str, Any] | None
) -> Unfolding:
    edges = graph.edges
    given = options_for_solve(options, tol=DEFAULT_TOL)
    Y = _with_random(edges, geodesic_axes(edges, min(ROUGH_COLUMNS, edges.n - 1)), ROUGH_COLUMNS)
    iterations, level = 0, nu
    if level is None:
        # after so many steps the large columns are accurate to some per cent, and Newton's method would add columns
        rough = {"max_iterations": UnfoldingNewton.patience, "tol": max(given["tol"], MINOR)}
        level = _tension_for(edges, Y, edge_error)
        result = _solved(edges, level, Y, rough)
        iterations, Y = result.iterations, result.matrix.factor
        if was_cut(result):
            return _unfolding(edges, Y, result, level, iterations)
        level = _tension_for(edges, Y, edge_error)
    Y = _with_random(edges, Y, COLUMNS if factorises(graph, COLUMNS) else MORE_COLUMNS)
    medians = _Medians(level)
    for _ in range(MOST_STEPS):
        result = _solved(edges, level, Y, given)
        iterations, Y = iterations + result.iterations, result.matrix.factor
        errors = edge_errors(edges, Y)
        if nu is not None or not result.optimal or float(np.median(errors)) <= edge_error:
            break
        if medians.level_out(level, errors):  # F is too far from its minimum to resolve short edges
            level, given = medians.level, {**given, "tol": SLIGHT * given["tol"]}
        else:
            level *= _change(edges, Y, edge_error)
    return _unfolding(edges, Y, result, level, iterations)


def _unfolding(edges: Edges, Y: Array, result: Result, nu: float, iterations: int) -> Unfolding:
    return Unfolding(
        Y - Y.mean(axis=0), replace(result, state=None, solved=None), nu, edge_errors(edges, Y), iterations
    )


@dataclass
class _Medians:
    """The median edge error at the last tension `level`. If less tension does not lower it, the run is not accurate."""

    level: float
    median: float = math.inf

    def level_out(self, level: float, errors: Array) -> bool:
        """Whether errors at a lower `level` stay about the same; if not, they are stored for the next call."""
        median = float(np.median(errors))
        if level < self.level and median > (1.0 - SLIGHT) * self.median:
            self.median = math.inf
            return True
        self.level, self.median = level, median
        return False


def _solved(edges: Edges, nu: float, Y: Array, options: Mapping[str, Any]) -> Result:
    problem = UnfoldingProblem(edges, nu)
    scaled = Y * _best_scale(edges, nu, Y)
    given = {"geometry": PSDCone(edges.n), "method": UnfoldingNewton(), "start": scaled, **options}
    return one_of_several(solve(problem, **given))


def _change(edges: Edges, Y: Array, edge_error: float) -> float:
    """Factor by which nu should change to reach the target median edge error."""
    median = max(float(np.median(edge_errors(edges, Y))), np.finfo(float).tiny)
    return min(max(AIM * edge_error / median, 1.0 / CHANGE), CHANGE)


def _tension_for(edges: Edges, Y: Array, edge_error: float) -> float:
    """nu at which edges are stretched by about AIM · edge_error, if Y has about the right size.

    At the optimum nu tr M = Σ w_t d_t with w = 4 (d − D), and d − D is about twice the relative error times D.
    """
    return float(8.0 * AIM * edge_error * np.sum(edges.squared**2) / np.sum(Y * Y))


def _best_scale(edges: Edges, nu: float, Y: Array) -> float:
    """s >= 0 that minimises F(s² Y Yᵀ)."""
    difference = Y[edges.i] - Y[edges.j]
    lengths = row_dots(difference, difference)
    total = float(np.sum(lengths**2))
    if not total > 0.0:
        return 1.0
    return float(
        np.sqrt((4.0 * np.sum(lengths * edges.squared) + nu * np.sum((Y - Y.mean(axis=0)) ** 2)) / (4 * total))
    )


def _with_random(edges: Edges, Y: Array, columns: int) -> Array:
    """Y with small random columns up to `columns`, since columns of zeros would stay zero."""
    missing = min(columns, edges.n - 1) - Y.shape[1]
    if missing <= 0:
        return Y
    size = SLIGHT * float(np.sqrt(edges.squared.mean()))
    added = size * np.random.default_rng(0).standard_normal((edges.n, missing))
    return np.concatenate([Y, added - added.mean(axis=0)], axis=1)
