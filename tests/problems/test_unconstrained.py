"""The block of atoms that a quadratic SDP proposes at M = 0: exact where it can be, right in rank, cheap."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import QuadraticSDP
from psdopt.linalg.limits import ITERATED_ORDER, SPECTRUM_ORDER
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import MINOR
from psdopt.problems.unconstrained import positive_part
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm

from ..instances import psd

N = 6


def unconstrained(A, b, C):
    """N with A N A + b N = −C."""
    a, V = np.linalg.eigh(A)
    return V @ (-(V.T @ C @ V) / (np.outer(a, a) + b)) @ V.T


@pytest.mark.parametrize("C", [np.eye(5), None])
def test_nothing_where_no_direction_leads_down(C):
    assert QuadraticSDP(np.eye(5), 1.0, C).starts.first_atoms() is None


def test_singular_without_b_stays_finite():
    A = np.diag([1.0, 0.0, 0.0])
    W = QuadraticSDP(A, None, np.diag([-1.0, 0.0, 1.0])).starts.first_atoms()
    assert np.isfinite(W).all()
    assert abs(W[0, 0] ** 2 - 1.0) <= 1e-12


def test_at_most_two_columns_of_products_per_feature_and_none_where_forming_is_dear():
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.standard_normal((200, ITERATED_ORDER)) * (rng.random((200, ITERATED_ORDER)) < 0.02))
    problem = QuadraticSDP(GramForm(LinearMap(X)), 1.0, -np.eye(ITERATED_ORDER))
    assert problem.starts.first_atoms() is not None
    assert problem.counts()["operator_columns"] <= 2 * ITERATED_ORDER
    wide = sp.csr_array(rng.standard_normal((50, ITERATED_ORDER + 1)) * (rng.random((50, ITERATED_ORDER + 1)) < 0.02))
    problem = QuadraticSDP(GramForm(LinearMap(wide)), 1.0, -sp.eye_array(ITERATED_ORDER + 1))
    assert problem.starts.first_atoms() is None
    assert problem.counts()["operator_columns"] == 0
    n = SPECTRUM_ORDER + 1
    assert QuadraticSDP(aslinearoperator(sp.eye_array(n)), 1.0, -sp.eye_array(n)).starts.first_atoms() is None


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
    first = QuadraticSDP(A, b, C).starts.first_atoms()
    np.testing.assert_allclose(first @ first.T, W @ W.T, atol=1e-9 * scale * N)
    np.testing.assert_allclose(unconstrained(A, b, C), minimum, atol=1e-9 * scale * N)
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
    for form in (GramForm(X), GramForm(LinearMap(sp.csr_array(X))), MatrixForm(X.T @ X)):
        W = positive_part(form, IdentityForm(N, 0.4), MatrixForm(-np.eye(N)), N, none)
        np.testing.assert_allclose(W @ W.T, unconstrained(X.T @ X, 0.4, -np.eye(N)), atol=1e-9)
