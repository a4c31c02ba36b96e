"""Curvatures of terms: f(N) >= f(M) + ⟨S, N − M⟩ + κ/2 |Cᵀ(N − M)C|², as large as it can be, or none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import TermSum
from psdopt.linalg.arrays import vector_of
from psdopt.linalg.tolerances import SLIGHT
from psdopt.terms import (
    Entries,
    HalfSquaredOneSided,
    IdentityForm,
    LeastSquares,
    Linear,
    MeasuredTerm,
    PairDistances,
    ProductTerm,
    QuadraticForms,
    SquaredHinge,
    measured,
)
from psdopt.terms.curvature import MOST_FLOPS, fourth_moment_curvature, product_curvature
from tests.instances import psd, symmetric


def offered(term, Y):
    return TermSum([term]).at(Y).curvatures(thorough=True)


def svec_moments(Z, weights):
    i, j = np.triu_indices(Z.shape[1])
    q = Z[:, i] * Z[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    return q.T @ (weights[:, None] * q)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_a_product_is_its_own_metric_and_a_ridge_a_modulus(n):
    rng = np.random.default_rng(n)
    A, E, Y = psd(rng, n) + np.eye(n), symmetric(rng, n), rng.standard_normal((n, 2))
    (own,) = offered(ProductTerm(*[A] * 2, 3.0), Y)
    quadratic = 0.5 * own.modulus * np.sum((own.root.T @ E @ own.root) ** 2)
    assert quadratic == pytest.approx(3.0 * np.sum((A @ E) * (A @ E).T))
    (ridge,) = offered(ProductTerm(A, IdentityForm(n, 2.0)), Y)
    assert ridge.root is None
    assert ridge.modulus == pytest.approx(2.0 * 2.0 * np.linalg.eigvalsh(A)[0])


def test_moments_of_all_rows_are_formed_once(monkeypatch):
    formed = []
    monkeypatch.setattr(measured, "fourth_moment_curvature", lambda *given: formed.append(given) or [])
    X = np.random.default_rng(0).standard_normal((40, 3))
    here = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(1.0))]).at(np.eye(3))
    for thorough in (False, True, False):
        here.curvatures(thorough)
    assert len(formed) == 1


def test_what_is_flat_or_not_convex_offers_nothing():
    Y, singular = np.eye(3)[:, :2], np.diag([1.0, 1.0, 0.0])
    assert offered(ProductTerm(singular, singular), Y) == []
    assert offered(ProductTerm(-np.eye(3), -np.eye(3)), Y) == []
    assert product_curvature(np.full((2, 2), np.nan), 1.0) == []
    X = np.random.default_rng(0).standard_normal((40, 3))
    for loss in (Linear(1.0), SquaredHinge(1.0), HalfSquaredOneSided(1.0, -1.0)):
        assert offered(MeasuredTerm(QuadraticForms(X), loss), np.zeros((3, 1))) == []
    assert offered(MeasuredTerm(QuadraticForms(X[:5]), LeastSquares(1.0)), Y) == []  # fewer than 6 directions
    assert offered(MeasuredTerm(QuadraticForms(X), LeastSquares(1.0), -1.0), Y) == []
    assert offered(MeasuredTerm(Entries([0, 1], [1, 2], 3), LeastSquares(1.0)), Y) == []


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5), seed=st.integers(0, 2**31), digits=st.floats(0.0, 8.0))
def test_fourth_moments_do_not_depend_on_units_and_are_tight_to_a_tenth(n, seed, digits):
    rng = np.random.default_rng(seed)
    D, weights = rng.standard_normal((30, n)), rng.uniform(0.0, 2.0, 30)
    (plain,) = fourth_moment_curvature(D, weights, MOST_FLOPS)
    whitened = np.linalg.solve(plain.root, D.T).T
    least = np.linalg.eigvalsh(svec_moments(whitened, weights))[0]
    assert least / (1.0 + 2.0 * SLIGHT) <= plain.modulus <= least
    E = symmetric(rng, n)
    image = plain.form @ vector_of(plain.root.T @ E @ plain.root)
    assert np.sum(image**2) == pytest.approx(np.sum(weights * np.einsum("ti,ij,tj->t", D, E, D) ** 2))
    units = 10.0 ** rng.uniform(-0.5 * digits, 0.5 * digits, n)
    (other,) = fourth_moment_curvature(D * units, weights, MOST_FLOPS)
    assert other.modulus == pytest.approx(plain.modulus, rel=2.0 * SLIGHT)


def test_a_part_of_the_rows_gives_a_part_of_the_curvature():
    rng = np.random.default_rng(0)
    D, weights = rng.standard_normal((6000, 3)), np.ones(6000)
    (whole,), (part,) = (fourth_moment_curvature(D, weights, flops) for flops in (6000 * 36.0, 600 * 36.0))
    E = symmetric(rng, 3)
    sizes = [each.modulus * np.sum((each.root.T @ E @ each.root) ** 2) for each in (whole, part)]
    assert 0.05 * sizes[0] < sizes[1] < 0.2 * sizes[0]
    assert fourth_moment_curvature(D, weights, 30.0) == []


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
@pytest.mark.parametrize("kind", ["two-sided", "bounds", "hinge", "squares"])
def test_losses_lie_above_their_parabola_wherever_measurements_may_go(kind, seed):
    rng = np.random.default_rng(seed)
    m = 8
    target, weights = rng.uniform(-1.0, 3.0, m), rng.uniform(0.0, 2.0, m)
    loss = {
        "two-sided": HalfSquaredOneSided(target, rng.choice([-1.0, 0.0, 1.0], m), weights),
        "bounds": HalfSquaredOneSided(target, 1.0, weights),
        "hinge": SquaredHinge(target, rng.choice([-1.0, 1.0], m), weights),
        "squares": LeastSquares(target, weights),
    }[kind]
    a = rng.uniform(0.0, 5.0, m)
    c = loss.least_curvature(a, 0.0)
    assert np.all((c >= 0.0) & (c <= loss.second(a) + 1e-15))
    for x in (np.zeros(m), rng.uniform(0.0, 9.0, m), np.maximum(target, 0.0)):
        excess = loss.value(x) - loss.value(a) - loss.derivative(a) @ (x - a) - 0.5 * c @ (x - a) ** 2
        assert excess >= -1e-12 * (1.0 + loss.value(x))


def test_at_the_floor_a_parabola_is_a_parabola():
    np.testing.assert_array_equal(SquaredHinge(1.0, -1.0).least_curvature(np.zeros(2), 0.0), 2.0)
    found = HalfSquaredOneSided([-1.0, 0.0, 1.0], 1.0).least_curvature(np.zeros(3), 0.0)
    np.testing.assert_array_equal(found, [1.0, 0.0, 0.0])


def test_a_loss_that_overrides_its_derivative_alone_offers_nothing():
    class Cubed(HalfSquaredOneSided):
        degree = None

        def derivative(self, a):
            return super().derivative(a) ** 3

    X = np.random.default_rng(0).standard_normal((40, 3))
    assert offered(MeasuredTerm(QuadraticForms(X), Cubed(1.0)), np.eye(3)) == []


def test_pairs_of_rows_are_measurements_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2)) + 1e6
    i, j = np.triu_indices(30, 1)
    (found,) = offered(MeasuredTerm(PairDistances(i, j, X), LeastSquares(1.0)), np.eye(2))
    differences = X[i] - X[j]
    E = symmetric(rng, 2)
    true = np.sum(np.einsum("ti,ij,tj->t", differences, E, differences) ** 2)
    assert 0.1 * true < 0.5 * found.modulus * np.sum((found.root.T @ E @ found.root) ** 2) <= true


def test_fourth_moments_that_are_barely_definite_give_a_positive_modulus_or_none():
    n, q = 40, 820
    D = np.random.default_rng(0).standard_normal((3 * q, n))
    for least in (1.75e-10, 1.778e-10, 2e-10):  # the spectrum ends where a factorisation of order 820 still succeeds
        weights = np.ones(3 * q)
        weights[q - 3 :] = least
        assert all(found.modulus > 0.0 for found in fourth_moment_curvature(D, weights, 1e12))
