"""Top-k: the problem against |M − K|², the estimator against LAPACK, bad input with its text."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psdopt import FlatQuotient, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.testing.gallery import with_spectrum
from psdopt_plugins.spectral import TopKEigen, topk_problem


def symmetric(n: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("k", range(1, 9))
def test_value_at_every_rank_is_minus_the_sum_of_squares_of_positive_eigenvalues(k):
    K = symmetric(8)
    values = np.maximum(np.linalg.eigvalsh(K)[::-1][:k], 0.0)
    problem = topk_problem(K, k)
    result = solve(problem, FlatQuotient(8, problem.k), tol=1e-9)
    assert result.value == pytest.approx(-np.sum(values**2), rel=1e-10)


SPECTRA = {
    "indefinite": list(np.linspace(-5, 4, 40)),
    "repeated inside": [3.0] * 4 + [2.0] * 4 + list(np.linspace(-2, 0.5, 32)),
    "repeated across k": [3.0] * 3 + [2.0] * 8 + [0.1] * 29,
    "decaying": list(2.0 ** -np.arange(40)),
    "mostly negative": [3.0, *(-np.arange(39.0))],
    "low rank": [5.0, 4.0] + [0.0] * 38,
    "tiny scale": list(1e-9 * np.linspace(-5, 4, 40)),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_eigenpairs_agree_with_lapack(name):
    spectrum = np.sort(SPECTRA[name])[::-1]
    K, k = with_spectrum(SPECTRA[name]), 5
    size = np.abs(spectrum).max()
    exact = spectrum[:k][spectrum[:k] > 100 * EPS * size]
    model = TopKEigen(k=k).fit(K)
    U = model.eigenvectors_
    assert len(model.eigenvalues_) == len(exact)
    np.testing.assert_allclose(model.eigenvalues_, exact, atol=1e-11 * size)
    np.testing.assert_allclose(U.T @ U, np.eye(len(exact)), atol=1e-12)
    assert np.all(np.linalg.norm(K @ U - U * model.eigenvalues_, axis=0) <= 1e-5 * size)
    np.testing.assert_allclose(model.approximation_.to_dense(), U * model.eigenvalues_ @ U.T, atol=1e-12 * size)


@pytest.mark.parametrize("K", [-np.diag(np.arange(1.0, 12.0)), np.zeros((11, 11))], ids=["negative definite", "zero"])
@pytest.mark.parametrize("algorithm", ["lanczos", "factor"])
def test_no_positive_eigenvalue_gives_none(K, algorithm):
    model = TopKEigen(k=3, algorithm=algorithm).fit(K)
    assert model.eigenvalues_.shape == (0,)
    assert model.eigenvectors_.shape == (11, 0)
    assert model.approximation_.norm() == 0.0
    assert model.result_.optimal if algorithm == "factor" else model.result_ is None
    np.testing.assert_allclose(model.solve_shifted(np.ones(11), 2.0), np.full(11, 0.5))


def test_shifted_systems_by_woodbury():
    K, rng = symmetric(30), np.random.default_rng(2)
    model = TopKEigen(k=6).fit(K)
    for b in (rng.standard_normal(30), rng.standard_normal((30, 3))):
        x = model.solve_shifted(b, 0.3)
        assert x.shape == b.shape
        np.testing.assert_allclose((model.approximation_.to_dense() + 0.3 * np.eye(30)) @ x, b, atol=1e-12)


def test_large_sparse_never_forms_n_by_n():
    n = 20_000
    diagonal = np.full(n, -1.0)
    diagonal[:12] = 30.0 - 2.0 * np.arange(12)
    K = sp.csr_array(sp.diags_array(diagonal))
    tracemalloc.start()
    model = TopKEigen(k=3).fit(K)
    model.solve_shifted(np.ones(n), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(model.eigenvalues_, [30.0, 28.0, 26.0], rtol=1e-10)
    assert peak < n * n * 8 / 50


@pytest.mark.parametrize(
    ("K", "k", "text"),
    [
        (np.eye(3), 0, "k must be an integer between 1 and n = 3; found 0"),
        (np.eye(3), 4, "k must be an integer between 1 and n = 3; found 4"),
        (np.eye(3), 1.5, "k must be an integer between 1 and n = 3; found 1.5"),
        (np.ones((3, 2)), 1, r"K must be square and symmetric; found shape \(3, 2\)"),
        (np.triu(np.ones((3, 3))), 1, r"K must be symmetric; found max \|K - Kᵀ\| = 1 against max \|K\| = 1"),
        (np.diag([1.0, np.nan]), 1, "K must be finite; found 1 NaN or infinite entries"),
    ],
)
def test_bad_input_of_the_problem(K, k, text):
    with pytest.raises(InvalidInputError, match=text):
        topk_problem(K, k)


def test_bad_input_of_the_estimator():
    model = TopKEigen(k=1).fit(np.eye(3))
    for b, lam, text in (
        (np.ones(3), 0.0, r"lam must be a finite number above 0; found 0\.0"),
        (np.ones(4), 1.0, r"b must have shape \(3,\) or \(3, q\); found \(4,\)"),
        ([1.0, np.inf, 0.0], 1.0, "b must be finite; found 1 NaN or infinite entries"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            model.solve_shifted(b, lam)
    with pytest.raises(ValueError, match="solver_options have no meaning for algorithm='lanczos'"):
        TopKEigen(k=1, algorithm="lanczos", solver_options={"tol": 1e-3}).fit(symmetric(5))


@pytest.mark.parametrize("algorithm", ["lanczos", "factor"])
def test_both_algorithms_reach_the_spectrum(algorithm):
    K = symmetric(400)
    model = TopKEigen(k=7, algorithm=algorithm, tol=1e-10).fit(K)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(K)[::-1][:7], rtol=1e-8)
    np.testing.assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(7), rtol=0, atol=1e-12)
    assert model.products_ > 0


def test_an_unfinished_run_is_told():
    K = np.diag(np.linspace(1.0, 2.0, 30))
    with pytest.warns(ConvergenceWarning, match="psdopt.solve ended before convergence"):
        TopKEigen(k=2, solver_options={"max_iterations": 1}).fit(K)


def test_new_objects_get_nystroem_coordinates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    K = X @ X.T
    model = TopKEigen(k=3).fit(K[:30, :30])
    coordinates = model.fit_transform(K[:30, :30])
    np.testing.assert_allclose(coordinates, model.approximation_.factor, atol=1e-5)
    new = model.transform(K[30:, :30])  # a kernel of rank 3 is extended exactly
    np.testing.assert_allclose(new @ new.T, K[30:, 30:], atol=1e-5)
    np.testing.assert_allclose(new @ coordinates.T, K[30:, :30], atol=1e-5)
    assert list(model.get_feature_names_out()) == ["topkeigen0", "topkeigen1", "topkeigen2"]
    nothing = TopKEigen(k=2).fit(-np.eye(4))
    np.testing.assert_array_equal(nothing.transform(np.ones((2, 4))), np.zeros((2, 1)))
