"""The pencil D ↦ A D P + D (b Q + eta I), inverted by hand in tests/problems: leading pairs, singular factors."""

import numpy as np
import pytest

from psdopt.linalg.pencil import EigenBasis, pencil_inverse

N, R = 9, 3


def psd(rng, n, k):
    B = rng.standard_normal((n, k))
    return B @ B.T


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    A, Y = psd(rng, N, N), rng.standard_normal((N, R))
    return rng, A, Y


def test_leading_pairs_replace_the_rest_by_its_mean():
    rng = np.random.default_rng(2)
    U = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    a = np.concatenate([[100.0, 50.0, 20.0], np.full(37, 0.5)])
    A = (U * a) @ U.T
    basis = EigenBasis.leading(lambda B: A @ B, 40, float(a.sum()), 40, k=3, extra=5, passes=4)
    np.testing.assert_allclose(np.sort(basis.a)[::-1], a[:3], rtol=1e-6)
    assert basis.rest == pytest.approx(0.5, rel=1e-4)
    Y = rng.standard_normal((40, R))
    assert basis.squared_norm_of_product(Y) == pytest.approx(np.linalg.norm(A @ Y) ** 2, rel=1e-4)
    P, Q, G = Y.T @ A @ Y, Y.T @ Y, rng.standard_normal((40, R))
    found, expected = (pencil_inverse(x, 0.3, P, Q, 0.2)(G) for x in (basis, EigenBasis.full(A)))
    assert np.linalg.norm(found - expected) <= 1e-3 * np.linalg.norm(expected)


def test_symmetric_positive_definite_and_equivariant_for_singular_factors_too():
    rng, A, Y = drawn(3)
    Y[:, 2] = Y[:, 0]  # rank two
    P, Q = Y.T @ A @ Y, Y.T @ Y
    basis = EigenBasis.full(A)
    solve = pencil_inverse(basis, 0.4, P, Q, 1e-3)
    matrix = np.array([solve(E.reshape(N, R)).ravel() for E in np.eye(N * R)])
    assert np.linalg.norm(matrix - matrix.T) <= 1e-9 * np.linalg.norm(matrix)
    assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0] > 0.0
    turn, G = np.linalg.qr(rng.standard_normal((R, R)))[0], rng.standard_normal((N, R))
    turned = pencil_inverse(basis, 0.4, *(turn.T @ B @ turn for B in (P, Q)), 1e-3)
    np.testing.assert_allclose(turned(G @ turn), solve(G) @ turn, rtol=0, atol=1e-6 * np.abs(solve(G)).max())


def test_a_pencil_that_is_not_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        pencil_inverse(EigenBasis(np.ones(1), None), 1.0, np.eye(R), np.diag([1.0, 0.0, -1e-3]), 1e-4)


def test_a_pencil_that_vanishes_is_left_alone():
    G, zero = np.ones((N, R)), np.zeros((R, R))
    assert pencil_inverse(EigenBasis(np.zeros(1), None), 0.0, zero, zero, 0.0)(G) is G
