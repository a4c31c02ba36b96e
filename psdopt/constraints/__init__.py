"""Linear constraints lower <= A(M) <= upper on a problem, their multipliers, and what both prove.

    from psdopt import Constrained, QuadraticSDP, constraints
    problem = Constrained(QuadraticSDP(C=C), constraints.diagonal(n, 1.0))

Short spellings: :func:`diagonal`, :func:`trace`, :func:`entries`, :func:`distances`,
:func:`quadratic_forms`, :func:`sparse_forms`, and for Hermitian matrices :func:`hermitian_entries`,
:func:`hermitian_forms`, :func:`hermitian_squares`. Any :class:`~psdopt.terms.measurements.Measurement` can be
constrained: ``Constraint(measurement, lower, upper)``, or ``Constraint(measurement, set)`` with :class:`Box`,
:class:`Zero` or :class:`SecondOrder`, norms under bounds; :func:`norm_bound` is |A(M) − b| <= δ.
"""

from psdopt.constraints.constraint import Constraint
from psdopt.constraints.explicit import explicit_forms
from psdopt.constraints.measurements import SparseForms, Stacked, Trace
from psdopt.constraints.problem import Constrained, OffersConstraints, constrained_of
from psdopt.constraints.sdpa import read_sdpa
from psdopt.constraints.sets import Box, SecondOrder, Zero
from psdopt.constraints.spellings import (
    diagonal,
    distances,
    entries,
    hermitian_entries,
    hermitian_forms,
    hermitian_squares,
    norm_bound,
    quadratic_forms,
    sparse_forms,
    trace,
)

__all__ = [
    "Box",
    "Constrained",
    "Constraint",
    "OffersConstraints",
    "SecondOrder",
    "SparseForms",
    "Stacked",
    "Trace",
    "Zero",
    "constrained_of",
    "diagonal",
    "distances",
    "entries",
    "explicit_forms",
    "hermitian_entries",
    "hermitian_forms",
    "hermitian_squares",
    "norm_bound",
    "quadratic_forms",
    "read_sdpa",
    "sparse_forms",
    "trace",
]
