"""What terms, losses and forms take a short cut for: weights of zero, scales of one, traces that are only probed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.contracts.images import Images
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms import (
    GramForm,
    IdentityForm,
    LeastSquares,
    Linear,
    LinearTerm,
    MatrixForm,
    MeasuredTerm,
    ProductTerm,
    QuadraticForms,
    SquaredHinge,
    SumForm,
)
from psdopt.terms.forms import squared_norm, times
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.weighted_gram import WeightedGramForm
from tests.instances import psd, symmetric

N = 5


@pytest.mark.parametrize("factor", [1.0, 2.5, 0.5, -1.0, 0.0, 2])
def test_only_a_factor_of_one_changes_nothing(factor):
    Z = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(times(Z, factor), factor * Z)
    np.testing.assert_allclose(times(Z, np.array([[factor]]) * np.eye(2)), factor * Z)


@pytest.mark.parametrize(
    "make",
    [
        lambda A, **k: ProductTerm(A, np.eye(N), **k),
        lambda A, **k: LinearTerm(A, **k),
        lambda A, **k: MeasuredTerm(QuadraticForms(A), LeastSquares(0.3), **k),
    ],
)
def test_a_term_without_a_weight_has_weight_one(make):
    rng = np.random.default_rng(0)
    A, Y = symmetric(rng, N), rng.standard_normal((N, 2))
    values = []
    for term in (make(A), make(A, weight=1.0), make(A, weight=2.5)):
        images = Images(term.maps, Y)
        values.append(term.value(term.features(images)))
    assert values[0] == values[1] != 0.0
    np.testing.assert_allclose(values[2], 2.5 * values[0])


def test_forms_and_losses_without_a_scale_have_scale_one():
    rng = np.random.default_rng(1)
    A, X, a = symmetric(rng, N), rng.standard_normal((7, N)), rng.standard_normal(4)
    for form, dense in (
        (IdentityForm(N), np.eye(N)),
        (MatrixForm(A), A),
        (GramForm(X), X.T @ X),
        (WeightedGramForm(X, np.diag(np.arange(7.0))), (X.T * np.arange(7.0)) @ X),
    ):
        np.testing.assert_allclose(form.to_dense(), dense, atol=64 * EPS * np.abs(dense).max())
    for plain, spelled in (
        (LeastSquares(0.2), LeastSquares(0.2, 1.0)),
        (SquaredHinge(), SquaredHinge(1.0, 1.0, 1.0)),
        (HalfSquaredOneSided(0.2), HalfSquaredOneSided(0.2, 0.0, 1.0)),
        (Linear(), Linear(1.0)),
    ):
        assert plain.value(a) == spelled.value(a)
        np.testing.assert_array_equal(plain.derivative(a), spelled.derivative(a))


@pytest.mark.parametrize(("weight", "known"), [(1.0, True), (0.5, True), (0.0, True), (-0.5, False)])
def test_signs_that_are_known_of_weighted_terms(weight, known):
    measured = MeasuredTerm(QuadraticForms(np.eye(N)), LeastSquares(1.0), weight)
    assert (measured.convex, measured.nonnegative) == (known, known)
    linear = MeasuredTerm(QuadraticForms(np.eye(N)), Linear(), weight)
    assert (linear.convex, linear.nonnegative) == (True, False)
    assert LinearTerm(IdentityForm(N), weight).nonnegative is known
    assert not LinearTerm(IdentityForm(N, -1.0), weight).nonnegative
    assert not LinearTerm(np.eye(N), weight).nonnegative  # no factorisation for a constant
    assert ProductTerm(np.eye(N), np.eye(N), weight).convex is known


def test_degrees():
    forms = QuadraticForms(np.eye(N))
    assert ProductTerm(np.eye(N), np.eye(N)).degree == 2
    assert LinearTerm(np.eye(N)).degree == 1
    for loss, degree in (
        (LeastSquares(1.0), 2),
        (Linear(), 1),
        (SquaredHinge(), None),
        (HalfSquaredOneSided(1.0), 2),
        (HalfSquaredOneSided(1.0, 1.0), None),
        (HalfSquaredOneSided(1.0, [0.0] * 4 + [-1.0]), None),
    ):
        assert loss.degree == degree
        assert MeasuredTerm(forms, loss).degree == degree


def test_which_forms_hold_an_array():
    A = np.eye(N)
    dense, sparse, lazy = MatrixForm(A), MatrixForm(sp.csr_array(A)), MatrixForm(aslinearoperator(A))
    held = {
        True: [dense, SumForm([dense, IdentityForm(N)]), SumForm([dense, dense]), SumForm([IdentityForm(N), dense])],
        False: [
            sparse, lazy, IdentityForm(N), GramForm(A), SumForm([dense, sparse]), SumForm([lazy, IdentityForm(N)]),
            SumForm([dense, GramForm(A)]),
        ],
    }  # fmt: skip
    for expected, forms in held.items():
        assert [form.holds_array for form in forms] == [expected] * len(forms)


def test_rank_bounds():
    X, L = np.ones((3, N)), np.ones((3, 2))
    assert GramForm(X).rank_bound == 3
    assert GramForm(X, inner=L).rank_bound == 2
    assert GramForm(X.repeat(3, axis=0)).rank_bound == N
    assert GramForm(X, inner=np.ones((3, 9))).rank_bound == N
    assert SumForm([GramForm(X), GramForm(X, inner=L[:, :1])]).rank_bound == 4
    assert SumForm([GramForm(X), IdentityForm(N)]).rank_bound == N


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30])
def test_the_sign_of_a_form_does_not_depend_on_its_scale(scale):
    P = psd(np.random.default_rng(2), N, 3)
    assert MatrixForm(scale * P).is_psd
    assert not MatrixForm(scale * (P - 1e-3 * np.linalg.norm(P) * np.eye(N))).is_psd
    assert not MatrixForm(-scale * np.eye(N)).is_psd


def test_probed_traces_use_signs_of_both_kinds():
    """Of 11ᵀ and of rows of ones, whose trace a probe by a constant vector misses by a factor n."""
    n = 64
    ones = np.ones((n, n))
    deviation = np.sqrt(2.0 / 16.0 * (n * n - n))
    assert abs(MatrixForm(aslinearoperator(ones)).full_trace() - n) <= 6.0 * deviation
    row = LinearMap(aslinearoperator(np.ones((1, n))))
    assert abs(squared_norm(row) - n) <= 6.0 * deviation
    form = WeightedGramForm(row, np.array([[2.0]]), 0.5)
    assert abs(form.full_trace() - n) <= 6.0 * deviation


def test_a_convex_product_has_no_negative_leading_coefficient_and_any_other_keeps_its_own():
    """⟨DᵀAD, DᵀBD⟩ of orthogonal ranges is zero up to rounding; of an indefinite pair it may be negative."""
    A, B, D = np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.3], [0.4]])
    for term, expected in (
        (ProductTerm(A, B), 0.0144),
        (ProductTerm(A, -B), -0.0144),
        (ProductTerm(A, B, -2.0), -0.0288),
    ):
        U = Images(term.maps, np.ones((2, 1)))
        leading = term.along(U, term.features(U), Images(term.maps, D)).coefficients[4]
        np.testing.assert_allclose(leading, expected)
