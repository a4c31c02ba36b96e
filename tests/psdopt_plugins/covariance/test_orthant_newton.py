"""The sparse inverse covariance: optimality conditions, a bound that is one, units, independent sets, refusals."""

import numpy as np
import pytest

from psdopt import Constrained, TermSum, constraints, solve
from psdopt.errors import InvalidInputError
from psdopt.terms import LinearTerm, LogDet
from psdopt_plugins.covariance import sparse_inverse


def covariance(n, m, seed=0):
    """The covariance of m samples of a chain with some more links."""
    rng = np.random.default_rng(seed)
    M = np.eye(n) + 0.4 * (np.eye(n, k=1) + np.eye(n, k=-1))
    M[0, -1] = M[-1, 0] = 0.2
    X = rng.standard_normal((m, n)) @ np.linalg.inv(np.linalg.cholesky(M)).T
    return X.T @ X / m


def value(S, M, alpha):
    off = np.abs(M).sum() - np.trace(np.abs(M))
    return np.sum(S * M) - np.linalg.slogdet(M)[1] + alpha * off


@pytest.mark.parametrize(("n", "m", "alpha"), [(2, 50, 0.05), (12, 60, 0.1), (40, 30, 0.15), (60, 200, 0.02)])
def test_conditions_of_optimality(n, m, alpha):
    S = covariance(n, m, n)
    found = sparse_inverse(S, alpha, tol=1e-9)
    M, G = found.precision, S - np.linalg.inv(found.precision)
    assert found.converged
    assert found.bound <= found.value <= found.bound + 1e-9 * n
    assert found.value == pytest.approx(value(S, M, alpha), rel=1e-12)
    W, room = found.dual, alpha * ~np.eye(n, dtype=bool)
    assert np.all(np.abs(W - S) <= room + 4e-16 * np.abs(S).max())
    assert n + np.linalg.slogdet(W)[1] == pytest.approx(found.bound, abs=1e-11 * n)
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_allclose(found.covariance @ M, np.eye(n), atol=1e-9)
    off = ~np.eye(n, dtype=bool)
    there, gone = off & (M != 0.0), off & (M == 0.0)
    np.testing.assert_allclose(G[there], -alpha * np.sign(M[there]), atol=1e-4)
    assert np.all(np.abs(G[gone]) <= alpha + 1e-4)
    np.testing.assert_allclose(np.diagonal(G), 0.0, atol=1e-4)


def test_the_interior_point_finds_the_same_where_the_pattern_is_known():
    S, alpha = covariance(8, 60, 1), 0.1
    found = sparse_inverse(S, alpha, tol=1e-10)
    i, j = np.nonzero(np.triu(found.precision == 0.0, 1))
    C = S + alpha * np.sign(found.precision) * ~np.eye(8, dtype=bool)
    problem = Constrained(TermSum([LinearTerm(C), LogDet(8)]), constraints.entries(i, j, 8, 0.0))
    result = solve(problem, tol=1e-10)
    assert result.optimal
    assert found.value == pytest.approx(result.value, abs=1e-7)


def test_no_candidate_is_below_the_bound_and_a_rough_run_claims_little():
    S, alpha = covariance(15, 40, 2), 0.1
    best = sparse_inverse(S, alpha, tol=1e-12)
    for steps in (1, 2, 3, 5):
        rough = sparse_inverse(S, alpha, tol=1e-12, max_iter=steps)
        assert rough.bound <= best.value + 1e-12
        assert rough.value >= best.bound - 1e-12
        assert rough.converged is bool(rough.value - rough.bound <= 1e-12 * 15)
    assert not sparse_inverse(S, alpha, tol=1e-12, max_iter=1).converged


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_units_change_nothing(size):
    S = covariance(20, 30, 3)
    plain, scaled = sparse_inverse(S, 0.1), sparse_inverse(size * S, 0.1 * size)
    assert plain.converged
    assert scaled.converged
    np.testing.assert_allclose(size * scaled.precision, plain.precision, atol=1e-4 * np.abs(plain.precision).max())
    assert scaled.value - 20 * np.log(size) == pytest.approx(plain.value, abs=1e-4)


def test_sets_that_nothing_joins_are_solved_apart():
    one, two = covariance(5, 40, 4), covariance(6, 40, 5)
    S = np.zeros((12, 12))
    S[:5, :5], S[5:11, 5:11], S[11, 11] = one, two, 3.0
    S[0, 7] = S[7, 0] = 0.05
    together, apart = sparse_inverse(S, 0.1, 1e-9), [sparse_inverse(each, 0.1, 1e-9) for each in (one, two)]
    assert together.value == pytest.approx(sum(each.value for each in apart) + 1.0 + np.log(3.0), rel=1e-8)
    assert np.all(together.precision[:5, 5:] == 0.0)
    assert together.precision[11, 11] == pytest.approx(1.0 / 3.0)
    np.testing.assert_array_equal(together.dual[:5, :5], apart[0].dual)
    assert together.steps == sum(each.steps for each in apart)


def test_a_large_penalty_leaves_the_diagonal_and_none_the_inverse():
    S = covariance(6, 50, 6)
    far = sparse_inverse(S, 10.0)
    np.testing.assert_allclose(far.precision, np.diag(1.0 / np.diagonal(S)))
    assert (far.steps, far.value - far.bound) == (0, 0.0)
    none = sparse_inverse(S, 0.0, tol=1e-10)
    assert none.converged
    np.testing.assert_allclose(none.precision @ S, np.eye(6), atol=1e-4)
    np.testing.assert_array_equal(none.dual, S)


def test_refusals():
    S = covariance(4, 3, 7)
    with pytest.raises(InvalidInputError, match="alpha must be larger for a singular covariance"):
        sparse_inverse(S, 0.0)
    assert sparse_inverse(S, 0.2).converged
    S[2] = S[:, 2] = 0.0
    with pytest.raises(InvalidInputError, match="variances must be positive; found 0 for variable 2"):
        sparse_inverse(S, 0.1)
    with pytest.raises(InvalidInputError, match="alpha"):
        sparse_inverse(np.eye(3), -1.0)
    with pytest.raises(InvalidInputError, match="tol"):
        sparse_inverse(np.eye(3), 1.0, 0.0)


def test_the_penalty_counts_beside_a_diagonal_of_other_units():
    """F(M) and its gap where M_ii spans 1e30: the sum of all |M_ij| has no digit of those off the diagonal."""
    S = np.array([[1e14, 3.0, 0.0], [3.0, 1e-13, 0.0], [0.0, 0.0, 1.0]])
    found = sparse_inverse(S, 2.99, tol=1e-9)
    M, penalty = found.precision, 2.0 * 2.99 * abs(found.precision[0, 1])
    scale = np.sqrt(np.diag(M))
    log_det = np.linalg.slogdet(M / np.outer(scale, scale))[1] + 2.0 * np.log(scale).sum()
    assert penalty > 0.005
    assert found.value == pytest.approx(np.sum(S * M) - log_det + penalty, abs=1e-12)
    assert 0.0 <= found.value - found.bound <= 3e-9 or not found.converged


def test_a_penalty_below_the_rounding_of_a_singular_covariance_is_refused():
    units = 10.0 ** np.array([5.5, 0.5, 3.3, -6.0, -5.3, 6.1, -2.2, 3.3, 3.1])
    X = np.random.default_rng(0).standard_normal((4, 9)) * units
    with pytest.raises(InvalidInputError, match="alpha must be larger for a singular covariance"):
        sparse_inverse(X.T @ X / 4, 1e-4)
