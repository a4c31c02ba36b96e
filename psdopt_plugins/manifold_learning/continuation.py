"""Continuation in the tension nu: from loose edges, with which the problem is easy, to tight ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt import ConjugateGradient, FlatQuotient, Result, solve
from psdopt.linalg import Array, norm, row_dots, top_eigenpairs
from psdopt_plugins.estimators import one_of_several, options_for_solve, was_cut
from psdopt_plugins.limits import MOST_PRODUCTS, MOST_STEPS, ROOT_EPS, SLIGHT
from psdopt_plugins.manifold_learning.coordinates import LaplacianCoordinates
from psdopt_plugins.manifold_learning.graph import Edges, edge_errors
from psdopt_plugins.manifold_learning.mvu_problem import connected, scaled_mvu_problem

#: Columns of a start that may need them all; more are added if the certificate requires them.
COLUMNS = 8
#: Accuracy of the stages before the last, which only provide starts.
STAGE_TOL = 1e-2
#: From stage to stage nu changes by at most this factor; edge errors are about proportional to nu.
CHANGE = 20.0
DEFAULT_TOL = 1e-4


@dataclass(frozen=True)
class Unfolding:
    """Y (n, r), centred, with M = Y Yᵀ; the Result of the last stage; nu; relative errors of all edges."""

    factor: Array
    result: Result
    nu: float
    errors: Array
    iterations: int


def by_continuation(
    edges: Edges, nu: float | None, edge_error: float, labels: Any = None, options: Mapping[str, Any] | None = None
) -> Unfolding:
    """Conjugate gradient in Laplacian coordinates, nu falling from stage to stage; the rank grows in the last one.

    For graphs whose Hessian would fill in, and for the coloured variant. Starts from the Laplacian's lowest
    eigenvectors at nu = 4 λ₂(L) mean(D), which stretches edges by about their own length. A stage that is cut is the
    last.
    """
    coordinates = LaplacianCoordinates(connected(edges))
    given = options_for_solve(options, tol=DEFAULT_TOL, method=ConjugateGradient(preconditioner="none"), escape=True)
    Z, smallest = _first_point(edges, coordinates)
    mean = float(edges.squared.mean())
    level = 4.0 * smallest * mean
    level = level if nu is None else max(level, nu)
    iterations = 0
    for stage_number in range(MOST_STEPS):
        last = nu is not None and level <= nu
        stage = given
        if not last:
            tol = max(min(STAGE_TOL, 100.0 * given["tol"]), given["tol"])
            # a start needs no more steps, each about a product with the graph
            loose = {"tol": tol, "max_iterations": MOST_PRODUCTS, "escape": False}
            stage = {**given, **loose}
        if stage_number > 0:
            coordinates, Z = _rescaled(edges, coordinates, Z)
        result = _solved(edges, level, coordinates, labels, Z, stage)
        iterations += result.iterations
        if result.iterations == 0 and not last:
            # the start already counts as optimal, because nu tr M is below tol · (F(0) − F)
            given["tol"] = min(given["tol"], max(SLIGHT * given["tol"], ROOT_EPS))
        Z = _kept(result)
        errors = edge_errors(edges, coordinates.apply(Z))
        median = float(np.median(errors))
        if last or was_cut(result):
            break
        if nu is None and median <= edge_error:
            nu = level
            continue
        wanted = nu / level if nu is not None else 0.7 * edge_error / max(median, np.finfo(float).tiny)
        level *= min(max(wanted, 1.0 / CHANGE), 0.5)  # nu falls by half at least, or stages would be many
        if nu is not None:
            level = max(level, nu)
    return Unfolding(coordinates.apply(Z), replace(result, state=None, solved=None), level, errors, iterations)


def _rescaled(edges: Edges, coordinates: LaplacianCoordinates, Z: Array) -> tuple[LaplacianCoordinates, Array]:
    """Coordinates whose edges are weighted by their tension |d − D| at Z, and Z in them."""
    Y = coordinates.apply(Z)
    difference = Y[edges.i] - Y[edges.j]
    tension = np.abs(row_dots(difference, difference) - edges.squared)
    mean = float(tension.mean())
    if not mean > 0.0:
        return coordinates, Z
    moved = LaplacianCoordinates(edges, tension / mean + SLIGHT)
    return moved, moved.inverse(Y)


def _solved(
    edges: Edges, nu: float, coordinates: LaplacianCoordinates, labels: Any, Z: Array, options: Mapping[str, Any]
) -> Result:
    problem = scaled_mvu_problem(edges, nu, coordinates, labels)
    given = {"geometry": FlatQuotient(problem.n, Z.shape[1]), "start": Z, **options}
    return one_of_several(solve(problem, **given))


def _kept(result: Result) -> Array:
    """The factor without zero columns, padded with columns for a start."""
    Y = result.matrix.compress(1e-8).factor
    if Y.shape[1] == 0:
        return result.matrix.factor
    return Y


def _first_point(edges: Edges, coordinates: LaplacianCoordinates) -> tuple[Array, float]:
    """Leading eigenvectors of BᵀB, the Laplacian eigenmap, at the size of the edges; and λ₂(L)."""
    n = edges.n - 1

    def apply(V: Array) -> Array:
        return coordinates.adjoint(coordinates.apply(V.reshape(n, -1))).reshape(V.shape)

    gram = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    found = top_eigenpairs(gram, min(COLUMNS, n), tol=1e-3)
    Z = found.vectors * np.sqrt(found.values / found.values[0])
    return Z * math.sqrt(float(edges.squared.sum())) / norm(Z), 1.0 / float(found.values[0])
