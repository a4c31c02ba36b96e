"""The curvature stored with a problem: exact in any units of M, and not defined where F is flat or infinite."""

import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP, TermSum
from psdopt.certificates.stored_curvature import identity_shift, inverse_root, inverse_shift, origin
from psdopt.terms import Entries, LeastSquares, MeasuredTerm
from tests.instances import psd, symmetric


@pytest.mark.parametrize("unit", [1e-18, 1.0, 1e18])
def test_the_curvature_has_all_digits_in_any_unit_of_m(unit):
    """F(M / unit): ∇F(0) is 1/unit times, the curvature 1/unit² times what it was."""
    rng = np.random.default_rng(0)
    A, C = psd(rng, 5) + np.eye(5), symmetric(rng, 5)
    problem = QuadraticSDP(A / unit, None, C / unit)
    K = origin(problem).curvature * unit**2
    np.testing.assert_allclose(K, 2.0 * A @ A, atol=1e-12 * np.abs(A @ A).max())
    assert np.all(np.isfinite(inverse_shift(problem).H))


def test_each_shift_is_the_curvature_along_its_own_matrix():
    rng = np.random.default_rng(1)
    A, C = psd(rng, 4) + np.eye(4), symmetric(rng, 4)
    problem = QuadraticSDP(A, None, C)
    identity, inverse = identity_shift(problem), inverse_shift(problem)
    K = 2.0 * A @ A
    np.testing.assert_allclose(identity.H, K, rtol=1e-10, atol=1e-10)
    Z = np.linalg.inv(K)
    Z *= inverse.diagonal.sum() / np.trace(Z)
    np.testing.assert_allclose(inverse.diagonal, np.diagonal(Z), rtol=1e-8)
    np.testing.assert_allclose(inverse.H, 2.0 * A @ Z @ A, rtol=1e-8, atol=1e-8)
    assert identity.bend == pytest.approx(np.trace(K))
    assert inverse.bend == pytest.approx(np.sum(inverse.H * Z))


def test_nothing_is_stored_where_there_is_nothing():
    flat = TermSum([MeasuredTerm(Entries([0], [1], 3), LeastSquares(1.0))])  # off the diagonal only
    assert inverse_shift(flat) is None
    assert inverse_root(np.full((2, 2), np.nan)) is None
    assert inverse_root(-np.eye(2)) is None
    barrier = AutogradProblem(lambda M: 1.0 / np.trace(M), 2, convex=True)
    assert not origin(barrier).gradient.any()
    assert origin(barrier).curvature.size == 0
