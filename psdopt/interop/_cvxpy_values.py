"""Values and multipliers that a solved CVXPY problem holds, as a point and multipliers of its cone program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.constraints.nonpos import NonNeg
from cvxpy.constraints.psd import PSD
from cvxpy.constraints.second_order import SOC
from cvxpy.constraints.zero import Zero
from cvxpy.reductions.cvx_attr2constr import lower_value
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from psdopt.interop._cone_program import ConeProgram, lower_triangles, without_infinite_bounds
from psdopt.interop._cvxpy_log_det import LOG_DETS
from psdopt.linalg.arrays import Array

#: The order of rows in CVXPY's program, if it has no cones of other kinds.
ORDER = (Zero, NonNeg, SOC, PSD)


def cone_program(data: Any) -> tuple[ConeProgram, sp.csr_array, bool]:
    """CVXPY's program as a :class:`ConeProgram`, H of its rows, and whether an infinite bound excludes every x."""
    dims, b = data[ConicSolver.DIMS], data[settings.B]
    shapes = [constraint.args[0].shape for constraint in data[settings.PARAM_PROB].constr_map[PSD]]
    H, orders = lower_triangles(dims.zero + dims.nonneg, dims.soc, shapes)
    H, zero, nonneg, impossible = without_infinite_bounds(H, b, dims.zero, dims.nonneg)
    right = np.where(np.isinf(b), 0.0, b)  # rows of H skip these
    rows = data[settings.A], right, zero, nonneg, (H, orders)
    program = ConeProgram.from_rows(data[settings.C], data.get(settings.P), *rows)
    # second-order cones are the first blocks
    program, H = program.with_log_dets([(len(dims.soc) + k, nu) for k, nu in data[LOG_DETS]], H, len(dims.soc))
    return program, H, impossible


def point_of(values: Mapping[int, Any], data: Any, inverse: Any) -> Array:
    """x (N,) of CVXPY's program from real values of variables by their id; nan for unknowns without one.

    Unknowns that CVXPY added have none, nor have the two parts of a complex variable.
    """
    known = dict(values)
    for own in inverse:
        if isinstance(own, tuple) and len(own) == 3:  # attributes of variables became constraints
            lowered, given, _ = own
            parts = {lowered[k].id: lower_value(given[k], known[k]) for k in given if k in known}
            known |= parts
    program = data[settings.PARAM_PROB]
    x = np.full(len(data[settings.C]), np.nan)
    for variable in program.variables:
        value = known.get(variable.id)
        if value is not None and np.size(value) == variable.size:
            first = program.var_id_to_col[variable.id]
            x[first : first + variable.size] = np.ravel(value, order="F")
    return x


def values_of(problem: Any) -> dict[int, Array]:
    """The values of the real variables, by their id."""
    real = [variable for variable in problem.variables() if not variable.is_complex()]
    return {each.id: dense(each.value) for each in real}


def row_sizes(problem: Any, data: Any, inverse: Any) -> Array:
    """The sum of the sizes of the terms in each row of A x + s = b, (rows,), |b| included.

    An entry X_ij of a symmetric matrix counts as √|X_ii X_jj| if that is larger. Where b = 0 every entry counts as the
    largest of its variable: X_ij = 0 is not violated by all of X_ij. Unknowns that CVXPY added count as 0, or
    beside complex variables, of whose parts it does not tell the places, as the largest entry of these.
    """
    values = values_of(problem)
    own = point_of({k: _by_diagonal(value) for k, value in values.items()}, data, inverse)
    largest = {k: np.full(np.shape(value), np.max(np.abs(value), initial=0.0)) for k, value in values.items()}
    b, A = np.where(np.isinf(data[settings.B]), 0.0, np.abs(data[settings.B])), abs(sp.csr_array(data[settings.A]))
    far = point_of(largest, data, inverse)
    beside = [np.max(np.abs(dense(each.value)), initial=0.0) for each in problem.variables() if each.is_complex()]
    other = float(max(beside, default=0.0))
    return np.asarray(np.where(b > 0.0, b + A @ np.nan_to_num(own, nan=other), A @ np.nan_to_num(far, nan=other)))


def _by_diagonal(value: Array) -> Array:
    size = np.abs(value)
    if value.ndim != 2 or value.shape[0] != value.shape[1]:
        return size
    d = np.sqrt(np.diagonal(size))
    return np.maximum(size, np.outer(d, d))


def dense(value: Any) -> Array:
    """A value that CVXPY may hold as a sparse array, as an array."""
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def constraint_rows(problem: Any, data: Any, inverse: Any) -> Iterator[tuple[Any, slice]]:
    """(constraint, its rows in CVXPY's program) for the constraints of the problem that have rows of their own."""
    places, first = {}, 0
    for kind in ORDER:
        for each in data[settings.PARAM_PROB].constr_map[kind]:
            places[each.id] = slice(first, first + each.size)
            first += each.size
    for constraint in problem.constraints:
        known = constraint.id
        for own in inverse:
            renamed = own[2] if isinstance(own, tuple) and len(own) == 3 else getattr(own, "cons_id_map", {})
            known = renamed.get(known, known)
        if known in places:
            yield constraint, places[known]


def row_multipliers(problem: Any, data: Any, inverse: Any) -> Array:
    """Multipliers (rows,) of CVXPY's program from the constraints' `dual_value`; nan where there are none."""
    v = np.full(len(data[settings.B]), np.nan)
    for constraint, rows in constraint_rows(problem, data, inverse):
        values = [each.value for each in constraint.dual_variables]
        if any(value is None or np.iscomplexobj(value) for value in values):
            continue
        flat = _interleaved(constraint, values) if isinstance(constraint, SOC) else np.ravel(values[0], order="F")
        if len(flat) == rows.stop - rows.start and np.all(np.isfinite(flat)):
            v[rows] = flat
    return v


def _interleaved(constraint: Any, values: Any) -> Array:
    """(t, u) of every cone in turn, as CVXPY's rows have them."""
    t, u = np.atleast_1d(values[0]), np.asarray(values[1], dtype=np.float64)
    across = u.T if u.ndim == 2 and constraint.axis == 0 else u
    return np.hstack([t.reshape(-1, 1), across.reshape(len(t.ravel()), -1)]).ravel()
