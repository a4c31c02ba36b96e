"""N ↦ F(W N Wᵀ) and N ↦ ⟨A_t, W N Wᵀ⟩ for W (n, q) with orthonormal columns: from the data of F if they are known."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.explicit import explicit_forms
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import rounding
from psdopt.problems.composite import Composite
from psdopt.problems.term_sum import TermSum
from psdopt.terms.base import Forces, Term
from psdopt.terms.forms import Form, GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Measurement, QuadraticForms
from psdopt.terms.quadratic import LinearTerm, ProductTerm

#: The WᵀA_tW are formed by entries only if this takes fewer products of entries of A_t and W.
MOST_PRODUCTS = 200_000


def carried_forms(forms: SparseForms, W: sp.csr_array, zero: NDArray[np.intp]) -> SparseForms | None:
    """The WᵀA_tW by their entries, without entries at rounding level; None if there are too many.

    WᵀA_tW is known to be zero for the constraints `zero`.
    """
    B = _without(forms, zero)
    used, uses = np.unique(B.indices, return_counts=True)
    i, j, B = forms.i[used], forms.j[used], sp.csr_array(B[:, used])
    counts = np.diff(W.indptr)
    per = counts[i] * counts[j]
    total = int(per.sum())
    if total > MOST_PRODUCTS or float(uses @ per) > MOST_PRODUCTS:
        return None
    # M_ij = Σ_ab W_ia W_jb N_ab: all pairs (a, b) for each place (i, j), one after the other
    place = np.repeat(np.arange(len(per)), per)
    at = np.arange(total) - np.repeat(np.cumsum(per) - per, per)
    width = counts[j][place]
    left, right = W.indptr[i][place] + at // width, W.indptr[j][place] + at % width
    q = W.shape[1]
    a, b = W.indices[left].astype(np.int64), W.indices[right].astype(np.int64)
    codes, where = np.unique(np.minimum(a, b) * q + np.maximum(a, b), return_inverse=True)
    if total == 0:
        codes = np.zeros(1, dtype=np.int64)
    E = sp.csr_array((W.data[left] * W.data[right], (place, where)), shape=(len(per), len(codes)))
    B, sizes, terms = sp.csr_array(B @ E), sp.csr_array(abs(B) @ abs(E)), int(np.diff(B.indptr).max(initial=1))
    B = sp.csr_array(B.multiply(abs(B) > rounding(1.0, terms) * sizes))
    B.eliminate_zeros()
    return SparseForms(codes // q, codes % q, B, q)


def _without(forms: SparseForms, zero: NDArray[np.intp]) -> sp.csr_array:
    """B with its rows `zero` emptied."""
    kept = np.ones(forms.size)
    kept[zero] = 0.0
    B = sp.csr_array(sp.diags_array(kept) @ forms.B)
    B.eliminate_zeros()
    return B


class CarriedForms(Measurement):
    """N ↦ (⟨A_t, W N Wᵀ⟩)_t through W Z, for N = Z Zᵀ, where the entries of the WᵀA_tW are too many. O(p r + |W| r).

    `forms` : the A_t (n, n), zero in the places of `zero`. `W` : a :class:`LinearMap`.
    """

    def __init__(self, forms: SparseForms, W: sp.csr_array, zero: NDArray[np.intp]) -> None:
        self.forms = SparseForms(forms.i, forms.j, _without(forms, zero), forms.n)
        self.W = LinearMap(W, "W")
        self.maps, self.n, self.size = (self.W,), W.shape[1], forms.size

    def _through(self, V: Images) -> Images:
        return Images((), V.of(self.W))

    def pair(self, U: Images, V: Images) -> Array:
        left = self._through(U)
        return self.forms.pair(left, left if V is U else self._through(V))

    def adjoint(self, weights: Array, V: Images) -> Forces:
        return [(self.W, force) for _, force in self.forms.adjoint(weights, self._through(V))]


def carried_problem(problem: Problem, W: sp.csr_array) -> Problem:
    """N ↦ F(W N Wᵀ): a sum of terms, if F is a sum of terms whose data are known; else by evaluations of F."""
    if type(problem).at is TermSum.at and isinstance(problem, TermSum) and problem.device is None:
        terms = [_carried_term(term, W) for term in problem.terms]
        known = [term for term in terms if term is not None]
        if len(known) == len(terms):
            return TermSum(known, problem.constant)
    return Composite([problem], W)


def _carried_term(term: Term, W: sp.csr_array) -> Term | None:
    # a derived class may give the same data another meaning
    if type(term) is LinearTerm:
        C = _carried_form(term.C, W)
        return None if C is None else LinearTerm(C, term.weight)
    if type(term) is ProductTerm:
        A = _carried_form(term.A, W)
        B = A if term.same else _carried_form(term.B, W)
        return None if A is None or B is None else ProductTerm(A, B, term.weight)
    if type(term) is MeasuredTerm:
        measurement = _carried_measurement(term.measurement, W)
        return None if measurement is None else MeasuredTerm(measurement, term.loss, term.weight)
    return None


def _carried_form(form: Form, W: sp.csr_array) -> Form | None:
    if type(form) is IdentityForm:
        return IdentityForm(W.shape[1], form.scale)
    if type(form) is MatrixForm and form.A.is_matrix:
        A = W.T @ (form.A.data @ W)
        return MatrixForm(0.5 * (A + A.T), form.scale, form.is_psd or None)
    if type(form) is GramForm and form.X.is_matrix:
        return GramForm(form.X.data @ W, form.scale, form.inner)
    if type(form) is SumForm:
        parts = [_carried_form(part, W) for part in form.parts]
        known = [part for part in parts if part is not None]
        return SumForm(known) if len(known) == len(parts) else None
    return None


def _carried_measurement(measurement: Measurement, W: sp.csr_array) -> Measurement | None:
    if type(measurement) is QuadraticForms and measurement.X.is_matrix:
        return QuadraticForms(measurement.X.data @ W)
    forms = explicit_forms(measurement)
    return None if forms is None else carried_forms(forms, W, np.zeros(0, dtype=np.intp))
