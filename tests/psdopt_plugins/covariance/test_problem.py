"""The dual of a sparse inverse covariance: the same answer by the interior point, scaled units, refusals."""

import numpy as np
import pytest

from psdopt import certify, solve
from psdopt.errors import InvalidInputError
from psdopt_plugins.covariance import covariance_problem, sparse_inverse
from tests.psdopt_plugins.covariance.test_orthant_newton import covariance


@pytest.mark.parametrize(("n", "alpha"), [(2, 0.05), (8, 0.1), (15, 0.3)])
def test_its_minimum_is_that_of_the_sparse_inverse(n, alpha):
    S = covariance(n, 4 * n, n)
    found = sparse_inverse(S, alpha, tol=1e-10)
    result = solve(covariance_problem(S, alpha), tol=1e-9)
    assert result.optimal
    assert n - result.value == pytest.approx(found.value, abs=1e-7 * n)
    np.testing.assert_allclose(np.linalg.inv(result.matrix.to_dense()), found.precision, atol=1e-3)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_inverse_is_the_multiplier(size):
    n, alpha = 12, 0.1
    S = size * covariance(n, 40, 1)
    found = sparse_inverse(S, size * alpha, tol=1e-9)
    i, j = np.tril_indices(n)
    y = np.where(i == j, 1.0, 2.0) * found.precision[i, j]
    certificate = certify(covariance_problem(S, size * alpha), np.linalg.cholesky(found.dual), dual=y)
    assert certificate.gap <= 1e-9 * n + certificate.rounding
    assert not certificate.misses(1e-12)
    rough = certify(covariance_problem(S, size * alpha), np.linalg.cholesky(found.dual), dual=1.1 * y)
    assert rough.gap > 1e-3


def test_without_a_penalty_only_the_covariance_is_feasible():
    S = covariance(4, 30, 2)
    result = solve(covariance_problem(S, 0.0))
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense(), S, atol=1e-6)


def test_refusals():
    S = np.eye(3)
    S[1, 1] = 0.0
    with pytest.raises(InvalidInputError, match="S must have a positive diagonal; found 0 for variable 1"):
        covariance_problem(S, 0.1)
    with pytest.raises(InvalidInputError, match="alpha"):
        covariance_problem(np.eye(3), -0.1)
    with pytest.raises(InvalidInputError, match="S"):
        covariance_problem(np.triu(np.ones((3, 3))), 0.1)
