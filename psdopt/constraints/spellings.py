"""Short spellings of common constraints. Each function takes `equals`, or `lower` and `upper`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import brief, finite, instance, integer, number
from psdopt.constraints.constraint import Constraint
from psdopt.constraints.measurements import SparseForms, Stacked, Trace
from psdopt.constraints.sets import SecondOrder, Zero
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.complex_arrays import complex_array
from psdopt.terms.hermitian import embedded, hermitian_matrix
from psdopt.terms.hermitian import hermitian_squares as squares
from psdopt.terms.indexed import checked_indices
from psdopt.terms.measurements import Entries, Measurement, PairDistances, QuadraticForms


class Equal(Zero):
    """a = equals, as the argument is called here."""

    names = ("equals", "equals")


def diagonal(n: int, equals: Any = None, *, lower: Any = None, upper: Any = None) -> Constraint:
    """M_ii = equals_i, or lower_i <= M_ii <= upper_i, for all i < n; numbers or arrays (n,)."""
    i = np.arange(integer(n, "n"))
    return Constraint(Entries(i, i, n), *_bounds("diagonal", equals, lower, upper), name="diagonal")


def trace(n: int, equals: float | None = None, *, lower: float | None = None, upper: float | None = None) -> Constraint:
    """tr M = equals, or lower <= tr M <= upper."""
    return Constraint(Trace(n), *_bounds("trace", equals, lower, upper), name="trace")


def entries(i: Any, j: Any, n: int, equals: Any = None, *, lower: Any = None, upper: Any = None) -> Constraint:
    """M_ij = equals_t, or lower_t <= M_ij <= upper_t, for the index pairs (i_t, j_t), arrays (m,)."""
    return Constraint(Entries(i, j, n), *_bounds("entries", equals, lower, upper), name="entries")


def distances(
    i: Any, j: Any, equals: Any = None, *, X: Any = None, n: int | None = None, lower: Any = None, upper: Any = None
) -> Constraint:
    """Squared distances M_ii + M_jj − 2 M_ij = equals_t (or between bounds); with data X of the rows x_i and x_j."""
    bounds = _bounds("distances", equals, lower, upper)
    return Constraint(PairDistances(i, j, X, n), *bounds, name="distances")


def quadratic_forms(X: Any, equals: Any = None, *, lower: Any = None, upper: Any = None) -> Constraint:
    """x_tᵀ M x_t = equals_t (or between bounds) for the rows x_t of X (m, n)."""
    return Constraint(QuadraticForms(X), *_bounds("quadratic_forms", equals, lower, upper), name="quadratic_forms")


def sparse_forms(
    matrices: Sequence[Any] | SparseForms, equals: Any = None, *, lower: Any = None, upper: Any = None
) -> Constraint:
    """⟨A_t, M⟩ = equals_t (or between bounds) for symmetric A_t: a list of matrices, or a :class:`SparseForms`."""
    forms = matrices if isinstance(matrices, SparseForms) else SparseForms.of(matrices)
    return Constraint(forms, *_bounds("sparse_forms", equals, lower, upper), name="sparse_forms")


def hermitian_entries(i: Any, j: Any, n: int, equals: Any) -> Constraint:
    """H_ij = equals_t, complex numbers or one, for the index pairs (i_t, j_t) of a Hermitian H (n, n), M of order 2n.

    Real parts first, then the imaginary parts of entries off the diagonal (:func:`psdopt.terms.embedded`). Raises
    InvalidInputError for a number on the diagonal that is not real.
    """
    i, j = checked_indices({"i": i, "j": j}, integer(n, "n"))
    values = complex_array(equals, "equals").astype(np.complex128)
    if values.shape not in ((), i.shape):
        raise InvalidInputError(f"equals must be a number or an array of length {len(i)}; found shape {values.shape}")
    values = np.broadcast_to(values, i.shape)
    t, off = np.arange(len(i)), np.flatnonzero(i != j)
    for wrong in np.flatnonzero((i == j) & (values.imag != 0.0)):
        found = f"found {values[wrong]} at position {wrong}"
        raise InvalidInputError(f"equals must be real on the diagonal of a Hermitian matrix; {found}")
    s = len(i) + np.arange(len(off))
    rows, numbers = np.concatenate([t, t, s, s]), np.repeat([1.0, 1.0, 1.0, -1.0], [len(t)] * 2 + [len(off)] * 2)
    B = sp.csr_array((numbers, (rows, np.arange(len(rows)))))
    left, right = np.concatenate([i, n + i, n + i[off], i[off]]), np.concatenate([j, n + j, j[off], n + j[off]])
    forms = SparseForms(left, right, B, 2 * n)
    forms.hermitian = True
    parts = np.concatenate([values.real, values.imag[off]])
    return Constraint(forms, parts, parts, "entries")


def hermitian_forms(matrices: Any, equals: Any = None, *, lower: Any = None, upper: Any = None) -> Constraint:
    """⟨A_t, H⟩ = Re tr(A_t H) = equals_t, or between bounds, for Hermitian A_t (n, n), dense or sparse.

    M has order 2n (:func:`psdopt.terms.embedded`). Raises InvalidInputError for a matrix that is not Hermitian, with
    its position.
    """
    if not isinstance(matrices, (Sequence, np.ndarray)) or isinstance(matrices, str):
        raise InvalidTypeError(f"matrices must be a sequence of Hermitian matrices; found {brief(matrices)}")
    given = [hermitian_matrix(A, f"matrices[{t}]") for t, A in enumerate(matrices)]
    for t, A in enumerate(given):
        if A.shape != given[0].shape:
            raise InvalidInputError(f"matrices[{t}] must be of order {given[0].shape[0]}; found shape {A.shape}")
    known = [embedded(A) for A in given]
    forms = SparseForms.of(known)
    forms.hermitian = True
    return Constraint(forms, *_bounds("hermitian_forms", equals, lower, upper), name="forms")


def hermitian_squares(X: Any, equals: Any = None, *, lower: Any = None, upper: Any = None) -> Constraint:
    """|x_t Z|² = x_t H x_t* = equals_t, or between bounds, for the rows x_t of a complex X (m, n); M of order 2n."""
    return Constraint(squares(X), *_bounds("hermitian_squares", equals, lower, upper), name="squares")


def norm_bound(measurement: Measurement, center: Any, radius: float) -> Constraint:
    """|A(M) − center| <= radius in the Euclidean norm; a number or an array (m,), and a number of at least 0.

    A second-order cone of m + 1 values, the first of them of a form A_0 = 0: ``SecondOrder([-radius, *center])``. The
    first multiplier is minus the price of the radius. A radius of 0 gives the m equations ``Zero(center)``.
    """
    measurement = instance(measurement, "measurement", Measurement)
    target = finite(center, "center")
    if target.ndim > 1 or (target.ndim == 1 and len(target) != measurement.size):
        needs = f"a number or an array of length {measurement.size}"
        raise InvalidInputError(f"center must be {needs}; found shape {target.shape}")
    if number(radius, "radius", least=0.0) == 0.0:
        return Constraint(measurement, Zero(target), name="norm_bound")
    zero = SparseForms([0], [0], sp.csr_array((1, 1)), measurement.n)
    offset = np.append(-float(radius), np.broadcast_to(target, (measurement.size,)))
    return Constraint(Stacked([zero, measurement]), SecondOrder(offset), name="norm_bound")


def _bounds(name: str, equals: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    if equals is not None:
        if lower is not None or upper is not None:
            raise InvalidInputError(f"{name} takes either equals or lower and upper; found both")
        return Equal(equals), np.inf
    if lower is None and upper is None:
        raise InvalidInputError(f"{name} needs equals, lower or upper; found none of them")
    return (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
