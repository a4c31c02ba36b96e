"""Closed forms, starts and bounds of problems against dense minimisers, in units that are not one."""

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.problems.share_bound import _largest_share
from psdopt.problems.unconstrained import positive_part
from psdopt.terms import GramForm, IdentityForm, MatrixForm
from tests.instances import psd

N = 6


def minimum_over_symmetric(A, b, C):
    """N with A N A + b N = −C."""
    a, V = np.linalg.eigh(A)
    return -V @ ((V.T @ C @ V) / (np.outer(a, a) + b)) @ V.T


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_closed_form_of_a_congruence_and_of_an_interior_minimum(ridge):
    rng = np.random.default_rng(1)
    A, P = psd(rng, N) + 0.5 * np.eye(N), psd(rng, N) + 0.1 * np.eye(N)
    C = -(A @ P @ A) - ridge * P  # the minimum over symmetric matrices is P
    problem = QuadraticSDP(A, B=IdentityForm(N, ridge) if ridge else None, C=C)
    np.testing.assert_allclose(problem.solve_in_closed_form().to_dense(), P, rtol=1e-7, atol=1e-9)
    if ridge:
        assert QuadraticSDP(A, B=IdentityForm(N, ridge), C=-C).solve_in_closed_form() is None  # −P is the minimum


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("negative", [1, 2, 3, 5])
def test_starts_are_the_positive_part_of_the_minimum_over_symmetric_matrices(scale, negative):
    """With more than n/2 positive eigenvalues all n columns come back, the others raised to a share of the median."""
    rng = np.random.default_rng(2)
    A = psd(rng, N) + 0.5 * np.eye(N)
    Q = np.linalg.qr(rng.standard_normal((N, N)))[0]
    values = np.arange(1.0, N + 1.0)
    values[:negative] *= -1.0
    minimum = scale * (Q * values) @ Q.T
    b = 0.7
    C = -(A @ minimum @ A) - b * minimum
    seen = []
    W = positive_part(MatrixForm(A), IdentityForm(N, b), MatrixForm(C), N, seen.append)
    expected = np.maximum(values, 0.0)
    if 2 * (N - negative) > N:
        expected = np.maximum(values, MINOR * np.median(values[negative:]))
        assert W.shape == (N, N)
    else:
        assert W.shape == (N, N - negative)
    np.testing.assert_allclose(W @ W.T, scale * (Q * expected) @ Q.T, atol=1e-9 * scale * N)
    np.testing.assert_allclose(minimum_over_symmetric(A, b, C), minimum, atol=1e-9 * scale * N)
    np.testing.assert_allclose(seen[0].a, np.linalg.eigvalsh(A))
    formless = positive_part(None, IdentityForm(N, b), MatrixForm(-b * minimum), N, seen.append)
    np.testing.assert_allclose(formless @ formless.T, W @ W.T, atol=1e-9 * scale * N)
    assert len(seen) == 1


def test_starts_without_a_positive_part_or_an_inverse():
    rng = np.random.default_rng(3)
    A = psd(rng, N) + np.eye(N)
    none = lambda basis: None  # noqa: E731
    assert positive_part(MatrixForm(A), None, None, N, none) is None
    assert positive_part(MatrixForm(A), None, MatrixForm(np.eye(N)), N, none) is None
    assert positive_part(MatrixForm(np.zeros((N, N))), None, MatrixForm(-np.eye(N)), N, none) is None
    X = rng.standard_normal((2, N))  # a Gram form is formed by products, a few columns at a time
    for form in (GramForm(X), MatrixForm(X.T @ X)):
        W = positive_part(form, IdentityForm(N, 0.4), MatrixForm(-np.eye(N)), N, none)
        np.testing.assert_allclose(W @ W.T, minimum_over_symmetric(X.T @ X, 0.4, -np.eye(N)), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_largest_share_by_hand(unit):
    """C + θ G ⪰ 0 for C = diag(1, 4) and G with a negative eigenvalue: θ = min(1, −1 / λ_min(G, C))."""
    C = unit * np.diag([1.0, 4.0])
    for diagonal, expected in (((-2.0, 1.0), 0.5), ((-0.5, -2.0), 1.0), ((-1.25, -16.0), 0.25), ((3.0, 0.0), 1.0)):
        share = _largest_share(C, unit * np.diag(diagonal))
        assert expected * (1.0 - 1e-5) <= share <= expected
    assert _largest_share(np.zeros((2, 2)), np.zeros((2, 2))) == 1.0
    assert _largest_share(unit * np.diag([-1.0, 1.0]), unit * np.diag([0.5, 0.0])) is None
    assert _largest_share(unit * np.diag([-1.0, 1.0]), unit * np.diag([2.0, 0.0])) == 1.0
    # rows of very different units
    D = np.diag([1e-4, 1e4])
    assert _largest_share(D @ C @ D, D @ (unit * np.array([[-2.0, 0.1], [0.1, 1.0]])) @ D) == pytest.approx(
        _largest_share(C, unit * np.array([[-2.0, 0.1], [0.1, 1.0]])), rel=1e-4
    )
    empty = np.diag([1.0, 0.0])  # a row without entries in either
    assert _largest_share(unit * empty, -2.0 * unit * empty) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_singular_interior_minimum_is_one_in_any_unit(scale):
    """N has eigenvalues of rounding, of both signs and of any size: they are cut, and N is the answer."""
    rng = np.random.default_rng(4)
    A, P = psd(rng, N) + 0.5 * np.eye(N), scale * psd(rng, N, 3)
    C = -(A @ P @ A) - 0.5 * P
    found = QuadraticSDP(A, B=IdentityForm(N, 0.5), C=C).solve_in_closed_form()
    np.testing.assert_allclose(found.to_dense(), P, atol=1e-9 * scale * N)
    negative = C + 1e-3 * scale * A @ A  # the minimum has eigenvalues that are negative beyond rounding
    assert QuadraticSDP(A, B=IdentityForm(N, 0.5), C=negative).solve_in_closed_form() is None


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_is_singular_is_so_in_any_unit(scale):
    C = -np.eye(3)
    assert QuadraticSDP(scale * np.diag([1.0, 0.5, 0.0]), C=C).solve_in_closed_form() is None
    found = QuadraticSDP(scale * np.diag([1.0, 0.5, 1e-3]), C=C).solve_in_closed_form()
    np.testing.assert_allclose(found.to_dense(), np.diag([1.0, 4.0, 1e6]) / scale**2, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 30])
def test_one_eigenvalue_of_the_interior_minimum_decides(n):
    """N = −C / (1 + b): negative by n eps it is singular, and by 1e-6 it is no answer."""
    for least, answered in ((-n * EPS, True), (-1e-6, False)):
        N_values = np.linspace(1.0, 2.0, n)
        N_values[0] = 2.0 * least
        found = QuadraticSDP(np.eye(n), 1.0, -2.0 * np.diag(N_values)).solve_in_closed_form()
        assert (found is not None) is answered
        if answered:
            np.testing.assert_allclose(found.to_dense(), np.diag(np.maximum(N_values, 0.0)), atol=1e-12)
