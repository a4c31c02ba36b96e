"""Terms that are polynomial in M: arrays for forms, the claim of convexity, their part of a dense S, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from psdopt import BILGO, Ability, PSDCone, TermSum, compatible, solve, terms
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.tolerances import EPS
from tests.instances import psd, symmetric

N = 5


def proven(A, P, E):
    """Terms whose convexity is proven, for an indefinite A, a semidefinite P and E = I."""
    lazy = terms.MatrixForm(aslinearoperator(P), psd=True)
    return [
        terms.ProductTerm(terms.GramForm(P), E), terms.ProductTerm(P, P), terms.ProductTerm(P, sp.csr_array(P), 2.0),
        terms.ProductTerm(lazy, E), terms.ProductTerm(A, A, 0.0), terms.LinearTerm(A, -1.0),
    ]  # fmt: skip


def unproven(A, P, E):
    return [
        terms.ProductTerm(P, P, -1.0), terms.ProductTerm(A, P), terms.ProductTerm(P, A),
        terms.ProductTerm(aslinearoperator(P), E), terms.ProductTerm(-np.eye(N), E),
        terms.ProductTerm(terms.SumForm([terms.IdentityForm(N, -1.0)]), E),
    ]  # fmt: skip


@pytest.mark.parametrize(("made", "convex"), [(proven, True), (unproven, False)])
def test_convexity_is_claimed_only_where_it_is_proven(made, convex):
    rng = np.random.default_rng(0)
    for term in made(symmetric(rng, N), psd(rng, N, 3), terms.IdentityForm(N)):
        assert term.convex is convex
        assert term.degree == 2 - isinstance(term, terms.LinearTerm)
        assert (Ability.CONVEX in TermSum([term]).abilities) is convex


@pytest.mark.parametrize(
    "A", [terms.SumForm([terms.IdentityForm(3, -1.0)]), terms.MatrixForm(-np.eye(3)), aslinearoperator(-np.eye(3))]
)
def test_a_concave_product_is_never_solved_to_optimal(A):
    """F = −tr M² + |max(0, M_ii − 1)|² has no proof of optimality at M = 0, which is stationary."""
    hinge = terms.MeasuredTerm(terms.Entries(range(3), range(3), 3), terms.SquaredHinge(-1.0, -1.0), 3.0)
    problem = TermSum([terms.ProductTerm(A, terms.IdentityForm(3)), hinge])
    few = {"tol": 1e-6, "max_iterations": 500}
    assert not solve(problem, **few).optimal
    if compatible(problem, PSDCone(3), BILGO()):
        assert not solve(problem, PSDCone(3), BILGO(), **few).optimal


def test_arrays_are_taken_for_forms():
    rng = np.random.default_rng(1)
    A, C, Y = psd(rng, N), symmetric(rng, N), rng.standard_normal((N, 2))
    M = Y @ Y.T
    assert terms.ProductTerm(A, A).same
    value = TermSum([terms.LinearTerm(C, 2.0), terms.ProductTerm(A, A), terms.ProductTerm(A, C, 0.5)]).at(Y).value
    by_hand = 2.0 * np.trace(C @ M) + np.trace(A @ M @ A @ M) + 0.5 * np.trace(A @ M @ C @ M)
    assert value == pytest.approx(by_hand, rel=1e-12)


def test_terms_without_entries_say_so():
    """S is known without products, and without an application of a map, if the data are arrays."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3, N))
    for data in (X, sp.csr_array(X), aslinearoperator(X)):
        known = not isinstance(data, LinearOperator)
        gram = terms.LinearTerm(terms.GramForm(data))
        weighted = terms.LinearTerm(terms.GramForm(data, -1.0, rng.standard_normal((3, 2))))
        forms = terms.MeasuredTerm(terms.QuadraticForms(data), terms.LeastSquares(1.0))
        for term in (gram, weighted, forms):
            assert term.has_entries is known
            problem = TermSum([term])
            here = problem.at(rng.standard_normal((N, 1)))
            products = here.gradient @ np.eye(N)
            before = problem.counts()["operator_columns"]
            entries = here.gradient.entries()
            assert (entries is not None) is known
            if known:
                assert problem.counts()["operator_columns"] == before
                np.testing.assert_allclose(entries, products, atol=64 * EPS * np.abs(products).max())
    with pytest.raises(InvalidTypeError, match="LinearTerm offers no entries of its gradient"):
        terms.Term.add_gradient_to(terms.LinearTerm(np.eye(N)), np.zeros((N, N)), None, None)


def test_products_of_forms_give_their_gradient_by_entries():
    """w (A M B + B M A) from the images of Y, which are known: maps are applied to the columns of Y, or not at all."""
    rng = np.random.default_rng(4)
    A, C, Y = symmetric(rng, N), symmetric(rng, N), rng.standard_normal((N, 2))
    identity, sparse = terms.IdentityForm(N, 3.0), terms.MatrixForm(sp.csr_array(C))
    both = terms.SumForm([identity, sparse])
    for left, right, L, R, columns in (
        (identity, identity, 3.0 * np.eye(N), 3.0 * np.eye(N), 0),
        (terms.MatrixForm(A), identity, A, 3.0 * np.eye(N), 0),
        (sparse, both, C, C + 3.0 * np.eye(N), 0),
        (terms.MatrixForm(aslinearoperator(A)), identity, A, 3.0 * np.eye(N), 0),
        (terms.GramForm(A), sparse, A.T @ A, C, 2),
    ):
        problem = TermSum([terms.ProductTerm(left, right, 0.7)])
        here = problem.at(Y)
        assert here.value == pytest.approx(0.7 * np.trace(L @ Y @ Y.T @ R @ Y @ Y.T))
        before = problem.counts()["operator_columns"]
        entries = here.gradient.entries()
        assert problem.counts()["operator_columns"] == before + columns
        half = L @ Y @ Y.T @ R
        np.testing.assert_allclose(entries, 0.7 * (half + half.T), atol=64 * EPS * np.abs(half).max())


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: terms.LinearTerm(np.triu(np.ones((3, 3)))), InvalidInputError, "C must be symmetric"),
        (
            lambda: terms.LinearTerm(1.0),
            InvalidTypeError,
            "C must be a form, a symmetric matrix or operator; found float",
        ),
        (lambda: terms.LinearTerm(np.eye(3), np.inf), InvalidInputError, "weight must be a finite number; found inf"),
        (
            lambda: terms.ProductTerm(np.eye(3), np.eye(4)),
            InvalidInputError,
            "A and B must share one order; found 3 and 4",
        ),
        (lambda: terms.ProductTerm(np.eye(3), "x"), InvalidTypeError, "B must be a form"),
    ],
)
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_a_convex_product_has_no_negative_leading_coefficient_and_any_other_keeps_its_own():
    """⟨DᵀAD, DᵀBD⟩ of orthogonal ranges is zero up to rounding; of an indefinite pair it may be negative."""
    A, B, D = np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.3], [0.4]])
    made = (
        (terms.ProductTerm(A, B), 0.0144),
        (terms.ProductTerm(A, -B), -0.0144),
        (terms.ProductTerm(A, B, -2.0), -0.0288),
    )
    for term, expected in made:
        U = Images(term.maps, np.ones((2, 1)))
        leading = term.along(U, term.features(U), Images(term.maps, D)).coefficients[4]
        np.testing.assert_allclose(leading, expected)
