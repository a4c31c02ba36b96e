"""What terms, losses and forms take a short cut for: weights of zero, scales of one, traces that are only probed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.contracts.images import Images
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms import (
    Entries,
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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_traces_of_weighted_gram_forms(kind):
    rng = np.random.default_rng(3)
    X, T = rng.standard_normal((7, N)), symmetric(rng, 7)
    form = WeightedGramForm(kind(X), T, 0.3)
    np.testing.assert_allclose(form.full_trace(), 0.3 * np.trace(X.T @ T @ X), rtol=1e-12)
    np.testing.assert_allclose(
        form.diagonal(), 0.3 * np.diag(X.T @ T @ X), rtol=0.0, atol=1e-12 * np.abs(X.T @ T @ X).max()
    )


@pytest.mark.parametrize("name", ["product", "linear", "squares", "hinge"])
def test_features_are_carried_along_lines_and_planes(name):
    rng = np.random.default_rng(4)
    A, B, X = symmetric(rng, N), symmetric(rng, N), rng.standard_normal((6, N))
    term = {
        "product": lambda: ProductTerm(A, B, -0.7),
        "linear": lambda: LinearTerm(A, -0.7),
        "squares": lambda: MeasuredTerm(QuadraticForms(X), LeastSquares(0.4), -0.7),
        "hinge": lambda: MeasuredTerm(QuadraticForms(X), SquaredHinge(0.4), -0.7),
    }[name]()
    Y, D, v = rng.standard_normal((N, 2)), rng.standard_normal((N, 2)), rng.standard_normal((N, 1))
    U = Images(term.maps, Y)
    here = term.features(U)

    def value(factor):
        return term.value(term.features(Images(term.maps, factor)))

    line, plane = term.along(U, here, Images(term.maps, D)), term.along_atom(U, here, Images(term.maps, v))
    for mu in (0.0, 0.4, -1.3):
        np.testing.assert_allclose(line.value(mu), value(Y + mu * D), rtol=1e-11)
        np.testing.assert_allclose(term.value(line.features_at(mu)), value(Y + mu * D), rtol=1e-11)
    for alpha, beta in ((1.0, 0.0), (0.5, 0.25), (0.0, 2.0), (2.0, 3.0)):
        expected = value(np.hstack([np.sqrt(alpha) * Y, np.sqrt(beta) * v]))
        np.testing.assert_allclose(plane.value(alpha, beta), expected, rtol=1e-11, atol=1e-12)
        features = plane.features_at(alpha, beta)
        if features is not None:
            np.testing.assert_allclose(term.value(features), expected, rtol=1e-11, atol=1e-12)


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


@pytest.mark.parametrize("dense", [True, False])
def test_entries_pair_two_factors_in_both_orders(dense, monkeypatch):
    """a_t = (U_i V_jᵀ + V_i U_jᵀ) / 2, from one product or gathered; symmetric in U and V."""
    monkeypatch.setattr("psdopt.terms.measurements.MOST_ROWS", 4096 if dense else 0)
    rng = np.random.default_rng(5)
    i, j = np.triu_indices(N)
    entries = Entries(i, j, N)
    assert entries._dense is dense
    Y, Z = rng.standard_normal((2, N, 2))
    U, V = Images((), Y), Images((), Z)
    M = 0.5 * (Y @ Z.T + Z @ Y.T)
    np.testing.assert_allclose(entries.pair(U, V), M[i, j], atol=1e-14)
    np.testing.assert_allclose(entries.pair(U, U), (Y @ Y.T)[i, j], atol=1e-14)
    first, second = entries.along(U, V)
    np.testing.assert_allclose(first, 2.0 * M[i, j], atol=1e-14)
    np.testing.assert_allclose(second, (Z @ Z.T)[i, j], atol=1e-14)
