"""Measurements and linear objectives by their entries, if these are few, as factorisations and proofs need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.measurements import SparseForms, Stacked, Trace
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.devices import on_host
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, entries_kept, gathered_row_dots, norm, row_dots, with_data
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.problems.term_sum import TermSum
from psdopt.terms.combined import Combined
from psdopt.terms.forms import Form, GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.log_det import LogDet
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, Measurement, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm

#: Number of random rank-one matrices for estimates of |A_t| if entries are unknown.
PROBES = 64


@singledispatch
def explicit_forms(measurement: Measurement) -> SparseForms | None:
    """The A_t by their entries; None where entries are not known or too many."""
    return None


@explicit_forms.register
def _(measurement: SparseForms) -> SparseForms | None:
    return measurement


@explicit_forms.register
def _(measurement: Trace) -> SparseForms | None:
    i = np.arange(measurement.n)
    return SparseForms.known(i, i, sp.csr_array(np.ones((1, measurement.n))), measurement.n)


@explicit_forms.register
def _(measurement: Entries) -> SparseForms | None:
    each = np.arange(measurement.size + 1)
    B = sp.csr_array((np.ones(measurement.size), each[:-1], each), shape=(measurement.size, measurement.size))
    forms = SparseForms.known(measurement.i, measurement.j, B, measurement.n)
    if np.array_equal(forms.i, measurement.i) and np.array_equal(forms.j, measurement.j):
        forms.entries = measurement
    return forms


@explicit_forms.register
def _(measurement: PairDistances) -> SparseForms | None:
    if measurement.X is not None:
        return None
    i, j, m = measurement.i, measurement.j, measurement.size
    t = np.arange(m)
    B = sp.csr_array((np.repeat([1.0, 1.0, -2.0], m), (np.tile(t, 3), np.arange(3 * m))), shape=(m, 3 * m))
    return SparseForms.known(np.concatenate([i, j, i]), np.concatenate([i, j, j]), B, measurement.n)


@explicit_forms.register
def _(measurement: QuadraticForms) -> SparseForms | None:
    if not measurement.X.is_matrix or measurement.device is not None:
        return None
    X = sp.csr_array(measurement.X.data)
    counts = np.diff(X.indptr)
    if float(np.sum(counts.astype(float) * (counts + 1) / 2)) > NUMBERS:
        return None
    pairs = []
    for first, count in zip(X.indptr, counts, strict=False):
        deadline.ask()
        pairs.append(first + np.array(np.triu_indices(count)))
    a, b = np.concatenate(pairs, axis=1)
    numbers, ends = np.where(a == b, 1.0, 2.0) * X.data[a] * X.data[b], np.cumsum(counts * (counts + 1) // 2)
    B = sp.csr_array((numbers, np.arange(len(a)), np.append(0, ends)), shape=(X.shape[0], len(a)))
    return SparseForms.known(X.indices[a], X.indices[b], B, measurement.n)


@explicit_forms.register
def _(measurement: TripletDifferences) -> SparseForms | None:
    forms = explicit_forms(measurement.pairs)
    return None if forms is None else SparseForms.known(forms.i, forms.j, measurement.signs @ forms.B, measurement.n)


@explicit_forms.register
def _(measurement: Combined) -> SparseForms | None:
    forms = explicit_forms(measurement.measurement)
    return None if forms is None else SparseForms.known(forms.i, forms.j, measurement.B @ forms.B, measurement.n)


@explicit_forms.register
def _(measurement: Stacked) -> SparseForms | None:
    parts = [explicit_forms(part) for part in measurement.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or sum(part.B.nnz for part in known) > NUMBERS:
        return None
    i, j = np.concatenate([part.i for part in known]), np.concatenate([part.j for part in known])
    return SparseForms.known(i, j, sp.block_diag([part.B for part in known], format="csr"), measurement.n)


def form_norms(measurement: Measurement) -> Array:
    """|A_t|_F (m,). Where entries are not known, estimates from random rank-one matrices, to about a tenth."""
    forms = explicit_forms(measurement)
    if forms is not None:
        return forms.norms
    if isinstance(measurement, QuadraticForms):
        Z = measurement.X.to_dense() if measurement.device is None else measurement.X.data
        return np.asarray(on_host(row_dots(Z, Z)))
    inner = measurement.measurement if isinstance(measurement, Combined) else None
    if isinstance(measurement, Combined) and isinstance(inner, QuadraticForms) and inner.X.is_matrix:
        B, Z = measurement.B, inner.X.to_dense()
        i, j = (np.asarray(each, dtype=np.intp) for each in sp.coo_array(abs(B).T @ abs(B)).coords)
        squares = np.asarray(gathered_row_dots(i, j, Z, Z) ** 2)  # ⟨z_i z_iᵀ, z_j z_jᵀ⟩, for the pairs that meet
        products: Any = sp.csr_array((squares, (i, j)))
        sums = np.asarray((B @ products).multiply(B).sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(np.sqrt(np.maximum(sums, 0.0)))
    rng = np.random.default_rng(0)
    total = np.zeros(measurement.size)
    for _ in range(PROBES):
        # for Gaussian u, v the mean of ⟨A, (uvᵀ + vuᵀ)/2⟩² is |A|²
        U, V = (Images(measurement.maps, rng.standard_normal((measurement.n, 1))) for _ in range(2))
        total += np.asarray(on_host(measurement.pair(U, V))) ** 2
    return np.sqrt(total / PROBES)


def _by_terms(problem: Problem) -> TypeGuard[TermSum]:
    """Whether F is a sum of terms whose data are at hand: entries of data on a device are not looked at."""
    return isinstance(problem, TermSum) and problem.device is None


def linear_objective(problem: Problem) -> tuple[sp.csr_array, float] | None:
    """(C, c) with F(M) = ⟨C, M⟩ + c, C sparse symmetric (n, n); None if F is not linear or C is too large."""
    if not _by_terms(problem) or not all(isinstance(term, LinearTerm) for term in problem.terms):
        return None
    C = _sum_of_entries([(term.C, term.weight) for term in problem.terms if isinstance(term, LinearTerm)])
    return None if C is None else (C, problem.constant)


def barrier_objective(problem: Problem) -> tuple[sp.csr_array, float, Array] | None:
    """(C, c, weights) with F(M) = ⟨C, M⟩ − Σ_t ν_t log det M_t + c; None if F has other terms, or C too many entries.

    `weights` (n,) : the sum of the ν_t of the terms whose blocks M_t hold a row.
    """
    if not _by_terms(problem):
        return None
    barriers = [term for term in problem.terms if isinstance(term, LogDet)]
    if not barriers:
        return None
    linear = [term for term in problem.terms if not isinstance(term, LogDet)]
    rest = (sp.csr_array((problem.n, problem.n)), problem.constant)
    found = linear_objective(TermSum(linear, problem.constant)) if linear else rest
    weights = np.zeros(problem.n)
    for term in barriers:
        weights[term.rows] += term.weight
    return None if found is None else (*found, weights)


@dataclass(frozen=True)
class Nearest:
    """F(M) = (rho/2) |M|² + ⟨C, M⟩ + constant, rho > 0: the squared distance to −C/rho, scaled and shifted.

    `linear` : the terms of ⟨C, M⟩; C (n, n) and `size` = |C| are formed at first use.
    """

    n: int
    rho: float
    linear: tuple[LinearTerm, ...]
    constant: float

    @cached_property
    def C(self) -> Array:
        return np.asarray(sum((term.weight * term.C.to_dense() for term in self.linear), np.zeros((self.n, self.n))))

    @cached_property
    def size(self) -> float:
        return norm(self.C)


def nearest_objective(problem: Problem) -> Nearest | None:
    """F as :class:`Nearest`; None if F has another form."""
    if not _by_terms(problem):
        return None
    rho, linear = 0.0, []
    for term in problem.terms:
        if isinstance(term, LinearTerm) and term.C.dense_is_cheap:
            linear.append(term)
        elif isinstance(term, ProductTerm) and isinstance(term.A, IdentityForm) and isinstance(term.B, IdentityForm):
            rho += 2.0 * term.weight * term.A.scale * term.B.scale
        else:
            return None
    return Nearest(problem.n, rho, tuple(linear), problem.constant) if rho > 0.0 else None


@dataclass(frozen=True)
class Measured:
    """F as linear terms and separable losses of measurements.

    `diagonal` : C_ii (n,) of the linear terms. `terms` : positions of the measured terms in F. `forms` : their A_t by
    entries, in the order of `terms`; None if F is linear.
    """

    diagonal: Array
    forms: SparseForms | None
    terms: tuple[int, ...]


def measured_objective(problem: Problem) -> Measured | None:
    """F as :class:`Measured`; None if F has other terms or too many entries. `forms` is None for a linear F."""
    if not _by_terms(problem):
        return None
    diagonal, terms, measurements = np.zeros(problem.n), [], []
    for k, term in enumerate(problem.terms):
        if isinstance(term, LinearTerm):
            C = _entries_of(term.C)
            if C is None:
                return None
            diagonal += term.weight * C.diagonal()
        elif isinstance(term, MeasuredTerm) and term.loss.separable and term.convex:
            terms.append(k)
            measurements.append(term.measurement)
        else:
            return None
    forms = explicit_forms(Stacked(measurements)) if measurements else None
    return None if measurements and forms is None else Measured(diagonal, forms, tuple(terms))


def _sum_of_entries(parts: Sequence[tuple[Form, float]]) -> sp.csr_array | None:
    """Σ weight · form by its entries; None if those of a form are not known."""
    found = [_entries_of(form, weight) for form, weight in parts]
    known = [part for part in found if part is not None]
    return sum(known[1:], known[0]) if len(known) == len(found) else None


def _entries_of(form: Form, weight: float = 1.0) -> sp.csr_array | None:
    if isinstance(form, IdentityForm):
        return sp.csr_array(weight * form.scale * sp.eye_array(form.n))
    if isinstance(form, MatrixForm) and form.A.is_matrix:
        A = form.A.data if form.A.mirrored else sp.csr_array(0.5 * (form.A.data + form.A.data.T))
        A = A if A.data.all() else entries_kept(A, A.data != 0.0)
        return with_data(A, weight * form.scale * A.data)
    if isinstance(form, SumForm):
        return _sum_of_entries([(part, weight) for part in form.parts])
    if isinstance(form, GramForm) and form.n <= FACTOR_ORDER and form.X.is_matrix:
        return sp.csr_array(weight * form.to_dense())
    return None
