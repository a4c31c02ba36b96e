"""Problems and constraints in coordinates W N Wᵀ against direct evaluation at W Z."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import AutogradProblem, QuadraticSDP, TermSum, constraints
from psdopt.constraints.faces.congruence import CarriedForms, carried_forms, carried_problem
from psdopt.contracts.images import Images
from psdopt.problems.composite import Composite
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, PairDistances, ProductTerm, QuadraticForms
from psdopt.terms.base import combine
from psdopt.terms.forms import GramForm, MatrixForm, SumForm
from psdopt.testing import parametrize_with_checks

N, Q, R = 7, 4, 3


def basis(dense: bool) -> sp.csr_array:
    """Two clusters, a row that is zero, and two rows by themselves; or an arbitrary basis."""
    if dense:
        return sp.csr_array(np.linalg.qr(np.random.default_rng(1).standard_normal((N, Q)))[0])
    W = np.zeros((N, Q))
    W[[0, 2], 0], W[[3, 4], 1], W[5, 2], W[6, 3] = np.sqrt(0.5), np.sqrt(0.5), 1.0, 1.0
    return sp.csr_array(W)


def forms() -> constraints.SparseForms:
    rng = np.random.default_rng(2)
    A = [G + G.T for G in rng.standard_normal((3, N, N))]
    return constraints.SparseForms.of([*A, np.diag(np.arange(N) * 1.0)])


def curved() -> TermSum:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, N))
    C = np.diag(rng.standard_normal(N))
    return TermSum(
        [
            ProductTerm(SumForm([GramForm(X), MatrixForm(np.eye(N))]), MatrixForm(sp.csr_array(np.eye(N)))),
            LinearTerm(C, 2.0),
            MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(5)), 0.5),
            MeasuredTerm(PairDistances([0, 1], [3, 5], n=N), LeastSquares(np.array([1.0, 2.0]))),
        ],
        constant=1.5,
    )


@pytest.mark.parametrize("dense", [False, True])
def test_forms_measure_what_the_original_ones_do(dense) -> None:
    W, rng = basis(dense), np.random.default_rng(4)
    Z, U, y = rng.standard_normal((Q, R)), rng.standard_normal((Q, R)), rng.standard_normal(4)
    original, zero = forms(), np.array([1])
    expected = original.pair(Images((), W @ Z), Images((), W @ U))
    expected[1] = 0.0
    found = carried_forms(original, W, zero)
    assert found.norms[1] == 0.0
    assert np.allclose(found.pair(Images((), Z), Images((), U)), expected, atol=1e-12)
    through = CarriedForms(original, W, zero)
    left, right = Images(through.maps, Z), Images(through.maps, U)
    assert np.allclose(through.pair(left, right), expected, atol=1e-12)
    kept = np.where(np.arange(4) == 1, 0.0, y)
    force = W.T @ (original.matrix(kept) @ (W @ Z))
    assert np.allclose(combine(through.adjoint(y, left), Z.shape), force, atol=1e-12)
    assert np.allclose(found.matrix(y) @ Z, force, atol=1e-12)


def test_sums_that_cancel_are_zero_and_not_rounding() -> None:
    W = basis(False)
    linked = constraints.distances([0, 3], [2, 4], 0.0, n=N).measurement
    found = carried_forms(constraints.explicit_forms(linked), W, np.zeros(0, dtype=int))
    assert found.norms.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", ["terms", "autograd", "operator"])
def test_problems_agree_with_direct_evaluation(kind, dense) -> None:
    W, rng = basis(dense), np.random.default_rng(5)
    if kind == "terms":
        F = curved()
    elif kind == "operator":  # entries of A are not at hand
        F = QuadraticSDP(A=sp.linalg.aslinearoperator(np.eye(N)), C=np.eye(N))
    else:
        F = AutogradProblem(lambda M: ((M - 1.0) ** 4).sum(), N, convex=True)
    problem = carried_problem(F, W)
    assert isinstance(problem, TermSum if kind == "terms" else Composite)
    Z, D = rng.standard_normal((2, Q, R))
    here, there = problem.at(Z), F.at(W @ Z)
    assert here.value == pytest.approx(there.value, rel=1e-12)
    assert np.allclose(here.factor_gradient(), W.T @ there.factor_gradient())
    assert np.allclose(here.gradient @ D, W.T @ (there.gradient @ (W @ D)))
    assert np.allclose(here.gradient @ here.factor, 0.5 * here.factor_gradient())
    assert np.allclose(here.hessian_vector(D), W.T @ there.hessian_vector(W @ D))
    assert problem.counts() == F.counts() or kind != "autograd"


def test_derived_classes_are_not_taken_for_their_bases() -> None:
    class Doubled(LinearTerm):
        def value(self, features: float) -> float:
            return 2.0 * super().value(features)

    assert isinstance(carried_problem(TermSum([Doubled(np.eye(N))]), basis(False)), Composite)


def test_several_columns_are_appended_at_once() -> None:
    rng = np.random.default_rng(9)
    problem = Composite([curved()], basis(True))
    grown = problem.at(rng.standard_normal((Q, R))).append(rng.standard_normal((Q, 2)))
    assert grown.factor.shape == (Q, R + 2)
    assert np.isclose(grown.value, problem.at(grown.factor).value)


@parametrize_with_checks([carried_problem(curved(), basis(False)), Composite([curved()], basis(True))])
def test_conformance(check):
    check()
