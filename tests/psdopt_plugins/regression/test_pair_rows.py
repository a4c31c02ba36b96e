"""Blocks of rows for kernels from distances: the true ones and their inverses, what they leave, and fewer steps."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, MomentPreconditioner, TermSum, solve
from psdopt.linalg.tolerances import EPS
from psdopt_plugins.regression import pair_rows, psd_regression_problem

N = 30


def pairs_of(per_sample, n=N, seed=0):
    """Distinct pairs, and the last sample in none of them."""
    i, j = np.triu_indices(n - 1, 1)
    chosen = np.random.default_rng(seed).choice(len(i), per_sample * n, replace=False)
    return np.column_stack([i[chosen], j[chosen]])


def distances(per_sample, n=N, spread=4, seed=0):
    """Noisy squared distances of Gaussian points."""
    rng = np.random.default_rng(seed)
    pairs, points = pairs_of(per_sample, n, seed), rng.standard_normal((n, spread))
    squared = np.sum((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2, axis=1)
    return psd_regression_problem(None, squared * rng.uniform(0.7, 1.3, len(pairs)), pairs, n=n)


def blocks(problem, Y):
    """4/m Σ δδᵀ for each sample, pair by pair."""
    measurement = problem.terms[0].measurement
    found = np.zeros((problem.n, Y.shape[1], Y.shape[1]))
    for i, j in zip(measurement.i, measurement.j, strict=True):
        outer = np.outer(Y[i] - Y[j], Y[i] - Y[j])
        found[i] += outer
        found[j] += outer
    return 4.0 / measurement.size * found


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("r", [1, 2, 5])
def test_it_inverts_the_block_of_each_sample(r, offset, repeated):
    pairs = pairs_of(3)
    pairs = np.concatenate([pairs, pairs[:7, ::-1]]) if repeated else pairs
    problem = psd_regression_problem(None, 1.0, pairs, n=N)
    rng = np.random.default_rng(1)
    Y, R = rng.standard_normal((N, r)) + offset, rng.standard_normal((N, r))
    B = blocks(problem, Y)
    ridge = pair_rows.SLIGHT * np.trace(B, axis1=1, axis2=2).mean() / r
    shifted = B + ridge * np.eye(r)
    expected = np.linalg.solve(shifted, R[:, :, None])[:, :, 0]
    condition = np.linalg.norm(shifted, 2, axis=(1, 2)).max() / ridge
    found = problem.at(Y).preconditioner()(R)
    allowed = 64 * EPS * max(1.0, offset) * condition * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=allowed)
    np.testing.assert_allclose(found[-1], R[-1] / ridge)  # a sample without pairs


def test_the_blocks_are_those_of_the_gauss_newton_hessian():
    """Where the residuals vanish the Hessian is Gauss-Newton's: its diagonal blocks, column by column."""
    pairs, Y = pairs_of(3), np.random.default_rng(2).standard_normal((N, 3))
    exact = np.sum((Y[pairs[:, 0]] - Y[pairs[:, 1]]) ** 2, axis=1)
    problem = psd_regression_problem(None, exact, pairs, n=N)
    here, B = problem.at(Y), blocks(problem, Y)
    for sample in (0, 7):
        for column in range(3):
            D = np.zeros((N, 3))
            D[sample, column] = 1.0
            np.testing.assert_allclose(here.hessian_vector(D)[sample], B[sample, column], rtol=0, atol=1e-12)


def test_where_blocks_say_nothing_the_moment_has_to_do(monkeypatch):
    problem, rng = distances(3), np.random.default_rng(0)
    R = rng.standard_normal((N, 2))
    zero = problem.at(np.zeros((N, 2)))
    expected = MomentPreconditioner(problem.terms).at(zero)(R)
    np.testing.assert_array_equal(zero.preconditioner()(R), expected)
    Y = rng.standard_normal((N, 3))
    wide = problem.at(Y)
    monkeypatch.setattr(pair_rows, "HIGHEST_RANK", 2)
    expected = MomentPreconditioner(problem.terms).at(wide)(Y)
    np.testing.assert_array_equal(wide.preconditioner()(Y), expected)
    monkeypatch.setattr(pair_rows, "HIGHEST_RANK", 16)
    monkeypatch.setattr(pair_rows, "dpbtrf", lambda band, **options: (band, 1))
    np.testing.assert_array_equal(wide.preconditioner()(Y), expected)


@pytest.mark.parametrize("per_sample", [2, 4, 10])
def test_it_saves_most_of_the_steps(per_sample):
    problem = distances(per_sample, n=40)
    before = TermSum(problem.terms, preconditioner=MomentPreconditioner(problem.terms))
    start = LowRankPSD(np.random.default_rng(3).standard_normal((40, 10)))
    run = solve(problem, FlatQuotient(40, 10), ConjugateGradient(), start=start, tol=1e-6)
    most = 2 * run.iterations
    slow = solve(before, FlatQuotient(40, 10), ConjugateGradient(), start=start, tol=1e-6, max_iterations=most)
    assert slow.iterations == most


def test_data_and_bounds_keep_the_moment():
    X = np.random.default_rng(0).standard_normal((N, 3))
    for problem in (
        psd_regression_problem(X, 1.0),
        psd_regression_problem(X, 1.0, pairs_of(2)),
        psd_regression_problem(None, 1.0, pairs_of(2), 1.0, n=N),
    ):
        assert isinstance(problem.preconditioner, MomentPreconditioner)
