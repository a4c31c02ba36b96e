"""Kernel learning (10): dense formula, closed form at every rank, the estimator, bad input with its text."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_iris

from psdopt import FlatQuotient, QuadraticSDP, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.kernel_learning import QuadraticKernel, quadratic_kernel_problem
from psdopt_plugins.pairs import signed_pairs

m = 10
RNG = np.random.default_rng(0)
G = RNG.standard_normal((m, m))
N = G @ G.T / m + 0.2 * np.eye(m)
N = 0.5 * (N + N.T)
T = signed_pairs(([(0, 1), (2, 3)], [(0, 4), (1, 5), (2, 6), (7, 8), (8, 9)]), m).laplacian()
X, Y = load_iris(return_X_y=True)


def naive(K, N, tau, lam):
    P = np.linalg.inv(N)
    return np.trace(P @ K @ P @ K) + np.trace((tau * P + lam * T.toarray()) @ K)


def closed_form(N, tau, lam, rank):
    w, V = np.linalg.eigh(N)
    root = V * np.sqrt(w) @ V.T
    values, U = np.linalg.eigh(-0.5 * (tau * np.eye(m) + lam * root @ T.toarray() @ root))
    values, U = np.maximum(values[::-1][:rank], 0.0), U[:, ::-1][:, :rank]
    return root @ (U * values @ U.T) @ root, -np.sum(values**2)


@pytest.mark.parametrize("convert", [sp.csr_array, sp.csr_array.toarray, aslinearoperator])
@pytest.mark.parametrize("base", [N, 2.5], ids=["array", "number"])
@pytest.mark.parametrize("tau", [0.0, 0.6])
def test_value_against_the_dense_formula(base, tau, convert):
    dense = N if base is N else base * np.eye(m)
    problem = quadratic_kernel_problem(base, convert(T), tau, 1.3)
    assert isinstance(problem, QuadraticSDP)
    Y = RNG.standard_normal((m, 3))
    assert problem.at(Y).value == pytest.approx(naive(Y @ Y.T, dense, tau, 1.3), rel=1e-11)
    W = np.linalg.inv(np.linalg.cholesky(dense)) @ Y
    assert problem.whitened().at(W).value == pytest.approx(problem.at(Y).value, rel=1e-11)


@pytest.mark.parametrize("rank", [1, 2, 5, 9, 10])
@pytest.mark.parametrize("tau", [0.0, 0.6])
def test_every_rank_reaches_the_closed_form(tau, rank):
    expected, value = closed_form(N, tau, 1.3, rank)
    problem = quadratic_kernel_problem(N, T, tau, 1.3)
    np.testing.assert_allclose(problem.solve_in_closed_form(rank).to_dense(), expected, atol=1e-12)
    assert solve(problem, FlatQuotient(m, rank), tol=1e-7).value == pytest.approx(value, rel=1e-9)
    result = solve(problem.whitened(), FlatQuotient(m, rank), tol=1e-7)
    assert result.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(problem.unwhitened(result.matrix).to_dense(), expected, atol=1e-4)


def test_large_tau_gives_zero():
    bound = -np.linalg.eigvalsh(np.linalg.cholesky(N).T @ T.toarray() @ np.linalg.cholesky(N))[0]
    assert solve(quadratic_kernel_problem(N, T, 1.01 * bound, 1.0)).matrix.norm() == 0.0
    assert solve(quadratic_kernel_problem(N, T, 0.99 * bound, 1.0)).matrix.norm() > 0.0
    with pytest.warns(UserWarning, match="M = 0: all kernel values are zero; lower tau, or change the pairs"):
        assert QuadraticKernel(tau=1e6).fit(X, Y).embedding_.shape == (150, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((N - 3.0 * np.eye(m), T, 0.0, 1.0), InvalidInputError,
         r"N must be positive definite; found smallest eigenvalue -2\.\d+ .* Add jitter to the diagonal"),
        ((-1.0, T, 0.0, 1.0), InvalidInputError, "N must be positive definite; found the number -1.0"),
        ((sp.csr_array(N), T, 0.0, 1.0), InvalidTypeError, "N must be a dense .* or a positive number; found csr"),
        ((N[:4, :4], T, 0.0, 1.0), InvalidInputError, r"N must be of order 10 .* found shape \(4, 4\)"),
        ((np.triu(N), T, 0.0, 1.0), InvalidInputError, "N must be symmetric; found max"),
        ((np.where(N > 1.0, np.nan, N), T, 0.0, 1.0), InvalidInputError, "N must be finite"),
        ((N, sp.triu(T, format="csr"), 0.0, 1.0), InvalidInputError, "T must be symmetric; found max"),
        ((N, T, -0.1, 1.0), InvalidInputError, "tau must be a finite number of at least 0; found -0.1"),
        ((N, T, 0.0, -1.0), InvalidInputError, "lam must be a finite number of at least 0; found -1.0"),
    ],
)  # fmt: skip
def test_bad_input_of_the_problem(arguments, error, text):
    with pytest.raises(error, match=text):
        quadratic_kernel_problem(*arguments)


@pytest.mark.parametrize("rank", [None, 4])
def test_embedding_and_kernel_of_the_estimator(rank):
    model = QuadraticKernel(rank=rank, tau=0.5).fit(X, Y)
    K = model.kernel_.to_dense()
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, K, atol=1e-12 * np.linalg.norm(K))
    np.testing.assert_allclose(model.result_.matrix.to_dense(), K, atol=1e-10 * np.linalg.norm(K))
    # out of sample, at the training samples: off by the jitter only
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-4)
    assert model.result_.converged
    assert rank is None or model.embedding_.shape == (150, rank)


def test_pairs_instead_of_labels_and_order_of_samples():
    pairs = ([(0, 1), (60, 61)], [(0, 60), (1, 61), (70, 140)])
    model = QuadraticKernel(tau=0.1, bandwidth=1.5).fit(X, pairs=pairs)
    assert model.result_.optimal
    order = np.random.default_rng(0).permutation(150)
    where = np.argsort(order)
    moved = QuadraticKernel(tau=0.1, bandwidth=1.5).fit(X[order], pairs=tuple(where[np.array(part)] for part in pairs))
    K = model.kernel_.to_dense()
    np.testing.assert_allclose(moved.kernel_.to_dense(), K[np.ix_(order, order)], atol=1e-8 * np.abs(K).max())


def test_bad_input_of_the_estimator():
    with pytest.raises(InvalidInputError, match=r"N must be positive definite; .* Add jitter"):
        QuadraticKernel(jitter=0.0, bandwidth=100.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="pairs must hold indices between 0 and 149; found 150"):
        QuadraticKernel().fit(X, pairs=([(0, 150)], []))
