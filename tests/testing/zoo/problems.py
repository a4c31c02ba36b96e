"""Broken problems: tr((AM)²) + ½ tr(M²) + 2 tr(CM) on order 4, with one sin each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.contracts.curvature import Curvature
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.contracts.roles import Starts
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.problems import AutogradProblem, TermSum
from psdopt.terms.base import Forces, Term
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from psdopt.testing.gallery import with_spectrum

N = 4
A = with_spectrum([0.6, 0.9, 1.3, 2.0], 1)
C = with_spectrum([-2.0, -1.0, 0.3, 1.0], 2)
B = 0.5
#: A skew matrix, where symmetry is due.
K = np.zeros((N, N))
K[0, 1], K[1, 0] = 0.3, -0.3


def _formula(M: Any) -> Any:
    import autograd.numpy as anp

    return anp.trace(A @ M @ A @ M) + B * anp.trace(M @ M) + 2.0 * anp.sum(C * M)


class Healthy(TermSum):
    """The base: right in every respect. Subclasses replace one term or one answer."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        form = MatrixForm(LinearMap(A, "A"))
        super().__init__([self.product(form), ProductTerm(IdentityForm(N, B), IdentityForm(N)), self.linear()])
        self.lower_curvature = 2.0 * B

    def product(self, form: MatrixForm) -> Term:
        return ProductTerm(form, form)

    def linear(self) -> Term:
        return LinearTerm(MatrixForm(LinearMap(C, "C")), 2.0)

    def reference(self) -> Problem:
        return AutogradProblem(_formula, N, convex=True)


#: Checks that see a wrong gradient, however it came about.
_WRONG_GRADIENT = (
    "problem.terms",
    "problem.gradient_slope",
    "problem.autograd_twin",
    "problem.convexity",
    "problem.strong_convexity",
    "problem.line_model",
    "problem.polynomial_degree",
    "problem.step_by_images",
)


class GradientTwice(Healthy):
    """The gradient is twice too large."""

    rejected_by = (*_WRONG_GRADIENT, "problem.hessian_slope", "problem.hessian_symmetric")

    def __init__(self) -> None:
        super().__init__()
        for term in self.terms:
            _double(term)


def _double(term: Any) -> None:
    right, entries = term.gradient, term.add_gradient_to
    term.gradient = lambda U, features, V: [(m, 2.0 * G) for m, G in right(U, features, V)]

    def twice(S: Array, U: Images, features: Any) -> None:
        entries(S, U, features)
        entries(S, U, features)

    term.add_gradient_to = twice


class HessianSign(Healthy):
    """The Hessian of the quadratic term has the wrong sign."""

    rejected_by = ("problem.terms", "problem.hessian_slope", "problem.autograd_twin")

    def product(self, form: MatrixForm) -> Term:
        class Negated(ProductTerm):
            factor_hessian = Term.factor_hessian

            def hessian(self, U: Images, features: Any, D: Images, V: Images) -> Forces:
                return [(m, -G) for m, G in super().hessian(U, features, D, V)]

        return Negated(form, form)


class SkewHessian(Healthy):
    """The Hessian is not symmetric."""

    rejected_by = ("problem.terms", "problem.hessian_slope", "problem.hessian_symmetric", "problem.autograd_twin")

    def product(self, form: MatrixForm) -> Term:
        class Skew(ProductTerm):
            factor_hessian = Term.factor_hessian

            def hessian(self, U: Images, features: Any, D: Images, V: Images) -> Forces:
                return [*super().hessian(U, features, D, V), (None, K @ D.factor)]

        return Skew(form, form)


class WrongAdjoint(Healthy):
    """The transpose of a matrix-free data operator lacks a factor."""

    rejected_by = (
        *_WRONG_GRADIENT,
        "problem.adjoints",
        "problem.storage_independence",
        "problem.subgradient_bound",
    )

    def linear(self) -> Term:
        root = np.linalg.cholesky(C + 3.0 * np.eye(N)).T

        class Operator(LinearOperator):
            def _matmat(self, V: Array) -> Array:
                return root @ V

            def _rmatmat(self, W: Array) -> Array:
                return 1.5 * (root.T @ W)

        operator: Any = Operator(dtype=float, shape=(N, N))  # type: ignore[call-overload]
        return LinearTerm(GramForm(LinearMap(operator, "root")), 2.0)

    def reference(self) -> Problem:
        return AutogradProblem(lambda M: _formula(M) + 6.0 * sum(M[i, i] for i in range(N)), N, convex=True)


