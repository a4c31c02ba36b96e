"""Quadratic semidefinite program: tr((A M)²) + tr(B M²) + 2 tr(C M) over M ⪰ 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from psdopt.checks import integer_or_none, number
from psdopt.contracts.abilities import Ability
from psdopt.contracts.images import Images
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.roles import Duality, Starts
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import FACTOR_ORDER, SPECTRUM_ORDER
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import EPS, ROUNDINGS
from psdopt.problems.diagonal_form import DiagonalDuality, DiagonalForm
from psdopt.problems.quadratic_preconditioner import QuadraticPreconditioner
from psdopt.problems.term_sum import TermSum
from psdopt.problems.unconstrained import positive_part
from psdopt.terms.base import Term
from psdopt.terms.forms import Form, IdentityForm, MatrixForm, SumForm
from psdopt.terms.quadratic import LinearTerm, ProductTerm

Operand = Any  # ndarray, sparse array, LinearOperator, Form, sequence of Forms, scalar (times I) or None


class QuadraticSDP(TermSum):
    """F(M) = tr((A M)²) + tr(B M²) + 2 tr(C M) + constant, convex for A, B ⪰ 0 (Yuan et al., eq. 1).

    Gradient S = 2 A M A + B M + M B + 2 C. One step along a factor direction D (n, r) applies each
    of A, B, C once to D and nothing else.

    Parameters
    ----------
    A, B, C : each an ndarray or SciPy sparse array (n, n), a ``LinearOperator``, a scalar (times the
        identity), None (absent), a :class:`~psdopt.terms.forms.Form`, or a list of forms (their sum).
        All symmetric; A and B positive semidefinite. That is checked for arrays up to order 3000 and
        for scalars. F is not called convex if A or B is larger or an operator: a run then ends in the status
        ``stationary`` at best. ``MatrixForm(A, psd=True)`` declares A ⪰ 0; ``optimal`` then relies on it.
    n : order of M; needed only when no argument shows it.
    constant : added to F.

    Raises
    ------
    InvalidInputError for wrong shapes, NaN, asymmetry, A or B not PSD, or nothing given.
    """

    def __init__(
        self, A: Operand = None, B: Operand = None, C: Operand = None, *, n: int | None = None, constant: float = 0.0
    ) -> None:
        n, (self.A, self.B, self.C) = _operands({"A": A, "B": B, "C": C}, n)
        for name, form in (("A", self.A), ("B", self.B)):
            _check_psd(form, name)
        identity = IdentityForm(n)
        product = None if self.A is None else ProductTerm(self.A, self.A)
        linear = None if self.C is None else LinearTerm(self.C, 2.0)
        ridge = None if self.B is None else ProductTerm(self.B, identity)
        if isinstance(self.B, IdentityForm):
            ridge = ProductTerm(identity, identity, self.B.scale)  # one Gram matrix instead of two
            self.lower_curvature = 2.0 * self.B.scale
        terms: list[Term] = [term for term in (product, ridge, linear) if term is not None]
        if not terms:
            raise InvalidInputError("A, B and C are all zero; give at least one that is not")
        self.curvature = QuadraticPreconditioner(self.A, self.B, self.C, n, product, ridge)
        super().__init__(terms, constant, self.curvature)
        self.abilities |= {Ability.RESTRICTION}
        if self.device is None and self._ridge is not None:
            self.abilities |= {Ability.CLOSED_FORM}
            if self._ridge > 0.0 and self.n <= SPECTRUM_ORDER:
                self.abilities |= {Ability.DIAGONAL_FORM}

    def without_dense_arrays(self) -> None:
        """Give up the closed form and the diagonal form, which need arrays (n, n) that these data should not fill."""
        self.abilities -= {Ability.CLOSED_FORM, Ability.DIAGONAL_FORM}

    @property
    def _ridge(self) -> float | None:
        """b if B = b I and a closed form is known, else None."""
        b = 0.0 if self.B is None else self.B.scale if isinstance(self.B, IdentityForm) else math.nan
        known = self.C is not None and self.n <= FACTOR_ORDER and (b > 0.0 or (b == 0.0 and self.A is not None))
        return b if known else None

    def restricted(self, basis: Images, T: Array) -> QuadraticSDP:
        """The same F on W N Wᵀ, W = basis · T orthonormal (n, k): WᵀAW, WᵀBW, WᵀCW are of order k. O(p w²)."""

        forms = (self.A, self.B, self.C)
        # request all before reading the first, so that they share one transfer from a device
        grams = [None if form is None or isinstance(form, IdentityForm) else form.gram(basis, basis) for form in forms]

        def compressed(form: Form | None, gram: Array | None) -> Form | None:
            if isinstance(form, IdentityForm):
                return IdentityForm(T.shape[1], form.scale)
            if gram is None:
                return None
            K = T.T @ np.asarray(gram) @ T
            # A and B were accepted, so rounding must not make WᵀAW refused
            return MatrixForm(LinearMap(0.5 * (K + K.T), owned=True), psd=None if form is self.C else True)

        return QuadraticSDP(*map(compressed, forms, grams), constant=self.constant)

    @cached_property
    def data_places(self) -> Mapping[str, tuple[int, str]]:
        """A, B and C of the caller, where they hold arrays: the term of B calls it A."""
        given = [name for name in "ABC" if getattr(self, name) is not None]
        terms = enumerate(zip(given, self.terms, strict=True))
        return {name + own[1:]: (k, own) for k, (name, term) in terms for own in term.data}

    @property
    def starts(self) -> Starts:
        return QuadraticStarts(self)

    def solve_in_closed_form(self, rank: int | None = None) -> LowRankPSD | None:
        """Global minimiser (of rank at most `rank`) from eigendecompositions, or None without a closed form.

        - A = 0, B = b I: M = [(−C)₊]_rank / b.
        - B = 0, A ≻ 0: M = A^-½ [(−A^-½ C A^-½)₊]_rank A^-½.
        - B = b I, A = V diag(a) Vᵀ, no rank limit: M = V [−(VᵀCV)_ij / (a_i a_j + b)] Vᵀ, the
          unconstrained minimiser; it is the answer only if it is PSD, else None is returned.

        O(n²) memory, O(n³) flops, once: the answer without a rank limit is kept.
        """
        return self._closed_form(rank) if rank is not None and rank < self.n else self._minimizer

    def diagonal_form(self) -> DiagonalForm:
        """F on B N Bᵀ, in the eigenvectors of A, for B = b I, b > 0. O(n³), once.

        The eigenvalues are lowered by their rounding: F is nowhere below the form, and a bound of it is one of F.
        """
        return self._diagonal_form

    @cached_property
    def _diagonal_form(self) -> DiagonalForm:
        b, C = self._ridge, self.C
        if not b or C is None:
            raise InvalidTypeError("a diagonal form needs B = b I with b > 0, C, and an order of at most 1500")
        a, V = self._eigenvectors
        a = np.maximum(a - ROUNDINGS * EPS * a[-1], 0.0)
        scale = np.hypot(a, b**0.5)  # squares may overflow
        basis, (u, v) = V / np.sqrt(scale), (a / scale, b**0.5 / scale)
        h = 2.0 * (np.outer(u, u) + np.outer(v, v))
        c = 2.0 * (basis.T @ C.to_dense() @ basis)
        return DiagonalForm(basis, h, 0.5 * (c + c.T), self.constant)

    @property
    def duality(self) -> Duality:
        return DiagonalDuality(self.diagonal_form) if Ability.DIAGONAL_FORM in self.abilities else super().duality

    @cached_property
    def _minimizer(self) -> LowRankPSD | None:
        return self._closed_form(None)

    def _closed_form(self, rank: int | None) -> LowRankPSD | None:
        ridge = self._ridge
        if ridge is None or self.C is None:
            return None
        if ridge > 0.0 and rank is None:
            return self._least_free()
        C = self.C.to_dense()
        if self.A is None:
            return LowRankPSD.from_dense(-C / ridge, rank)
        if ridge > 0.0:
            return None
        a, V = spectrum(self.A.to_dense())
        if a[0] <= len(a) * EPS * a[-1]:
            return None
        inverse_root = 1.0 / np.sqrt(a)
        inside = LowRankPSD.from_dense(-(V.T @ C @ V) * np.outer(inverse_root, inverse_root), rank)
        return LowRankPSD(V @ (inverse_root[:, None] * inside.factor))

    def _least_free(self) -> LowRankPSD | None:
        """The positive part of the minimiser over all symmetric matrices, if it is PSD or h is constant (A = 0)."""
        form = self._diagonal_form
        values, vectors = form.free
        if self.A is not None and values[0] < -64 * self.n * EPS * values[-1]:
            return None
        kept = values > self.n * EPS * max(abs(values[0]), abs(values[-1]))
        return form.matrix(vectors[:, kept] * np.sqrt(values[kept]) if kept.any() else np.zeros((self.n, 1)))

    @cached_property
    def _eigenvectors(self) -> tuple[Array, Array]:
        """(a (n,), V) with A = V diag(a) Vᵀ."""
        return (np.zeros(self.n), np.eye(self.n)) if self.A is None else spectrum(self.A.to_dense())


class QuadraticStarts(Starts):
    """First atoms from the minimiser over all symmetric matrices; start at M = I if the rank is not limited."""

    def __init__(self, problem: QuadraticSDP) -> None:
        self.problem = problem

    def first_atoms(self) -> Array | None:
        """The positive part of the unconstrained minimiser, see :func:`psdopt.problems.unconstrained.positive_part`."""
        problem = self.problem
        return positive_part(problem.A, problem.B, problem.C, problem.n, partial(setattr, problem.curvature, "basis"))

    def proposed_start(self, Y: Array) -> Array:
        """The orthogonal factor of a square Y, so that M = I, if F has a term tr((A M)²); else Y itself.

        I favours no direction. Runs on alignments of kernels take up to a fifth fewer steps from there than from random
        eigenvalues. O(n³).
        """
        if self.problem.A is None or Y.shape[0] != Y.shape[1]:
            return Y
        deadline.ask()
        U, _, Vt = np.linalg.svd(Y)
        return np.asarray(U @ Vt)


def _operands(given: dict[str, Operand], n: int | None) -> tuple[int, list[Form | None]]:
    """n, and A, B and C as forms of this order."""
    n = integer_or_none(n, "n")
    if all(value is None for value in given.values()):
        raise InvalidInputError("A, B and C are all None; give at least one")
    found = {name: _form_or_number(value, name) for name, value in given.items()}
    orders = {name: form.n for name, form in found.items() if isinstance(form, Form)}
    if n is not None:
        orders["n"] = n
    if not orders:
        raise InvalidInputError("n is needed when A, B and C are scalars or None")
    if len(set(orders.values())) > 1:
        text = ", ".join(f"{name}: {order}" for name, order in orders.items())
        raise InvalidInputError(f"A, B and C must share one order n; found {text}")
    n = next(iter(orders.values()))
    # 0.0 stands for no form
    return n, [form if isinstance(form, Form) else IdentityForm(n, form) if form else None for form in found.values()]


def _form_or_number(value: Operand, name: str) -> Form | float | None:
    if value is None or isinstance(value, Form):
        return value
    if isinstance(value, Real):
        return number(value, name)
    if isinstance(value, Sequence) and len(value) > 0 and all(isinstance(part, Form) for part in value):
        return SumForm(value)
    if not isinstance(value, (list, tuple)) and not getattr(value, "shape", None):
        raise InvalidTypeError(
            f"{name} must be a matrix, an operator, a form, a number or None; found {type(value).__name__}"
        )
    return MatrixForm(symmetric_map(value, name))


def _check_psd(form: Form | None, name: str) -> None:
    if form is None or form.is_psd:
        return
    text = f"{name} must be positive semidefinite; found"
    if isinstance(form, IdentityForm):
        raise InvalidInputError(f"{text} the scalar {form.scale:g} < 0")
    if form.n <= FACTOR_ORDER and form.dense_is_cheap:
        values = np.linalg.eigvalsh(form.to_dense())
        raise InvalidInputError(f"{text} smallest eigenvalue {values[0]:.3g} against the largest {values[-1]:.3g}")
    if form.psd is False:
        raise InvalidInputError(f"{text} a form with a negative scale")
