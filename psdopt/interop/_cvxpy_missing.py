"""What CVXPY does not keep of an answer: its own unknowns, multipliers of its own rows and of variables' attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from scipy.optimize import lsq_linear

from psdopt.interop._cvxpy_complementary import spanned
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.tolerances import MINOR


def completed_point(x: Array, data: Any) -> Array:
    """x (N,) of CVXPY's program with unknowns that are nan from the rows that have them, where these say enough.

    First the shortest solution of the equations; then, of inequalities and tips of second-order cones with one unknown
    left, the least value that all allow, such as t = max(u, −u) for t >= |u|. Others stay nan.
    """
    A, b, dims = sp.csr_array(data[settings.A]), data[settings.B], data[ConicSolver.DIMS]
    found, zero = x.copy(), dims.zero
    equations = sp.csc_array(A[:zero])
    held = np.flatnonzero(np.isnan(x) & (np.diff(equations.indptr) > 0))
    if len(held):
        found[held] = least_squares(equations[:, held], b[:zero] - equations @ np.nan_to_num(x))
    pattern = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    while True:
        missing = np.isnan(found)
        single = np.flatnonzero(pattern @ missing.astype(np.float64) == 1.0)
        s = b - A @ np.where(missing, 0.0, found)
        bounds = _tips(A, s, dims, missing)
        for t in single[(single >= zero) & (single < zero + dims.nonneg) & np.isfinite(s[single])]:
            row = slice(A.indptr[t], A.indptr[t + 1])
            (k,) = np.flatnonzero(missing[A.indices[row]])
            if A.data[row][k] < 0.0:
                bounds.append((int(A.indices[row][k]), s[t] / A.data[row][k]))
        if not bounds:
            return found
        for j, least in bounds:
            found[j] = np.fmax(found[j], least)


def _tips(A: sp.csr_array, s: Array, dims: Any, missing: Array) -> list[tuple[int, float]]:
    """(unknown, |u|) for cones (t, u) in which t alone is unknown, an unknown of its own; s as if it were 0."""
    found, first = [], dims.zero + dims.nonneg
    for d in dims.soc:
        unknown = [A.indices[A.indptr[t] : A.indptr[t + 1]] for t in range(first, first + d)]
        if len(unknown[0]) == 1 and missing[unknown[0][0]] and not any(missing[each].any() for each in unknown[1:]):
            scale = -float(A.data[A.indptr[first]])
            if scale > 0.0:
                size = float(np.linalg.norm(s[first + 1 : first + d]))
                found.append((int(unknown[0][0]), (size - float(s[first])) / scale))
        first += d
    return found


def completed_multipliers(v: Array, data: Any, x: Array) -> Array:
    """Multipliers v (rows,) of CVXPY's program with those that are nan from c + P x + Aᵀv = 0, in least squares.

    Those of inequalities are nonnegative, and zero where x leaves room: more than a thousandth of what the terms can be
    for entries of the size of the largest. Those of cones that share unknowns with other such rows are complementary to
    their slacks. Where several solve it, the shortest are taken, so they may be far from optimal; no bound takes them
    for granted. x (N,) may have nan, too. Rows with infinite bounds get 0. Cost: sparse least squares, and dense ones
    for each set of up to 500 rows that share unknowns and have inequalities among them.
    """
    A, b, dims = sp.csr_array(data[settings.A]), data[settings.B], data[ConicSolver.DIMS]
    inequality = np.zeros(len(b), dtype=bool)
    inequality[dims.zero : dims.zero + dims.nonneg] = True
    known = np.nan_to_num(x)
    room = b - A @ x  # nan where an unknown of the row is
    sizes = np.abs(b) + abs(A).sum(axis=1) * float(np.max(np.abs(known), initial=0.0))
    loose = inequality & (room > MINOR * sizes)
    v = np.where(np.isnan(v) & (loose | np.isinf(b)), 0.0, v)
    unknown = np.flatnonzero(np.isnan(v))
    if not len(unknown):
        return v
    P, found = data.get(settings.P), np.nan_to_num(v)
    wanted = -(data[settings.C] + (0.0 if P is None else P @ known) + A.T @ found)
    T, row = spanned(unknown, _sets(A[unknown]), data, room)
    signed, part, theta = (row >= 0) & inequality[row], sp.csr_array(T.T @ A[unknown]), np.zeros(len(row))
    for each in _sets(part):
        own = sp.csc_array(part[each])
        columns = np.flatnonzero(np.diff(own.indptr))
        E = own[:, columns].T
        if np.any(signed[each]) and len(each) <= DENSE_LIMIT:
            low = np.where(signed[each], 0.0, -np.inf)
            theta[each] = lsq_linear(E.toarray(), wanted[columns], (low, np.inf), method="bvls").x
        else:
            theta[each] = least_squares(sp.csr_array(E), wanted[columns])
    found[unknown] = T @ theta
    return found


def _sets(A: sp.csr_array) -> list[Any]:
    """The rows of A (k, N) in sets that share no unknown."""
    (i, j), k = A.nonzero(), A.shape[0]
    links = sp.csr_array((np.ones(len(i)), (i, k + j)), shape=(k + A.shape[1], k + A.shape[1]))
    label = sp.csgraph.connected_components(links, directed=False)[1][:k]
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