class LyingCounter(Healthy):
    """counts() reports half of the applications."""

    rejected_by = ("problem.application_counts",)

    def counts(self) -> Mapping[str, int]:
        return {key: number // 2 for key, number in super().counts().items()}


class FalselyConvex(Healthy):
    """A concave quadratic term that says it is convex."""

    rejected_by = ("problem.terms", "problem.convexity", "problem.strong_convexity", "problem.subgradient_bound")

    def product(self, form: MatrixForm) -> Term:
        term = ProductTerm(form, form, -0.5)
        term.convex = True
        return term

    def reference(self) -> Problem:
        import autograd.numpy as anp

        return AutogradProblem(lambda M: _formula(M) - 1.5 * anp.trace(A @ M @ A @ M), N)


class TooMuchCurvature(Healthy):
    """The modulus of strong convexity is overstated."""

    rejected_by = ("problem.strong_convexity",)

    def __init__(self) -> None:
        super().__init__()
        self.lower_curvature = 200.0 * B


class _TooSteep(ProductTerm):
    def curvatures(self, U: Any, features: Any, thorough: bool) -> list[Curvature]:
        return [Curvature(4.0 * each.modulus, each.root) for each in super().curvatures(U, features, thorough)]


class TooSteepAProduct(Healthy):
    """The curvature of tr((A M)²) in its own metric is overstated fourfold."""

    rejected_by = ("problem.strong_convexity",)

    def product(self, form: MatrixForm) -> Term:
        return _TooSteep(form, form)


class OtherFormula(Healthy):
    """Consistent in itself, but another function than its formula says."""

    rejected_by = ("problem.autograd_twin",)

    def reference(self) -> Problem:
        return AutogradProblem(lambda M: 2.0 * _formula(M), N, convex=True)


class SparseDiffers(Healthy):
    """Sparse data go through a path of their own, which has a sign wrong."""

    rejected_by = ("problem.storage_independence",)

    def linear(self) -> Term:
        class Map(LinearMap):
            def apply(self, V: Array) -> Array:
                return -super().apply(V) if self.is_sparse else super().apply(V)

        return LinearTerm(MatrixForm(Map(C, "C")), 2.0)


class SeesTheFactor(Healthy):
    """Adds a term that sees the first column of Y instead of M."""

    rejected_by = (
        "problem.terms",
        "problem.representative_invariance",
        "problem.gradient_slope",
        "problem.autograd_twin",
        "problem.line_model",
        "problem.polynomial_degree",
        "problem.step_by_images",
        "problem.convexity",
        "problem.strong_convexity",
    )

    def linear(self) -> Term:
        class FirstColumn(LinearTerm):
            def features(self, U: Images) -> float:
                return super().features(U) + 0.1 * float(np.sum(U.factor[:, 0] ** 2))

        return FirstColumn(MatrixForm(LinearMap(C, "C")), 2.0)


class CrookedStart(Healthy):
    """The start that it proposes depends on the columns of Y, not on Y Yᵀ alone."""

    rejected_by = ("problem.proposed_start",)

    @property
    def starts(self) -> Starts:
        return _Crooked()


class _Crooked(Starts):
    def proposed_start(self, Y: Array) -> Array:
        return np.abs(Y)


class AcceptsAnything(Healthy):
    """Takes a factor with NaN or of a wrong shape without a word."""

    rejected_by = ("problem.refuses_bad_factors",)

    def check_factor(self, Y: Any) -> Array:
        return np.nan_to_num(np.resize(np.asarray(Y, dtype=float), (self.n, np.atleast_2d(Y).shape[1])))


class ClaimsHessian(Healthy):
    """Declares a Hessian that is not there."""

    rejected_by = (
        "problem.methods_run",
        "problem.abilities_kept",
        "problem.hessian_slope",
        "problem.hessian_symmetric",
        "problem.autograd_twin",
    )

    def at(self, Y: Array) -> Any:
        evaluation: Any = super().at(Y)

        def refuse(D: Array) -> Array:
            raise InvalidTypeError("no Hessian here")

        evaluation.hessian_vector = refuse
        return evaluation


class StraightCurvature(Healthy):
    """The curvature product is half as large."""

    rejected_by = ("problem.hessian_symmetric",)

    def at(self, Y: Array) -> Any:
        evaluation: Any = super().at(Y)
        whole = evaluation.curvature_product
        evaluation.curvature_product = lambda D: 0.5 * whole(D)
        return evaluation


class SkewGradient(Healthy):
    """S is not symmetric."""

    rejected_by = (
        "problem.terms",
        "problem.gradient_operator",
        "problem.gradient_slope",
        "problem.autograd_twin",
        "problem.hessian_symmetric",
        "problem.line_model",
        "problem.polynomial_degree",
        "problem.step_by_images",
    )

    def linear(self) -> Term:
        class Skew(LinearTerm):
            def gradient(self, U: Images, features: float, V: Images) -> Forces:
                return [*super().gradient(U, features, V), (None, K @ V.factor)]

        return Skew(MatrixForm(LinearMap(C, "C")), 2.0)


class HalfOfTheData(Healthy):
    """The derivative by C along a direction is that of half of the matrix."""

    rejected_by = ("problem.data_slope",)

    def linear(self) -> Term:
        class Half(LinearTerm):
            def data_gradient(self, U: Images, features: float, D: Images | None) -> Any:
                found = super().data_gradient(U, features, D)
                return found if D is None else {name: 0.5 * each for name, each in found.items()}

        return Half(MatrixForm(LinearMap(C, "C")), 2.0)


ALL: tuple[type[Any], ...] = (
    HalfOfTheData,
    GradientTwice,
    HessianSign,
    SkewHessian,
    WrongAdjoint,
    LyingCounter,
    FalselyConvex,
    TooMuchCurvature,
    OtherFormula,
    SparseDiffers,
    SeesTheFactor,
    CrookedStart,
    AcceptsAnything,
    ClaimsHessian,
    SkewGradient,
    StraightCurvature,
)
