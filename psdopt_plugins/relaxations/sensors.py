"""Positions of sensors from distances to each other and to anchors: a semidefinite relaxation, then least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Constrained, Result, TermSum
from psdopt.checks import finite, indices, integer, vector
from psdopt.constraints import Constraint, entries, quadratic_forms
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms
from psdopt_plugins.relaxations.fits import relaxed


class Localization(NamedTuple):
    """Positions (n, d) of the sensors, those of the relaxation before the refinement, and its run."""

    positions: Array
    relaxed: Array
    result: Result


def sensor_problem(
    n: int, pairs: Any, distances: Any, anchors: Any, lower: Any = None, upper: Any = None
) -> Constrained:
    """min Σ_t (x_tᵀ Z x_t − distance_t²)² over Z = [I, P; Pᵀ, Q] ⪰ 0, Z of order d + n (Biswas & Ye).

    The columns of P (d, n) are the sensors' positions; Q = PᵀP where Z has rank d, which exact distances of a uniquely
    localisable network enforce. x_t is (0, e_i − e_j) between sensors and (−a_k, e_i) between a sensor and an anchor.

    Parameters
    ----------
    n : number of sensors. anchors : (k, d) known positions, called n, ..., n + k − 1 in `pairs`.
    pairs : (m, 2) indices below n + k; distances : (m,) above 0.
    lower, upper : None, or (m,) bounds of the pairs' true distances, 0 and inf where there are none.

    Raises
    ------
    InvalidInputError for arrays of a wrong shape or range, a pair of equal indices or of two anchors.
    """
    X, lengths, anchors = _rows(n, pairs, distances, anchors)
    d = anchors.shape[1]
    a, b = np.triu_indices(d)
    constraints: list[Constraint] = [entries(a, b, d + n, (a == b).astype(float))]
    if lower is not None or upper is not None:
        least = np.zeros(len(lengths)) if lower is None else vector(lower, "lower", len(lengths), "one per pair")
        most = np.full(len(lengths), np.inf) if upper is None else np.asarray(upper, dtype=np.float64)
        if most.shape not in ((), lengths.shape) or np.any(np.isnan(most)):
            raise InvalidInputError(f"upper must be a number or have shape {lengths.shape}; found {most.shape}")
        most = np.broadcast_to(most, lengths.shape)
        if np.any(least < 0.0) or np.any(most < least):
            raise InvalidInputError("lower and upper must satisfy 0 <= lower <= upper for every pair")
        constraints.append(quadratic_forms(X, lower=least**2, upper=most**2))
    return Constrained(TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(lengths**2))]), constraints)


def localize_sensors(
    n: int, pairs: Any, distances: Any, anchors: Any, lower: Any = None, upper: Any = None, **options: Any
) -> Localization:
    """Positions of n sensors: P of :func:`sensor_problem`, refined by least squares on Σ (|p_i − p_j| − distance)².

    The refinement starts from P and keeps no bounds; it is what makes noisy distances count equally, and sharpens a P
    of higher rank. options : keyword arguments for :func:`psdopt.solve`. Raises what :func:`sensor_problem` raises.

    Examples
    --------
    >>> import numpy as np
    >>> anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> lengths = np.linalg.norm(anchors - [0.3, 0.4], axis=1)
    >>> localize_sensors(1, [(0, 1), (0, 2), (0, 3)], lengths, anchors).positions.round(6)
    array([[0.3, 0.4]])
    """
    problem = sensor_problem(n, pairs, distances, anchors, lower, upper)
    result = relaxed(problem, options, rng=0)
    at = finite(anchors, "anchors")
    d = at.shape[1]
    Y = result.matrix.factor
    P = Y[d:] @ Y[:d].T
    edges, lengths = indices(pairs, "pairs", n + len(at), 2), finite(distances, "distances")
    return Localization(refined(P, edges, lengths, at), P, result)


def refined(P: Array, pairs: NDArray[np.intp], distances: Array, anchors: Array) -> Array:
    """A local minimum of Σ (|p_i − p_j| − distance)² from P (n, d); sparse Gauss–Newton with a trust region."""
    n, d = P.shape
    m = len(pairs)
    rows = np.repeat(np.arange(m), d)

    def steps(p: Array) -> tuple[Array, Array]:
        all_points = np.concatenate([p.reshape(n, d), anchors])
        difference = all_points[pairs[:, 0]] - all_points[pairs[:, 1]]
        return difference, np.linalg.norm(difference, axis=1)

    def residual(p: Array) -> Array:
        return np.asarray(steps(p)[1] - distances)

    def jacobian(p: Array) -> sp.csr_array:
        difference, lengths = steps(p)
        unit = (difference / np.maximum(lengths, np.finfo(float).tiny)[:, None]).ravel()
        columns = [(pairs[:, [k]] * d + np.arange(d)).ravel() for k in (0, 1)]
        parts = [sp.csr_array((s * unit, (rows, c)), shape=(m, (n + len(anchors)) * d))
                 for s, c in zip((1.0, -1.0), columns, strict=True)]  # fmt: skip
        return sp.csr_array((parts[0] + parts[1])[:, : n * d])

    found = scipy.optimize.least_squares(
        residual, P.ravel(), jac=jacobian, method="trf", xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    return np.asarray(found.x.reshape(n, d))


def _rows(n: int, pairs: Any, distances: Any, anchors: Any) -> tuple[sp.csr_array, Array, Array]:
    """x_t as rows of a sparse X (m, d + n), the distances, the anchors."""
    n = integer(n, "n")
    at = finite(anchors, "anchors")
    if at.ndim != 2 or 0 in at.shape:
        raise InvalidInputError(f"anchors must have shape (k, d), k and d at least 1; found {at.shape}")
    k, d = at.shape
    edges = indices(pairs, "pairs", n + k, 2, empty=False)
    lengths = vector(distances, "distances", len(edges), "one per pair")
    if not np.all(lengths > 0.0):
        raise InvalidInputError(f"distances must be above 0; found {lengths.min():g}")
    i, j = np.sort(edges, axis=1).T
    if np.any(i == j) or np.any(i >= n):
        raise InvalidInputError("pairs must join two different nodes, at least one of which is a sensor")
    X = sp.lil_array((len(edges), d + n))
    for t, (a, b) in enumerate(zip(i, j, strict=True)):
        X[t, d + a] = 1.0
        if b < n:
            X[t, d + b] = -1.0
        else:
            X[t, :d] = -at[b - n]
    return sp.csr_array(X), lengths, at
