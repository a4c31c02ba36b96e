"""Least eigenvectors: every backend agrees with LAPACK, bounds hold, a warm start costs two or three products."""

import numpy as np
import pytest

from psdopt.errors import UnknownNameError
from psdopt.oracles import BACKENDS, least_eigenpairs


def symmetric(n, seed, shift=0.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (A + A.T) + shift * np.eye(n)


class Counted:
    """An operator that counts columns by itself."""

    def __init__(self, S):
        self.S, self.shape, self.columns = S, S.shape, 0

    def __matmul__(self, X):
        self.columns += X.shape[1]
        return self.S @ X


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shift", [0.0, 40.0, -40.0])  # mixed, positive and negative definite
def test_backends_agree_with_lapack(backend, shift):
    S = symmetric(240, 1, shift)
    tol = 1e-7 * np.linalg.norm(S, 2)
    pair = least_eigenpairs(S, tol=tol, backend=backend)
    least = np.linalg.eigvalsh(S)[0]
    assert abs(pair.value - least) <= tol
    assert np.linalg.norm(S @ pair.vector - pair.value * pair.vector) <= 2 * tol


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_are_those_of_a_counting_operator(backend):
    S = Counted(symmetric(220, 2))
    assert least_eigenpairs(S, tol=1e-6, backend=backend).products == S.columns


@pytest.mark.parametrize("backend", ["lanczos", "newton-lanczos", "newton-cg"])
def test_an_exact_start_costs_two_or_three_products(backend):
    S = symmetric(300, 3)
    v = np.linalg.eigh(S)[1][:, :1]
    assert least_eigenpairs(S, tol=1e-8, start=v, backend=backend).products <= 3


def test_proven_bound_survives_a_start_that_misses_the_least_eigenvector():
    S = symmetric(600, 4)
    values, vectors = np.linalg.eigh(S)
    wrong = vectors[:, 5:6]
    trusting = least_eigenpairs(S, tol=1e-8, start=wrong)
    proven = least_eigenpairs(S, tol=1e-8, start=wrong, proven=True)
    assert trusting.lower_bound > values[0]
    assert trusting.failure_probability == 1.0
    assert proven.lower_bound <= values[0] <= proven.value + 1e-8


def test_bad_start_and_unknown_backend():
    S = symmetric(50, 5)
    assert least_eigenpairs(S, tol=1e-6, start=np.zeros((50, 1)), backend="lanczos").value < 0
    with pytest.raises(UnknownNameError, match="lanczos"):
        least_eigenpairs(S, tol=1e-6, backend="lanczo")
